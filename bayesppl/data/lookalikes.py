"""Levels of different types that read alike, such as 1 and "1": refused, for one of them is a slip."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence

import numpy as np

from bayesppl.errors import RowError
from bayesppl.kernels.arrays import Array


def lookalikes(levels: Iterable[Hashable]) -> tuple[Hashable, Hashable] | None:
    """Two levels of different types that a text file does not distinguish, such as 1 and "1"; None if there are none.

    Parameters
    ----------
    levels : distinct, in turn; the second of the pair is the first that resembles an earlier one
    """
    levels = list(levels)
    if len(set(map(type, levels))) < 2:
        return None
    seen: dict[Hashable, Hashable] = {}
    for level in levels:
        other = seen.setdefault(_read(level), level)
        if type(other) is not type(level):
            return other, level
    return None


def refuse_lookalikes(name: Hashable, levels: Sequence[Hashable], codes: Array) -> None:
    """Refuse a column of the fit that holds one level in two types.

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
            f"column {name!r} holds {alike[0]!r} ({_type(alike[0])}) in row {rows[0]} and {alike[1]!r} ({_type(alike[1])}) in "
            f"row {rows[1]}, which read alike but are different levels; convert the column to one type"
        )


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
        Of the new rows, as for :func:`refuse_lookalikes`.
    """
    unknown = [level for level in levels if level not in known]
    alike = lookalikes([*known, *unknown]) if unknown else None
    if alike is not None:
        raise RowError(
            f"column {name!r} holds {alike[1]!r} ({_type(alike[1])}) in row ",
            int(np.argmax(codes == levels.index(alike[1]))),
            f", which resembles the level {alike[0]!r} ({_type(alike[0])}) of the fit, but is another one. Convert "
            "the column to the type it had in the fit.",
        )


def _read(level: Hashable) -> Hashable:
    """What a level becomes when it is written to a text file and read again."""
    text = str(level)
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def _type(level: Hashable) -> str:
    return type(level).__name__
