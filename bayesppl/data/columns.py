"""The cells of one column: as numbers, as levels, and what kind of thing they are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np

from bayesppl.errors import RowError, RowTypeError
from bayesppl.kernels.arrays import Array

#: What a column holds, as far as the choice of a family goes.
Kind = Literal["boolean", "integer", "continuous", "category"]


def factorize(values: Array, name: Hashable) -> tuple[list[Hashable], Array]:
    """Turn the raw values of one column into codes.

    Returns
    -------
    levels : list
        Distinct values that are not missing, sorted where they can be compared. Whole numbers are integers
        whatever the column's dtype, which a single missing cell can change.
    codes : (n_rows,) int
        Position of every value among the levels; -1 where it is missing.

    Raises
    ------
    ValueError
        If a value is not hashable.
    """
    import pandas as pd

    if values.dtype.kind in "iu" and len(values):
        low, span = int(values.min()), int(values.max()) - int(values.min()) + 1
        if span <= len(values):  # whole numbers close together: count instead of hashing
            wide = values.astype(np.int64) if values.dtype.kind == "i" else values
            shifted = (wide - wide.dtype.type(low)).astype(np.intp)
            seen = np.bincount(shifted, minlength=span) > 0
            return [low + i for i in np.flatnonzero(seen).tolist()], (np.cumsum(seen) - 1)[shifted]
    cells = values if values.dtype.kind in "biuf" else values.astype(object)
    try:
        codes, found = pd.factorize(cells)
    except TypeError:
        bad = next(cell for cell in cells if not isinstance(cell, Hashable))
        raise ValueError(
            f"column {name!r} holds {bad!r}, which cannot be a level: levels are hashable values such as text or "
            "numbers. Convert the column, for example lists to tuples."
        ) from None
    levels: list[Hashable] = [
        int(level) if isinstance(level, float) and level.is_integer() else level for level in found.tolist()
    ]
    try:
        # whether the levels can be compared is what is tried here
        order = sorted(range(len(levels)), key=levels.__getitem__)  # type: ignore[arg-type]
    except TypeError:
        order = sorted(range(len(levels)), key=lambda i: (type(levels[i]).__name__, repr(levels[i])))
    position = np.append(np.argsort(order), -1)
    return [levels[i] for i in order], position[codes]


def to_float(values: Any, name: Hashable) -> Array:
    """Numbers held in a column of objects or text; missing cells become NaN."""
    import pandas as pd

    cells = np.asarray(values, dtype=object)
    absent = np.asarray(pd.isna(cells), dtype=bool)
    if pd.api.types.infer_dtype(cells, skipna=True) not in _NUMBERS:
        _refuse_cells(cells, absent, name)
    return np.where(absent, np.nan, cells).astype(np.float64)


#: What pandas calls columns of objects that are numbers.
_NUMBERS = ("floating", "integer", "mixed-integer-float", "integer-na", "boolean", "decimal", "empty")


def _refuse_cells(cells: Array, absent: Array, name: Hashable) -> None:
    """Name the first cell that is not a number, if there is one."""
    for row in np.flatnonzero(~absent):
        cell = cells[row]
        if isinstance(cell, str):
            raise RowError(
                f"column {name!r} holds the text {cell!r} in row ",
                int(row),
                " where a number must be; convert the column to numbers, or model it with bayesppl.Categorical",
            )
        try:
            float(cell)
        except (TypeError, ValueError) as error:
            raise RowTypeError(
                f"column {name!r} holds {cell!r} in row ",
                int(row),
                f", which is not a number ({error}); drop or encode the column, or model it with bayesppl.Categorical",
            ) from None


def kind_of_values(values: Array, name: Hashable, dtype: Any) -> Kind:
    from pandas.api.types import infer_dtype

    by_inference: dict[str, Kind] = {
        "boolean": "boolean",
        "integer": "integer",
        "floating": "continuous",
        "decimal": "continuous",
        "mixed-integer-float": "continuous",
        "string": "category",
        "categorical": "category",
    }
    inferred = infer_dtype(np.asarray(values, dtype=object), skipna=True)
    if inferred not in by_inference:
        what = "no value at all" if inferred == "empty" else f"values of kind {inferred!r} (dtype {dtype})"
        raise ValueError(
            f"column {name!r} holds {what}, for which no family can be picked; drop or convert the column, or name its "
            "family yourself"
        )
    return by_inference[inferred]


def listed(names: Sequence[Hashable], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f", … ({len(names)} in all)" if len(names) > most else "")
