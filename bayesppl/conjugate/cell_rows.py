r"""Rows whose likelihood is a product over cells, dense or sparse.

A cell counts as two numbers of an exponential family, successes and failures or events and an exposure, and is
worth

.. math:: p(x \mid \theta) = h(x)\, f_1(\theta)^{s_1(x)}\, f_2(\theta)^{s_2(x)} .

In a sparse table a cell that is not stored is a zero, and the zeros of a column are all alike. A sum over the
cells of a row is therefore that of a row of zeros, corrected where a count is stored,

.. math:: \sum_d g_d(x_d) = \sum_d g_d(0) + \sum_{d\ \text{stored}} \bigl(g_d(x_d) - g_d(0)\bigr),

so that its cost follows the stored counts, and nothing of the size of the table is ever held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from scipy.sparse import csr_array
from scipy.special import log_expit

from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.row_statistics import SingleRows, in_blocks
from bayesppl.conjugate.statistics import remainder
from bayesppl.kernels import ranges
from bayesppl.kernels.arrays import (
    Array,
    Responsibilities,
    dense,
    dot_log,
    times_transposed,
)
from bayesppl.kernels.class_sums import class_sums

#: Logarithms of the two factors that a cell's two statistics are exponents of.
LogFactors = tuple[Array, Array]

#: From cells that are present, and the number that belongs to each, to their statistics.
Count = Callable[[Array, Array], Any]

#: From statistics of cells, and the columns these are in, to a number for each cell.
OfCells = Callable[[Any, Any], Array]


@dataclass(frozen=True, eq=False)
class DenseCells(SingleRows):
    """Rows all of whose cells are held, NaN where one is missing.

    Attributes
    ----------
    X : (n_rows, n_columns)
    split : callable
        From some rows to their cells and the number that belongs to each, in float64.
    count : callable
    """

    X: Array
    split: Callable[[Array], tuple[Array, Array]]
    count: Count

    @final
    def blocks(self) -> Iterator[tuple[slice, Any]]:
        for block in dense_blocks(self.X):
            yield block, self._counted(self.X[block])

    @final
    def sum_rows(self, responsibilities: Responsibilities) -> Any:
        total = self._counted(self.X[:0]).sum_rows(responsibilities[:0])
        for block, statistics in self.blocks():
            total = total + statistics.sum_rows(responsibilities[block])
        return total

    @staticmethod
    def log_likelihood(log_factors: LogFactors) -> LogDensity:
        """Return the density of rows under these factors, (..., n_classes, n_features) each."""

        def log_mass(statistics: Any) -> Array:
            first, second, _ = statistics.values()
            return np.asarray(dot_log(first, log_factors[0]) + dot_log(second, log_factors[1]))

        return in_blocks(log_mass, lambda statistics: statistics.log_base.sum(1), log_factors[0].shape[:-1])

    def _counted(self, X: Array) -> Any:
        """Count the cells of some rows, with zeros where a cell is missing."""
        cells, numbers = self.split(X)
        present = ~np.isnan(cells)
        if present.all():
            return self.count(cells, numbers)
        counted = self.count(cells[present], numbers[present])
        return type(counted)(*(_put(values, present) for values in counted.values()))


def _put(values: Array, present: Array) -> Array:
    out = np.zeros(present.shape)
    out[present] = values
    return out


class StoredCells(NamedTuple):
    """Some sparse rows, as the statistics of their stored cells and of a row of zeros.

    Attributes
    ----------
    X : (n_rows, n_features) CSR
    stored : statistics, (n_stored,) each
    zeros : statistics, (n_features,) each
    """

    X: csr_array
    stored: Any
    zeros: Any

    def log_sum(self, of_cells: OfCells) -> Array:
        """Sum a function of cells over each row: (n_rows,)."""
        of_zeros = of_cells(self.zeros, slice(None))
        change = of_cells(self.stored, self.X.indices) - of_zeros[self.X.indices]
        rows = np.repeat(np.arange(self.X.shape[0]), np.diff(self.X.indptr))
        return np.asarray(of_zeros.sum() + np.bincount(rows, change, minlength=self.X.shape[0]))

    def log_power(self, stored: Array, zero: Array, log_factor: Array) -> Array:
        """Compute Σ_d exponent · log factor of every row, with 0 · log 0 = 0: (..., n_rows, n_classes)."""
        barred = np.isneginf(log_factor)
        out = self._linear(stored, zero, np.where(barred, 0.0, log_factor))
        if barred.any():  # what must not occur is counted, for infinities have no differences
            out[self._linear(1.0 * (stored > 0), 1.0 * (zero > 0), 1.0 * barred) > 0.5] = -np.inf
        return out

    def matrix(self, values: Array) -> csr_array:
        """Return the sparse matrix of the rows, with these values in place of those stored."""
        return csr_array((values, self.X.indices, self.X.indptr), shape=self.X.shape)

    def _linear(self, stored: Array, zero: Array, weights: Array) -> Array:
        change = self.matrix(stored - zero[self.X.indices])
        return times_transposed(change, weights) + (weights @ zero)[..., None, :]


@dataclass(frozen=True, eq=False)
class SparseCells(SingleRows):
    """Rows whose cells are zero where none is stored.

    Attributes
    ----------
    X : (n_rows, n_features) CSR, in which each cell is stored at most once
    numbers : (n_features,) or (1,)
        The number that belongs to the cells of each column.
    count : callable
    """

    X: csr_array
    numbers: Array
    count: Count

    @final
    def blocks(self) -> Iterator[tuple[slice, Any]]:
        numbers = np.broadcast_to(self.numbers, self.X.shape[1:])
        for block in dense_blocks(self.X):
            cells = dense(self.X[block]).astype(np.float64)
            yield block, self.count(cells, np.broadcast_to(numbers, cells.shape))

    @final
    def counted(self) -> Iterator[tuple[slice, StoredCells]]:
        """Yield the stored cells of some rows at a time."""
        for block in ranges.row_blocks(len(self), self.X.nnz // max(1, len(self)), 2 * ranges.BLOCK_CELLS):
            yield block, self._counted(self.X[block])

    @final
    def sum_rows(self, responsibilities: Responsibilities) -> Any:
        total = _sum_stored(self._counted(self.X[:0]), responsibilities[:0])
        for block, cells in self.counted():
            total = total + _sum_stored(cells, responsibilities[block])
        return total

    @staticmethod
    def log_likelihood(log_factors: LogFactors) -> LogDensity:
        """Return the density of rows under these factors, (..., n_classes, n_features) each."""

        def log_mass(cells: StoredCells) -> Array:
            exponents = zip(cells.stored.values(), cells.zeros.values(), log_factors, strict=False)
            return np.asarray(sum(cells.log_power(*exponent) for exponent in exponents))

        return in_blocks(log_mass, _log_base, log_factors[0].shape[:-1], SparseCells.counted)

    def _counted(self, X: csr_array) -> StoredCells:
        numbers = np.broadcast_to(self.numbers, X.shape[1:])
        stored = self.count(X.data.astype(np.float64), numbers[X.indices])
        return StoredCells(X, stored, self.count(np.zeros(X.shape[1]), numbers))


def _sum_stored(cells: StoredCells, responsibilities: Responsibilities) -> Any:
    weights = np.asarray(responsibilities.sum(axis=0), dtype=np.float64)[:, None]
    # weights of zeros and of stored cells are added, for a difference of sums could become negative
    of_zeros = remainder(weights, class_sums(responsibilities, cells.matrix(np.ones(cells.X.nnz))))
    return type(cells.stored)(
        *(
            of_zeros * zero + class_sums(responsibilities, cells.matrix(stored))
            for zero, stored in zip(cells.zeros.values(), cells.stored.values(), strict=True)
        )
    )


def _log_base(cells: StoredCells) -> Array:
    return cells.log_sum(lambda statistics, _: np.asarray(statistics.log_base))


def sparse_log_predictive(posterior: Any) -> LogDensity:
    """Return the log predictive of sparse cells, at the cost of those that are stored."""

    def log_increment(k: int, cells: Any, columns: Any) -> Array:
        return np.asarray(posterior.at(k, columns).log_increment(cells))

    return _by_class(log_increment, posterior)


def sparse_average(posterior: Any, common: Any, log_odds: Array) -> LogDensity:
    """Return the inclusion-averaged predictive of sparse cells, at the cost of those that are stored."""
    relevant, irrelevant = log_expit(log_odds), log_expit(-log_odds)

    def mixed(k: int, cells: Any, columns: Any) -> Array:
        apart = relevant[columns] + posterior.at(k, columns).log_increment(cells)
        alike = irrelevant[columns] + common.at(0, columns).log_increment(cells)
        return np.asarray(np.logaddexp(apart, alike))

    return _by_class(mixed, posterior)


def _by_class(of_cells: Callable[[int, Any, Any], Array], posterior: Any) -> LogDensity:
    """Return the density of sparse rows from that of the cells of every class, up to their base measure."""
    n_classes = len(posterior.is_proper())

    def log_mass(cells: StoredCells) -> Array:
        return np.stack([cells.log_sum(partial(of_cells, k)) for k in range(n_classes)], axis=-1)

    return in_blocks(log_mass, _log_base, (n_classes,), SparseCells.counted)


def sparse_leave_one_out(
    posterior: Any, statistics: Any, rows: SparseCells, members: Membership
) -> tuple[Array, Array] | None:
    """Leave sparse rows out; the zeros of rows of one class and one weight share one posterior."""
    if members.few_weights is None:
        return None

    def left_out(group: int, cells: Any, columns: Any) -> Array:
        belief = posterior.at(groups.classes[group], columns)
        with np.errstate(divide="ignore", invalid="ignore"):  # where rounding leaves nothing of the class
            remaining = belief.update(cells.scale(-groups.weights[group]))
            return np.asarray(remaining.log_increment(cells) + cells.log_base)

    groups, own = members.groups, np.empty(len(rows))
    for group in np.unique(groups.of_rows):
        of_group = np.flatnonzero(groups.of_rows == group)
        for block, cells in SparseCells(rows.X[of_group], rows.numbers, rows.count).counted():
            own[of_group[block]] = cells.log_sum(partial(left_out, group))
    fitted = sparse_log_predictive(posterior)(rows)
    return fitted, members.replaced(fitted, own)


def dense_blocks(X: Any) -> Iterator[slice]:
    """Divide the rows into blocks small enough for dense temporaries of several times their size."""
    return ranges.row_blocks(X.shape[0], X.shape[1], 2 * ranges.BLOCK_CELLS)
