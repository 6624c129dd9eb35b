"""Cells of a text file as they are written."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Protocol

# Rows read at a time.
_ROWS = 50_000


class Written(Protocol):
    """How a text file is written."""

    def options(self) -> dict[str, Any]:
        """For ``pandas.read_csv``."""

    @property
    def decimal(self) -> str:
        """The decimal mark of a number."""

    @property
    def thousands(self) -> str | None:
        """Between the thousands of a number."""


def written_cells(path: Path, dialect: Written, names: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Names of columns, and their cells in some rows as text: different ones that are not missing, each at its first row."""
    import pandas as pd

    options = {**dialect.options(), "dtype": str, "usecols": sorted(names), "chunksize": _ROWS}
    with pd.read_csv(path, **options) as chunks:
        for texts in chunks:
            for name, column in texts.items():
                yield str(name), column.dropna().drop_duplicates()


def without_thousands(text: str, dialect: Written) -> str:
    """A number without marks between its thousands."""
    return text.replace(dialect.thousands, "") if dialect.thousands else text
