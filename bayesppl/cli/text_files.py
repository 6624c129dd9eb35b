"""How text files are written, and their cells as they are written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bayesppl.data.frames import exact_numbers

#: Suffixes of text files; each may be followed by that of a compression.
TEXT = (".csv", ".tsv", ".txt", ".dat", ".data")
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
SUFFIXES = (*TEXT, ".parquet", ".feather")

# What pandas takes for a missing cell.
_GAPS = [
    "",
    "NA",
    "N/A",
    "n/a",
    "<NA>",
    "NaN",
    "nan",
    "-NaN",
    "-nan",
    "NULL",
    "null",
    "None",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "1.#IND",
    "-1.#IND",
    "1.#QNAN",
    "-1.#QNAN",
]

# Rows read as text at a time.
_ROWS = 50_000


class Dialect(NamedTuple):
    """How a text file is written; other formats contain it."""

    sep: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    na_values: tuple[str, ...] = ()
    thousands: str | None = None

    def of(self, path: Path) -> Dialect:
        """Of this file: columns of a .tsv file are separated by tabs."""
        return self._replace(sep="\t") if format_of(path) == ".tsv" and self.sep == "," else self

    def options(self) -> dict[str, Any]:
        """For ``pandas.read_csv``."""
        return {**self._asdict(), "na_values": list(self.na_values), **exact_numbers()}


def format_of(path: Path) -> str:
    """The suffix that names the format of a file, without that of a compression."""
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    suffix = plain.suffix.lower()
    if suffix not in SUFFIXES or (plain is not path and suffix not in TEXT):
        raise ValueError(
            f"{str(path)!r} must end in one of {', '.join(SUFFIXES)}, which names its format (text files may be "
            f"compressed, as in .csv.gz)"
        )
    return suffix


def options_of_gaps(path: Path, dialect: Dialect, texts: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """Options of ``pandas.read_csv`` that leave some of what it takes for missing cells to be levels."""
    levels = {name: set(found).intersection(_GAPS[1:]) for name, found in texts.items()}
    if not any(levels.values()):
        return {}
    import pandas as pd

    names = pd.read_csv(path, nrows=0, sep=dialect.sep, encoding=dialect.encoding).columns
    missing = {*_GAPS, *dialect.na_values}
    return {
        "keep_default_na": False,
        "na_values": {name: sorted(missing - levels.get(name, set())) for name in names},
    }


def written_cells(path: Path, dialect: Dialect, names: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Names of columns, and their cells in some rows as text: different ones that are not missing, each at its first row."""
    import pandas as pd

    options = {**dialect.options(), "dtype": str, "usecols": sorted(names), "chunksize": _ROWS}
    with pd.read_csv(path, **options) as chunks:
        for texts in chunks:
            for name, column in texts.items():
                yield str(name), column.dropna().drop_duplicates()


def without_thousands(text: str, dialect: Dialect) -> str:
    """A number without marks between its thousands."""
    return text.replace(dialect.thousands, "") if dialect.thousands else text
