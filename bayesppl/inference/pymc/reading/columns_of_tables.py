"""Which columns of a table those of a model are that was built of it: the ones that hold the same cells."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from bayesppl.data.names import listed
from bayesppl.data.table import Table
from bayesppl.inference.pymc.reading.layout import Layout
from bayesppl.kernels.arrays import Array, dense


def named_after(table: Table, layout: Layout, parts: Sequence[Array]) -> Layout:
    """Name the columns of a layout after those of the table that the model was built of.

    Parameters
    ----------
    table : Table
    layout : Layout
        Of the model.
    parts : sequence of (n_rows, n_columns)
        The rows of every variable.

    Raises
    ------
    ValueError
        If the table does not hold a column, several of its columns may be it, or columns without names stand in
        another order.
    """
    cells = {name: values for name in table.names if (values := _numbers(table, name)) is not None}
    types = [dtype if dtype.kind == "f" else np.float64 for dtype in layout.dtypes.values()]
    alike = [
        [name for name, own in cells.items() if np.array_equal(own.astype(dtype), values, equal_nan=True)]
        for dtype, part in zip(types, parts, strict=True)
        for values in part.T
    ]
    in_order = [  # of equal columns, those of the same name or place
        names
        for names in (layout.names, table.names)
        if len(names) == len(alike) and all(name in those for name, those in zip(names, alike, strict=True))
    ]
    found = in_order[0] if in_order else _one_each(layout.names, alike)
    if table.is_named:
        return layout.renamed(found)
    if found != table.names:
        raise ValueError(
            "the model observes columns of X in another order, or not all of them, and X has no names to find "
            "them by: pass a data frame whose columns have names"
        )
    return layout


def _one_each(columns: Sequence[Hashable], alike: Sequence[Sequence[Hashable]]) -> tuple[Hashable, ...]:
    """Choose the column of a table that each column of a model is, from those that hold the same cells."""
    found: list[Hashable] = []
    for column, names in zip(columns, alike, strict=True):
        if not names:
            raise ValueError(
                f"the model holds a column {column!r} that X does not hold. New rows come as those of X do, so "
                "give the model columns of X as they are: transform them before fit (in a pipeline), or pass a "
                "mapping of the model's variables to their rows as X"
            )
        left = [name for name in names if name not in found]
        if not left:
            raise ValueError(
                f"column {names[0]!r} of X is in the model twice, the second time as {column!r}: put it into one "
                "pm.Data, and use that twice"
            )
        if len(left) > 1 and column not in left:
            raise ValueError(
                f"columns {listed(left)} of X are alike in these rows, and each may be the column {column!r} of "
                "the model: name its columns as X does, by coords or by a variable for each"
            )
        found.append(column if column in left else left[0])
    return tuple(found)


def _numbers(table: Table, name: Hashable) -> Array | None:
    try:
        return np.asarray(dense(table.numeric([name])), dtype=np.float64)[:, 0]
    except (TypeError, ValueError):  # text, or dates
        return None
