"""The cells of one column: as numbers, as levels, and what kind of thing they are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np

from bayesppl.data.cells import is_hashable, missing
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
        If a value is not hashable or is a complex number, or truth values are mixed with the numbers they equal.
    """
    import pandas as pd

    if values.dtype.kind in "iu" and len(values):
        low, span = int(values.min()), int(values.max()) - int(values.min()) + 1
        if span <= len(values):  # whole numbers close together: count instead of hashing
            wide = values.astype(np.int64) if values.dtype.kind == "i" else values
            shifted = (wide - wide.dtype.type(low)).astype(np.intp)
            seen = np.bincount(shifted, minlength=span) > 0
            return [low + i for i in np.flatnonzero(seen).tolist()], (np.cumsum(seen) - 1)[shifted]
    _refuse_times(values, name)
    cells = values if values.dtype.kind in "biuf" else values.astype(object)
    try:
        codes, found = pd.factorize(cells)
    except TypeError:
        row = next(row for row, cell in enumerate(cells) if not is_hashable(cell))
        raise RowError(
            f"column {name!r} holds {cells[row]!r} in row ",
            row,
            ", which cannot be a level: levels are hashable values such as text or numbers. Convert the column, for "
            "example lists to tuples.",
        ) from None
    levels: list[Any] = [as_level(level) for level in found.tolist()]
    _refuse_odd_levels(cells, codes, levels, name)
    try:
        # whether the levels can be compared is what is tried here
        order = sorted(range(len(levels)), key=levels.__getitem__)
    except TypeError:
        order = sorted(range(len(levels)), key=lambda i: (type(levels[i]).__name__, repr(levels[i])))
    position = np.append(np.argsort(order), -1)
    return [levels[i] for i in order], position[codes]


def as_level(value: Hashable) -> Hashable:
    """A value as a level: whole numbers are integers whatever the column's dtype."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _refuse_odd_levels(cells: Array, codes: Array, levels: Sequence[Hashable], name: Hashable) -> None:
    for i, level in enumerate(levels) if cells.dtype.kind in "cO" else ():
        if isinstance(level, complex | np.complexfloating):
            raise RowError(
                f"column {name!r} holds the complex number {level!r} in row ",
                int(np.argmax(codes == i)),
                ", which cannot be a level; give real and imaginary parts columns of their own",
            )
        if isinstance(level, int) and abs(level) >= _LONGEST:
            raise RowError(
                f"column {name!r} holds the integer {_written(level)} in row ",
                int(np.argmax(codes == i)),
                ", which is too long to be written out as a level; convert the column to text",
            )
        # True equals 1 and False 0, so that they would be one level
        if cells.dtype.kind == "O" and level in (0, 1):
            rows = np.flatnonzero(codes == i)
            truths = np.array([isinstance(cell, bool | np.bool_) for cell in cells[rows]])
            if truths.any() and not truths.all():
                truth, number = int(rows[np.argmax(truths)]), int(rows[np.argmin(truths)])
                raise ValueError(
                    f"column {name!r} holds {cells[truth]!r} in row {truth} and {cells[number]!r} in row {number}, which are "
                    "equal; convert the column to one type"
                )


#: Python writes out no integer that is much longer.
_LONGEST = 10**4000

#: Up to here every integer has a floating-point number of its own.
LARGEST_EXACT = 2**53


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
                f"column {name!r} holds the integer {_written(cell)} in row ",
                row,
                ", beyond 2^53, where floating-point numbers round integers; subtract an offset, convert the column to "
                "floating-point numbers if rounding does no harm, or model its values as levels with bayesppl.Categorical",
            )


def _written(number: Any) -> str:
    """An integer, or its size where it has many digits."""
    whole = int(number)
    return str(whole) if abs(whole) < 10**30 else f"{'-' * (whole < 0)}2^{abs(whole).bit_length() - 1} or more"


def to_float(values: Any, name: Hashable) -> Array:
    """Numbers held in a column of objects or text; missing cells become NaN."""
    import pandas as pd

    _refuse_times(values, name)
    cells = np.asarray(values, dtype=object)
    absent = missing(cells, name)
    if pd.api.types.infer_dtype(cells, skipna=True) not in _NUMBERS:
        _refuse_cells(cells, absent, name)
    try:
        numbers = np.where(absent, np.nan, cells).astype(np.float64)
    except OverflowError:  # an integer far beyond what is refused here, or a fraction
        refuse_rounding(cells, name)
        row = next(row for row, cell in enumerate(cells) if not absent[row] and _overflows(cell))
        raise RowError(
            f"column {name!r} holds a number of type {type(cells[row]).__name__} in row ",
            row,
            ", beyond the numbers of float64; rescale the column",
        ) from None
    if beyond_floats(numbers):
        refuse_rounding(cells, name)
    return numbers


#: What pandas calls columns of objects that are numbers.
_NUMBERS = ("floating", "integer", "mixed-integer-float", "integer-na", "boolean", "decimal", "empty")


def _overflows(cell: Any) -> bool:
    try:
        float(cell)
    except OverflowError:
        return True
    return False


def _refuse_times(values: Any, name: Hashable) -> None:
    """Refuse dates and durations, which numpy would turn into numbers of nanoseconds."""
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        raise TypeError(
            f"column {name!r} holds {'dates' if dtype.kind == 'M' else 'durations'} (dtype {dtype}), which are neither numbers nor "
            "levels; convert them, for example to days since a date of your choice, or to text"
        )


def _refuse_cells(cells: Array, absent: Array, name: Hashable) -> None:
    """Name the first cell that is not a number, if there is one; a number written as text only where all texts are."""
    texts: list[int] = []
    for row in np.flatnonzero(~absent):
        cell = cells[row]
        if isinstance(cell, str | bytes):
            texts.append(int(row))
            if not _is_written_number(cell):
                texts = texts[-1:]
                break
            continue
        if isinstance(cell, complex | np.complexfloating):  # of numpy's, float would drop the imaginary part
            raise RowTypeError(
                f"column {name!r} holds {cell!r} in row ",
                int(row),
                ", which is not a real number; give real and imaginary parts columns of their own",
            )
        try:
            float(cell)
        except OverflowError:
            continue  # refused by its size
        except (TypeError, ValueError) as error:
            raise RowTypeError(
                f"column {name!r} holds {cell!r} in row ",
                int(row),
                f", which is not a number ({error}); drop or encode the column, or model it with bayesppl.Categorical",
            ) from None
    if texts:
        raise RowError(
            f"column {name!r} holds the text {cells[texts[0]]!r} in row ",
            texts[0],
            " where a number must be; convert the column to numbers, count the words of texts (CountVectorizer), or model levels "
            "with bayesppl.Categorical",
        )


def _is_written_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def kind_of_values(values: Array, name: Hashable, dtype: Any) -> Kind:
    from pandas.api.types import infer_dtype

    missing(values, name)
    by_inference: dict[str, Kind] = {
        "boolean": "boolean",
        "integer": "integer",
        "floating": "continuous",
        "decimal": "continuous",
        "mixed-integer-float": "continuous",
        "string": "category",
        "categorical": "category",
    }
    inferred = infer_dtype(values, skipna=True)
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
