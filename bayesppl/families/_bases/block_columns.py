"""Which columns a block is made of: by name, by position, as a slice, or by a selector of scikit-learn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

from bayesppl.data.columns import listed
from bayesppl.data.table import Table


def selected(columns: Any, table: Table) -> tuple[Hashable, ...]:
    """The names of the columns.

    Parameters
    ----------
    columns : name, position, sequence of these, slice, mask of truth values, or function of a data frame
    table : Table

    Raises
    ------
    ValueError
        If there is no such column.
    """
    if callable(columns):
        columns = columns(_as_frame(table))
    if isinstance(columns, slice):
        return _of_slice(columns, table.names)
    chosen = (columns,) if isinstance(columns, str | Integral) else tuple(columns)
    if chosen and len(chosen) == len(table.names) and all(type(c).__name__ in ("bool", "bool_") for c in chosen):
        return tuple(name for name, is_in in zip(table.names, chosen, strict=True) if is_in)
    present = frozenset(table.names)
    return tuple(_named(column, table.names, present) for column in chosen)


def _named(column: Any, names: Sequence[Hashable], present: frozenset[Hashable]) -> Hashable:
    """A column by its name, or else by its position."""
    if not isinstance(column, Integral) or column in present:
        return column  # what is unknown is refused together with what is named twice
    place = int(column)
    if not -len(names) <= place < len(names):
        raise ValueError(f"there is no column {place} among {len(names)}: {listed(names)}")
    return names[place]


def _of_slice(columns: slice, names: Sequence[Hashable]) -> tuple[Hashable, ...]:
    if not any(isinstance(end, str) for end in (columns.start, columns.stop)):
        return tuple(names[columns])
    for end in (columns.start, columns.stop):
        if end is not None and end not in names:
            raise ValueError(f"the slice of columns ends at {end!r}, which is no column: {listed(names)}")
    first = 0 if columns.start is None else names.index(columns.start)
    last = len(names) - 1 if columns.stop is None else names.index(columns.stop)
    return tuple(names[first : last + 1 : columns.step])


def _as_frame(table: Table) -> Any:
    """The columns as selectors read them: names and dtypes count, rows hardly do."""
    import pandas as pd

    first = table.take(slice(0, 100))
    return pd.DataFrame({name: pd.Series(first.column(name)).infer_objects() for name in table.names})
