"""Data files of any size, a batch of rows at a time: text, Parquet and Feather."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from itertools import repeat
from pathlib import Path
from typing import Any

from bayesppl.cli.codes import codes_as_written
from bayesppl.cli.terminal import cells, is_number
from bayesppl.cli.text_files import TEXT, Dialect, format_of, options_of_gaps
from bayesppl.cli.whole_numbers import with_whole_numbers

# Bytes of a line of names; a file without line ends would be read whole to be refused.
_LONGEST_HEADER = 16 << 20

Write = Callable[[Any], None]


def read(path: Path, rows: int, dialect: Dialect, texts: Collection[str] = ()) -> Iterator[Any]:
    """Data frames of at most ``rows`` rows each, in the order of the file; see :func:`read_with_copies`."""
    return (frame for frame, _ in read_with_copies(path, rows, dialect, dict.fromkeys(texts, ()), ()))


def read_with_copies(
    path: Path, rows: int, dialect: Dialect, texts: Mapping[str, Collection[str]], copied: Collection[str]
) -> Iterator[tuple[Any, Any]]:
    """Data frames of at most ``rows`` rows each, in the order of the file, and beside each the columns to be copied.

    Parameters
    ----------
    path : path
    rows : int
    dialect : Dialect
    texts : mapping of str to collection of str
        Columns of a text file whose cells are text, numbers though they may look like in some batches, and the texts that are
        levels, gaps though they may look like, as "None" does.
    copied : collection of str
        Columns that are wanted as they are written in a text file, marks of missing cells included.

    Raises
    ------
    ValueError
        If there is no such file, or its format is not that of its suffix.
    """
    _require(path)
    if format_of(path) in TEXT:
        import pandas as pd

        dialect = dialect.of(path)
        with _csv_errors(path, dialect):
            _check_header(path, dialect)
            # low_memory would guess the type of a column from parts of a batch
            options = {
                "chunksize": rows,
                "low_memory": False,
                **dialect.options(),
                **options_of_gaps(path, dialect, texts),
            }
            as_written = {**options, "dtype": str, "na_filter": False, "usecols": lambda name: name in copied}
            with (
                pd.read_csv(path, dtype=dict.fromkeys(texts, str), **options) as chunks,
                pd.read_csv(path, **as_written) if copied else nullcontext(repeat(None)) as copies,
            ):
                known: dict[str, bool] = {}
                for frame, copy in zip(chunks, copies, strict=False):
                    yield with_whole_numbers(_without_row_names(frame, path), path, dialect, known), copy
        return
    with _arrow(path) as batches:
        for batch in batches(rows):
            frame = _with_whole_numbers_of(batch)
            yield frame, frame[[name for name in copied if name in frame.columns]]


def _without_row_names(frame: Any, path: Path) -> Any:
    """The same rows, numbered; lines with a cell more than the header has names begin with a name of the row, as R writes them.

    Raises
    ------
    ValueError
        If the additional cell is an empty one at the end of each line.
    """
    import pandas as pd

    if isinstance(frame.index, pd.RangeIndex):
        return frame
    if frame.index.nlevels > 1 or frame.iloc[:, -1].isna().all():
        raise ValueError(
            f"the lines of {str(path)!r} have more cells than its header has names; name every column, or remove separators at the ends "
            "of the lines"
        )
    return frame.reset_index(drop=True)


def _with_whole_numbers_of(batch: Any) -> Any:
    """Rows of a table file as a data frame; integers beside gaps stay integers."""
    import pandas as pd
    import pyarrow as pa

    frame = batch.to_pandas()
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if pa.types.is_integer(field.type) and column.null_count:
            whole = pd.UInt64Dtype() if pa.types.is_unsigned_integer(field.type) else pd.Int64Dtype()
            frame[field.name] = pd.Series(whole.__from_arrow__(column), index=frame.index)
    return frame


def read_all(path: Path, dialect: Dialect, is_code: Callable[[Any], bool]) -> Any:
    """The whole file as one data frame, with codes as they are written."""
    import pandas as pd

    _require(path)
    if format_of(path) in TEXT:  # at once, for the type of a column is that of all its cells
        dialect = dialect.of(path)
        with _csv_errors(path, dialect):
            _check_header(path, dialect)
            frame = pd.read_csv(path, low_memory=False, **dialect.options())
            frame = with_whole_numbers(_without_row_names(frame, path), path, dialect, {})
            return codes_as_written(frame, path, dialect, is_code)
    return pd.concat(list(read(path, 1 << 18, dialect)), ignore_index=True)


def _require(path: Path) -> None:
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}")


def _check_header(path: Path, dialect: Dialect) -> None:
    """Refuse names that occur twice, which pandas would quietly change, a header that was not split, and none at all."""
    import pandas as pd

    with path.open("rb") as file:
        if len(file.readline(_LONGEST_HEADER + 1)) > _LONGEST_HEADER:
            raise ValueError(
                f"the header line of {str(path)!r} is longer than {_LONGEST_HEADER >> 20} MB; is it a CSV file with a header line?"
            )
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, sep=dialect.sep, encoding=dialect.encoding)
    names = header.iloc[0].dropna()
    twice = names[names.duplicated()]
    if len(twice):
        raise ValueError(f"the header of {str(path)!r} names column {twice.iloc[0]!r} twice; rename one of them")
    numbers = [name for name in names if is_number(name)]
    if len(numbers) and len(numbers) >= len(header.columns) - 1:
        raise ValueError(
            f"the first line of {str(path)!r} holds the number {numbers[0]}, so the file seems to have no header line; add a "
            f"first line that names its {len(header.columns)} columns, separated by {dialect.sep!r}"
        )
    if len(header.columns) == 1:
        found = [mark for mark in (";", "\t", "|", ",") if mark != dialect.sep and mark in str(header.iloc[0, 0])]
        if found:
            raise ValueError(
                f"the header of {str(path)!r} is separated by {found[0]!r}, not by {dialect.sep!r}; pass --sep "
                f"{'tab' if found[0] == '\t' else repr(found[0])}"
            )


@contextmanager
def _csv_errors(path: Path, dialect: Dialect) -> Iterator[None]:
    import pandas as pd

    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{str(path)!r} is not text in {dialect.encoding} (it holds the byte {error.object[error.start]:#04x}); pass "
            "--encoding, for example latin-1 or utf-16"
        ) from None
    except UnicodeError as error:
        raise ValueError(f"{str(path)!r} is not text in {dialect.encoding} ({error}); pass --encoding") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        if "out of memory" in str(error):
            raise MemoryError(f"to read {str(path)!r}") from None
        raise ValueError(f"{str(path)!r} is not a CSV file with a header line: {error}") from None


@contextmanager
def writing(path: Path, target: Path) -> Iterator[Write]:
    """Give a function that appends data frames to the file ``path``, in the format of the suffix of ``target``."""
    if target.suffix.lower() == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            yield lambda frame: cells(frame).to_csv(
                file, index=False, header=file.tell() == 0, lineterminator="\n"
            )
        return
    if target.suffix.lower() != ".parquet":
        raise ValueError(f"{str(target)!r}: predictions are written as .csv or .parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    writers: list[Any] = []

    def write(frame: Any) -> None:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        if not writers:
            writers.append(pq.ParquetWriter(path, table.schema))
        writers[0].write_table(table)

    try:
        yield write
    finally:
        for writer in writers:
            writer.close()


@contextmanager
def _arrow(path: Path) -> Iterator[Callable[[int], Iterator[Any]]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError(
            f"reading {path.suffix} files needs pyarrow: install it, or convert {str(path)!r} to CSV"
        ) from None
    try:
        if format_of(path) == ".parquet":
            with pq.ParquetFile(path) as file:
                yield lambda rows: file.iter_batches(batch_size=rows)
        else:
            with pa.memory_map(str(path)) as source:
                reader = pa.ipc.open_file(source)
                stored = (reader.get_batch(i) for i in range(reader.num_record_batches))
                yield lambda rows: (
                    batch.slice(start, rows) for batch in stored for start in range(0, batch.num_rows, rows)
                )
    except pa.ArrowInvalid as error:
        raise ValueError(f"{str(path)!r} is not a {path.suffix[1:]} file: {error}") from None
