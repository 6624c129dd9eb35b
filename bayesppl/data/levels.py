"""The cells of one column as levels; those of different types that read alike, such as 1 and "1", are refused."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from bayesppl.data.columns import refuse_times, refuse_times_among
from bayesppl.data.names import spelled
from bayesppl.errors import RowError, warn
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.integer_levels import Places, distinct_integers, smallest_type

# Text is near-unique where more than this share of its cells differ from all others, and there are more texts than
# a few.
_UNIQUE_SHARE, FEW_LEVELS = 0.5, 20


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

    counted = count_values(values)
    if counted is not None:
        return counted[0].tolist(), counted[1].astype(np.intp)
    refuse_times(values, name)
    cells = values if values.dtype.kind in "biuf" else values.astype(object)
    try:
        codes, found = pd.factorize(cells)
    except TypeError:
        row = next((row for row, cell in enumerate(cells) if not isinstance(cell, Hashable)), 0)
        raise RowError(
            f"column {name!r} holds {spelled(cells[row])} in row ",
            row,
            ", which cannot be a level: levels are hashable values such as text or numbers. Convert the column, "
            "for example lists to tuples.",
        ) from None
    levels: list[Any] = [as_level(level) for level in found.tolist()]
    if cells.dtype.kind == "O":
        refuse_times_among(levels, name)
        _refuse_odd_levels(cells, codes, levels, name)
    try:
        # whether the levels can be compared is what is tried here
        order = sorted(range(len(levels)), key=levels.__getitem__)
    except TypeError:
        order = sorted(range(len(levels)), key=lambda i: (type(levels[i]).__name__, repr(levels[i])))
    position = np.append(np.argsort(order), -1)
    return [levels[i] for i in order], position[codes]


#: Below so many values, sorting them takes less time than counting.
_FEW = 2000


def as_level(value: Hashable) -> Hashable:
    """Return a value as a level: whole numbers are integers whatever the column's dtype."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def count_values(values: Array) -> tuple[Array, Array] | None:
    """Find distinct whole numbers, ascending, and the place of every value; None where they lie far apart.

    To count numbers that lie close together takes a fraction of the time of sorting or hashing them.
    """
    if values.dtype.kind not in "iu" or not len(values):
        return None
    if len(values) < _FEW:
        return np.unique(values, return_inverse=True)
    column = values[:, None]
    found = distinct_integers(column)
    places = None if found is None else Places.of([found[0].tolist()], [-1])
    if found is None or places is None:
        return None
    codes = np.empty(column.shape, dtype=smallest_type(len(found[0])))
    places.look_up(column, codes)
    return found[0], codes[:, 0]


def _refuse_odd_levels(cells: Array, codes: Array, levels: Sequence[Hashable], name: Hashable) -> None:
    for i, level in enumerate(levels):
        if isinstance(level, complex | np.complexfloating):
            raise RowError(
                f"column {name!r} holds the complex number {spelled(level)} in row ",
                int(np.argmax(codes == i)),
                ", which cannot be a level; give real and imaginary parts columns of their own",
            )
        # True equals 1 and False 0, so that they would be one level
        if level in (0, 1):
            rows = np.flatnonzero(codes == i)
            truths = np.array([isinstance(cell, bool | np.bool_) for cell in cells[rows]])
            if truths.any() and not truths.all():
                truth, number = int(rows[np.argmax(truths)]), int(rows[np.argmin(truths)])
                raise ValueError(
                    f"column {name!r} holds {spelled(cells[truth])} in row {truth} and {spelled(cells[number])} "
                    f"in row {number}, which are equal; convert the column to one type"
                )


def lookalikes(levels: Iterable[Hashable]) -> tuple[Hashable, Hashable] | None:
    """Find two levels of different types that a text file does not distinguish, such as 1 and "1".

    Parameters
    ----------
    levels : distinct, in turn; the second of the pair is the first that resembles an earlier one
    """
    levels = list(levels)
    if len(set(map(type, levels))) < 2:
        return None
    seen: dict[Hashable, Hashable] = {}
    for level in levels:
        other = seen.setdefault(_as_read(level), level)
        if type(other) is not type(level):
            return other, level
    return None


def check_levels(name: Hashable, levels: Sequence[Hashable], codes: Array) -> None:
    """Refuse a column of the fit that holds one level in two types; warn of levels that may be meant otherwise.

    Parameters
    ----------
    name : hashable
        Of the column.
    levels : sequence
    codes : (n_rows,)
        Places of the cells among the levels.
    """
    alike = lookalikes(levels)
    if alike is not None:
        rows = [int(np.argmax(codes == levels.index(level))) for level in alike]
        raise ValueError(
            f"column {name!r} holds {spelled(alike[0])} ({type(alike[0]).__name__}) in row {rows[0]} and "
            f"{spelled(alike[1])} ({type(alike[1]).__name__}) in row {rows[1]}, which read alike but are "
            "different levels; convert the column to one type"
        )
    warn_of_spellings(f"column {name!r}", levels)
    n_cells = int(np.count_nonzero(codes >= 0))
    if len(levels) > 1 and _are_decimals(levels):
        has_commas = any("," in level for level in levels if isinstance(level, str))
        way = (
            "pandas.to_numeric(cells.str.replace(',', '.')) where commas mark decimals, and replace(',', '') "
            "where they part thousands"
            if has_commas
            else "pandas.to_numeric"
        )
        warn(
            f"column {name!r} holds numbers that are written as text, such as {levels[0]!r}, so that its "
            f"{len(levels)} different ones are levels without an order. Convert measurements to numbers, as by "
            f"{way}",
            UserWarning,
        )
    elif are_near_unique(len(levels), n_cells) and all(isinstance(level, str) for level in levels):
        warn(
            f"column {name!r} holds {len(levels)} different texts in {n_cells} rows; as levels they hold no "
            "information about new rows. Convert it if these are numbers with units, leave it out, or count its "
            f"words first, as by sklearn.compose.make_column_transformer((CountVectorizer(), {name!r}))",
            UserWarning,
        )


def are_near_unique(n_levels: int, n_cells: int) -> bool:
    """Whether there are more than a few levels, most of them of one row."""
    return n_levels > max(FEW_LEVELS, _UNIQUE_SHARE * n_cells)


def warn_of_spellings(what: str, levels: Iterable[Any]) -> None:
    """Warn of texts that differ by capitals and spaces alone."""
    seen: dict[str, str] = {}
    for level in levels:
        if isinstance(level, str) and level.strip():
            other = seen.setdefault(" ".join(level.split()).casefold(), level)
            if other != level:
                warn(
                    f"{what} holds {other!r} and {level!r}, which differ by capitals or spaces alone and count "
                    "as different; write them alike if they mean the same",
                    UserWarning,
                )
                return


def _are_decimals(levels: Sequence[Any]) -> bool:
    """Whether texts are all numbers, some with a decimal point or comma; whole numbers may well be codes."""
    try:
        return any("." in text or "," in text for text in levels) and all(
            np.isfinite(float(text.replace(",", "."))) for text in levels
        )
    except (AttributeError, TypeError, ValueError):
        return False


def refuse_other_types(
    name: Hashable, known: Collection[Hashable], levels: Sequence[Hashable], codes: Array
) -> None:
    """Refuse new rows that hold a level of the fit in another type.

    Parameters
    ----------
    name : hashable
        Of the column.
    known : collection
        The levels of the fit.
    levels, codes
        Of the new rows, as for :func:`check_levels`.
    """
    unknown = [level for level in levels if level not in known]
    alike = lookalikes([*known, *unknown]) if unknown else None
    if alike is not None:
        raise RowError(
            f"column {name!r} holds {spelled(alike[1])} ({type(alike[1]).__name__}) in row ",
            int(np.argmax(codes == levels.index(alike[1]))),
            f", which resembles the level {spelled(alike[0])} ({type(alike[0]).__name__}) of the fit, but is "
            "another one. Convert the column to the type it had in the fit.",
        )


def _as_read(level: Hashable) -> Hashable:
    """Return what a level becomes when it is written to a text file and read again."""
    text = str(level)
    for number in (int, float):
        with suppress(ValueError):
            return number(text)
    return text
