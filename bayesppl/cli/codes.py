"""Labels and levels that look like numbers, but would not be written so: 007, 1.10. They are read as text."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol

# Rows read at a time.
_ROWS = 50_000


class Written(Protocol):
    """How numbers of a text file are written."""

    def options(self) -> dict[str, Any]:
        """For ``pandas.read_csv``."""

    @property
    def decimal(self) -> str:
        """The decimal mark of a number."""

    @property
    def thousands(self) -> str | None:
        """Between the thousands of a number."""


def columns_of_codes(path: Path, dialect: Written, names: Collection[str]) -> set[str]:
    """The columns with a cell that, read as a number, would be written otherwise."""
    import pandas as pd

    found = set[str]()
    options = {**dialect.options(), "dtype": str, "usecols": sorted(names), "chunksize": _ROWS}
    with pd.read_csv(path, **options) as chunks:
        for texts in chunks:
            for name, column in texts.items():
                if name not in found and not all(_is_number(text, dialect) for text in column.dropna().unique()):
                    found.add(name)
    return found


def _is_number(text: str, dialect: Written) -> bool:
    """Whether a text is how its number is usually written; 1, 1.0 and +1 are the same number."""
    plain = text.strip().removeprefix("+")
    plain = plain.replace(dialect.thousands, "") if dialect.thousands else plain
    plain = plain.replace(dialect.decimal, ".")
    if plain.removeprefix("-").isdecimal():
        return str(int(plain)) == plain
    try:
        return repr(float(plain)) == plain
    except ValueError:
        return True  # no number: its column is text in any case
