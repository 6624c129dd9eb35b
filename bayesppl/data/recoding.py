"""Transformers of tables: gaps filled, levels as codes or indicators, numbers in bins or as normal scores.

They follow scikit-learn's contract and look at no labels, so that they are fitted once where rows are left out.
What is read of the rows of a fit (medians, levels, quantiles) is the same for every way to recode them: read
once, it is shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from bayesppl.data.column_facts import Column, View, dense_cells, read_columns
from bayesppl.data.read_table import as_table
from bayesppl.data.table import MatrixTable, Table
from bayesppl.kernels.arrays import Array

_SUMMED = ("code_filled", "bin_filled")
_CODES = ("code", *_SUMMED)

#: Combinations of levels over which trees and location models sum.
_MOST_COMBINATIONS = 4096


@dataclass(eq=False, repr=False)
class Recoding(BaseEstimator):
    """Recode numbers in one way, levels in another.

    ``number`` and ``code`` keep gaps; ``filled`` and ``score`` (normal scores) fill them and add an indicator;
    ``code_filled`` and ``bin_filled`` make them a level; ``indicators`` and ``steps`` are zeros and ones, for each
    level or bin but the first. A gap in a column that had none in the fit, and a level that is new, are missing
    in all that they become. Families of codes sum over the levels of missing cells: of a row that lacks more of
    them than can be summed over, nothing is kept.

    Parameters
    ----------
    numbers : {"number", "filled", "score", "bin_filled", "steps"}
    levels : {"code", "code_filled", "indicators"}
    few : one of these, optional
        For whole numbers of few different values; like levels by default.

    Attributes
    ----------
    columns_ : tuple of Column
        Those that varied in the fit.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [1.5, 2.5, None, 7.5], "kind": ["a", "b", "a", "b"]})
    >>> Recoding("filled", "indicators").fit(X).transform(X).numeric().tolist()
    [[1.5, 0.0, 0.0], [2.5, 0.0, 1.0], [2.5, 1.0, 0.0], [7.5, 0.0, 1.0]]
    """

    numbers: View = "number"
    levels: View = "code"
    few: View | None = None
    columns_: tuple[Column, ...] = field(default=(), init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Read medians, levels and quantiles of a table; labels have no part in it."""
        return self.adopt(read_columns(as_table(X)))

    def adopt(self, columns: tuple[Column, ...]) -> Self:
        """Hold columns that were read before."""
        self.columns_ = columns
        return self

    def view(self, column: Column) -> View:
        """Choose how a column is recoded."""
        if column.is_number and not column.levels:
            return self.numbers
        return self.few if column.is_number and self.few is not None else self.levels

    def transform(self, X: Any) -> Table:
        """Recode rows; columns are named after those that they come from."""
        table = dense_cells(as_table(X))
        cells: list[Array] = []
        names: list[Hashable] = []
        are_codes: list[bool] = []
        for column in self.columns_:
            made = column.recoded(table, self.view(column))
            are_codes += [self.view(column) in _CODES] * len(made)
            cells += made
            names += [column.name if not i else f"{column.name} ({i})" for i in range(len(made))]
        if len(set(names)) < len(names):  # a column that is called like the second part of another
            names = [f"{place}: {name}" for place, name in enumerate(names)]
        matrix = self.emptied(np.array(cells, dtype=np.float64).reshape(len(cells), len(table)).T).T
        coded = frozenset(name for name, is_code in zip(names, are_codes, strict=True) if is_code)
        return MatrixTable(tuple(names), matrix.T, True, coded)

    def emptied(self, cells: Array) -> Array:
        """Empty recoded rows that lack levels of more combinations than families sum over: (n_rows, n_columns)."""
        gaps = np.isnan(cells)
        if gaps.any():
            views = [self.view(column) for column in self.columns_]
            counts = [c.most_codes(v) if v in _SUMMED else 1 for c, v in zip(self.columns_, views, strict=True)]
            logs = np.log(np.repeat(counts, self.widths()))
            cells[gaps @ logs > np.log(_MOST_COMBINATIONS)] = np.nan
        return cells

    def widths(self) -> list[int]:
        """Count the columns that every column becomes."""
        none = MatrixTable(tuple(column.name for column in self.columns_), np.empty((0, len(self.columns_))))
        return [len(column.recoded(none, self.view(column))) for column in self.columns_]

    @property
    def closed_columns(self) -> list[Column]:
        """The columns of levels of which each occurred in two rows at least: a new one is missing."""
        return [column for column in self.columns_ if not column.is_number and not column.has_others]

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Name the columns of a table that matter: those that varied."""
        return [column.name for column in self.columns_]

    def origins(self, names: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
        """Name the columns that each recoded column is made of: one."""
        return [(c.name,) for c, width in zip(self.columns_, self.widths(), strict=True) for _ in range(width)]

    def known_levels(
        self, of_recoded: Mapping[Hashable, Sequence[Hashable]]
    ) -> dict[Hashable, tuple[Hashable, ...]]:
        """Find the levels of the columns that are recoded; numbers have none."""
        return {column.name: column.levels for column in self.columns_ if not column.is_number}


class RecodedFirst(BaseEstimator):
    """A transformer of columns that are recoded first, and are those that its own stand for."""

    recoding: Recoding

    @property
    def closed_columns(self) -> list[Column]:
        """See :attr:`Recoding.closed_columns`."""
        return self.recoding.closed_columns

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Name the columns of a table that matter: those that varied."""
        return self.recoding.columns_read(names)

    def known_levels(
        self, of_recoded: Mapping[Hashable, Sequence[Hashable]]
    ) -> dict[Hashable, tuple[Hashable, ...]]:
        """Find the levels of the columns that are recoded; numbers have none."""
        return self.recoding.known_levels(of_recoded)


@dataclass(eq=False, repr=False)
class Unrecoded(BaseEstimator):
    """Leave rows as they are, or write only which of their sparse counts are not zero.

    Parameters
    ----------
    presence : bool
        Whether to write one where a cell is not zero.

    Attributes
    ----------
    columns_ : tuple
        Those that are kept; none where all are.
    """

    presence: bool = False
    columns_: tuple[Hashable, ...] = field(default=(), init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the columns that two rows at least hold something of: words of one document are never seen again.

        What no other row shows cannot speak for a row that is left out, nor for a new one.
        """
        table = as_table(X)
        n_rows = np.asarray((table.numeric() != 0).sum(axis=0)).ravel()
        self.columns_ = tuple(name for name, n in zip(table.names, n_rows.tolist(), strict=True) if n > 1)
        return self

    def transform(self, X: Any) -> Table:
        """Read rows."""
        table = as_table(X)
        if self.columns_:
            table = table.select(self.columns_)
        if not self.presence:
            return table
        present = csr_array(table.numeric() != 0).astype(np.float64)
        return MatrixTable(table.names, present, table.is_named)

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Name the columns that matter."""
        return self.columns_ or names

    def origins(self, names: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
        """Name the columns that each column is made of: itself."""
        return [(name,) for name in self.columns_read(names)]

    def known_levels(
        self, of_recoded: Mapping[Hashable, Sequence[Hashable]]
    ) -> dict[Hashable, tuple[Hashable, ...]]:
        """Find the levels of the columns, which are those of the model."""
        return {name: tuple(levels) for name, levels in of_recoded.items()}
