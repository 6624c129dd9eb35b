"""Rows of data as statistics that are not summed yet.

Everything in closed form follows from the rows by themselves and a conjugate pair: sums of them are the statistics
of the classes, a predictive is what one of them adds to the normaliser of a posterior, and leaving it out
subtracts it. A kind of rows stores them in whatever form is cheapest, and counts a block of them at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce, singledispatch
from operator import add, methodcaller
from typing import Any, NoReturn, final

import numpy as np
from scipy.sparse import csr_array

from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.statistics import JointStatistics, Statistics
from bayesppl.data.labels import one_hot
from bayesppl.errors import NotConjugateError
from bayesppl.kernels.arrays import Array, Responsibilities


class RowStatistics(ABC):
    """Some rows of data, whose statistics can be summed by class."""

    X: Any

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @abstractmethod
    def sum_rows(self, responsibilities: Responsibilities) -> Statistics:
        """Sum the statistics of the rows into their classes."""


class SingleRows(RowStatistics):
    """Rows whose statistics can be taken one by one too, so that everything in closed form follows from them."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield statistics of some rows at a time, with the rows on the axis of classes."""


@dataclass(frozen=True, eq=False)
class JointRows(RowStatistics):
    """Rows of the independent parts of a model.

    Attributes
    ----------
    parts : mapping of str to RowStatistics
    alternatives : callable
        Returns places of rows that lack a cell which other parts depend on, and the complete rows (joint ones)
        that these can be, once or several times all of them: their densities add up to those of the rows.
    refusal : str
        Why the rows cannot be summed; empty where they can.
    """

    parts: Mapping[str, Any]
    alternatives: Callable[[], Iterable[tuple[Array, Iterable[Any]]]] = tuple
    refusal: str = ""

    @final
    def __len__(self) -> int:
        return len(next(iter(self.parts.values())))

    @property
    def summable(self) -> Mapping[str, Any]:
        """Return the parts, where they can be summed.

        Raises
        ------
        ValueError
        """
        if self.refusal:
            raise ValueError(self.refusal)
        return self.parts

    @final
    def sum_rows(self, responsibilities: Responsibilities) -> JointStatistics:
        return JointStatistics({name: part.sum_rows(responsibilities) for name, part in self.summable.items()})


@dataclass(frozen=True, eq=False)
class RowsWithBase(RowStatistics):
    """Rows whose density is that of other rows times a factor h(x) that holds no parameter, such as a Jacobian.

    Attributes
    ----------
    rows : RowStatistics
    make_log_base : callable
        Returns log h of every cell, (n_rows, n_columns), zero where it is missing; the statistics of the rows have
        one ``log_base`` for each column. It is called when first needed: what classes share is not, to compare
        them.
    """

    rows: RowStatistics
    make_log_base: Callable[[], Array]

    @cached_property
    def log_base(self) -> Array:
        return self.make_log_base()

    @final
    def __len__(self) -> int:
        return len(self.rows)

    @final
    def sum_rows(self, responsibilities: Responsibilities) -> Any:
        sums: Any = self.rows.sum_rows(responsibilities)
        return sums.with_base(np.asarray(responsibilities.T @ self.log_base))


@singledispatch
def sum_shares(rows: RowStatistics, shares: Array) -> Any:
    """Sum the statistics of rows each of which is shared out among the classes.

    Parameters
    ----------
    rows : RowStatistics
    shares : (n_rows, n_classes)
        Weight with which a row belongs to every class.
    """
    if (np.count_nonzero(shares, axis=1) <= 1).all():
        return rows.sum_rows(csr_array(shares))
    return sum_each([rows] * shares.shape[1], shares.T)


def sum_each(rows: Sequence[RowStatistics], weights: Iterable[Array]) -> Any:
    """Sum the rows of every class, which may be others for each, by their weights."""
    of_classes = (
        own.sum_rows(one_hot(np.zeros(len(own), dtype=np.intp), 1, of_rows)).with_classes(
            len(rows), np.asarray([k])
        )
        for k, (own, of_rows) in enumerate(zip(rows, weights, strict=True))
    )
    return reduce(add, of_classes)


@sum_shares.register
def _(rows: JointRows, shares: Array) -> JointStatistics:
    return JointStatistics({name: sum_shares(part, shares) for name, part in rows.summable.items()})


@sum_shares.register
def _(rows: RowsWithBase, shares: Array) -> Any:
    return sum_shares(rows.rows, shares).with_base(shares.T @ rows.log_base)


def refuse_closed_form(unknown: str) -> NoReturn:
    """Refuse to sum rows each of which has this unknown quantity.

    Raises
    ------
    NotConjugateError
    """
    raise NotConjugateError(
        f"nobody knows the {unknown} of a row, so that there is no closed form, no batches, no forgetting and no "
        "model in PyMC: fit all rows at once with inference='em' (a mode) or inference='gibbs' (draws)"
    )


def forget(posterior: Any, statistics: Any, members: Membership) -> Any:
    """Return the belief about the class of each of these rows, once the row is taken out."""
    weighted = statistics
    if (members.weights != 1).any():
        n_rows = len(members.weights)
        weighted = statistics.sum_rows(one_hot(np.arange(n_rows), n_rows, members.weights))
    return posterior.select_classes(members.codes).update(weighted.scale(-1.0))


def about_class(k: int, posterior: Any, remaining: Any, codes: Array) -> Any:
    """Return the belief about class k for each of these rows, once the row is taken out.

    Parameters
    ----------
    posterior : Conjugate
        Of all rows.
    remaining : Conjugate
        What :func:`forget` leaves of it for the class of every row: what the classes share is as there.
    codes : (n_rows,)
        The class of every row.
    """
    arrays = {}
    for name, values in vars(posterior).items():
        if isinstance(values, np.ndarray) and name not in posterior.shared_by_classes:
            is_own = (codes == k).reshape(-1, *[1] * (values.ndim - 1))
            arrays[name] = np.where(is_own, getattr(remaining, name), values[k])
    return replace_unchecked(remaining, **arrays)


def log_evidence_of(belief: Any, statistics: Any) -> Array:
    """Compute the log evidence of statistics under a belief, per independent factor."""
    with np.errstate(divide="ignore", invalid="ignore"):  # where the belief is improper the answer is not finite
        gained = belief.log_increment(statistics)
    base = np.asarray(statistics.log_base)
    # the base measure may be kept per feature where the factors are not (a variance shared by features)
    return gained + base.sum(tuple(range(gained.ndim, base.ndim)))


def per_row(values: Any) -> Array:
    """Sum over everything but the leading axis."""
    return np.asarray(values.reshape(len(values), -1).sum(-1))


def in_blocks(
    log_mass: Callable[[Any], Array],
    log_base: Callable[[Any], Array],
    shape: tuple[int, ...],
    blocks: Callable[[Any], Iterator[tuple[slice, Any]]] = methodcaller("blocks"),
) -> LogDensity:
    """Return the density of rows, a block at a time, from what depends on the class and log h of some rows.

    Parameters
    ----------
    log_mass, log_base : callable
        Of what a block holds: (..., n_some_rows, n_classes), and (n_some_rows,).
    shape : tuple of int
        Of the draws, and the number of classes.
    blocks : callable
        Yields places of some rows, and what is computed with.
    """

    def evaluate(rows: Any, with_base: bool) -> Array:
        out = np.empty((*shape[:-1], len(rows), shape[-1]))
        for block, held in blocks(rows):
            out[..., block, :] = log_mass(held)
            if with_base:
                out[..., block, :] += log_base(held)[:, None]
        return out

    return LogDensity(partial(evaluate, with_base=True), partial(evaluate, with_base=False))
