"""The cells of one column: as numbers, and what kind of thing they are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from numbers import Integral
from typing import Any, Literal

import numpy as np

from bayesppl.data.names import spelled
from bayesppl.errors import RowError, RowTypeError
from bayesppl.kernels.arrays import Array

#: What a column holds, as far as the choice of a family goes.
Kind = Literal["boolean", "integer", "continuous", "category"]

#: Up to here every integer has a floating-point number of its own.
LARGEST_EXACT = 2**53

#: What pandas calls columns of objects, as far as a family can be picked for them.
_KINDS: dict[str, Kind] = {
    "boolean": "boolean",
    "integer": "integer",
    "floating": "continuous",
    "decimal": "continuous",
    "mixed-integer-float": "continuous",
    "string": "category",
    "categorical": "category",
}

#: What pandas calls columns of times, and what they hold.
_TIMES = {
    "datetime64": "dates",
    "datetime": "dates",
    "date": "dates",
    "timedelta64": "durations",
    "timedelta": "durations",
    "period": "dates",
}

#: What pandas calls columns of objects that are numbers.
_NUMBERS = ("floating", "integer", "mixed-integer-float", "integer-na", "boolean", "decimal", "empty")


def as_objects(cells: Iterable[Any], n_rows: int) -> Array:
    """Hold cells of any kind, lists among them, one by one: (n_rows,)."""
    return np.fromiter(cells, dtype=object, count=n_rows)


def missing(cells: Array) -> Array:
    """Find the cells that are missing: (n_rows,) bool."""
    import pandas as pd

    return np.asarray(pd.isna(cells), dtype=bool)


def beyond_floats(values: Array) -> bool:
    """Whether a number lies where floating-point numbers no longer hold every integer, or on the edge of it."""
    if not values.size:
        return False
    least, most = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)  # of those that are not NaN
    return bool(most >= LARGEST_EXACT or least <= -LARGEST_EXACT)


def refuse_rounding(values: Array, name: Hashable) -> None:
    """Refuse integers that floating-point numbers would round.

    Raises
    ------
    ValueError
        Naming the column, the integer, its row and the remedy.
    """
    for row, cell in enumerate(values.tolist()):
        if isinstance(cell, Integral) and abs(int(cell)) > LARGEST_EXACT:
            raise RowError(
                f"column {name!r} holds the integer {int(cell)} in row ",
                row,
                ", beyond 2^53, where floating-point numbers round integers; subtract an offset, convert the "
                "column to floating-point numbers if rounding does no harm, or model its values as levels with "
                "bayesppl.Categorical",
            )


def to_float(values: Any, name: Hashable) -> Array:
    """Convert a column of objects or text that holds numbers; missing cells become NaN."""
    import pandas as pd

    refuse_times(values, name)
    cells = np.asarray(values, dtype=object)
    absent = missing(cells)
    if pd.api.types.infer_dtype(cells, skipna=True) not in _NUMBERS:
        _refuse_cells(cells, absent, name)
    refuse_rounding(cells, name)
    return np.where(absent, np.nan, cells).astype(np.float64)


def refuse_times(values: Any, name: Hashable) -> None:
    """Refuse dates and durations, which numpy would turn into numbers of nanoseconds."""
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        raise _times(name, "datetime64" if dtype.kind == "M" else "timedelta64", dtype)


def refuse_times_among(levels: Iterable[Any], name: Hashable) -> None:
    """Refuse dates and durations among the different cells of a column of objects."""
    from pandas.api.types import infer_dtype

    for level in levels:
        if not isinstance(level, str | float | int) and (kind := infer_dtype([level])) in _TIMES:
            raise _times(name, kind, "object")


def _times(name: Hashable, kind: str, dtype: Any) -> TypeError:
    numbers = "days since a date of your choice" if _TIMES[kind] == "dates" else "numbers of seconds"
    return TypeError(
        f"column {name!r} holds {_TIMES[kind]} (dtype {dtype}), which are neither numbers nor levels; convert "
        f"them, for example to {numbers}, or to text"
    )


def _refuse_cells(cells: Array, absent: Array, name: Hashable) -> None:
    """Refuse the first cell that is not a number; a number written as text only where all texts are."""
    texts: list[int] = []
    for row in np.flatnonzero(~absent).tolist():
        cell = cells[row]
        if isinstance(cell, complex | np.complexfloating):  # of numpy's, float would drop the imaginary part
            raise RowTypeError(
                f"column {name!r} holds {spelled(cell)} in row ",
                row,
                ", which is not a real number; give real and imaginary parts columns of their own",
            )
        try:
            float(cell.tolist() if isinstance(cell, np.ndarray) else cell)  # an array of one number is none
        except (TypeError, ValueError) as error:
            if not isinstance(cell, str | bytes):
                raise RowTypeError(
                    f"column {name!r} holds {spelled(cell)} in row ",
                    row,
                    f", which is not a number ({error}); drop or encode the column, or model it with "
                    "bayesppl.Categorical",
                ) from None
            texts = [row]
            break
        if isinstance(cell, str | bytes):
            texts.append(row)
    if texts:
        text = cells[texts[0]]
        true = {"true": "true", "false": "true", "TRUE": "TRUE", "FALSE": "TRUE"}.get(text, "True")
        raise RowError(
            f"column {name!r} holds the text {spelled(text)} in row ",
            texts[0],
            f" where a number must be; convert the column to numbers (truth values by X[name] == {true!r}), drop "
            "it, count the words of texts (CountVectorizer), or model levels with bayesppl.Categorical",
        )


def kind_of_values(values: Array, name: Hashable, dtype: Any) -> Kind:
    """Find what a column of objects holds.

    Raises
    ------
    TypeError
        If it holds dates or durations.
    ValueError
        If no family can be picked for it.
    """
    from pandas.api.types import infer_dtype

    inferred = infer_dtype(values, skipna=True)
    if inferred in _TIMES:
        raise _times(name, inferred, dtype)
    if inferred not in _KINDS:
        what = (
            "no value at all in these rows"
            if inferred == "empty"
            else f"values of kind {inferred!r} (dtype {dtype})"
        )
        raise ValueError(
            f"column {name!r} holds {what}, for which no family can be picked; drop or convert the column, or "
            "name its family yourself"
        )
    if inferred == "decimal" and all(
        cell.is_finite() and cell.as_tuple().exponent >= 0 for cell in values[~missing(values)]
    ):
        return "integer"  # 3, and not 3.00
    return _KINDS[inferred]
