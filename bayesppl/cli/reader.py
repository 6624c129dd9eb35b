"""Read data files of any size by DuckDB: a survey of the whole file, then batches of rows."""

from __future__ import annotations

import re
import tempfile
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bayesppl.cli.files import STANDARD_INPUT, TEXT, Dialect, format_of, separator
from bayesppl.cli.text_columns import TRUTHS, TextColumns, among, number_in
from bayesppl.cli.typed_columns import survey

# Threads, each of which holds rows of its own, and rows in multiples of which DuckDB passes them on.
_THREADS, _CHUNK = 2, 2048


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
    features : collection of str, optional
        Columns of an earlier fit. A first line of numbers is a header if it names one of them, or the target.

    Attributes
    ----------
    columns : dict of str to SurveyedColumn
        In the order of the file.
    categories : set of str
        Columns that pandas wrote as categories.
    n_rows : int

    Raises
    ------
    ValueError
        If there is no such file, its suffix names no format, its content is of another one, it names a column
        twice, or it holds no rows.
    """

    def __init__(
        self,
        path: Path,
        dialect: Dialect,
        target: str | None = None,
        levels: Collection[str] | None = (),
        known: Mapping[str, Collection[str]] | None = None,
        features: Collection[str] = (),
    ) -> None:
        import duckdb

        self.is_text = format_of(path) in TEXT
        if path != STANDARD_INPUT and not path.exists():
            raise ValueError(f"there is no file {str(path)!r}")
        self.path, self.categories = path, set[str]()
        self.dialect = dialect._replace(sep=separator(path, dialect.sep))
        folder = tempfile.TemporaryDirectory()
        weakref.finalize(self, folder.cleanup)
        self._connection = duckdb.connect(config={"threads": _THREADS, "temp_directory": folder.name})
        # memory is bounded by the pages of a Parquet file, not by its groups of rows
        self._connection.execute("set disable_parquet_prefetching = true; set streaming_buffer_size = '1MB'")
        # the least and largest number of a Parquet file do not count NaN, which DuckDB then rules out
        self._connection.execute("set disabled_optimizers = 'statistics_propagation'")
        with self._refusals():
            if self.is_text:
                text = TextColumns(path, self.dialect, known, {target, *features}, Path(folder.name))
                self._rows, self._has_row_names = text.rows, text.has_row_names
                self.n_rows, self.columns = text.survey(self._connection, target, levels)
            else:
                typed = survey(self._connection, path, dialect, known, Path(folder.name))
                self._rows, self.n_rows, self.columns, self.categories = typed
        # plans that join tables of the marks of missing cells, or compare all columns, take minutes for thousands
        disabled = "statistics_propagation, in_clause, common_subexpressions"
        self._connection.execute(f"set disabled_optimizers = '{disabled}'")
        if not self.n_rows:
            raise ValueError(f"{str(path)!r} has {'a header line' if self.is_text else 'columns'} but no rows")

    def read(self, rows: int, copied: Sequence[str] = ()) -> Iterator[tuple[Any, Any]]:
        """Yield data frames of at most ``rows`` rows, numbered as in the file, and with each the columns to copy.

        Copies from a text file hold the cells as they are written, marks of missing cells included.
        """
        import pandas as pd

        names = list(self.columns)
        cells = [column.typed for column in self.columns.values()] + [
            self.columns[name].written for name in copied
        ]
        selected = ", ".join(f"{cell} as x{i}" for i, cell in enumerate(cells))
        # whole numbers and truth values have one type, whether or not some rows have gaps
        of_kinds = {"whole": ("int64", "Int64"), "unsigned": ("uint64", "UInt64"), "truth": ("bool", "boolean")}
        types = {
            name: of_kinds[column.kind][column.n_present < self.n_rows]
            for name, column in self.columns.items()
            if column.kind in of_kinds
        }
        start = 0
        with self._refusals():
            # on a cursor of its own, for other queries may come between
            result = self._connection.cursor().execute(f"select {selected} from {self._rows}")
            while len(chunk := result.fetch_df_chunk(max(1, rows // _CHUNK))):
                for first in range(0, len(chunk), rows):
                    part = chunk.iloc[first : first + rows]
                    part.index = pd.RangeIndex(start, start + len(part))
                    start += len(part)
                    frame = part.iloc[:, : len(names)].set_axis(names, axis=1).astype(types)
                    yield frame, part.iloc[:, len(names) :].set_axis(list(copied), axis=1)

    def read_all(self) -> Any:
        """Read all rows as one data frame."""
        import pandas as pd

        return pd.concat([frame for frame, _ in self.read(1 << 18)] or [pd.DataFrame(columns=list(self.columns))])

    def distinct(self, names: Sequence[str], most: int) -> dict[str, list[Any]]:
        """Find different values of some columns, without missing ones, in ascending order.

        Raises
        ------
        ValueError
            If a column has more than ``most``.
        """
        found: Sequence[Any] = ()
        # about how many there are first, so that those of an identifier are never held
        for aggregate, size, limit in (
            ("approx_count_distinct({0})", int, 2 * most),
            ("coalesce(list(distinct {0}) filter ({0} is not null), [])", len, most),
        ):
            asked = ", ".join(aggregate.format(self.columns[name].typed) for name in names)
            with self._refusals():
                found = self._connection.execute(f"select {asked or 0} from {self._rows}").fetchone() or ()
            for name, values in zip(names, found, strict=False):
                if size(values) > limit:
                    raise ValueError(
                        f"column {name!r} holds more than {most} different values, which are neither classes nor "
                        f"levels; choose another --target, or leave the column out with --drop {name!r}"
                    )
        return {name: sorted(values) for name, values in zip(names, found, strict=False)}

    def example(self, name: str) -> Any:
        """Find a cell of a column, as it is written; None where all are empty."""
        with self._refusals():
            found = self._connection.execute(f"select any_value({self.columns[name].written}) from {self._rows}")
            [cell] = found.fetchone() or (None,)
        return cell

    def odd_cell(self, name: str) -> tuple[int, Any] | None:
        """Find the row and the text of the first cell that is neither a number nor a truth value.

        Where there is none, it is the first of whichever of these are fewer.
        """
        column = self.columns[name]
        is_number, is_truth = f"{number_in('cell', self.dialect)} is not null", among("cell", TRUTHS)
        usual = is_number if column.are_mostly_numbers else is_truth
        rank = f"(not {is_number} and not {is_truth})::int + (not ({usual}))::int"
        query = (
            f"select row, cell from (select row_number() over () - 1 as row, {column.cell}::varchar "
            f"as cell from {self._rows}) where cell is not null order by {rank} desc, row limit 1"
        )
        with self._refusals():
            return self._connection.execute(query).fetchone()

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
            return f"{name} cannot be read as a {format_of(self.path)[1:]} file: {message}"
        found = dict(reversed(re.findall(r"(Line|Columns|Found): (\d+)", message)))  # the first of each
        line = f"line {found.get('Line', '')}"
        if "Found" in found:
            names = int(found["Columns"]) - self._has_row_names
            first = f"its first row has {found['Columns']}, " if self._has_row_names else ""
            return (
                f"{line} of {name} has {found['Found']} cells, {first}and its header names {names}; complete "
                f"the line{'s' if first else ''}, or put quotes around text that holds {self.dialect.sep!r}"
            )
        if "unicode" in message:
            return (
                f"{name} is not text in {self.dialect.encoding} ({line}); pass --encoding, for example latin-1 or "
                "utf-16"
            )
        if "invalid state" in message:
            return (
                f"{name} mixes line ends of Windows and of Unix, or holds a quote that is not closed before a "
                "separator; write all of its lines in one way"
            )
        if "quote" in message:
            return (
                f"a quote that opens in {line} of {name} is not closed before a separator or the end of the file; "
                "close it, or write quotes within quoted text twice"
            )
        reason = re.sub(r"(?s)^.*?Original Line:.*?\n|\n\s*\n.*", "", message)
        return f"{name} is not a CSV file with a header line: {reason} ({line})"


def known_texts(classifier: Any) -> dict[str, Collection[str]]:
    """Find the columns that a classifier has as text, with their levels."""
    levels = classifier.levels_of_columns().items()
    return {str(name): found for name, found in levels if all(isinstance(level, str) for level in found)}
