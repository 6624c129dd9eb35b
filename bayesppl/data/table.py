"""Rows under named columns, whatever they were passed as.

Nothing behind a :class:`Table` depends on pandas, polars or pyarrow. A family reads numbers from it, or the raw
values of a column.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from bayesppl.data.columns import Kind, kind_of_values, to_float
from bayesppl.data.names import listed, meant, spelled
from bayesppl.errors import rows_before
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.class_sums import row_view
from bayesppl.kernels.ranges import Extent


class Table(ABC):
    """Rows under named columns."""

    names: tuple[Hashable, ...]

    #: Whether the names came with the data; columns without names are found by position.
    is_named: bool

    #: All columns as one (n_rows, n_columns) array or CSR array, None where they are not held as one.
    matrix: Any

    @property
    @abstractmethod
    def extent(self) -> Extent:
        """Return how many rows there are, and in what ranges they are best read.

        Cells of a byte count two, for what is made of them is larger.
        """

    @abstractmethod
    def numeric(self, names: Sequence[Hashable] | None = None) -> Any:
        """Return columns, all by default, as one (n_rows, n_columns) array or CSR array; missing cells are NaN."""

    @abstractmethod
    def column(self, name: Hashable) -> Array:
        """Return the raw values of one column; missing cells are None or NaN."""

    @abstractmethod
    def categories(self, name: Hashable) -> list[Hashable] | None:
        """Return the values that the dtype of a column lists, in its order; None where it lists none."""

    @abstractmethod
    def kind(self, name: Hashable) -> Kind:
        """Say what one column holds, read from its dtype (or from its values, where the dtype is just "object").

        Raises
        ------
        ValueError
            If the column holds something else, such as dates, or nothing at all.
        """

    @abstractmethod
    def select(self, names: Sequence[Hashable]) -> Table:
        """Return the table of these columns only."""

    @abstractmethod
    def take(self, rows: Array | slice) -> Table:
        """Return the table of these rows only."""

    @abstractmethod
    def snapshot(self, *, copied: bool) -> Table:
        """Return the same table for later use.

        Parameters
        ----------
        copied : bool
            Whether the cells are copied. If not, columns that the caller replaces meanwhile stay as they are
            here, but cells that the caller changes in place can change here too.
        """

    @abstractmethod
    def picked(self, other: Table, places: Array) -> Table:
        """Make rows cell by cell: each is that of its column in some row of this table, or of the other below it.

        Parameters
        ----------
        other : Table
            Of the same columns.
        places : (n_rows, n_columns) of int
            Of these rows, counted on through those of ``other``.
        """

    @abstractmethod
    def native(self) -> Any:
        """Return the rows in a container that other libraries read: an array, a sparse matrix or a data frame."""

    @abstractmethod
    def renamed(self, names: Sequence[Hashable]) -> Table:
        """Return the same columns under other names."""

    def __len__(self) -> int:
        return self.extent.n_rows

    def integers(self) -> Array | None:
        """Return all columns as one (n_rows, n_columns) array of integers, or None where there is none."""
        return self.matrix if isinstance(self.matrix, np.ndarray) and self.matrix.dtype.kind in "iu" else None

    def require(self, names: Iterable[Hashable]) -> None:
        """Refuse a table that lacks one of ``names``."""
        wanted, known = dict.fromkeys(names), set(self.names)
        absent = [name for name in wanted if name not in known]
        if absent:
            others = [name for name in self.names if name not in wanted]
            raise ValueError(
                f"missing column {spelled(absent[0])}{meant(absent[0], others)}; the table has "
                f"{listed(self.names)}"
            )


#: Rows of a column that take about as long to read as it takes to come to the column.
ROWS_BY_COLUMN = 512


@dataclass(frozen=True, eq=False)
class MatrixTable(Table):
    """Columns of a two-dimensional array or CSR array.

    Attributes
    ----------
    names : tuple
    matrix : (n_rows, n_columns)
    is_named : bool
    coded : frozenset
        Columns of numbers that are codes of levels.
    """

    names: tuple[Hashable, ...]
    matrix: Any
    is_named: bool = False
    coded: frozenset[Hashable] = frozenset()

    @property
    def extent(self) -> Extent:
        n_rows, dtype = self.matrix.shape[0], self.matrix.dtype
        stored = self.matrix.nnz if issparse(self.matrix) else self.matrix.size
        cells = -(-int(stored) // max(1, n_rows))
        words = -(-cells * min(max(dtype.itemsize, 2), 8) // 8)
        return Extent(n_rows, words, 1 if dtype.kind in "fiub" else ROWS_BY_COLUMN)

    def numeric(self, names: Sequence[Hashable] | None = None) -> Any:
        if not (names is None or names is self.names or tuple(names) == self.names):
            return self.select(names).numeric()
        if self.matrix.dtype.kind in "fiub":
            return self.matrix
        return np.column_stack([to_float(self.matrix[:, j], name) for j, name in enumerate(self.names)])

    def column(self, name: Hashable) -> Array:
        at = self._places[name]
        return np.asarray(self.matrix[:, [at]].toarray()[:, 0] if issparse(self.matrix) else self.matrix[:, at])

    def categories(self, name: Hashable) -> None:
        return None

    def kind(self, name: Hashable) -> Kind:
        if name in self.coded:
            return "category"
        by_code: dict[str, Kind] = {
            "b": "boolean",
            "i": "integer",
            "u": "integer",
            "f": "continuous",
            "U": "category",
        }
        code = self.matrix.dtype.kind
        return by_code[code] if code in by_code else kind_of_values(self.column(name), name, self.matrix.dtype)

    def select(self, names: Sequence[Hashable]) -> Table:
        if names is self.names or tuple(names) == self.names:
            return self
        if not all(name in self._places for name in names):
            self.require(names)
        matrix = self.matrix[:, [self._places[name] for name in names]]
        return replace(self, names=tuple(names), matrix=matrix)

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        """Map each column to its place."""
        return {name: j for j, name in enumerate(self.names)}

    def take(self, rows: Array | slice) -> Table:
        if issparse(self.matrix) and isinstance(rows, slice) and rows.step in (None, 1):
            return replace(self, matrix=row_view(self.matrix, *rows.indices(len(self))[:2]))
        return replace(self, matrix=self.matrix[rows])

    def picked(self, other: Table, places: Array) -> Table:
        stack = vstack if issparse(self.matrix) else np.concatenate
        both: Any = stack([self.matrix, other.native()])
        return replace(self, matrix=both[places, np.arange(places.shape[1])])

    def native(self) -> Any:
        return self.matrix

    def renamed(self, names: Sequence[Hashable]) -> Table:
        return MatrixTable(tuple(names), self.matrix)

    def snapshot(self, *, copied: bool) -> Table:
        return self.take(np.arange(len(self))) if copied else self


def read_range[T](table: Table, rows: slice, read: Callable[[Table], T]) -> T:
    """Call ``read`` on some rows of a table; a refusal names the row of the whole table."""
    if rows.stop - rows.start == len(table):
        return read(table)
    with rows_before(rows.start):
        return read(table.take(rows))
