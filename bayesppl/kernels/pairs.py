"""Sums kept as pairs of floating-point numbers, with a bound on their rounding error.

The high part is the sum rounded to one number, the low part what that rounding lost (Dekker, 1971, "A
floating-point technique for extending the available precision"). Pairs carry about 106 bits: what was added and is
subtracted again leaves nothing of the size of an ordinary rounding error behind. The bound is a running error
analysis (Wilkinson, 1986): every operation adds what it may have rounded off, which is nothing where it was exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Twice the bound on the relative error of the few roundings in which low parts are put together
_LAST_BITS = 2.0**-50

# Products below the normal numbers lose bits that no low part can hold.
_TINY = float(np.finfo(np.float64).tiny)

# Integers up to here are floating-point numbers, all of them.
_LARGEST_INTEGER = 2.0**53
# Of 53 bits, 26 stay in the high half; the low one needs no more than 26, because it may be negative.
_LOW_HALF, _HALF_A_BIT = np.int64((1 << 27) - 1), np.int64(1 << 26)


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded sum and its rounding error, exactly (Knuth, The Art of Computer Programming, 4.2.2)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded product and its error, exactly unless the latter underflows (Dekker, 1971).

    Factors are cut in two by rounding their bits, which overflows nowhere.
    """
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    high = ((bits + _HALF_A_BIT) & ~_LOW_HALF).view(np.float64).reshape(np.shape(values))
    return high, values - high


@dataclass(frozen=True, eq=False)
class Pairs:
    """Numbers as unevaluated sums ``high + low``, each off by ``error`` at most; three arrays of one shape."""

    high: np.ndarray
    low: np.ndarray
    error: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, error: np.ndarray | None = None) -> Pairs:
        """Make pairs of plain numbers; exact unless an error is given."""
        values = np.asarray(values, dtype=np.float64)
        zeros = np.zeros_like(values)
        return cls(values, zeros, zeros if error is None else zeros + error)

    @property
    def value(self) -> np.ndarray:
        """Round the numbers to one part; zero where they do not exceed their error."""
        return np.where(self.is_zero, 0.0, self.high)

    @property
    def is_zero(self) -> np.ndarray:
        """Whether nothing but rounding errors is left."""
        return np.abs(self.high) <= self.error

    @property
    def relative_error(self) -> float:
        """Bound the error, relative to the largest number along the first axis, the classes of a column.

        A whole number with an error below one half is exact.
        """
        is_known = (self.high == np.rint(self.high)) & (self.low == 0) & (self.error < 0.5)
        error, size = np.where(is_known, 0.0, self.error), np.abs(self.high)
        if size.ndim:
            error, size = error.max(0, initial=0.0), size.max(0, initial=0.0)
        return largest_ratio(error, size)

    @property
    def _are_small_integers(self) -> bool:
        """Whether these are integers, known exactly, whose sums are exact in any order."""
        if self.error.any() or self.low.any() or not (self.high == np.rint(self.high)).all():
            return False
        return bool(np.abs(self.high).max(initial=0.0) < _LARGEST_INTEGER / max(1, len(self.high)))

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> Pairs:
        """Give all parts another shape or order."""
        return Pairs(change(self.high), change(self.low), change(self.error))

    def take(self, rows: np.ndarray | slice) -> Pairs:
        """Copy some entries of the first axis."""
        return Pairs(self.high[rows], self.low[rows], self.error[rows])

    def where(self, kept: np.ndarray) -> Pairs:
        """Put exact zeros where ``kept`` is false."""
        return self if np.all(kept) else self.each(lambda part: np.where(kept, part, 0.0))

    def doubtful(self, error: np.ndarray) -> Pairs:
        """Return the same numbers with an error larger by ``error``."""
        return Pairs(self.high, self.low, self.error + error)

    def __neg__(self) -> Pairs:
        return Pairs(-self.high, -self.low, self.error)

    def __add__(self, other: Pairs) -> Pairs:
        total, lost = two_sum(self.high, other.high)
        rounded = np.abs(self.low) + np.abs(other.low) + np.abs(lost)
        return _normalised(total, (self.low + other.low) + lost, self.error + other.error, rounded)

    def __sub__(self, other: Pairs) -> Pairs:
        return self + (-other)

    def __mul__(self, other: Pairs) -> Pairs:
        product, lost = two_product(self.high, other.high)
        one, two = self.high * other.low, self.low * other.high
        size, other_size = np.abs(self.high), np.abs(other.high)
        error = size * other.error + other_size * self.error + self.error * other.error
        rounded = np.abs(lost) + np.abs(one) + np.abs(two)
        return _normalised(product, lost + (one + two), error + np.abs(self.low * other.low) + _TINY, rounded)

    def over(self, divisor: Pairs) -> Pairs:
        """Divide; the quotient is zero where the divisor is zero."""
        present = divisor.high > 0
        by = np.where(present, divisor.high, 1.0)
        first = np.where(present, self.high / by, 0.0)
        remainder = self - Pairs.of(first) * divisor
        second = np.where(present, remainder.high / by, 0.0)
        # the exact remainder of the second step is below 2^-100 of the quotient
        error = remainder.error / by + _LAST_BITS * (np.abs(second) + _LAST_BITS * np.abs(first)) + _TINY
        return Pairs(*two_sum(first, second), np.where(present, error, 0.0))

    def sum(self) -> Pairs:
        """Sum over the first axis, in pairwise steps."""
        n = 1 << max(0, len(self.high) - 1).bit_length()
        terms = self.each(lambda part: np.concatenate([part, np.zeros((n - len(part), *part.shape[1:]))]))
        while n > 1:
            n //= 2
            terms = terms.take(slice(n)) + terms.take(slice(n, None))
        return terms.each(lambda part: part[0])

    def sum_by(self, codes: np.ndarray, n_groups: int) -> Pairs:
        """Sum over the first axis by groups, (n, ...) to (n_groups, ...)."""
        sums = np.zeros((3, n_groups, *self.high.shape[1:]))
        if self._are_small_integers:
            np.add.at(sums[0], codes, self.high)
            return Pairs(*sums)
        for k in np.unique(codes):
            found = self.take(np.flatnonzero(codes == k)).sum()
            sums[:, k] = found.high, found.low, found.error
        return Pairs(*sums)


def largest_ratio(error: np.ndarray, size: np.ndarray) -> float:
    """Find the largest error relative to its number; zeros do not count."""
    return float(np.divide(error, size, out=np.zeros(np.shape(error)), where=size > 0).max(initial=0.0))


def _normalised(high: np.ndarray, low: np.ndarray, error: np.ndarray, rounded: np.ndarray) -> Pairs:
    """Make a pair whose low part is below half a unit in the last place of its high one."""
    return Pairs(*two_sum(high, low), error + _LAST_BITS * rounded)
