"""Sufficient statistics: frozen, additive, and taken in one pass over the rows.

Everything a conjugate fit uses of the rows is a sum over them. Sums of two halves add up to the
sum of the whole, a row of weight 2 counts as two rows, and a row that was added can be subtracted again;
batches, forgetting, merging and cross-validation are all arithmetic on the objects defined here.

Rows reach the statistics through *responsibilities*, a sparse ``(n_rows, n_classes)`` matrix whose entry is
the weight with which a row belongs to its class: one stored entry per row, or none where it weighs nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn, Self, final

import numpy as np

from bayesppl.kernels.arrays import Array, Responsibilities, leaves
from bayesppl.kernels.class_sums import class_sums
from bayesppl.kernels.pairs import Pairs

# Probabilistic bound on the error of a sum of n rounded terms: lambda sqrt(n) u of their magnitude, which fails
# with a probability of 2 exp(-lambda^2 / 2) (Higham & Mary, 2019, "A new approach to probabilistic rounding error
# analysis")
_LAMBDA, _UNIT = 8.0, 2.0**-53


# Rows assumed where their number was not kept
_MANY_ROWS = 1 << 20


# What is left of the difference of a sum of weights and a part of it below this is rounding error, that is,
# nothing.
ROUNDING = 1e-12

#: Numbers whose standard deviation is less than this share of their size differ in their last bits alone.
LAST_BITS = 2 * float(np.finfo(float).eps)


class Statistics(ABC):
    """A sum over rows; supports ``+``, ``-`` and scaling by a weight.

    A sum is taken in ordinary numbers. From :meth:`tracked` on it is kept in pairs of numbers with a bound on
    their rounding, so that rows can come and go without end; a difference always is.

    ``log_base`` is the sum of the logarithms of the base measure h(x) of the exponential family, the factor of
    the likelihood that holds no parameter; evidences need it, estimates do not.
    """

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """Return the statistics of both sets of rows."""

    @abstractmethod
    def __sub__(self, other: Self) -> Self:
        """Return the statistics without those of rows that are among them."""

    @abstractmethod
    def scale(self, factor: float) -> Self:
        """Return the statistics of the same rows, each with its weight multiplied by ``factor``."""

    @abstractmethod
    def tracked(self, n_rows: int = 0) -> Self:
        """Return the same statistics, with their rounding tracked from here on.

        Parameters
        ----------
        n_rows : int
            How many rows were summed; by default, what :class:`JointStatistics` recorded, or a million.
        """

    @property
    @abstractmethod
    def relative_error(self) -> float:
        """Bound what was ever rounded of the sums of a column, relative to their size, where it is tracked."""

    @abstractmethod
    def of_classes(self, codes: Array, n_classes: int) -> Self:
        """Sum statistics of single rows into the classes of their codes, with their rounding tracked."""

    @abstractmethod
    def pooled(self) -> Self:
        """Return the statistics of the same rows as those of a single class; the class axis has length one."""

    @abstractmethod
    def with_classes(self, n_classes: int, codes: Array) -> Self:
        """Place class k under ``codes[k]`` among ``n_classes`` classes; new ones are empty."""

    @property
    @final
    def n_numbers(self) -> int:
        """Count the numbers that these statistics hold, without what tracks their rounding."""
        return sum(values.size for _, values in numbers_of(self))


class _Sums(Statistics):
    """Statistics all of whose fields are plain sums; ``sums`` holds them as pairs once they are tracked."""

    sums: tuple[Pairs, ...] | None

    @abstractmethod
    def _magnitudes(self) -> tuple[Array, ...]:
        """Return the magnitudes that the rounding of each field is proportional to."""

    def _of(self, sums: tuple[Pairs, ...]) -> Self:
        # a field of every kind
        return type(self)(*(pair.value for pair in sums), sums=sums)  # type: ignore[call-arg]

    def tracked(self, n_rows: int = 0) -> Self:
        if self.sums is not None:
            return self
        rounding = rounding_of_sum(n_rows)
        pairs = zip(self.values(), self._magnitudes(), strict=True)
        return self._of(tuple(Pairs.of(values, rounding * np.abs(size)) for values, size in pairs))

    @property
    def relative_error(self) -> float:
        return max((sums.relative_error for sums in self.sums or ()), default=0.0)

    def of_classes(self, codes: Array, n_classes: int) -> Self:
        return self._of(
            tuple(Pairs.of(a).sum_by(codes, n_classes) if a.ndim else Pairs.of(a) for a in self.values())
        )

    def __add__(self, other: Self) -> Self:
        if self.sums is None and other.sums is None:
            return type(self)(*(a + b for a, b in zip(self.values(), other.values(), strict=True)))
        one, two = self.tracked().sums or (), other.tracked().sums or ()
        return self._of(tuple(a + b for a, b in zip(one, two, strict=True)))

    def __sub__(self, other: Self) -> Self:
        one, two = self.tracked().sums or (), other.tracked().sums or ()
        left = [a - b for a, b in zip(one, two, strict=True)]
        for name, sums in zip(self._names, left, strict=True):
            if name != "log_base" and (sums.high < -sums.error).any():
                refuse_rows_never_added(f"a count would become {sums.high.min():g}")
        return self._of(tuple(sums.where(~sums.is_zero) for sums in left))

    def scale(self, factor: float) -> Self:
        if self.sums is None:
            return type(self)(*(factor * a for a in self.values()))
        weight = Pairs.of(np.asarray(factor))
        scaled = (sums * weight for sums in self.sums)
        if factor != 1:  # weights derived from the rounded factor agree with it to the last bit of a number only
            scaled = (
                sums.doubtful(2.0**-52 * factor * size)
                for sums, size in zip(scaled, self._magnitudes(), strict=True)
            )
        return self._of(tuple(scaled))

    def pooled(self) -> Self:
        return type(self)(*(a.sum(0, keepdims=True) for a in self.values()))

    def with_classes(self, n_classes: int, codes: Array) -> Self:
        if self.sums is None:
            return type(self)(*(under_codes(a, n_classes, codes) for a in self.values()))
        return self._of(tuple(sums.each(lambda part: under_codes(part, n_classes, codes)) for sums in self.sums))

    @final
    def with_base(self, log_base: Array) -> Self:
        """Return the statistics of the same rows, whose base measures are multiplied by these factors."""
        # both are fields of every kind
        base = vars(self)["log_base"] + log_base
        return replace(self, log_base=base)  # type: ignore[type-var]

    def sum_rows(self, responsibilities: Responsibilities) -> Self:
        """Sum statistics of single rows into classes: (n_rows, ...) to (n_classes, ...)."""
        sums = (class_sums(responsibilities, a) if a.ndim > 1 else responsibilities.T @ a for a in self.values())
        return type(self)(*sums)

    def values(self) -> tuple[Array, ...]:
        """Return the sums, in the order of the fields."""
        return tuple(vars(self)[name] for name in self._names)

    @property
    def _names(self) -> list[str]:
        # every kind of statistics is a dataclass, which this base itself is not
        return [field.name for field in fields(self) if field.name != "sums"]  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Counts(_Sums):
    """How often each outcome was seen.

    Attributes
    ----------
    counts : (..., n_outcomes)
        Weighted counts; the leading axes are usually class (and feature).
    log_base : (n_classes, ...)
        Sum of log h(x), for example of multinomial coefficients.
    """

    counts: Array
    log_base: Array
    sums: tuple[Pairs, ...] | None = None

    def _magnitudes(self) -> tuple[Array, ...]:
        return self.counts, np.abs(self.log_base)


@dataclass(frozen=True, eq=False)
class Successes(_Sums):
    """Successes and failures per class and feature, each ``(n_classes, n_features)``."""

    successes: Array
    failures: Array
    log_base: Array
    sums: tuple[Pairs, ...] | None = None

    def _magnitudes(self) -> tuple[Array, ...]:
        trials = self.successes + self.failures  # one of the two may be a difference
        return trials, trials, np.abs(self.log_base)


@dataclass(frozen=True, eq=False)
class Events(_Sums):
    """Number of events and the exposure they were counted over, each ``(n_classes, n_features)``."""

    events: Array
    exposure: Array
    log_base: Array
    sums: tuple[Pairs, ...] | None = None

    def _magnitudes(self) -> tuple[Array, ...]:
        return self.events, self.exposure, np.abs(self.log_base)


@dataclass(frozen=True, eq=False)
class JointStatistics(Statistics):
    """Statistics of named, independent parts of a model.

    Attributes
    ----------
    parts : mapping of str to Statistics
    n_rows : int
        How many rows went into sums whose rounding was not tracked, where that was recorded.
    """

    parts: Mapping[str, Any]
    n_rows: int = 0

    def __add__(self, other: Self) -> Self:
        parts = {name: part + other.parts[name] for name, part in self.parts.items()}
        return type(self)(parts, self.n_rows + other.n_rows)

    def __sub__(self, other: Self) -> Self:
        one, two = self.tracked(), other.tracked()
        return type(self)({name: part - two.parts[name] for name, part in one.parts.items()})

    def tracked(self, n_rows: int = 0) -> Self:
        n_rows = n_rows or self.n_rows
        return type(self)({name: part.tracked(n_rows) for name, part in self.parts.items()}, self.n_rows)

    @property
    def relative_error(self) -> float:
        return max(self.relative_errors.values())

    @property
    def relative_errors(self) -> dict[str, float]:
        """Return the relative error of every part that has none of its own, by its place."""
        return {name: part.relative_error for name, part in self.leaves()}

    def leaves(self, place: str = "") -> Iterator[tuple[str, Statistics]]:
        """Yield all parts that have none of their own, with their places."""
        for name, part in self.parts.items():
            if isinstance(part, JointStatistics):
                yield from part.leaves(f"{place}{name}.")
            else:
                yield f"{place}{name}", part

    def of_classes(self, codes: Array, n_classes: int) -> Self:
        return type(self)({name: part.of_classes(codes, n_classes) for name, part in self.parts.items()})

    def scale(self, factor: float) -> Self:
        return type(self)({name: part.scale(factor) for name, part in self.parts.items()}, self.n_rows)

    def pooled(self) -> Self:
        return type(self)({name: part.pooled() for name, part in self.parts.items()}, self.n_rows)

    def with_classes(self, n_classes: int, codes: Array) -> Self:
        return type(self)(
            {name: part.with_classes(n_classes, codes) for name, part in self.parts.items()}, self.n_rows
        )


def numbers_of(value: Any) -> list[tuple[str, Array]]:
    """List the arrays of statistics, with the way to each, but for the pairs that track their rounding."""
    return [(path, values) for path, values in leaves(value) if ".sums" not in path]


def column(values: Array) -> Array:
    """Give ``values`` a trailing feature axis if they have none."""
    return values if values.ndim == 2 else values[:, None]


def under_codes(values: Array, n_classes: int, codes: Array) -> Array:
    """Move the classes on the leading axis to ``codes``, zeros elsewhere; a total over classes stays as it is."""
    if values.ndim == 0:
        return values
    moved = np.zeros((n_classes, *values.shape[1:]))
    moved[codes] = values
    return moved


def rounding_of_sum(n_rows: int) -> float:
    """Bound the relative rounding error of a sum of so many rows."""
    return _LAMBDA * _UNIT * max(1, n_rows or _MANY_ROWS) ** 0.5


def remainder(before: Array, removed: Array) -> Array:
    """Return what is left of sums of weights: exactly nothing where only rounding errors are left."""
    left = np.asarray(before - removed)
    return np.where(left > ROUNDING * np.abs(before), left, 0.0)


def refuse_rows_never_added(consequence: str) -> NoReturn:
    """Refuse to subtract what was not part of a sum."""
    raise ValueError(
        f"cannot subtract rows that were never added: {consequence}. Subtract only rows (with the same weights) "
        "that are part of the statistics."
    )
