"""The input edge: tables, arrays and sparse matrices become columns, labels become codes.

Nothing behind this file depends on pandas, polars or pyarrow. A :class:`Table` has named columns; a family reads from it
numbers or for the raw values of a column, and refusals name the column, the value found and the remedy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import csr_array, issparse

from bayesppl.data.cells import as_objects, plain
from bayesppl.data.columns import Kind, as_level, beyond_floats, kind_of_values, listed, refuse_rounding, to_float
from bayesppl.data.matrices import column_labels, read_array, read_sparse
from bayesppl.errors import rows_before
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.class_sums import sparse_of


class Table(ABC):
    """Rows under named columns."""

    names: tuple[Hashable, ...]

    #: Whether the names came with the data; columns without names are found by position.
    is_named: bool

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def numeric(self) -> Any:
        """All columns as one (n_rows, n_columns) array or CSR array; missing cells are NaN."""

    @abstractmethod
    def integers(self) -> Array | None:
        """All columns as one (n_rows, n_columns) array of integers, or None where they are not kept as such."""

    @abstractmethod
    def column(self, name: Hashable) -> Array:
        """The raw values of one column; missing cells are None or NaN."""

    @abstractmethod
    def categories(self, name: Hashable) -> list[Hashable] | None:
        """The values that the dtype of a column lists, in its order; None where it lists none."""

    @abstractmethod
    def kind(self, name: Hashable) -> Kind:
        """What one column holds, read from its dtype (or from its values, where the dtype is just "object").

        Raises
        ------
        ValueError
            If the column holds something else, such as dates, or nothing at all.
        """

    @abstractmethod
    def select(self, names: Sequence[Hashable]) -> Table:
        """The table of these columns only."""

    @abstractmethod
    def take(self, rows: Array | slice) -> Table:
        """The table of these rows only."""

    @abstractmethod
    def snapshot(self, *, copied: bool) -> Table:
        """The same table for later use.

        Parameters
        ----------
        copied : bool
            Whether the cells are copied. If not, columns that the caller replaces meanwhile stay as they are here, but
            cells that the caller changes in place can change here too.
        """

    @property
    @abstractmethod
    def cells_per_row(self) -> int:
        """Number of cells of a row; of a sparse matrix, of stored ones."""

    @property
    @abstractmethod
    def words_per_row(self) -> int:
        """Memory of a row in units of eight bytes, as far as it is known."""

    @abstractmethod
    def renamed(self, names: Sequence[Hashable]) -> Table:
        """The same columns under other names."""

    def require(self, names: Iterable[Hashable]) -> None:
        """Refuse a table that lacks one of ``names``."""
        known = set(self.names)
        absent = [name for name in names if name not in known]
        if absent:
            raise ValueError(f"missing column {absent[0]!r}; the table has {listed(self.names)}")


@dataclass(frozen=True, eq=False)
class MatrixTable(Table):
    """Columns of a two-dimensional array or CSR array."""

    names: tuple[Hashable, ...]
    matrix: Any
    is_named: bool = False

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def numeric(self) -> Any:
        if self.matrix.dtype.kind in "fiub":
            return self.matrix
        columns = [to_float(self.matrix[:, j], name) for j, name in enumerate(self.names)]
        return np.column_stack(columns)

    def integers(self) -> Array | None:
        return None if issparse(self.matrix) or self.matrix.dtype.kind not in "iu" else self.matrix

    def column(self, name: Hashable) -> Array:
        at = self.names.index(name)
        return np.asarray(self.matrix[:, [at]].toarray()[:, 0] if issparse(self.matrix) else self.matrix[:, at])

    def categories(self, name: Hashable) -> None:
        return None

    def kind(self, name: Hashable) -> Kind:
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
        self.require(names)
        return MatrixTable(tuple(names), self.matrix[:, [self.names.index(name) for name in names]], self.is_named)

    def take(self, rows: Array | slice) -> Table:
        if issparse(self.matrix) and isinstance(rows, slice) and rows.step in (None, 1):
            return replace(self, matrix=_view(self.matrix, *rows.indices(len(self))[:2]))
        return replace(self, matrix=self.matrix[rows])

    def renamed(self, names: Sequence[Hashable]) -> Table:
        return MatrixTable(tuple(names), self.matrix)

    def snapshot(self, *, copied: bool) -> Table:
        return self.take(np.arange(len(self))) if copied else self

    @property
    def cells_per_row(self) -> int:
        stored = self.matrix.nnz if issparse(self.matrix) else self.matrix.size
        return -(-int(stored) // max(1, len(self)))

    @property
    def words_per_row(self) -> int:
        return -(-self.cells_per_row * min(8, self.matrix.dtype.itemsize) // 8)


@dataclass(frozen=True, eq=False)
class FrameTable(Table):
    """Columns of a data frame: pandas, polars, pyarrow, or anything narwhals reads."""

    names: tuple[Hashable, ...]
    frame: nw.DataFrame[Any]
    is_named: bool = True

    def __len__(self) -> int:
        return len(self.frame)

    def numeric(self) -> Any:
        columns = [self._numbers(str(name)) for name in self.names]
        if not columns:
            return np.empty((len(self), 0))
        together = np.column_stack(columns)
        for name, column in zip(self.names, columns, strict=True):
            if column.dtype.kind in "iu" and together.dtype.kind == "f" and beyond_floats(column):
                refuse_rounding(column, name)
        return together

    def integers(self) -> Array | None:
        return None

    def column(self, name: Hashable) -> Array:
        series = self.frame[str(name)]
        values = _cells(series)
        # a single missing cell makes integers floating-point numbers, which round the large ones
        if series.dtype.is_integer() and values.dtype.kind == "f" and beyond_floats(values):
            return np.asarray(series.to_list(), dtype=object)
        return values

    def categories(self, name: Hashable) -> list[Hashable] | None:
        series = self.frame[str(name)]
        listed: Iterable[Hashable] | None = None
        if isinstance(series.dtype, nw.Enum):
            listed = series.dtype.categories
        elif series.dtype == nw.Categorical and series.implementation.is_pandas():
            listed = series.to_native().dtype.categories
        return None if listed is None else [as_level(value) for value in listed]

    def kind(self, name: Hashable) -> Kind:
        dtype = self.frame[str(name)].dtype
        if dtype == nw.Boolean:
            return "boolean"
        if dtype.is_integer():
            return "integer"
        if dtype.is_float() or dtype.is_decimal():
            return "continuous"
        if dtype in (nw.Categorical, nw.Enum):
            return "category"
        return kind_of_values(self.column(name), name, dtype)

    def select(self, names: Sequence[Hashable]) -> Table:
        self.require(names)
        return FrameTable(tuple(names), self.frame.select([str(name) for name in names]))

    def take(self, rows: Array | slice) -> Table:
        return replace(self, frame=self.frame[rows])

    def renamed(self, names: Sequence[Hashable]) -> Table:
        return FrameTable(
            tuple(names), self.frame.rename(dict(zip(self.frame.columns, map(str, names), strict=True)))
        )

    def snapshot(self, *, copied: bool) -> Table:
        if not self.frame.implementation.is_pandas():
            # polars and pyarrow do not change columns in place; memory beneath them can change all the same
            return self.take(np.arange(len(self))) if copied else self
        import pandas as pd

        copies_on_write = int(pd.__version__.split(".")[0]) >= 3
        frame = self.frame.to_native().copy(deep=copied or not copies_on_write)
        return replace(self, frame=nw.from_native(frame, eager_only=True))

    @property
    def cells_per_row(self) -> int:
        return len(self.names)

    @property
    def words_per_row(self) -> int:
        return len(self.names)

    def _numbers(self, name: str) -> Array:
        series = self.frame[name]
        cells = _cells(series)
        if cells.dtype.kind == "O" and series.dtype.is_numeric() | (series.dtype == nw.Boolean):
            return to_float(as_objects(series.to_list(), len(series)), name)
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            if not series.is_null().any():
                return cells
            if series.dtype.is_integer() and beyond_floats(cells):
                return to_float(series.to_list(), name)
            return series.cast(nw.Float64).to_numpy()
        return to_float(cells, name)


def _cells(series: nw.Series[Any]) -> Array:
    """The values of a column one by one, in types that can be computed with."""
    if series.dtype.is_decimal():
        return to_float(series.to_numpy(), series.name)
    if series.dtype.is_nested() or series.dtype in (nw.Int128, nw.UInt128):
        return as_objects(series.to_list(), len(series))
    return plain(series.to_numpy(), (series.name,))


def read_range[T](table: Table, rows: slice, read: Callable[[Table], T]) -> T:
    """``read`` some rows of a table; a refusal names the row of the whole table."""
    if rows.stop - rows.start == len(table):
        return read(table)
    with rows_before(rows.start):
        return read(table.take(rows))


@dataclass(frozen=True)
class Columns:
    """The columns of a fit, which later rows must have too.

    Attributes
    ----------
    names : tuple
    are_named : bool
        Whether the names came with the data; columns without names are found by position.
    reader : str
        What a refusal calls whoever reads the columns.
    """

    names: tuple[Hashable, ...]
    are_named: bool
    reader: str

    def align(self, X: Any) -> Table:
        """These columns of ``X``, found by name, or by position where ``X`` or the fit has no names."""
        table = as_table(X)
        if table.is_named and self.are_named:
            expected = set(self.names)
            surplus = [name for name in table.names if name not in expected]
            if surplus:
                raise ValueError(f"unknown column {surplus[0]!r}; the fit had {list(self.names)}")
            return table.select(self.names)
        if len(table.names) != len(self.names):
            raise ValueError(
                f"X has {len(table.names)} features, but {self.reader} is expecting {len(self.names)} features as input"
            )
        return table.renamed(self.names)


def as_table(X: Any) -> Table:
    """Read anything table-like.

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow, …; sparse columns stay sparse), 2-D xarray.DataArray, array-like or scipy.sparse matrix
        Rows by columns. The columns of a DataArray are named by the text coords of its second dimension; columns
        of arrays without names are called ``x0``, ``x1``, … Masked cells of a numpy masked array are missing.

    Raises
    ------
    ValueError
        If ``X`` is not two-dimensional, is lazy or a structured array, or two columns share a name.
    """
    if isinstance(X, Table):
        return X
    frame = X if isinstance(X, np.ndarray) or issparse(X) else _as_frame(X)
    if isinstance(frame, nw.LazyFrame):
        raise ValueError(f"X is lazy ({type(X).__name__}): collect() or compute() it first")
    if isinstance(frame, nw.DataFrame):
        names = tuple(frame.columns)
        if len(set(names)) < len(names):
            raise ValueError(f"column names must be unique, found {listed(names)}")
        if all(isinstance(name, str) for name in names):
            sparse = _sparse_columns(X)
            return FrameTable(names, frame) if sparse is None else MatrixTable(names, read_sparse(sparse), True)
        if any(isinstance(name, str) for name in names):
            raise TypeError(
                f"Feature names are only supported if all input features have string names, found {listed(names)}; "
                "make them all text, as in X.columns = X.columns.astype(str)"
            )
        if not _is_uniform(X):
            positions = _positions(len(names))
            return FrameTable(positions, frame.rename(dict(zip(names, positions, strict=True))), is_named=False)
        X = frame.to_numpy()  # numbered columns are columns without names
    matrix = read_sparse(X) if issparse(X) else read_array(X)
    labels = column_labels(X)
    columns: tuple[Hashable, ...] = labels or _positions(matrix.shape[1])
    return MatrixTable(columns, matrix if issparse(X) else plain(matrix, columns), bool(labels))


def _as_frame(X: Any) -> Any:
    """A data frame as narwhals sees it; anything else as it is."""
    try:
        return nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = list(X.columns) if isinstance(X, _pandas().DataFrame) else list(X.column_names)
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(
            f"column names must be unique, found {twice!r} more than once among {listed(names)}; rename or drop columns"
        ) from None


def _pandas() -> Any:
    import pandas as pd

    return pd


def _sparse_columns(X: Any) -> Any:
    """A data frame of pandas as a sparse matrix, if all of its columns are sparse ones whose other cells are zero."""
    X = nw.to_native(X, pass_through=True)
    if not nw.dependencies.is_pandas_dataframe(X) or not X.shape[1]:
        return None
    kind = nw.dependencies.get_pandas().SparseDtype
    stored = all(isinstance(dtype, kind) and dtype.fill_value == 0 for dtype in X.dtypes)
    return X.sparse.to_coo() if stored else None


def _view(matrix: csr_array, start: int, stop: int) -> csr_array:
    """Consecutive rows, which share the memory of the matrix."""
    starts = matrix.indptr[start : max(start, stop) + 1]
    entries = slice(starts[0], starts[-1])
    shape = (len(starts) - 1, matrix.shape[1])
    rows = sparse_of(csr_array, matrix.data[entries], matrix.indices[entries], starts - starts[0], shape)
    rows.has_canonical_format = matrix.has_canonical_format
    return rows


@lru_cache(maxsize=16)
def _positions(n_columns: int) -> tuple[str, ...]:
    """Names of columns that have none."""
    return tuple(f"x{j}" for j in range(n_columns))


def _is_uniform(frame: Any) -> bool:
    """Whether a pandas data frame is a single numpy array."""
    dtypes = set(frame.dtypes)
    return len(dtypes) == 1 and isinstance(dtypes.pop(), np.dtype)
