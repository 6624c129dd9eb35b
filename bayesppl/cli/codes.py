"""Labels and levels that look like numbers, but would not be written so: 007, 1.10. They are read as text."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from bayesppl.cli.text_files import TEXT, Dialect, format_of, without_thousands, written_cells


def codes_as_written(frame: Any, path: Path, dialect: Dialect, is_code: Callable[[Any], bool]) -> Any:
    """All rows of a file; labels and levels of a text file that numbers would be written otherwise are text.

    Parameters
    ----------
    frame : pandas.DataFrame
    path : path
    dialect : Dialect
    is_code : function of pandas.Series
        Whether a column of numbers holds labels or levels.
    """
    import pandas as pd

    found = columns_as_written(
        path, dialect, {name for name, column in frame.items() if column.dtype.kind in "iuf" and is_code(column)}
    )
    if not found:
        return frame
    options = {**dialect.of(path).options(), "dtype": str, "usecols": sorted(found)}
    texts = pd.read_csv(path, **options)
    return frame.assign(**{name: texts[name].array for name in found})  # in turn, for rows may have names


def columns_as_written(path: Path, dialect: Dialect, codes: Collection[str]) -> set[str]:
    """Those of these columns of labels or levels that have a cell which, read as a number, would be written otherwise."""
    if not codes or format_of(path) not in TEXT:
        return set()
    dialect = dialect.of(path)
    return {
        name
        for name, column in written_cells(path, dialect, codes)
        if not all(_is_number(text, dialect) for text in column)
    }


def _is_number(text: str, dialect: Dialect) -> bool:
    """Whether a text is how its number is usually written; 1, 1.0 and +1 are the same number."""
    plain = without_thousands(text.strip().removeprefix("+"), dialect).replace(dialect.decimal, ".")
    if plain.removeprefix("-").isdecimal():
        return str(int(plain)) == plain
    try:
        return repr(float(plain)) == plain
    except ValueError:
        return True  # no number: its column is text in any case
