"""The columns that later tables must have, and the only reader of tables: frames, matrices and records."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from bayesppl.data.columns import as_objects
from bayesppl.data.matrices import NUMBERS, column_labels, read_matrix
from bayesppl.data.names import indexed, listed, meant, positions_of
from bayesppl.data.table import MatrixTable, Table
from bayesppl.errors import RowError


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
        """Read these columns of ``X``, found by name, or by position where ``X`` or the fit has no names."""
        table = as_table(X)
        if table.names == self.names:
            return table
        if table.is_named and self.are_named:
            expected = set(self.names)
            surplus = [name for name in table.names if name not in expected]
            if surplus:
                absent = [name for name in self.names if name not in table.names]
                raise ValueError(
                    f"unknown column {surplus[0]!r}{meant(surplus[0], absent)}; the fit had {list(self.names)}"
                )
            return table.select(self.names)
        numbers = tuple(map(str, range(len(self.names))))
        # columns of data frames that are numbered, here or in the fit in another order
        if not self.are_named and set(table.names) == set(numbers):
            return table.select(numbers).renamed(self.names)
        if self.are_named and set(self.names) == set(numbers) and hasattr(X, "columns"):
            return table.renamed(numbers).select(self.names)
        if len(table.names) != len(self.names):
            raise ValueError(
                f"X has {len(table.names)} features, but {self.reader} is expecting {len(self.names)} features "
                "as input" + (f": {listed(self.names)}" if self.are_named else "")
            )
        return table.renamed(self.names)


def as_table(X: Any) -> Table:
    """Read anything table-like.

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow, …; sparse columns stay sparse), 2-D xarray.DataArray, array-like or \
scipy.sparse matrix
        Rows by columns. The columns of a DataArray are named by the text coords of its second dimension; columns
        of arrays without names are called ``x0``, ``x1``, …, and so are those of data frames that are numbered 0,
        1, … in turn; other numbers, such as years, and dates are names, as text. Masked cells of a numpy masked
        array are missing. A dict of names to columns, and a list of dicts, named tuples or series, one for each
        row, are read by their names; several columns of one name are ``name[0]``, ``name[1]``, ….

    Raises
    ------
    ValueError
        If ``X`` is not two-dimensional, is lazy or a structured array, or two columns share a name.
    """
    if isinstance(X, Table):
        return X
    labels: tuple[Hashable, ...] = ()
    if not (isinstance(X, np.ndarray) or issparse(X)):
        from bayesppl.data.frames import read_frame

        frame = read_frame(_frame_of_records(X))
        if frame is not None:
            return frame
        labels = column_labels(X)
    is_ready = type(X) is np.ndarray and X.ndim == 2 and X.dtype in NUMBERS
    matrix = X if is_ready else read_matrix(X)
    return MatrixTable(labels or positions_of(matrix.shape[1]), matrix, bool(labels))


def _frame_of_records(X: Any) -> Any:
    """Make a data frame of rows or columns with names of their own; return anything else as it is.

    Parameters
    ----------
    X
        A dict of names to columns; a list or tuple of dicts, named tuples or series of pandas, one for each row.

    Raises
    ------
    ValueError
        If rows differ in the names of their cells, or columns of a dict differ in length.
    TypeError
        If it is a Dataset of xarray.
    """
    if isinstance(X, dict):
        return _frame_of_columns(X)
    if hasattr(X, "data_vars"):
        raise TypeError(
            "X is of xarray, and its variables may have several dimensions; pass a DataArray of rows by columns, "
            "or the data frame of a Dataset, X.to_dataframe()"
        )
    if not isinstance(X, list | tuple) or not X or _named_cells(X[0]) is None:
        return X
    rows = [_named_cells(row) for row in X]
    names = list(rows[0] or ())
    for row, cells in enumerate(rows):
        if cells is None or set(cells) != set(names):
            what = "cells without names" if cells is None else f"the names {listed(list(cells))}"
            raise RowError(
                f"the rows of X must all have the names {listed(names)}, found row ",
                row,
                f" with {what}; complete the rows, with None where a cell is missing",
            )
    return _frame_of_columns({name: [cells[name] for cells in rows if cells] for name in names})


def _frame_of_columns(columns: dict[Any, Any]) -> Any:
    import pandas as pd

    # pandas would round integers beside gaps in a list
    as_they_are: dict[Any, Any] = {}
    for name, cells in columns.items():
        if isinstance(cells, np.ndarray) and cells.ndim > 1 and len(cells):
            flat = cells.reshape(len(cells), -1)
            as_they_are |= zip(indexed(name, flat.shape[1]), flat.T, strict=True)
        else:
            as_they_are[name] = as_objects(cells, len(cells)) if isinstance(cells, list | tuple) else cells
    try:
        return pd.DataFrame(as_they_are)
    except ValueError as error:
        raise ValueError(
            f"X is a dict of names to columns that makes no table ({error}); pass columns of equal length, or a "
            "list of dicts, one for each row"
        ) from None


def _named_cells(row: Any) -> Mapping[Hashable, Any] | None:
    """Return the cells of a row by their names, None if these have none."""
    from narwhals.dependencies import is_pandas_series

    if isinstance(row, tuple) and hasattr(row, "_asdict"):
        return dict(row._asdict())
    if is_pandas_series(row):
        return dict(row.items())
    return row if isinstance(row, dict) else None
