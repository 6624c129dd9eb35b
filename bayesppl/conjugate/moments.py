"""Centred moments of every class: counts, means and scatters."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np

from bayesppl.conjugate.centred_sums import CentredSums
from bayesppl.conjugate.row_statistics import RowStatistics, SingleRows, sum_shares
from bayesppl.conjugate.statistics import Statistics, column, rounding_of_sum, under_codes
from bayesppl.kernels.arrays import LOG_2PI, Array, Responsibilities
from bayesppl.kernels.cell_moments import diagonal
from bayesppl.kernels.class_moments import products, shared
from bayesppl.kernels.missing import refuse_gaps
from bayesppl.kernels.ranges import BLOCK_CELLS, row_blocks

#: Columns whose covariance matrix takes 8 GiB.
_MOST_CORRELATED = 1 << 15


@dataclass(frozen=True, eq=False)
class Moments(Statistics):
    r"""Count, mean and centred second moment of every class.

    Attributes
    ----------
    count : (n_classes, n_features) or (n_classes,)
        Total weight; per feature where the scatter is a vector (cells may be missing), per class where it is
        a matrix.
    mean : (n_classes, n_features)
        Weighted mean; zero where the count is zero.
    scatter : (n_classes, n_features), (n_features,), (n_classes, n_features, n_features) or (n_features,
    n_features)
        Sum of (products of) deviations *from the class mean*; without a class axis it is summed over classes
        ("tied").

    Notes
    -----
    Raw sums of squares never appear. Two sets of rows are merged by the update of Chan, Golub & LeVeque (1983):
    :math:`S = S_a + S_b + \frac{n_a n_b}{n_a + n_b} \delta\delta^\top` with
    :math:`\delta = \bar x_b - \bar x_a`.

    Normal rows whose covariance is divided by a weight of the row enter count, mean and scatter with that weight;
    ``spare`` holds how many rows there are beyond the count.
    """

    #: Whether h(x) holds the Jacobian 1/x of every cell.
    are_of_logarithms: ClassVar[bool] = False

    count: Array
    mean: Array
    scatter: Array
    sums: CentredSums | None = None
    spare: Array | float = 0.0

    @property
    def n_rows(self) -> Array:
        """Count the rows, whatever their covariances were divided by: of the shape of ``count``."""
        return self.count + self.spare

    @property
    def n_seen(self) -> Array:
        """Count the classes that have rows, at least one: (n_features,), or () where the scatter is a matrix."""
        return np.maximum(np.count_nonzero(self.count, axis=0), 1)

    @property
    def is_matrix(self) -> bool:
        """Whether the scatter holds products of features (full covariance)."""
        return self.count.ndim == 1

    @property
    def is_tied(self) -> bool:
        """Whether the scatter is summed over classes."""
        return self.scatter.ndim == (2 if self.is_matrix else 1)

    def is_within(self, largest: float, responsibilities: Responsibilities) -> bool:
        """Whether these sums imply that every number of the rows is smaller than this in magnitude, or missing.

        No number is further from the mean of its class than the square root of the scatter over the weight. Sums
        show neither rows of no class nor cells that count nothing, as infinities may: the answer is no then.

        Parameters
        ----------
        largest : float
        responsibilities : (n_rows, n_classes)
            Of the rows that were summed.
        """
        empty = (self.count <= 0).any(tuple(range(1, self.count.ndim)))
        if responsibilities.nnz < responsibilities.shape[0] or not (np.abs(self.mean) < largest / 2).all():
            return False
        if empty.any() and empty[responsibilities.indices].any():
            return False
        squares = np.linalg.diagonal(self.scatter) if self.is_matrix else self.scatter
        furthest = np.sqrt(squares / responsibilities.data.min(initial=1.0))
        return bool((furthest < largest / 2).all() and np.isfinite(self.scatter).all())

    @property
    def log_base(self) -> Array:
        """Sum log h(x), with h = (2π)^(-1/2) for every cell, times the Jacobian of logarithms."""
        n_features = self.mean.shape[1] if self.is_matrix else 1
        log_base = -0.5 * LOG_2PI * n_features * self.count
        return log_base + self.log_jacobian if self.are_of_logarithms else log_base

    @property
    def log_jacobian(self) -> Array:
        """Sum −log x where these are moments of log x: minus the count times the mean."""
        return -self.count * (self.mean.sum(1) if self.is_matrix else self.mean)

    def with_base(self, log_base: Array) -> LogMoments:
        """Return the moments as those of logarithms; the sums of their Jacobian need not be kept."""
        return LogMoments(self.count, self.mean, self.scatter, self.sums)

    def tracked(self, n_rows: int = 0) -> Self:
        return replace(self, sums=self._centred(n_rows))

    @property
    def relative_error(self) -> float:
        return 0.0 if self.sums is None else self.sums.relative_error

    def of_classes(self, codes: Array, n_classes: int) -> Self:
        return self._of(CentredSums.of_rows(self.count, self.mean, self.scatter, codes, n_classes))

    def sum_rows(self, responsibilities: Responsibilities) -> Moments:
        """Sum statistics of single rows of weight one into those of classes."""
        X = np.where(column(self.count) > 0, self.mean, np.nan)
        return moments(X, responsibilities, matrix=self.is_matrix, tied=False)

    def __add__(self, other: Self) -> Self:
        if self.sums is None and other.sums is None:
            return self.merged(other)
        return replace(self._of(self._centred() + other._centred()), spare=self.spare + other.spare)

    def __sub__(self, other: Self) -> Self:
        return replace(self._of(self._centred() - other._centred()), spare=self.spare - other.spare)

    def merged(self, other: Moments) -> Self:
        """Return the moments of both sets of rows, in ordinary numbers.

        A prior that is worth rows merges with them in the same way.
        """
        count = self.count + other.count
        present = count > 0
        share = np.divide(other.count, count, out=np.zeros_like(count), where=present)
        delta = other.mean - self.mean
        mean = np.where(column(present), self.mean + column(share) * delta, 0.0)
        between = _per_scatter(self.count * share, self.is_matrix) * self._product(delta)
        if self.is_tied:
            between = between.sum(0)
        scatter = self.scatter + other.scatter + between
        return type(self)(count, mean, scatter, spare=self.spare + other.spare)

    def scale(self, factor: float) -> Self:
        if self.sums is not None:
            return replace(self._of(self.sums.scale(factor)), spare=factor * self.spare)
        return type(self)(factor * self.count, self.mean, factor * self.scatter, spare=factor * self.spare)

    def with_classes(self, n_classes: int, codes: Array) -> Self:
        spare = under_codes(np.asarray(self.spare), n_classes, codes)
        if self.sums is not None:
            return replace(self._of(self.sums.with_classes(n_classes, codes)), spare=spare)
        scatter = self.scatter if self.is_tied else under_codes(self.scatter, n_classes, codes)
        count, mean = (under_codes(values, n_classes, codes) for values in (self.count, self.mean))
        return type(self)(count, mean, scatter, spare=spare)

    @property
    def within(self) -> Array:
        """Sum the scatter about the class means over classes: (n_features,) or (n_features, n_features)."""
        return self.scatter if self.is_tied else np.asarray(self.scatter.sum(0))

    def pooled(self) -> Self:
        count = self.count.sum(0, keepdims=True)
        # from the mean of one class, so that the mean of a constant column has no rounding error
        most = column(self.count).argmax(0)[None]
        start = np.take_along_axis(self.mean, np.broadcast_to(most, (1, self.mean.shape[1])), axis=0)
        apart = self._beyond_rounding(self.mean - start, most)
        shift = (column(self.count) * apart).sum(0, keepdims=True) / column(np.where(count > 0, count, 1.0))
        mean = start + shift
        between = (_per_scatter(self.count, self.is_matrix) * self._product(apart - shift)).sum(0)
        total = self.within + between
        spare = np.asarray(np.sum(self.spare))
        return type(self)(count, mean, total if self.is_tied else total[None], spare=spare)

    def _beyond_rounding(self, apart: Array, most: Array) -> Array:
        """Put zero where distances of means from that of a class are no more than their rounding."""
        if self.sums is None:
            return apart
        error = self.sums.shift.error
        error = error + np.take_along_axis(error, np.broadcast_to(most, (1, error.shape[1])), axis=0)
        last_bit = 2.0**-52 * np.abs(self.mean)
        return np.where(np.abs(apart) > np.where(error > 0, error + last_bit, 0.0), apart, 0.0)

    def _centred(self, n_rows: int = 0) -> CentredSums:
        if self.sums is not None:
            return self.sums
        return CentredSums.of_moments(self.count, self.mean, self.scatter, rounding_of_sum(n_rows))

    def _of(self, sums: CentredSums) -> Self:
        return type(self)(*sums.moments, sums)

    def _product(self, deviation: Array) -> Array:
        return deviation[..., :, None] * deviation[..., None, :] if self.is_matrix else deviation**2


def degrees(count: Array) -> Array:
    """Return what sums of squares of rows of this total weight are divided by to estimate a variance.

    It is one less than the number of rows; but weights that add up to less than two would then be divided by next
    to nothing, or less. They count as if they added up to two, so that the estimate is continuous in the weights.
    """
    return np.maximum(count - 1, np.where(count > 0, count / 2, 1.0))


def degrees_within(count: Array) -> Array:
    """Return the degrees of freedom of the scatter of so many rows: of one row there are none."""
    return np.maximum(count - 1, 0.0)


@final
@dataclass(frozen=True, eq=False)
class LogMoments(Moments):
    """Moments of logarithms, as statistics of the numbers themselves."""

    are_of_logarithms: ClassVar[bool] = True


@final
@dataclass(frozen=True, eq=False)
class NumberRows(SingleRows):
    """Rows of numbers, of which moments are sums; NaN marks a missing cell.

    Attributes
    ----------
    X : (n_rows, n_features)
    is_matrix, is_tied : bool
        Whether sums have products of features, and whether they are summed over classes.
    columns : tuple
        Their names.
    refusal : str
        The reason given where rows with missing cells are refused, because products of features are summed.
    """

    X: Array
    is_matrix: bool
    is_tied: bool
    columns: tuple[Hashable, ...] = ()
    refusal: str = ""

    def __getitem__(self, rows: Any) -> NumberRows:
        return replace(self, X=self.X[rows])

    def sum_rows(self, responsibilities: Responsibilities) -> Moments:
        if self.is_matrix:
            refuse_gaps(self.X, self.columns, self.refusal)
        return self.sums(responsibilities)

    def sums(self, responsibilities: Responsibilities) -> Moments:
        """Sum the rows without looking for missing cells, which products of features carry into the sums."""
        n_columns = self.X.shape[1]
        if self.is_matrix and n_columns > _MOST_CORRELATED:
            raise ValueError(
                f"a covariance matrix of {n_columns:,} columns takes {8 * n_columns**2 / 2**30:,.1f} GiB"
                f"{'' if self.is_tied else ' for every class'}; at most {_MOST_CORRELATED:,} columns are taken. "
                "Use a diagonal covariance (bayesppl.GaussianNB), or fewer columns, such as principal components"
            )
        return moments(self.X, responsibilities, matrix=self.is_matrix, tied=self.is_tied)

    def blocks(self) -> Iterator[tuple[slice, Moments]]:
        n_features = self.X.shape[1]
        for block in row_blocks(len(self.X), n_features ** (2 if self.is_matrix else 1), 2 * BLOCK_CELLS):
            X = self.X[block].astype(np.float64, copy=False)
            if self.is_matrix:
                yield block, Moments(np.ones(len(X)), X, np.zeros((*X.shape, n_features)))
            else:
                present = ~np.isnan(X)
                yield block, Moments(present.astype(np.float64), np.where(present, X, 0.0), np.zeros(X.shape))


@sum_shares.register
def _(rows: NumberRows, shares: Array) -> Moments:
    with np.errstate(over="ignore", invalid="ignore"):  # as in moments
        found = shared(rows.X, shares, rows.is_matrix, rows.is_tied) if len(rows) else None
    return sum_shares.dispatch(RowStatistics)(rows, shares) if found is None else Moments(*found)


def moments(X: Array, responsibilities: Responsibilities, *, matrix: bool, tied: bool) -> Moments:
    """Compute the centred moments of every class.

    Parameters
    ----------
    X : (n_rows, n_features)
        NaN marks a missing cell, which is skipped; only a vector of scatters (``matrix=False``) allows it.
    matrix : bool
        Whether to keep products of features.
    tied : bool
        Whether to sum the scatter over classes.
    """
    # sums that overflow are refused when the prior is resolved, which names the column
    with np.errstate(over="ignore", invalid="ignore"):
        if matrix:
            return Moments(*products(X, responsibilities, tied))
        count, mean, scatter = diagonal(X, responsibilities)
    return Moments(count, mean, scatter.sum(0) if tied else scatter)


def _per_scatter(values: Array, matrix: bool) -> Array:
    return values[:, None, None] if matrix else values
