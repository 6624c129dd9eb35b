"""The columns of blocks: given by name, by position, as a slice, or by a selector of scikit-learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any

from bayesppl.data.names import listed, spelled
from bayesppl.data.table import Table

#: Names that a model uses for itself, in its PyMC model or in its tables.
RESERVED = ("class", "class_weights", "features", "row", "total", "x", "y")


def selected(columns: Any, table: Table) -> tuple[Hashable, ...]:
    """Return the names of the columns.

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


def divided(blocks: Mapping[str, Any], table: Table) -> dict[str, tuple[Hashable, ...]]:
    """Return the names of the columns of every block; together they are all columns of the table.

    Raises
    ------
    ValueError
        If a column is in no block, or twice in one, or a block has no column, or a name that a model uses itself.
    """
    columns = {block: selected(chosen, table) for block, chosen in blocks.items()}
    if not columns:
        raise ValueError(
            "blocks is empty; give at least one block of columns, as in {'size': (['length'], Gaussian())}"
        )
    for block, names in columns.items():
        if not isinstance(block, str) or not block or block in RESERVED or "/" in block:
            raise ValueError(
                f"{block!r} cannot be the name of a block; use text without a slash and other than "
                f"{', '.join(RESERVED)}"
            )
        if not names:
            raise ValueError(f"block {block!r} is empty; name at least one column, or drop the block")
        for name, count in Counter(names).items():
            if count > 1:
                raise ValueError(f"column {spelled(name)} is twice in block {spelled(block)}; name it once")
        table.require(names)
    used = {name for names in columns.values() for name in names}
    unused = [name for name in table.names if name not in used]
    if unused:
        raise ValueError(f"column {unused[0]!r} belongs to no block; add it to one, or drop it from the table")
    return columns


def _named(column: Any, names: Sequence[Hashable], present: frozenset[Hashable]) -> Hashable:
    """Find a column by its name, or else by its position."""
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
    """Return the columns as selectors read them: names and dtypes count, rows hardly do."""
    import pandas as pd

    first = table.take(slice(0, 100))
    return pd.DataFrame({name: pd.Series(first.column(name)).infer_objects() for name in table.names})
