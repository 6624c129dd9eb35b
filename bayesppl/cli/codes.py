"""Labels and levels that look like numbers, but would not be written so: 007, 1.10. They are read as text."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from bayesppl.cli.written import Written, without_thousands, written_cells


def columns_of_codes(path: Path, dialect: Written, names: Collection[str]) -> set[str]:
    """The columns with a cell that, read as a number, would be written otherwise."""
    return {
        name
        for name, column in written_cells(path, dialect, names)
        if not all(_is_number(text, dialect) for text in column)
    }


def _is_number(text: str, dialect: Written) -> bool:
    """Whether a text is how its number is usually written; 1, 1.0 and +1 are the same number."""
    plain = without_thousands(text.strip().removeprefix("+"), dialect).replace(dialect.decimal, ".")
    if plain.removeprefix("-").isdecimal():
        return str(int(plain)) == plain
    try:
        return repr(float(plain)) == plain
    except ValueError:
        return True  # no number: its column is text in any case
