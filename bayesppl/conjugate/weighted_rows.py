"""Rows as statistics of themselves, for families that no sum describes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from bayesppl.conjugate.row_statistics import RowStatistics
from bayesppl.conjugate.statistics import ROUNDING, Statistics, refuse_rows_never_added
from bayesppl.kernels.arrays import Array, Responsibilities
from bayesppl.kernels.missing import refuse_gaps


@dataclass(frozen=True, eq=False)
class PlainRows(RowStatistics):
    """Rows that are their own statistics.

    Attributes
    ----------
    X : (n_rows, n_features)
    columns : tuple
        Their names.
    refusal : str
        The reason given where rows with missing cells are refused.
    """

    X: Any
    columns: tuple[Hashable, ...]
    refusal: str

    @final
    def sum_rows(self, responsibilities: Responsibilities) -> WeightedRows:
        refuse_gaps(self.X, self.columns, self.refusal)
        return WeightedRows.of(self.X, responsibilities)


@dataclass(frozen=True, eq=False)
class WeightedRows(Statistics):
    """Encoded rows with their classes and weights; a sum is a union of rows.

    Attributes
    ----------
    X : (n_rows, n_features)
    codes : (n_rows,)
        Index of the class of each row.
    weights : (n_rows,)
    n_classes : int
    """

    X: Array
    codes: Array
    weights: Array
    n_classes: int

    @classmethod
    def of(cls, X: Any, responsibilities: Responsibilities) -> Self:
        """Repeat rows under every class to which they belong with a weight."""
        entries = responsibilities.tocoo()
        kept = np.flatnonzero(entries.data)
        codes = entries.col[kept].astype(np.intp)
        return cls(np.asarray(X)[entries.row[kept]], codes, entries.data[kept], responsibilities.shape[1])

    def __add__(self, other: Self) -> Self:
        return replace(
            self,
            X=np.concatenate([self.X, other.X]),
            codes=np.concatenate([self.codes, other.codes]),
            weights=np.concatenate([self.weights, other.weights]),
        )

    def __sub__(self, other: Self) -> Self:
        both = (self + other.scale(-1.0)).merged()
        tolerance = ROUNDING * max(np.abs(self.weights).max(initial=0.0), 1e-300)
        if (both.weights < -tolerance).any():
            refuse_rows_never_added(f"the weight of a row would become {both.weights.min():g}")
        return both._at(both.weights > tolerance)

    def scale(self, factor: float) -> Self:
        return replace(self, weights=factor * self.weights)

    def tracked(self, n_rows: int = 0) -> Self:
        return self

    @property
    def relative_error(self) -> float:
        return 0.0  # rows come and go as they are

    def of_classes(self, codes: Array, n_classes: int) -> Self:
        return replace(self, codes=codes[self.codes], n_classes=n_classes)

    def pooled(self) -> Self:
        return replace(self, codes=np.zeros_like(self.codes), n_classes=1)

    def with_classes(self, n_classes: int, codes: Array) -> Self:
        return self.of_classes(codes, n_classes)

    def merged(self) -> Self:
        """Sort the rows, and merge equal ones of a class into one row with the weight of all."""
        table = np.column_stack([self.codes, self.X + 0.0])  # minus zero is zero
        _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
        weights = np.bincount(group.ravel(), self.weights, minlength=len(first))
        return replace(self._at(first), weights=weights)

    def sum_by_class(self, values: Array) -> Array:
        """Sum values of the rows by class, with their weights: (n_classes, ...)."""
        out = np.zeros((self.n_classes, *values.shape[1:]), dtype=values.dtype)
        np.add.at(out, self.codes, self.weights.reshape(-1, *[1] * (values.ndim - 1)) * values)
        return out

    def median_and_spread(self) -> tuple[Array, Array]:
        """Return the median and the scaled interquartile range of every column: (n_features,) each.

        Of a column half of whose cells are equal the standard deviation stands in, and of a constant one its
        magnitude (or one, where it is all zero), so that changing the units of the column changes nothing.
        """
        if not len(self.X):
            return np.zeros(self.X.shape[1]), np.ones(self.X.shape[1])
        values = np.asarray(self.X, dtype=np.float64)
        low, median, high = self._quartiles()
        spread = (high - low) / 1.349
        squares = (values - np.average(values, axis=0, weights=self.weights)) ** 2
        spread = np.where(spread > 0, spread, np.sqrt(np.average(squares, axis=0, weights=self.weights)))
        spread = np.where(spread > ROUNDING * np.abs(median), spread, np.abs(median))
        return median, np.where(spread > 0, spread, 1.0)

    def spread_within(self, centre: Array, spread: Array) -> tuple[Array, Array]:
        """Return the medians of the classes, and the spread about them: (n_classes, n_features), (n_features,).

        A class without rows has the median of all rows, ``centre``. Where all cells are the medians of their
        classes, the spread is that of all rows, ``spread``; see :meth:`median_and_spread`.
        """
        medians = np.tile(centre, (self.n_classes, 1))
        for k in np.unique(self.codes):
            medians[k] = self._at(self.codes == k)._quartiles()[1]
        away = np.asarray(self.X, dtype=np.float64) - medians[self.codes]
        varies = np.abs(away).max(0, initial=0.0) > ROUNDING * np.abs(centre)
        return medians, np.where(varies, replace(self, X=away).median_and_spread()[1], spread)

    def _quartiles(self) -> Array:
        """Return the quartiles of every column: (3, n_features)."""
        values = np.asarray(self.X, dtype=np.float64)
        return np.transpose([_quartiles(column, self.weights) for column in values.T])

    def _at(self, rows: Array) -> Self:
        return replace(self, X=self.X[rows], codes=self.codes[rows], weights=self.weights[rows])


def _quartiles(values: Array, weights: Array) -> Array:
    """Return the quartiles of weighted values; halfway where one lies between two, up to rounding: (3,)."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    levels = np.array([0.25, 0.5, 0.75])
    lower, upper = np.searchsorted(share, levels - ROUNDING), np.searchsorted(share, levels + ROUNDING)
    return np.asarray((values[order[lower]] + values[order[upper]]) / 2)
