"""Anything table-like read as a :class:`~bayesppl.data.table.Table`, and the columns that later tables must have."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse

from bayesppl.data.arrow_types import is_arrow_batch, readable_frame, readable_table
from bayesppl.data.cells import plain
from bayesppl.data.columns import listed
from bayesppl.data.frame_table import FrameTable
from bayesppl.data.matrices import column_labels, read_array, read_sparse
from bayesppl.data.named_rows import with_named_cells
from bayesppl.data.names import only_count
from bayesppl.data.table import MatrixTable, Table


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
        numbers = tuple(map(str, range(len(self.names))))
        # columns of data frames that are numbered, here or in the fit in another order
        if not self.are_named and set(table.names) == set(numbers):
            return table.select(numbers).renamed(self.names)
        if self.are_named and set(self.names) == set(numbers) and nw.dependencies.is_pandas_dataframe(X):
            return table.renamed(numbers).select(self.names)
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
        of arrays without names are called ``x0``, ``x1``, …, and so are those of data frames that are numbered 0, 1, … in turn;
        other numbers, such as years, and dates are names, as text. Masked cells of a numpy masked array are missing. A dict
        of names to columns, and a list of dicts, named tuples or series, one for each row, are read by their names.

    Raises
    ------
    ValueError
        If ``X`` is not two-dimensional, is lazy or a structured array, or two columns share a name.
    """
    if isinstance(X, Table):
        return X
    is_matrix = isinstance(X, np.ndarray) or issparse(X)
    X = X if is_matrix else with_named_cells(X)
    frame = X if is_matrix else _as_frame(X)
    if isinstance(frame, nw.LazyFrame):
        raise ValueError(f"X is lazy ({type(X).__name__}): collect() or compute() it first")
    if isinstance(frame, nw.DataFrame):
        names = tuple(frame.columns)
        if len(set(names)) < len(names):
            raise ValueError(f"column names must be unique, found {listed(names)}")
        if all(isinstance(name, str) for name in names):
            sparse = _sparse_columns(frame)
            return FrameTable(names, frame) if sparse is None else MatrixTable(names, read_sparse(sparse), True)
        if any(isinstance(name, str) for name in names):
            raise TypeError(
                f"Feature names are only supported if all input features have string names, found {listed(names)}; "
                "make them all text, as in X.columns = X.columns.astype(str)"
            )
        if not only_count(names):  # years, for example, are names, as they are in a text file
            return as_table(frame.to_native().set_axis(list(map(str, names)), axis=1))
        # columns that are only numbered have no names
        sparse, positions = _sparse_columns(frame), positions_of(len(names))
        if sparse is not None:
            return MatrixTable(positions, read_sparse(sparse))
        if not _is_uniform(frame.to_native()):
            return FrameTable(
                positions, frame.rename(dict(zip(frame.columns, positions, strict=True))), is_named=False
            )
        X = frame.to_numpy()
    matrix = read_sparse(X) if issparse(X) else read_array(X)
    labels = column_labels(X)
    columns: tuple[Hashable, ...] = labels or positions_of(matrix.shape[1])
    return MatrixTable(columns, matrix if issparse(X) else plain(matrix, columns), bool(labels))


def _as_frame(X: Any) -> Any:
    """A data frame as narwhals sees it; anything else as it is."""
    native = nw.to_native(X, pass_through=True)
    if nw.dependencies.is_pandas_dataframe(native):
        X = readable_frame(_readable(native))
    elif nw.dependencies.is_pyarrow_table(native) or is_arrow_batch(native):
        X = readable_table(native)
    try:
        return nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = list(X.columns) if isinstance(X, _pandas().DataFrame) else list(X.column_names)
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(
            f"column names must be unique, found {twice!r} more than once among {listed(names)}; rename or drop columns"
        ) from None


def _readable(frame: Any) -> Any:
    """A data frame of pandas in the byte order of this machine, the only one in which pandas takes rows of all dtypes.

    Raises
    ------
    TypeError
        If its columns have names on several levels.
    """
    if frame.columns.nlevels > 1:
        raise TypeError(
            f"columns have names on {frame.columns.nlevels} levels, such as {frame.columns[0]!r}; join them, as in "
            "X.columns = ['_'.join(map(str, names)) for names in X.columns]"
        )
    swapped = {
        place: dtype.newbyteorder("=")
        for place, dtype in enumerate(frame.dtypes)
        if isinstance(dtype, np.dtype) and not dtype.isnative
    }
    if not swapped:
        return frame
    columns = frame.columns
    return frame.set_axis(range(len(columns)), axis=1).astype(swapped).set_axis(columns, axis=1)


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


@lru_cache(maxsize=16)
def positions_of(n_columns: int) -> tuple[str, ...]:
    """Names of columns that have none."""
    return tuple(f"x{j}" for j in range(n_columns))


def _is_uniform(frame: Any) -> bool:
    """Whether a pandas data frame is a single numpy array."""
    dtypes = set(frame.dtypes)
    return len(dtypes) == 1 and isinstance(dtypes.pop(), np.dtype)
