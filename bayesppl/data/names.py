"""Names of columns and labels as a reader sees them: by position, cut to the room there is, controls spelt out."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

# C0 and C1 controls but the line feed and the tab, and marks that turn the direction of the text around them
_CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")

# Letters of a value in a message.
_LONGEST = 300

# what parts lines and columns besides
_BREAKS = re.compile("[\\t\\n\\u2028\\u2029]")


@lru_cache(maxsize=16)
def positions_of(n_columns: int) -> tuple[str, ...]:
    """Name columns that have no names by their positions."""
    return tuple(f"x{j}" for j in range(n_columns))


def indexed(name: Hashable, size: int) -> tuple[str, ...]:
    """Name the columns of an array that has one name."""
    return tuple(f"{name}[{j}]" for j in range(size))


def only_count(names: Iterable[Any]) -> bool:
    """Whether names are the numbers 0, 1, … in turn, which say no more than a place."""
    return all(name == place for place, name in enumerate(names))


def spelled(value: Any) -> str:
    """Write a value as Python does, and numbers and texts of numpy as those of Python; the start of long ones."""
    import numpy as np

    text = repr(value.tolist() if isinstance(value, np.generic | np.ndarray) else value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def listed(names: Sequence[Hashable], most: int = 8) -> str:
    """Write names in a row, the first few of many."""
    shown = ", ".join(map(spelled, names[:most]))
    return shown + (f", … ({len(names)} in all)" if len(names) > most else "")


def meant(name: Hashable, names: Iterable[Hashable]) -> str:
    """Ask for the name most like an unknown one, where there is one: " (did you mean 'length'?)", or nothing.

    Examples
    --------
    >>> meant("lenght", ["Length", "width"])
    " (did you mean 'Length'?)"
    """
    texts = {other.lower(): other for other in names if isinstance(other, str)}
    close = get_close_matches(name.lower(), texts, n=1) if isinstance(name, str) else []
    return f" (did you mean {texts[close[0]]!r}?)" if close else ""


def short_names(names: Iterable[Any], longest: int = 24) -> list[str]:
    """Shorten names for a picture or a table: long ones lose what all of them share, then their ends.

    Control characters and line ends are spelt out.

    They stay longer than ``longest`` where they would otherwise become the same.

    Examples
    --------
    >>> short_names(["length of the left fin of the fish", "length of the right fin of the fish"])
    ['… left …', '… right …']
    >>> short_names(["short", "not at all as short as the other name"])
    ['short', 'not at all as short as…']
    """
    texts = [one_line(str(name)) for name in names]
    if all(len(text) <= longest for text in texts):
        return texts
    words = [text.split(" ") for text in texts]
    fewest = min(map(len, words)) - 1 if len(set(texts)) > 1 else 0
    lead = _shared(words, fewest)
    tail = _shared([line[::-1] for line in words], fewest - lead)
    kept = [
        ("… " if lead else "") + " ".join(line[lead : len(line) - tail]) + (" …" if tail else "") for line in words
    ]
    for length in range(longest, max(map(len, kept)) + 1):
        cut = [text if len(text) <= length else f"{text[: length - 1].rstrip(' ,')}…" for text in kept]
        if len(set(cut)) == len(set(texts)):
            return cut
    return kept


def _shared(words: list[list[str]], most: int) -> int:
    """Count the words with which all lines begin, up to ``most``."""
    return next((n for n in range(most) if len({line[n] for line in words}) > 1), most)


def visible(text: str) -> str:
    """Spell control characters out, so that none reaches a terminal; lines and tabs stay."""
    return _CONTROLS.sub(_spelt_out, text)


def one_line(text: str) -> str:
    """Spell control characters, line ends and tabs out."""
    return _BREAKS.sub(_spelt_out, visible(text))


def _spelt_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
