"""Combinations of the levels of several columns, each a level of one column."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from bayesppl.data.read_table import as_table
from bayesppl.data.recoding import LEAST_CODE, Recoding
from bayesppl.data.table import MatrixTable, Table
from bayesppl.kernels.arrays import Array


@dataclass(eq=False, repr=False)
class Crossed(BaseEstimator):
    """Recode columns to levels, and add all combinations of so many of them.

    Parameters
    ----------
    recoding : Recoding
        To codes, without gaps.
    order : int
        How many columns are combined.

    Attributes
    ----------
    n_levels_ : tuple of int
        Of every recoded column; codes beyond are the last.

    Examples
    --------
    >>> from bayesppl.data.recoding import Recoding
    >>> X = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]]
    >>> Crossed(Recoding("bin_filled", "code_filled"), order=2).fit(X).transform(X).numeric().tolist()
    [[2.0, 2.0, 10.0], [2.0, 3.0, 11.0], [3.0, 2.0, 14.0], [3.0, 3.0, 15.0]]
    """

    recoding: Recoding
    order: int = 3
    n_levels_: tuple[int, ...] = field(default=(), init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Read the levels of a table; labels have no part in it."""
        self.recoding.fit(X)
        return self.adopt(as_table(X))

    def adopt(self, table: Table) -> Self:
        """Count the levels of a table whose columns were read before."""
        self.n_levels_ = tuple((self._codes(table).max(0) + 1).tolist())
        return self

    def transform(self, X: Any) -> Table:
        """Recode rows; columns are numbered."""
        sizes = np.array(self.n_levels_)
        codes = np.minimum(self._codes(X), sizes - 1)
        made = [
            np.ravel_multi_index(tuple(codes[:, list(some)].T), tuple(sizes[list(some)]))
            for some in self._combined(range(len(sizes)))
        ]
        cells = np.column_stack([codes, *made]).astype(np.float64)
        names = tuple(range(cells.shape[1]))
        return MatrixTable(names, cells, True, frozenset(names))

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Name the columns of a table that matter: those that varied."""
        return self.recoding.columns_read(names)

    def origins(self, names: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
        """Name the columns that each column is made of."""
        own = self.columns_read(names)
        return [*((name,) for name in own), *self._combined(own)]

    def known_levels(
        self, of_recoded: Mapping[Hashable, Sequence[Hashable]]
    ) -> dict[Hashable, tuple[Hashable, ...]]:
        """Find the levels of the columns that are recoded; numbers have none."""
        return self.recoding.known_levels(of_recoded)

    def _codes(self, X: Any) -> Array:
        """Codes of levels from zero on, where gaps and rare levels have negative ones."""
        cells = np.asarray(self.recoding.transform(X).numeric())
        return np.asarray(cells.astype(np.intp) - LEAST_CODE)

    def _combined[T](self, items: Sequence[T]) -> list[tuple[T, ...]]:
        return list(combinations(items, self.order))
