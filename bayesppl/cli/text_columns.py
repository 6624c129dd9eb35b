"""Columns of a text file in SQL: their cells, what they are written as, and their values."""

from __future__ import annotations

import codecs
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bayesppl.cli.files import COMPRESSED, LONGEST_LINE, STANDARD_INPUT, Dialect, opened, read_header
from bayesppl.cli.terminal import SPACES, grouped, parting

# What is taken for a missing cell besides empty ones, as pandas does.
_GAPS = (
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
)

#: Texts that are truth values.
TRUTHS = ("True", "TRUE", "true", "False", "FALSE", "false")

# Encodings that DuckDB reads by itself; text in others, or compressed, is copied.
_ENCODINGS = {"utf-8": "utf-8", "iso8859-1": "latin-1"}

# From here on whole numbers do not fit into an integer of 64 bits, and are text.
_LONGEST_WHOLE = 9e18


class SurveyedColumn(NamedTuple):
    """What the cells of one column are.

    Attributes
    ----------
    kind : str
        "text", "whole", "number" or "truth"; in a Parquet file also "unsigned" for whole numbers without sign that
        an integer of 64 bits may not hold, and "other" for dates, lists and the like.
    n_present : int
        Cells that are not missing.
    n_numbers : int
        Those of them that are written as numbers, in a text file.
    cell, typed, written : str
        In SQL: a cell of the file, NULL where it is missing; its value, of the type of the column; and the cell as
        it is written.
    """

    kind: str
    n_present: int
    n_numbers: int
    cell: str
    typed: str
    written: str

    @property
    def are_mostly_numbers(self) -> bool:
        """Whether more than half of the cells are written as numbers, in a text file."""
        return 2 * self.n_numbers > self.n_present


class TextColumns:
    """The cells of a text file.

    Parameters
    ----------
    path : path
    dialect : Dialect
    known : mapping of str to collection, optional
        As for :class:`bayesppl.cli.reader.DataFile`.
    expected : set of str
        As for :func:`bayesppl.cli.files.read_header`.
    folder : path
        Where what DuckDB does not read by itself is copied to.

    Attributes
    ----------
    rows : str
        In SQL, rows of text.
    """

    def __init__(
        self,
        path: Path,
        dialect: Dialect,
        known: Mapping[str, Collection[str]] | None,
        expected: Set[str | None],
        folder: Path,
    ) -> None:
        self._dialect, self._known = dialect, known
        source = path
        if path == STANDARD_INPUT:
            source = folder / "input.csv"
            with source.open("wb") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
        with opened(source, dialect.encoding, path) as text:
            self._names, n_skipped, self.has_row_names = read_header(text, dialect, path, expected)
        encoding = _ENCODINGS.get(codecs.lookup(dialect.encoding).name)
        if encoding is None or source.suffix.lower() in COMPRESSED:  # DuckDB does not check what gzip holds
            encoding, plain = "utf-8", folder / "plain.csv"
            with (
                opened(source, dialect.encoding, path) as text,
                plain.open("w", encoding=encoding, newline="") as copy,
            ):
                shutil.copyfileobj(text, copy)
            source = plain
        places = [*["row"] * self.has_row_names, *(f"c{i}" for i in range(len(self._names)))]
        self.rows = (
            f"read_csv({quoted(literally(source))}, auto_detect = false, header = true, null_padding = false, "
            f"skip = {n_skipped}, encoding = '{encoding}', delim = {quoted(dialect.sep)}, quote = '\"', "
            f"escape = '\"', max_line_size = {LONGEST_LINE}, "
            f"columns = {{{', '.join(f'{place}: varchar' for place in places)}}})"
        )

    def survey(
        self, connection: Any, target: str | None, levels: Collection[str] | None
    ) -> tuple[int, dict[str, SurveyedColumn]]:
        """Count the rows, and find what every column is written as; see :class:`bayesppl.cli.reader.DataFile`."""
        cells = [self._without_gaps(name, f"c{i}") for i, name in enumerate(self._names)]
        plain, number = plain_text("cell", self._dialect), number_in("cell", self._dialect)
        padded = f"regexp_full_match({plain}, '\\s*[+-]?0\\d+\\s*')"
        long = "text" if self._known is None else "number"  # text in the fit is a code anyway
        query = f"""
            with cells as (
                select unnest([{", ".join(cells)}]) as cell, unnest(range({len(cells)})) as place from {self.rows}
            ), read as (
                select *, {number} as number, {among("cell", TRUTHS)} as truth,
                    regexp_full_match({plain}, '\\s*[+-]?\\d+\\s*') as whole,
                    {padded if self._known is None else self._is_one_of(self._known)} as is_code,
                    case when whole then false
                        when {self._is_one_of(self._names if levels is None else levels)}
                            or {self._is_one_of([target])} and number = floor(number)
                        then number::varchar <> ltrim(trim({plain}), '+')
                        else false end as is_spelt_otherwise
                from cells
            )
            select place, count(*), count(cell), count(number), case
                when bool_or(is_code or is_spelt_otherwise) then 'text'
                when count(cell) = 0 then 'number'
                when bool_and(truth) then 'truth'
                when count(number) < count(cell) then 'text'
                when max(abs(number)) filter (whole) >= {_LONGEST_WHOLE} then {quoted(long)}
                when bool_and(whole) then 'whole'
                else 'number' end
            from read group by place"""
        found = {place: rest for place, *rest in connection.execute(query).fetchall()}
        n_rows, columns = 0, {}
        for place, (name, cell) in enumerate(zip(self._names, cells, strict=True)):
            n_rows, n_present, n_numbers, kind = found.get(place, (0, 0, 0, "number"))
            values = {
                "text": cell,
                "truth": f"lower({cell}) = 'true'",
                "whole": f"try_cast({plain_text(cell, self._dialect)} as bigint)",
                "number": number_in(cell, self._dialect),
            }
            columns[name] = SurveyedColumn(
                kind, n_present, n_numbers, cell, values[kind], f"coalesce(c{place}, '')"
            )
        return n_rows, columns

    def _is_one_of(self, names: Iterable[str | None]) -> str:
        """Write in SQL whether a place is that of one of these columns."""
        places = [str(self._names.index(name)) for name in names if name in self._names]
        return f"place in ({', '.join(places)})" if places else "false"

    def _without_gaps(self, name: str, cell: str) -> str:
        """Write a cell in SQL, NULL where it is missing."""
        levels = (self._known or {}).get(name, ())
        given = [mark.strip() for mark in self._dialect.na_values]
        marks = {*_GAPS, *given}.difference(level.strip() for level in levels)
        if "" in levels:
            cell = f"coalesce({cell}, '')"
        return without(cell, marks, given, partial(number_in, dialect=self._dialect))


def without(cell: str, marks: Iterable[str], given: Iterable[str], number: Callable[[str], str]) -> str:
    """Write a cell in SQL, NULL where it is one of the marks, or equals one of the numbers that are given.

    Parameters
    ----------
    number : callable
        Writes the number in SQL that a text or a cell is, NULL where it is none.
    """
    # where -9 is missing, -9.0 is too
    numbers = ", ".join(number(quoted(mark)) for mark in given)
    alike = f" or {number(cell)} in ({numbers})" if numbers else ""
    return f"if({among(f'trim({cell}::varchar)', sorted(marks))}{alike}, null, {cell})"


def plain_text(cell: str, dialect: Dialect) -> str:
    """Write text in SQL as DuckDB writes numbers: without marks of thousands, and with a point for decimals.

    A mark of thousands that stands elsewhere makes text of a number: one that marks decimals is none.
    """
    marks = {"_": "x", ".": "x", dialect.decimal: "."}  # an x makes text of it
    thousands = parting(dialect.thousands)
    known = {mark: mark_of for mark, mark_of in marks.items() if mark not in thousands and mark != mark_of}
    plain = f"translate({cell}, {quoted(''.join(known) + thousands)}, {quoted(''.join(known.values()))})"
    if not thousands:
        return plain
    cell, parts = f"trim({cell}, {quoted(SPACES)})", re.escape(thousands)
    groups = quoted(grouped(parts).pattern)
    elsewhere = f"regexp_matches({cell}, {quoted(f'[{parts}]')}) and not regexp_full_match({cell}, {groups})"
    return f"if({elsewhere}, 'x', {plain})"


def number_in(cell: str, dialect: Dialect) -> str:
    """Write the number in SQL that a text is, NULL where it is none."""
    return f"try_cast({plain_text(cell, dialect)} as double)"


def among(cell: str, texts: Iterable[str]) -> str:
    """Write in SQL whether a cell is one of these texts."""
    return f"{cell} in ({', '.join(map(quoted, texts))})"


def literally(path: Path) -> str:
    """Write a path for DuckDB, which takes brackets, stars and question marks for patterns of other names."""
    return re.sub(r"[\[*?]", r"[\g<0>]", str(path))


def quoted(text: Any) -> str:
    """Write a text in SQL."""
    return f"'{str(text).replace("'", "''")}'"
