"""Files that a user names: whether they can be read or written, their formats, and the header of text files."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from bayesppl import datasets
from bayesppl.cli.terminal import is_number
from bayesppl.data.names import listed

#: Suffixes of text files; each may be followed by that of a compression.
TEXT = (".csv", ".tsv", ".txt", ".dat", ".data")
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_SUFFIXES = (*TEXT, ".parquet", ".feather")

#: First lines by which Excel finds the separator, as they are with separators left out, or not.
FOR_EXCEL = ("sep=", "sep=,", "sep=;", "sep=|")

#: Tables that a comparison writes into a folder.
TABLES = ("parameters.csv", "scores.csv", "suspicious.csv")

#: The path that stands for text from standard input.
STANDARD_INPUT = Path("-")

#: Characters of a line; a file without line ends would be read whole to be refused.
LONGEST_LINE = 16 << 20


class Dialect(NamedTuple):
    """How a text file is written; other formats contain it. Without a separator the name of the file decides."""

    sep: str = ""
    decimal: str = "."
    encoding: str = "utf-8"
    na_values: tuple[str, ...] = ()
    thousands: str | None = None


#: Numbers as Python writes them.
PLAIN = Dialect()


def require_source(data: str, target: str | None, dialect: Dialect) -> None:
    """Refuse missing data and missing or repeated labels before anything heavy is imported."""
    if data in datasets.LOADERS:
        refuse_given(dialect, Dialect._fields, f"files, and {data!r} is an embedded data set; leave it out")
        if target is not None:
            raise ValueError(
                f"--target {target!r} is for files; the embedded data set {data!r} has labels of its own, leave "
                "--target out"
            )
        return
    if not Path(data).exists() and data != str(STANDARD_INPUT):
        raise ValueError(
            f"{data!r} is neither a file nor an embedded data set; give the path of a file or one of "
            f"{', '.join(datasets.LOADERS)}"
        )
    if target is None:
        raise ValueError(f"{data!r} needs --target COLUMN, the column that holds the labels")


def refuse_given(dialect: Dialect, options: Iterable[str], what: str) -> None:
    """Refuse options of a dialect, which are for something else."""
    for option in options:
        if getattr(dialect, option) != getattr(Dialect(), option):
            raise ValueError(f"--{option.replace('_', '-')} is for {what}")


def require_place(option: str, path: Path, data: Path | None = None, *, is_folder: bool = False) -> None:
    """Refuse a file or folder that could not be written, or would replace the data, before any work is done."""
    parent = path.resolve().parent
    if is_folder and path.exists() and not path.is_dir():
        raise ValueError(f"{option} {str(path)!r} is a file; name a folder")
    if not parent.is_dir():
        raise ValueError(f"{option} {str(path)!r}: there is no folder {str(parent)!r}; create it first")
    written = path if is_folder and path.exists() else parent
    if not os.access(written, os.W_OK):
        raise ValueError(
            f"{option} {str(path)!r}: the folder {str(written)!r} is not writable; choose another one"
        )
    if data is None or not data.exists():
        return
    replaced = {file for file in ([path / name for name in TABLES] if is_folder else [path]) if file.exists()}
    for source in (data, *data.rglob("*.parquet")):
        if any(map(source.samefile, replaced)):
            raise ValueError(f"{option} {str(path)!r} would replace the data in {str(source)!r}; name another one")
    if path.suffix == ".parquet" and data.is_dir() and data.resolve() in path.resolve().parents:
        raise ValueError(f"{option} {str(path)!r} would be read as a part of {str(data)!r}; name a file elsewhere")


def format_of(path: Path) -> str:
    """Find the format of a file by its suffix, without that of a compression; a folder holds Parquet files."""
    if path == STANDARD_INPUT:
        return ".csv"
    if path.is_dir():
        return ".parquet"
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    suffix = plain.suffix.lower()
    if suffix not in _SUFFIXES or (plain is not path and suffix not in TEXT):
        raise ValueError(
            f"{str(path)!r} must end in one of {', '.join(_SUFFIXES)}, which names its format (text files may be "
            "compressed, as in .csv.gz)"
        )
    return suffix


def separator(path: Path, given: str | None) -> str:
    """Return the separator of the columns of a text file, for which this ``--sep`` was given, if any."""
    of_name = "\t" if ".tsv" in map(str.lower, path.suffixes[-2:]) else ","
    return "\t" if given == "tab" else given or of_name


_BYTE_ORDER_MARK = "\ufeff"


@contextmanager
def opened(path: Path, encoding: str, given: Path) -> Iterator[IO[str]]:
    """Open a text file, compressed or not; refusals name the path that the user gave."""
    import bz2
    import gzip
    import lzma
    import zipfile
    import zlib

    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    try:
        if path.suffix.lower() == ".zip":
            archive = zipfile.ZipFile(path)
            # macOS adds files of its own beside those that were packed
            inside = [name for name in archive.namelist() if name[-1] != "/" and not name.startswith("__MACOSX/")]
            if len(inside) != 1:
                raise ValueError(f"{str(given)!r} holds {len(inside)} files; pack one text file, or unpack them")
            raw = archive.open(inside[0])
        else:
            raw = openers.get(path.suffix.lower(), open)(path, "rb")
        with io.TextIOWrapper(raw, encoding, newline="") as text:
            if text.read(1) != _BYTE_ORDER_MARK:  # which is no part of the first name
                text.seek(0)
            yield text
    except UnicodeError as error:
        head = error.object if isinstance(error, UnicodeDecodeError) else b""
        if head.startswith(b"\x1f\x8b"):
            raise ValueError(
                f"{str(given)!r} is compressed by gzip; unpack it, or give a file whose name ends in .gz"
            ) from None
        if head.startswith(b"PAR1"):
            raise ValueError(
                f"{str(given)!r} is a Parquet file; give it by a name that ends in .parquet"
            ) from None
        found = (
            f"it holds the byte {error.object[error.start]:#04x}"
            if isinstance(error, UnicodeDecodeError)
            else error
        )
        raise ValueError(
            f"{str(given)!r} is not text in {encoding} ({found}); pass --encoding, for example latin-1 or utf-16"
        ) from None
    except (EOFError, OSError, RuntimeError, zlib.error, zipfile.BadZipFile, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk, not what the file holds
        raise ValueError(
            f"{str(given)!r} is not compressed as its name says, or it is truncated or damaged ({error}); rename "
            "it, or compress or copy it again"
        ) from None


def read_header(
    text: IO[str], dialect: Dialect, path: Path, expected: Set[str | None]
) -> tuple[list[str], int, bool]:
    """Read the names of the columns from the text of a file, some of which are expected there.

    Returns
    -------
    names : list of str
    n_skipped : int
        Lines before the header, which are blank, or name the separator for Excel, as ``sep=;`` does.
    has_row_names : bool
        Whether lines begin with a name of the row, which the header does not name, as R writes them.

    Raises
    ------
    ValueError
        If a name occurs twice, the line is separated by another mark, or it holds no names.
    """
    try:
        parsed = csv.reader(iter(partial(text.readline, LONGEST_LINE), ""), delimiter=dialect.sep)
        lines = ((i, cells, "".join(cells).strip()) for i, cells in enumerate(parsed))
        filled = ((i, cells) for i, cells, line in lines if line and not (i == 0 and line in FOR_EXCEL))
        n_skipped, header = next(filled, (0, []))
        _, first = next(filled, (0, []))
    except csv.Error as error:
        raise ValueError(f"{str(path)!r} is not a CSV file with a header line: {error}") from None
    if not header:
        raise ValueError(f"{str(path)!r} is not a CSV file with a header line: it is empty")
    named = [name for name, below in zip(header, first[-len(header) :], strict=False) if name != below]
    known = expected & {*named}
    _check_names(header, path, dialect, is_header=len(known) > (1 if _are_measured(header) else 0))
    surplus = len(first) - len(header)
    if surplus > 1 or (surplus == 1 and not first[-1]):
        raise ValueError(
            f"the lines of {str(path)!r} have more cells than its header has names, {listed(header)}; name every "
            "column, remove separators at the ends of the lines, or what stands before the header"
        )
    return [name or f"Unnamed: {i}" for i, name in enumerate(header)], n_skipped, surplus == 1


def _are_measured(cells: list[str]) -> bool:
    """Whether cells are numbers in no order, some of which are not whole, as no names of columns are."""
    numbers = [float(cell) for cell in cells if is_number(cell)]
    is_whole = all(map(str.isdecimal, cells))
    return len(numbers) == len(cells) and not is_whole and sorted(numbers) not in (numbers, numbers[::-1])


def _check_names(header: list[str], path: Path, dialect: Dialect, *, is_header: bool) -> None:
    twice = [name for name, count in Counter(header).items() if name and count > 1]
    if twice:
        raise ValueError(
            f"the header of {str(path)!r} names column {twice[0]!r} twice; rename one of "
            f"them, or, if these are cells, add a first line that names the {len(header)} columns"
        )
    numbers = [name for name in header if is_number(name)]
    if not is_header and numbers and len(numbers) >= len(header) - 1:
        raise ValueError(
            f"the first line of {str(path)!r} holds the number {numbers[0]}, so the file seems to have no header "
            f"line; add a first line that names its {len(header)} columns, separated by {dialect.sep!r}"
        )
    found = [mark for mark in (";", "\t", "|", ",") if mark != dialect.sep and mark in header[0]]
    if len(header) == 1 and found:
        raise ValueError(
            f"the header of {str(path)!r} is separated by {found[0]!r}, not by {dialect.sep!r}; pass --sep "
            f"{'tab' if found[0] == '\t' else repr(found[0])}"
        )
