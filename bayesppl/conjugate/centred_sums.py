r"""Sums of powers about a fixed pivot: moments that can be added to and taken from for as long as a stream lasts.

The moments of a batch are updated by its mean, which is rounded; so a mean that moves back and forth does not
return to where it was. Here the rows of class k are kept as :math:`\sum w`, :math:`\sum w (x - c_k)` and
:math:`\sum w (x - c_k)(x - c_k)^\top` in pairs of numbers that track their rounding, and the pivot :math:`c_k`
stays. Subtracting is then as accurate as adding, and what is left below the bound on the rounding is nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from bayesppl.conjugate.statistics import refuse_rows_never_added, under_codes
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.pairs import Pairs, largest_ratio, two_sum
from bayesppl.kernels.pivots import FARTHEST

# Where a square about the pivot is so many times the mean square about the mean, the pivot moves to the mean.
_DRIFTED = 2.0**20

# A spread below this share of the mean counts as none, and one that is not seen must be known to lie below that.
_LEAST, _LEAST_UNSEEN = 2.0**-36, 2.0**-20


@dataclass(frozen=True, eq=False)
class CentredSums:
    """Sums of the rows of every class about its pivot.

    Attributes
    ----------
    pivot : (n_classes, n_features)
    count : (n_classes, n_features) or (n_classes,)
        Total weight.
    first : (n_classes, n_features)
        Weighted deviations.
    second : (n_classes, n_features), (n_features,), (n_classes, n_features, n_features) or (n_features,
    n_features)
        Weighted (products of) deviations; without a class axis they are summed over classes.
    """

    pivot: Array
    count: Pairs
    first: Pairs
    second: Pairs

    @classmethod
    def of_moments(cls, count: Array, mean: Array, scatter: Array, rounding: float) -> CentredSums:
        """Make the sums that rounded moments stand for, each off by ``rounding`` times its magnitude at most.

        The squares that were summed are those about a pivot, not about the mean.
        """
        zero = Pairs.of(np.zeros_like(mean))
        sums = cls(mean, Pairs.of(count), zero, Pairs.of(scatter))._doubtful(rounding, 1 + FARTHEST)
        of_means = 2.0**-52 * np.abs(mean) * sums._count_of_features.high
        return replace(sums, first=sums.first.doubtful(of_means))

    @classmethod
    def of_rows(cls, weight: Array, values: Array, scatter: Array, codes: Array, n_classes: int) -> CentredSums:
        """Sum single rows into the classes of their codes.

        Parameters
        ----------
        weight : (n_rows, n_features) or (n_rows,)
            Zero where a cell is missing.
        values : (n_rows, n_features)
        scatter : zeros of the shape that ``second`` has for classes that are these rows
        codes : (n_rows,)
        """
        pivot = _first_values(weight, values, codes, n_classes)
        rows = cls(values, Pairs.of(weight), Pairs.of(np.zeros_like(values)), Pairs.of(scatter))
        moved = rows.about(pivot[codes])
        second = moved.second if rows.is_tied else moved.second.sum_by(codes, n_classes)
        return cls(pivot, moved.count.sum_by(codes, n_classes), moved.first.sum_by(codes, n_classes), second)

    @property
    def is_matrix(self) -> bool:
        """Whether the second sums hold products of features."""
        return self.count.high.ndim == 1

    @property
    def is_tied(self) -> bool:
        """Whether the second sums are summed over classes."""
        return self.second.high.ndim == (2 if self.is_matrix else 1)

    def about(self, pivot: Array) -> CentredSums:
        """Return the same sums about another pivot."""
        if np.array_equal(pivot, self.pivot):
            return self
        step, lost = two_sum(self.pivot, -pivot)
        shift = Pairs(step, lost, np.zeros_like(step))
        first = self.first + shift * self._count_of_features
        # x - c' = (x - c) + s, so that the second sum grows by s F' + F s with F' about the new pivot
        gained = self._product(shift, first) + self._product(self.first, shift)
        second = self.second + (gained.sum() if self.is_tied else gained)
        return CentredSums(pivot, self.count, first, second)

    def __add__(self, other: CentredSums) -> CentredSums:
        one, two = self._about_common(other)
        return CentredSums(
            one.pivot, one.count + two.count, one.first + two.first, one.second + two.second
        )._near_the_mean()

    def __sub__(self, other: CentredSums) -> CentredSums:
        one, two = self._about_common(other)
        left = CentredSums(one.pivot, one.count - two.count, one.first - two.first, one.second - two.second)
        return left._without_empty_classes()._near_the_mean()

    def scale(self, factor: float) -> CentredSums:
        """Multiply all weights; a derived weight agrees with the rounded factor to its last bit only."""
        weight = Pairs.of(np.asarray(factor))
        scaled = replace(self, count=self.count * weight, first=self.first * weight, second=self.second * weight)
        return scaled if factor == 1 else scaled._doubtful(2.0**-52)

    def with_classes(self, n_classes: int, codes: Array) -> CentredSums:
        """Return the same sums among more classes; those that are new are empty."""
        move = partial(under_codes, n_classes=n_classes, codes=codes)
        second = self.second if self.is_tied else self.second.each(move)
        return CentredSums(move(self.pivot), self.count.each(move), self.first.each(move), second)

    @cached_property
    def moments(self) -> tuple[Array, Array, Array]:
        """Compute count, mean and scatter about the mean; zero where nothing but rounding is left.

        Raises
        ------
        ValueError
            If a sum of squares is negative by more than its rounding.
        """
        shift = self.shift
        start, lost = two_sum(self.pivot, shift.high)
        mean = start + (lost + shift.low)
        mean = np.where((self._count_of_features.high > 0) & (np.abs(mean) > shift.error), mean, 0.0)
        scatter = self._scatter
        squares = self._squares(scatter)
        if (squares.high < -squares.error).any():
            refuse_rows_never_added("a sum of squares would become negative")
        kept = ~squares.is_zero
        if not self.is_matrix:
            return self.count.value, mean, np.where(kept, scatter.high, 0.0)
        products = np.where(kept[..., :, None] & kept[..., None, :], scatter.high, 0.0)
        return self.count.value, mean, (products + np.swapaxes(products, -1, -2)) / 2

    @cached_property
    def shift(self) -> Pairs:
        """Compute how far the means are from the pivots; its error is that of means before they are rounded."""
        return self.first.over(self._count_of_features)

    @property
    def relative_error(self) -> float:
        """Bound the errors of counts, means and squares; the last two relative to the spread of their column.

        The spread is that of all classes together. Columns known to be constant have none, and do not count.
        """
        _, mean, scatter = self.moments
        weight = np.broadcast_to(self._count_of_features.value, mean.shape)
        centre = (weight * mean).sum(0) / np.maximum(weight.sum(0), 1e-300)
        within, error = self._squares(Pairs.of(scatter)).high, self._squares(self._scatter).error
        if not self.is_tied:
            within, error = within.sum(0), error.sum(0)
        squares = within + (weight * (mean - centre) ** 2).sum(0)
        of_means = (self.shift.error * np.sqrt(weight)).max(0, initial=0.0)
        size = (weight * mean**2).sum(0)
        unseen = _LEAST_UNSEEN**2 * size
        lost = np.where(np.maximum(error, of_means**2) > unseen, unseen, 0.0)
        known = np.where(squares > _LEAST**2 * size, squares, lost)
        return max(self.count.relative_error, largest_ratio(of_means, np.sqrt(known)), largest_ratio(error, known))

    @cached_property
    def _scatter(self) -> Pairs:
        """Compute the sums of squares and products about the means."""
        between = self._product(self.shift, self.first)
        return self.second - (between.sum() if self.is_tied else between)

    def _squares(self, scatter: Pairs) -> Pairs:
        return scatter.each(np.linalg.diagonal) if self.is_matrix else scatter

    @property
    def _count_of_features(self) -> Pairs:
        return self.count.each(lambda part: part[:, None]) if self.is_matrix else self.count

    def _product(self, one: Pairs, other: Pairs) -> Pairs:
        if not self.is_matrix:
            return one * other
        return one.each(lambda part: part[..., :, None]) * other.each(lambda part: part[..., None, :])

    def _about_common(self, other: CentredSums) -> tuple[CentredSums, CentredSums]:
        """Move both to the pivots of the first, or to those of the second where the first has no rows."""
        pivot = np.where(self._count_of_features.high > 0, self.pivot, other.pivot)
        pivot = np.where(other._count_of_features.high > 0, pivot, self.pivot)
        return self.about(pivot), other.about(pivot)

    def _near_the_mean(self) -> CentredSums:
        """Move the pivot to the mean where it lies so far away that digits would be lost."""
        count, mean, scatter = self.moments
        squares = np.linalg.diagonal(scatter) if self.is_matrix else scatter
        square = (mean - self.pivot) ** 2
        far = square * (count[:, None] if self.is_matrix else count) / _DRIFTED > squares
        return self.about(np.where(far & (squares > 0), mean, self.pivot)) if far.any() else self

    def _without_empty_classes(self) -> CentredSums:
        """Put exact zeros where no weight is left.

        Raises
        ------
        ValueError
            If more was taken away than there was, or something else.
        """
        if (self.count.high < -self.count.error).any():
            refuse_rows_never_added(f"a count would become {self.count.high.min():g}")
        left, cells = ~self.count.is_zero, ~self._count_of_features.is_zero
        stray = ~self.first.is_zero
        if not self.is_tied:
            stray = stray | ~self._squares(self.second).is_zero
        if (stray & ~cells).any():
            refuse_rows_never_added("no row would be left of a class, but a sum over its values would")
        per_square = left.any(0) if self.is_tied else left[:, None, None] if self.is_matrix else left
        return CentredSums(
            self.pivot, self.count.where(left), self.first.where(cells), self.second.where(per_square)
        )

    def _doubtful(self, rounding: float, spread: float = 1.0) -> CentredSums:
        """Return the same sums with larger errors: by ``rounding`` times the magnitudes of what they were made of.

        ``spread`` times the second sums are the squares that were summed.
        """
        squares = spread * np.abs(np.linalg.diagonal(self.second.high) if self.is_matrix else self.second.high)
        count = self._count_of_features.high
        sizes = np.sqrt(squares)
        of_squares = sizes[..., :, None] * sizes[..., None, :] if self.is_matrix else squares
        return CentredSums(
            self.pivot,
            self.count.doubtful(rounding * self.count.high),
            self.first.doubtful(rounding * np.sqrt(count) * sizes),
            self.second.doubtful(rounding * of_squares),
        )


def _first_values(weight: Array, values: Array, codes: Array, n_classes: int) -> Array:
    """Find the first present value of every class and column; zero where there is none."""
    pivot = np.zeros((n_classes, values.shape[1]))
    present = np.broadcast_to(weight[:, None] if weight.ndim == 1 else weight, values.shape) > 0
    rows, columns = (found[::-1] for found in np.nonzero(present))  # backwards, so that the first one stays
    pivot[codes[rows], columns] = values[rows, columns]
    return pivot
