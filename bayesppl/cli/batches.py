"""Data files of any size, a batch of rows at a time: CSV, Parquet and Feather."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SUFFIXES = (".csv", ".parquet", ".feather")

Write = Callable[[Any], None]


def read(path: Path, rows: int) -> Iterator[Any]:
    """Data frames of at most ``rows`` rows each, in the order of the file.

    Raises
    ------
    ValueError
        If there is no such file, or it is not what its suffix says.
    """
    import pandas as pd

    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}")
    try:
        if _format(path) == ".csv":
            with pd.read_csv(path, chunksize=rows) as chunks:
                yield from chunks
            return
        with _arrow(path) as batches:
            for batch in batches(rows):
                yield batch.to_pandas()
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{str(path)!r} is not a {_format(path)[1:]} file: {error}") from None


def read_all(path: Path) -> Any:
    """The whole file as one data frame."""
    import pandas as pd

    return pd.concat(list(read(path, 1 << 18)), ignore_index=True)


@contextmanager
def writing(path: Path, target: Path) -> Iterator[Write]:
    """Give a function that appends data frames to the file ``path``, whose format the suffix of ``target`` says."""
    if _format(target) == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            yield lambda frame: frame.to_csv(file, index=False, header=file.tell() == 0, lineterminator="\n")
        return
    if _format(target) != ".parquet":
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


def _format(path: Path) -> str:
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{str(path)!r} must end in one of {', '.join(SUFFIXES)}, which says what the file holds")
    return path.suffix.lower()


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
        if _format(path) == ".parquet":
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
