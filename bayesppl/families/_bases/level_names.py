"""Names of levels and of cells, which differ where the levels do."""

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
