"""Read data files of any size by DuckDB: a survey of the whole file, then batches of rows."""

from __future__ import annotations

import codecs
import json
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bayesppl.cli.files import (
    COMPRESSED,
    LONGEST_LINE,
    STANDARD_INPUT,
    TEXT,
    Dialect,
    format_of,
    opened,
    read_header,
)
from bayesppl.cli.terminal import is_number

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
_TRUTHS = ("True", "TRUE", "true", "False", "FALSE", "false")

# Encodings that DuckDB reads by itself; text in others is copied.
_ENCODINGS = {"utf-8": "utf-8", "iso8859-1": "latin-1"}

# Each thread holds rows of its own. DuckDB passes rows on in multiples of so many.
_THREADS, _CHUNK = 2, 2048

# From here on whole numbers do not fit into an integer of 64 bits, and are text.
_LONGEST_WHOLE = 9e18

# Types of DuckDB by what they hold.
_KINDS = {
    "whole": r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?",
    "number": r"FLOAT|DOUBLE|DECIMAL.*",
    "truth": "BOOLEAN",
    "text": r"VARCHAR|ENUM.*|UUID",
}


class Column(NamedTuple):
    """What the cells of one column are.

    Attributes
    ----------
    kind : str
        "text", "whole", "number" or "truth", or "other" for dates, lists and the like in a Parquet file.
    n_present : int
        Cells that are not missing.
    n_numbers : int
        Those of them that are written as numbers, in a text file.
    largest : float
        Size of the largest of its whole numbers, where it may lie beyond 2^53.
    """

    kind: str
    n_present: int
    n_numbers: int = 0
    largest: float = 0.0


class DataFile:
    """A data file whose columns are known.

    Parameters
    ----------
    path : path
        A file, a folder of Parquet files, or ``-`` for text from standard input.
    dialect : Dialect
    target : str, optional
        Column of labels: whole numbers that would be written otherwise, as 1e3, make text of it.
    levels : collection of str, optional
        Columns of levels: numbers that would be written otherwise, as 1.10, make text of them. None for all
        columns.
    known : mapping of str to collection, optional
        Columns that are text whatever they look like, as they were in a fit, and their levels, gaps though they
        may look like. Zeros may lead the numbers of the other columns; without an earlier fit, they make text of a
        column.

    Attributes
    ----------
    columns : dict of str to Column
        In the order of the file.
    categories : set of str
        Columns that pandas wrote as categories.
    n_rows : int

    Raises
    ------
    ValueError
        If there is no such file, its suffix names no format, or its content is of another one.
    """

    def __init__(
        self,
        path: Path,
        dialect: Dialect,
        target: str | None = None,
        levels: Collection[str] | None = (),
        known: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        import duckdb

        self.path, self._known, self.categories = path, known, set[str]()
        self._dataset: Any = None
        suffix = format_of(path)
        if path != STANDARD_INPUT and not path.exists():
            raise ValueError(f"there is no file {str(path)!r}")
        self.dialect = dialect._replace(sep="\t") if suffix == ".tsv" and dialect.sep == "," else dialect
        self.is_text = suffix in TEXT
        self._connection = duckdb.connect(config={"threads": _THREADS, "temp_directory": tempfile.gettempdir()})
        # memory is bounded by the pages of a Parquet file, not by its groups of rows
        self._connection.execute("set disable_parquet_prefetching = true; set streaming_buffer_size = '1MB'")
        with self._refusals():
            if self.is_text:
                self._cells = self._open_text()
                self.columns = self._survey_text(target, self._cells if levels is None else levels)
            else:
                self._cells = self._open_table(suffix)
                self.columns = self._survey_types()

    def read(self, rows: int, copied: Sequence[str] = ()) -> Iterator[tuple[Any, Any]]:
        """Data frames of at most ``rows`` rows, numbered as in the file, and beside each the columns to be copied.

        Copies from a text file hold the cells as they are written, marks of missing cells included.
        """
        import pandas as pd

        names = list(self.columns)
        copies = [
            f"coalesce(wc{self._places[name]}, '')" if self.is_text else self._cells[name] for name in copied
        ]
        rows_of = f"{self._rows} positional join {self._written}" if copied and self.is_text else self._rows
        cells = [*(self._typed(name) for name in names), *copies]
        selected = ", ".join(f"{cell} as x{i}" for i, cell in enumerate(cells))
        types = {name: dtype for name, column in self.columns.items() if (dtype := self._dtype(column))}
        start = 0
        with self._refusals():
            cursor = self._connection.cursor()  # other queries may come between
            if self._dataset is not None:
                cursor.register("feather", self._dataset)
            result = cursor.execute(f"select {selected} from {rows_of}")
            while len(chunk := result.fetch_df_chunk(max(1, rows // _CHUNK))):
                for first in range(0, len(chunk), rows):
                    part = chunk.iloc[first : first + rows]
                    part.index = pd.RangeIndex(start, start + len(part))
                    start += len(part)
                    frame = part.iloc[:, : len(names)].set_axis(names, axis=1).astype(types)
                    yield frame, part.iloc[:, len(names) :].set_axis(list(copied), axis=1)

    def read_all(self) -> Any:
        """All rows as one data frame."""
        import pandas as pd

        return pd.concat([frame for frame, _ in self.read(1 << 18)] or [pd.DataFrame(columns=list(self.columns))])

    def distinct(self, name: str, most: int) -> list[Any]:
        """Different values of a column, without missing ones, in ascending order.

        Raises
        ------
        ValueError
            If there are more than ``most``.
        """
        level = f"{self._typed(name)} as level"
        query = f"select distinct {level} from {self._rows} where level is not null limit {most + 1}"
        with self._refusals():
            found = self._connection.execute(query).fetchall()
        if len(found) > most:
            raise ValueError(
                f"column {name!r} holds more than {most} different values, which are neither classes nor levels; "
                f"choose another --target, or leave the column out with --drop {name!r}"
            )
        return sorted(level for (level,) in found)

    def first(self, name: str, condition: str, shown: str = "cell") -> tuple[int, Any] | None:
        """Find the first row of which a condition in SQL is true, and what is shown of it.

        Both are about the ``cell``, the integer that it is (``whole``), and whether it is neither a number nor a
        truth value (``odd``).
        """
        query = (
            f"select row, {shown} from (select row, cell, try_cast({self._plain('cell')} as hugeint) as whole, "
            f"{self._number('cell')} is null and not {_among('cell', _TRUTHS)} as odd from (select row_number() "
            f"over () - 1 as row, {self._cells[name]}::varchar as cell from {self._rows}) where cell is not null) "
            f"where {condition} limit 1"
        )
        with self._refusals():
            found: tuple[int, Any] | None = self._connection.execute(query).fetchone()
        return found

    def _open_text(self) -> dict[str, str]:
        """Make rows of a text file ready, and return the cells of its columns in SQL, by name."""
        dialect, source = self.dialect, self.path
        if source == STANDARD_INPUT:
            source = self._copy(sys.stdin.buffer, "wb")
        header = read_header(source, dialect)
        encoding = _ENCODINGS.get(codecs.lookup(dialect.encoding).name)
        if encoding is None or source.suffix.lower() in COMPRESSED[1:]:
            with opened(source, dialect.encoding) as text:
                encoding, source = "utf-8", self._copy(text, "w")
        names = ["row"] * header.has_row_names + [f"c{i}" for i in range(len(header.names))]
        options = (
            f"auto_detect = false, header = true, null_padding = false, skip = {header.n_blank}, encoding = "
            f"'{encoding}', delim = {_quoted(dialect.sep)}, quote = '\"', escape = '\"', max_line_size = "
            f"{LONGEST_LINE}"
        )
        gaps = {"", *_GAPS, *dialect.na_values}
        self._gaps_and_levels = gaps.intersection(set().union(*(self._known or {}).values()))
        marks = ", ".join(map(_quoted, sorted(gaps - self._gaps_and_levels)))
        self._rows, self._written = (
            f"read_csv({_quoted(source)}, {options}, columns = {{{
                ', '.join(f'{prefix}{name}: varchar' for name in names)
            }}}{null})"
            for prefix, null in (("", f", nullstr = [{marks}]"), ("w", ""))
        )
        self._places = {name: i for i, name in enumerate(header.names)}
        return {name: self._without_gaps(name) for name in header.names}

    def _copy(self, source: Any, mode: str) -> Path:
        """Copy what DuckDB does not read by itself into a file that lives as long as this reader."""
        folder = tempfile.TemporaryDirectory()
        weakref.finalize(self, folder.cleanup)
        path = Path(folder.name, "copy.csv")
        with open(
            path, mode, encoding=None if "b" in mode else "utf-8", newline=None if "b" in mode else ""
        ) as copy:
            shutil.copyfileobj(source, copy)
        return path

    def _open_table(self, suffix: str) -> dict[str, str]:
        """Make rows of a Parquet or Feather file ready, and return the cells of its columns in SQL, by name."""
        execute = self._connection.execute
        if suffix == ".parquet":
            source = _quoted(self.path / "**" / "*.parquet" if self.path.is_dir() else self.path)
            rows = f"read_parquet({source})"
            metadata = execute(
                f"select value from parquet_kv_metadata({source}) where decode(key) = 'pandas'"
            ).fetchone()
        else:
            try:
                import pyarrow.dataset as ds
            except ImportError:
                raise ValueError(
                    f"reading {suffix} files needs pyarrow: install it, or convert {str(self.path)!r} to CSV"
                ) from None
            try:
                dataset = ds.dataset(self.path, format="feather")
            except ValueError as error:
                raise ValueError(f"{str(self.path)!r} is not a {suffix[1:]} file: {error}") from None
            self._connection.register("feather", dataset)
            self._dataset = dataset
            rows, metadata = "feather", ((dataset.schema.metadata or {}).get(b"pandas", b"{}"),)
        pandas = json.loads(metadata[0]) if metadata else {}
        index = [name for name in pandas.get("index_columns", []) if isinstance(name, str)]
        self.categories = {
            column["name"] for column in pandas.get("columns", []) if column["pandas_type"] == "categorical"
        }
        described = execute(f"select * from {rows} limit 0").description
        self._rows = f"(select * from {rows}) as t({', '.join(f'c{i}' for i in range(len(described)))})"
        self._types = {name: str(kind) for name, kind, *_ in described if name not in index}
        self._places = {name: i for i, (name, *_) in enumerate(described)}
        return {
            name: f"c{self._places[name]}::varchar" if kind.startswith("ENUM") else f"c{self._places[name]}"
            for name, kind in self._types.items()
        }

    def _survey_text(self, target: str | None, levels: Collection[str]) -> dict[str, Column]:
        """Count the cells of every column of a text file by what they are written as."""
        number, plain = self._number("cell"), self._plain("cell")
        otherwise = f"{number}::varchar <> ltrim(trim({plain}), '+')"
        places = ", ".join(str(self._places.get(name, -1)) for name in ("", *levels))
        query = f"""
            select place, case
                when cell is null then 'gap'
                when {_among("cell", _TRUTHS)} then 'truth'
                when regexp_full_match({plain}, '\\s*[+-]?0\\d+\\s*') then 'padded'
                when regexp_full_match({plain}, '\\s*[+-]?\\d+\\s*') then 'whole'
                when {number} is null then 'text'
                when place in ({places}) and {otherwise} then 'odd'
                when place = {self._places.get(target or "", -1)} and {number} = floor({number}) and {
            otherwise
        } then 'odd'
                else 'number' end as kind, count(*), max(case when length(cell) > 15 then abs({number}) end)
            from (select unnest([{", ".join(self._cells.values())}]) as cell, unnest(range({
            len(self._cells)
        })) as place
                from {self._rows}) group by all"""
        counts: list[dict[str, int]] = [{} for _ in self._cells]
        largest = [0.0] * len(counts)
        for place, kind, count, size in self._connection.execute(query).fetchall():
            counts[place][kind] = count
            largest[place] = max(largest[place], size or 0.0) if kind in ("whole", "padded") else largest[place]
        self.n_rows = sum(counts[0].values())
        return {
            name: self._column(name, found, size)
            for name, found, size in zip(self._cells, counts, largest, strict=True)
        }

    def _column(self, name: str, counts: dict[str, int], largest: float) -> Column:
        n_present = sum(counts.values()) - counts.pop("gap", 0)
        n_numbers = n_present - counts.get("text", 0) - counts.get("truth", 0)
        is_text = "odd" in counts or largest >= _LONGEST_WHOLE
        is_text |= "padded" in counts if self._known is None else name in self._known
        if n_present and not is_text and counts.get("truth") == n_present:
            kind = "truth"
        elif is_text or n_numbers < n_present:
            kind = "text"
        else:
            n_whole = counts.get("whole", 0) + counts.get("padded", 0)
            kind = "whole" if n_present and n_whole == n_present else "number"
        return Column(kind, n_present, n_numbers, largest)

    def _survey_types(self) -> dict[str, Column]:
        """Count the cells of every column of a file that has types."""
        kinds = {
            name: next((kind for kind, types in _KINDS.items() if re.fullmatch(types, found)), "other")
            for name, found in self._types.items()
        }
        sizes = [
            f"max(abs({self._cells[name]}::double))" if kind == "whole" else "0" for name, kind in kinds.items()
        ]
        counts = [f"count({cell})" for cell in self._cells.values()]
        [(self.n_rows, *found)] = self._connection.execute(
            f"select count(*), {', '.join([*counts, *sizes])} from {self._rows}"
        ).fetchall()
        half = len(kinds)
        return {
            name: Column(kind, n_present, 0, size or 0.0)
            for (name, kind), n_present, size in zip(kinds.items(), found[:half], found[half:], strict=True)
        }

    def _without_gaps(self, name: str) -> str:
        """Write a cell of a text file in SQL, NULL where it is missing."""
        cell = f"c{self._places[name]}"
        for mark in sorted(self._gaps_and_levels.difference((self._known or {}).get(name, ()))):
            cell = f"nullif({cell}, {_quoted(mark)})"
        numbers = ", ".join(mark for mark in self.dialect.na_values if is_number(mark))
        # where -9 is missing, -9.0 is too
        return f"if(coalesce(try_cast({cell} as double) in ({numbers}), false), null, {cell})" if numbers else cell

    def _plain(self, cell: str) -> str:
        """A text in SQL as DuckDB writes numbers: without marks of thousands, and with a point for decimals."""
        marks = {"_": "x", ".": "x", self.dialect.decimal: "."}  # an x makes text of it
        thousands = self.dialect.thousands or ""
        known = {mark: mark_of for mark, mark_of in marks.items() if mark not in thousands and mark != mark_of}
        return f"translate({cell}, {_quoted(''.join(known) + thousands)}, {_quoted(''.join(known.values()))})"

    def _number(self, cell: str) -> str:
        return f"try_cast({self._plain(cell)} as double)"

    def _typed(self, name: str) -> str:
        """A cell in SQL, of the type of its column."""
        cell, kind = self._cells[name], self.columns[name].kind
        if not self.is_text or kind == "text":
            return cell
        if kind == "truth":
            return f"lower({cell}) = 'true'"
        return f"try_cast({self._plain(cell)} as bigint)" if kind == "whole" else self._number(cell)

    def _dtype(self, column: Column) -> str | None:
        """The type of pandas for whole numbers and truth values, whether or not some rows have gaps."""
        has_gaps = column.n_present < self.n_rows
        types = {"whole": ("int64", "Int64"), "truth": ("bool", "boolean")}
        return types[column.kind][has_gaps] if column.kind in types else None

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Refuse in words what DuckDB refuses."""
        import duckdb

        try:
            yield
        except duckdb.OutOfMemoryException:
            raise MemoryError(f"to read {str(self.path)!r}") from None
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise ValueError(self._in_words(str(error))) from None

    def _in_words(self, message: str) -> str:
        name = repr(str(self.path))
        if not self.is_text:
            return f"{name} is not a {format_of(self.path)[1:]} file: {message}"
        line, expected, found = (
            match[1] if (match := re.search(rf"{word}: (\d+)", message)) else ""
            for word in ("Line", "Columns", "Found")
        )
        if found:
            return (
                f"line {line} of {name} has {found} cells, and its header names {expected}; complete the line, or "
                f"put quotes around text that holds {self.dialect.sep!r}"
            )
        if "unicode" in message:
            return (
                f"{name} is not text in {self.dialect.encoding} (line {line}); pass --encoding, for example "
                "latin-1 or utf-16"
            )
        reason = re.sub(r"(?s)^.*?Original Line:.*?\n|\n\s*\n.*", "", message)
        return f"{name} is not a CSV file with a header line: {reason}" + (f" (line {line})" if line else "")


def _among(cell: str, texts: Sequence[str]) -> str:
    return f"{cell} in ({', '.join(map(_quoted, texts))})"


def _quoted(text: Any) -> str:
    """A text in SQL."""
    return f"'{str(text).replace("'", "''")}'"
