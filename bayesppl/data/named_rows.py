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
    names = _names_of(X[0])
    if names is None:
        return X
    if len(set(names)) < len(names):
        raise ValueError(f"names must be unique, found {listed(names)} in row 0; rename or drop cells")
    for row, cells in enumerate(X):
        found = _names_of(cells)
        if found is None or set(found) != set(names) or len(found) > len(names):
            what = "cells without names" if found is None else f"the names {listed(found)}"
            raise RowError(
                f"the rows of X must all have the names {listed(names)}, found row ",
                row,
                f" with {what}; complete the rows, with None where a cell is missing",
            )
    import pandas as pd

    rows = [dict(zip(_names_of(cells) or (), _values_of(cells), strict=True)) for cells in X]
    return pd.DataFrame({name: _as_they_are([row[name] for row in rows]) for name in names})


def _frame_of_columns(columns: dict[Any, Any]) -> Any:
    import pandas as pd

    try:
        return pd.DataFrame(
            {
                name: _as_they_are(cells) if isinstance(cells, list | tuple) else cells
                for name, cells in columns.items()
            }
        )
    except ValueError as error:
        raise ValueError(
            f"X is a dict of names to columns that makes no table ({error}); pass columns of equal length, or a list of dicts, one "
            "for each row"
        ) from None


def _as_they_are(cells: Sequence[Any]) -> Any:
    """Cells of a column, of which pandas would round integers beside gaps."""
    return as_objects(cells, len(cells))


def _names_of(row: Any) -> Sequence[Hashable] | None:
    """Names of the cells of a row, None if they have none."""
    if isinstance(row, dict):
        return list(row)
    if isinstance(row, tuple):
        return getattr(row, "_fields", None)
    return list(row.index) if nw.dependencies.is_pandas_series(row) else None


def _values_of(row: Any) -> Iterable[Any]:
    return row.values() if isinstance(row, dict) else row
