"""Records: rows, or columns, that carry names of their own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import narwhals as nw

from bayesppl.data.cells import as_objects
from bayesppl.data.columns import listed
from bayesppl.errors import RowError


def with_named_cells(X: Any) -> Any:
    """Rows or columns with names of their own as a data frame; anything else as it is.

    Parameters
    ----------
    X
        A dict of names to columns; a list or tuple of dicts, named tuples or series of pandas, one for each row; or a
        series of structs of polars.

    Raises
    ------
    ValueError
        If rows differ in the names of their cells or have a name twice, or columns of a dict differ in length.
    """
    if isinstance(X, dict):
        return _frame_of_columns(X)
    if nw.dependencies.is_polars_series(X) and nw.from_native(X, series_only=True).dtype == nw.Struct:
        return X.struct.unnest()
    if not isinstance(X, list | tuple) or not len(X):
        return X
    first = _named_cells(X[0])
    if first is None:
        return X
    names = first[0]
    if len(set(names)) < len(names):
        raise ValueError(f"names must be unique, found {listed(names)} in row 0; rename or drop cells")
    columns: dict[Hashable, list[Any]] = {name: [] for name in names}
    for row, cells in enumerate(X):
        found = _named_cells(cells)
        if found is None or set(found[0]) != set(names) or len(found[0]) > len(names):
            what = "cells without names" if found is None else f"the names {listed(found[0])}"
            raise RowError(
                f"the rows of X must all have the names {listed(names)}, found row ",
                row,
                f" with {what}; complete the rows, with None where a cell is missing",
            )
        for name, cell in zip(*found, strict=True):
            columns[name].append(cell)
    return _frame_of_columns(columns)


def _frame_of_columns(columns: dict[Any, Any]) -> Any:
    import pandas as pd

    # pandas would round integers beside gaps in a list
    as_they_are = {
        name: as_objects(cells, len(cells)) if isinstance(cells, list | tuple) else cells
        for name, cells in columns.items()
    }
    try:
        return pd.DataFrame(as_they_are)
    except ValueError as error:
        raise ValueError(
            f"X is a dict of names to columns that makes no table ({error}); pass columns of equal length, or a list of dicts, one "
            "for each row"
        ) from None


def _named_cells(row: Any) -> tuple[Sequence[Hashable], Iterable[Any]] | None:
    """Names and cells of a row, None if the cells have no names."""
    if isinstance(row, dict):
        return list(row), row.values()
    if isinstance(row, tuple):
        names = getattr(row, "_fields", None)
        return None if names is None else (names, row)
    return (list(row.index), row) if nw.dependencies.is_pandas_series(row) else None
