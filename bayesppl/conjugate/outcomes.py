r"""Rows that hold one outcome of each of several independent tables, such as the level of every column.

The probabilities of the outcomes of a table are Dirichlet, and so the predictive probability of an outcome is its
posterior mean :math:`(\alpha_l + n_l)/\sum_m(\alpha_m + n_m)` (Bernardo & Smith 1994). Columns that share a table
have one outcome, the combination of their levels; a row that lacks some of them lies in one of several cells, and
its probability is the sum over these.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any, NamedTuple, final

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from bayesppl.conjugate.dirichlet import Dirichlet
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership, counts_without, weight_by_weight
from bayesppl.conjugate.row_statistics import SingleRows
from bayesppl.conjugate.statistics import Counts
from bayesppl.kernels.arrays import Array, Responsibilities, logarithm
from bayesppl.kernels.class_sums import owned_rows
from bayesppl.kernels.integer_levels import outcome_counts
from bayesppl.kernels.lookups import level_sums
from bayesppl.kernels.missing import by_gaps, describe_gaps
from bayesppl.kernels.ranges import row_blocks

# outcomes of rows that are counted at once
_COUNTED = 1 << 22

# an incomplete row is one of at most so many
_MOST_COMPLETIONS = 4096


class Tables(NamedTuple):
    """The tables of columns, and what is in each.

    Attributes
    ----------
    groups : tuple of tuples of int
        The columns of each table, by place.
    n_levels : tuple of int
        How many levels each column has.
    columns : tuple
        Their names.
    """

    groups: tuple[tuple[int, ...], ...]
    n_levels: tuple[int, ...]
    columns: tuple[Hashable, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of cells of each table."""
        return tuple(prod(self.n_levels[j] for j in group) for group in self.groups)

    def shape(self, group: tuple[int, ...]) -> tuple[int, ...]:
        """Return the numbers of levels of the columns of a table."""
        return tuple(self.n_levels[j] for j in group)

    def cells(self) -> Iterator[tuple[tuple[int, ...], slice]]:
        """Yield the columns of each table, and the place of its cells among those of all tables."""
        start = 0
        for group, size in zip(self.groups, self.sizes, strict=True):
            yield group, slice(start, start + size)
            start += size


@dataclass(frozen=True, eq=False)
class Outcomes(SingleRows):
    """Rows of levels, as outcomes of tables.

    Attributes
    ----------
    X : (n_rows, n_columns)
        Codes of the levels, -1 where one is missing.
    tables : Tables
    refusal : str
        Why rows that lack a level of a table of several columns are not fitted, and what can be done.
    """

    X: Array
    tables: Tables
    refusal: str = (
        "a joint table cannot be fitted to incomplete rows in closed form. Drop or impute them, or use "
        "bayesppl.Categorical, which skips missing cells exactly."
    )

    @final
    def __getitem__(self, rows: Any) -> Outcomes:
        return replace(self, X=self.X[rows])

    @cached_property
    def codes(self) -> Array:
        """Find the cell of each table, the last column varying fastest, -1 where a level is missing."""
        groups = self.tables.groups
        if groups == tuple((j,) for j in range(self.X.shape[1])):
            return self.X
        strides, gaps = _strides(groups, self.tables.n_levels), self.X < 0
        codes = np.asarray(self.X.astype(np.intp) @ strides)
        if gaps.any():
            codes[gaps @ (strides > 0)] = -1
        return codes

    @final
    def sum_rows(self, responsibilities: Responsibilities) -> Counts:
        columns = sorted({j for group in self.tables.groups if len(group) > 1 for j in group})
        gaps = owned_rows(self.X[:, columns], responsibilities)[0] < 0
        if gaps.any():
            raise ValueError(describe_gaps(gaps, [self.tables.columns[j] for j in columns], self.refusal))
        sizes = self.tables.sizes
        counts = np.zeros((responsibilities.shape[1], sum(sizes)))
        for block in row_blocks(len(self), len(sizes), _COUNTED):
            counts += outcome_counts(responsibilities[block], self[block].codes, sizes)
        return Counts(counts, np.zeros((len(counts), len(sizes))))

    @final
    def blocks(self) -> Iterator[tuple[slice, Counts]]:
        sizes = self.tables.sizes
        starts = np.cumsum((0, *sizes))[:-1]
        for block in row_blocks(len(self), sum(sizes)):
            codes = self.codes[block]
            counts = np.zeros((len(codes), sum(sizes)))
            row, table = np.nonzero(codes >= 0)
            counts[row, codes[row, table] + starts[table]] = 1.0
            yield block, Counts(counts, np.zeros(codes.shape))

    @final
    def alternatives(self) -> Iterator[tuple[Array, Iterator[Outcomes]]]:
        """Yield the places of rows that lack some levels, but not all, and the rows that these can be."""
        seen = np.flatnonzero((self.X >= 0).any(1))
        for places, completions in completed(self.X[seen], self.tables, _MOST_COMPLETIONS):
            yield seen[places], (replace(self, X=codes) for codes in completions)

    def _incomplete(self) -> Iterator[tuple[slice, tuple[int, ...], Array, Array]]:
        """Yield the cells and columns of a table, and rows that lack the same of these, but not all of them."""
        for group, cells in self.tables.cells():
            for rows, absent in by_gaps(self.X[:, list(group)] < 0) if len(group) > 1 else ():
                if len(absent) < len(group):
                    yield cells, group, rows, absent

    @staticmethod
    def log_likelihood(probability: Array, sizes: tuple[int, ...]) -> LogDensity:
        """Return the density of rows under probabilities (..., n_classes, n_cells) of tables of these sizes."""
        sums = level_sums(logarithm(probability).reshape(-1, probability.shape[-1]), sizes)

        def log_mass(rows: Outcomes) -> Array:
            out = sums(rows.codes).reshape(*probability.shape[:-1], len(rows))
            for cells, group, incomplete, absent in rows._incomplete():
                shape = rows.tables.shape(group)
                table = probability[..., cells].reshape(*probability.shape[:-1], *shape)
                # the probabilities of what is present are a margin of the table
                margin = table.sum(tuple(absent - len(group)))
                present = np.delete(group, absent)
                at = np.ravel_multi_index(rows.X[np.ix_(incomplete, present)].T, np.delete(shape, absent))
                out[..., incomplete] += logarithm(margin).reshape(*probability.shape[:-1], -1)[..., at]
            return np.moveaxis(out, -2, -1)

        return LogDensity(log_mass)


@lru_cache(maxsize=64)
def _strides(groups: tuple[tuple[int, ...], ...], n_levels: tuple[int, ...]) -> csr_array:
    """Compute how far the cell of each table moves with the code of each column: (n_columns, n_tables)."""
    columns, tables, steps = list[int](), list[int](), list[int]()
    for table, group in enumerate(groups):
        shape = [n_levels[j] for j in group]
        columns += group
        tables += [table] * len(group)
        steps += (prod(shape) // np.cumprod(shape)).tolist()
    return csr_array((np.asarray(steps, dtype=np.intp), (columns, tables)), shape=(len(n_levels), len(groups)))


class TooManyCombinationsError(ValueError):
    """A row lacks levels of so many combinations that its density, the sum over them, is not computed."""


def completed(codes: Array, tables: Tables, most: int) -> Iterator[tuple[Array, Iterator[Array]]]:
    """Yield the places of rows that lack the same levels, and their codes with all levels that these can have.

    Parameters
    ----------
    codes : (n_rows, n_columns)
        -1 where a level is missing.
    tables : Tables
    most : int
        The largest number of combinations of levels that is accepted.

    Yields
    ------
    places : (n_places,)
    completions : iterator of (n, n_columns)
        The rows at these places several times, one after the other.

    Raises
    ------
    TooManyCombinationsError
    """
    for places, absent in by_gaps(codes < 0):
        shape = [tables.n_levels[j] for j in absent]
        if prod(shape) > most:
            names = ", ".join(repr(tables.columns[j]) for j in absent)
            raise TooManyCombinationsError(
                f"a row lacks the levels of columns {names}, which have {prod(shape):,} combinations of levels, "
                f"and its density is the sum over them; at most {most:,} are summed. Fill some of the cells, or "
                "use bayesppl.CategoricalNB or MixedNB, which leave missing cells out."
            )
        yield places, _filled(codes[places].astype(np.intp), absent, shape)


def _filled(codes: Array, absent: Array, shape: Sequence[int]) -> Iterator[Array]:
    """Yield rows with all combinations of levels in the columns that they lack, some combinations at a time."""
    levels = np.stack(np.unravel_index(np.arange(prod(shape)), shape), axis=1)
    for block in row_blocks(len(levels), codes.shape[1] * codes.size, _COUNTED):
        filled = np.tile(codes, (block.stop - block.start, 1))
        filled[:, absent] = levels[block].repeat(len(codes), axis=0)
        yield filled


def outcomes_log_predictive(posterior: Dirichlet) -> LogDensity:
    """Return the log predictive of outcomes: the likelihood at the mean."""
    return Outcomes.log_likelihood(posterior.mean()[posterior.parameter], posterior.lengths)


def outcomes_average(posterior: Dirichlet, common: Dirichlet, log_odds: Array) -> LogDensity:
    """Return the inclusion-averaged predictive of outcomes: a mixture of two tables is a table."""
    relevant, irrelevant = (np.repeat(expit(odds), posterior.lengths) for odds in (log_odds, -log_odds))
    name = posterior.parameter
    mixed = relevant * posterior.mean()[name] + irrelevant * common.mean()[name]
    return Outcomes.log_likelihood(mixed, posterior.lengths)


def outcomes_leave_one_out(
    posterior: Dirichlet, statistics: Counts, rows: Outcomes, members: Membership
) -> tuple[Array, Array] | None:
    """Leave out rows of few different weights: one less of each outcome that the row holds."""
    alpha, totals = posterior.concentration, posterior.totals.repeat(posterior.lengths, axis=1)

    def without(weight: float) -> LogDensity:
        with np.errstate(divide="ignore", invalid="ignore"):  # a class without rows has none to lose
            left = counts_without(alpha, weight) / (totals - weight)
            return Outcomes.log_likelihood(np.concatenate([alpha / totals, left]), posterior.lengths)

    return None if members.few_weights is None else weight_by_weight(without, rows, members)
