"""Levels of categories that differ, but read alike: kept apart where both are meant, refused where one is a slip."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

#: The level of values that did not occur where levels are learned.
UNSEEN: Final = "(unseen)"


def unseen_beside(levels: Sequence[Hashable]) -> str:
    """The name of the level of all others: "(unseen)", in further parentheses where that is a level itself."""
    name: str = UNSEEN
    while name in levels:
        name = f"({name})"
    return name


def cell_names(cells: Iterable[tuple[Hashable, ...]], separator: str) -> list[str]:
    """A name for each cell; spelt as in Python where two would have the same."""
    cells = list(cells)
    names = [separator.join(map(str, cell)) for cell in cells]
    if len(set(names)) == len(names):
        return names
    return [separator.join(map(repr, cell)) for cell in cells]


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


def _read(level: Hashable) -> Hashable:
    """What a level becomes when it is written to a text file and read again."""
    text = str(level)
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text
