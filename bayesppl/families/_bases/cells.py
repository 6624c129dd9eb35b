r"""Rows as cells that count by themselves: sums over the rows of classes, and over the cells of rows, dense or sparse.

In a sparse table a cell that is not stored is a zero, and the zeros of a column are all alike. A sum over the cells of a row is
therefore that of a row of zeros, corrected where a count is stored,

.. math:: \sum_d f_d(x_d) = \sum_d f_d(0) + \sum_{d\ \text{stored}} \bigl(f_d(x_d) - f_d(0)\bigr),

so that its cost follows the stored counts, and nothing of the size of the table is ever held.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from bayesppl.conjugate.statistics import remainder
from bayesppl.families._bases import leave_one_out
from bayesppl.families._bases.one_parameter import LogFactors
from bayesppl.kernels import blocks
from bayesppl.kernels.arrays import Array, Responsibilities, dot_log, times_transposed
from bayesppl.kernels.class_sums import class_sums

#: From statistics of cells, and the columns these are in, to a number for each cell.
OfCells = Callable[[Any, Any], Array]

#: From cells, and a number for each that belongs to its row or column, to their statistics.
Count = Callable[[Array, Array], Any]


class Cells(ABC):
    """Some rows, as the statistics of their cells."""

    @abstractmethod
    def sum_rows(self, responsibilities: Responsibilities) -> Any:
        """Statistics of the classes: (n_classes, n_features) each."""

    @abstractmethod
    def log_sum(self, of_cells: OfCells) -> Array:
        """The sum of a function of cells over each row: (n_rows,)."""

    @abstractmethod
    def log_product(self, log_factors: LogFactors) -> Array:
        """The logarithm of the product of the factors, to the powers of the statistics: (..., n_rows, n_classes)."""


@dataclass(frozen=True, eq=False)
class DenseCells(Cells):
    """Every cell of the rows: (n_rows, n_features) statistics."""

    statistics: Any

    def sum_rows(self, responsibilities: Responsibilities) -> Any:
        return self.statistics.sum_rows(responsibilities)

    def log_sum(self, of_cells: OfCells) -> Array:
        return of_cells(self.statistics, slice(None)).sum(1)

    def log_product(self, log_factors: LogFactors) -> Array:
        first, second, _ = self.statistics.values()
        return dot_log(first, log_factors[0]) + dot_log(second, log_factors[1])


@dataclass(frozen=True, eq=False)
class SparseCells(Cells):
    """The stored cells of the rows, and a row of zeros.

    Attributes
    ----------
    X : (n_rows, n_features) CSR, in which each cell is stored at most once
    stored : statistics of the stored cells, (n_stored,) each
    zeros : statistics of a row of zeros, (n_features,) each
    """

    X: csr_array
    stored: Any
    zeros: Any

    @classmethod
    def of(cls, X: csr_array, count: Count, numbers: Array) -> SparseCells:
        """Count the cells, given the number that belongs to each column."""
        numbers = np.broadcast_to(numbers, X.shape[1:])
        stored = count(X.data.astype(np.float64), numbers[X.indices])
        return cls(X, stored, count(np.zeros(X.shape[1]), numbers))

    def sum_rows(self, responsibilities: Responsibilities) -> Any:
        weights = np.asarray(responsibilities.sum(axis=0), dtype=np.float64)[:, None]
        # what a class has of zeros, and not a difference of sums: neither can become negative
        of_zeros = remainder(weights, class_sums(responsibilities, self._matrix(np.ones(self.X.nnz))))
        return type(self.stored)(
            *(
                of_zeros * zero + class_sums(responsibilities, self._matrix(stored))
                for zero, stored in zip(self.zeros.values(), self.stored.values(), strict=True)
            )
        )

    def log_sum(self, of_cells: OfCells) -> Array:
        of_zeros = of_cells(self.zeros, slice(None))
        change = of_cells(self.stored, self.X.indices) - of_zeros[self.X.indices]
        return np.asarray(of_zeros.sum() + np.bincount(self._rows, change, minlength=self.X.shape[0]))

    def log_product(self, log_factors: LogFactors) -> Array:
        first, second = (
            self._log_power(stored, zero, log_factor)
            for stored, zero, log_factor in zip(
                self.stored.values(), self.zeros.values(), log_factors, strict=False
            )
        )
        return first + second

    def _log_power(self, stored: Array, zero: Array, log_factor: Array) -> Array:
        """Σ_d exponent · log factor of every row, with 0 · log 0 = 0: (..., n_rows, n_classes)."""
        barred = np.isneginf(log_factor)
        out = self._linear(stored, zero, np.where(barred, 0.0, log_factor))
        if barred.any():  # what must not occur is counted, for infinities have no differences
            out[self._linear(1.0 * (stored > 0), 1.0 * (zero > 0), 1.0 * barred) > 0.5] = -np.inf
        return out

    def _linear(self, stored: Array, zero: Array, weights: Array) -> Array:
        change = self._matrix(stored - zero[self.X.indices])
        return times_transposed(change, weights) + (weights @ zero)[..., None, :]

    def _matrix(self, values: Array) -> csr_array:
        """These values in place of those stored."""
        return csr_array((values, self.X.indices, self.X.indptr), shape=self.X.shape)

    @property
    def _rows(self) -> Array:
        return np.repeat(np.arange(self.X.shape[0]), np.diff(self.X.indptr))


def cell_blocks(X: Any) -> Iterator[slice]:
    """Blocks of rows small enough for temporaries of several times their cells, or their stored cells."""
    if not issparse(X):
        return leave_one_out.row_blocks(X)
    return blocks.row_blocks(X.shape[0], X.nnz // max(1, X.shape[0]), 2 * blocks.BLOCK_CELLS)


def stored_once(X: csr_array) -> csr_array:
    """The same counts, each cell stored at most once."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X
