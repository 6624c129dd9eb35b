"""Cells in the types that everything behind the input edge computes with."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from bayesppl.errors import RowError
from bayesppl.kernels.arrays import Array


def plain(values: Array, names: Sequence[Hashable]) -> Array:
    """The same values in the byte order of this machine: float16 as float32, long doubles as float64, text of numpy as objects.

    Parameters
    ----------
    values : (n_rows,) or (n_rows, n_columns)
    names
        Of the columns.

    Raises
    ------
    ValueError
        If a long double is too large for float64.
    """
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "f" and size not in (4, 8):
        if size == 2:
            return values.astype(np.float32)
        with np.errstate(over="ignore"):
            rounded = values.astype(np.float64)
        lost = (np.isinf(rounded) & ~np.isinf(values)).reshape(len(values), -1)
        if lost.any():
            row, column = map(int, np.argwhere(lost)[0])
            raise RowError(
                f"column {names[column]!r} holds {values.reshape(lost.shape)[row, column]!s} in row ",
                row,
                ", beyond the numbers of float64; rescale the column",
            )
        return rounded
    if kind == "T":
        return values.astype(object)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def values_of(series: nw.Series[Any]) -> Array:
    """The values of a column in the types of numpy; missing cells are None or NaN."""
    values = np.asarray(series.to_numpy())
    if series.implementation.is_pyarrow() and series.dtype == nw.Categorical:
        # pyarrow gives a missing cell of a dictionary the last of its levels
        absent = series.is_null().to_numpy()
        if absent.any():
            values = values.astype(object)
            values[absent] = None
    return values


def as_objects(cells: Iterable[Any], n_rows: int) -> Array:
    """Cells of any kind, lists among them, one by one: (n_rows,)."""
    return np.fromiter(cells, dtype=object, count=n_rows)


def missing(cells: Array, name: Hashable) -> Array:
    """Which cells of a column are missing: (n_rows,) bool.

    Raises
    ------
    ValueError
        For a signalling NaN of Python's decimals, which cannot be looked at.
    """
    import pandas as pd

    try:
        return np.asarray(pd.isna(cells), dtype=bool)
    except ArithmeticError:
        row = next(row for row, cell in enumerate(cells.tolist()) if not _can_be_compared(cell))
        raise RowError(
            f"column {name!r} holds {cells[row]!r} in row ", row, "; replace it by None if the cell is missing"
        ) from None


def _can_be_compared(cell: Any) -> bool:
    try:
        _ = cell == 0
    except ArithmeticError:
        return False
    return True


def is_hashable(cell: Any) -> bool:
    """Whether a cell can be a level; a tuple can be hashed only if what it holds can."""
    try:
        hash(cell)
    except TypeError:
        return False
    return True
