"""Rows that are read a part at a time: dask arrays and data frames by partitions, Parquet files by batches."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesppl.data.label_cells import Unlabelled
from bayesppl.data.labels import label_set, labels_of_parts
from bayesppl.errors import RowError
from bayesppl.kernels.arrays import Array

# Rows of a batch, and how many batches pyarrow reads ahead: memory of a few batches
_BATCH_ROWS, _READ_AHEAD = 1 << 16, 4


def is_lazy(X: Any) -> bool:
    """Whether ``X`` is a dask array or data frame; whoever passes one has imported dask."""
    return "dask" in sys.modules and type(X).__module__.startswith(("dask.array", "dask.dataframe"))


def partitions(*values: Any) -> list[tuple[Any, ...]]:
    """Return partitions of a table, its labels and weights, side by side, as delayed objects.

    Parameters
    ----------
    *values
        The first is a dask array or data frame; others have its partitions, or are arrays in memory.

    Raises
    ------
    ValueError
        If the numbers of partitions differ.
    """
    row_chunks = values[0].chunks[0] if _is_array(values[0]) else None
    parts = [_parts(values[0], None), *(_parts(other, row_chunks) for other in values[1:])]
    lengths = [len(part) for part in parts]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"X and y must have the same partitions, found {lengths}; repartition them alike, or take both from "
            "one frame"
        )
    return list(zip(*parts, strict=True))


def map_rows(function: Callable[[Any], Array], X: Any, n_columns: int | None, dtype: Any) -> Any:
    """Apply ``function`` to every block of rows, as a dask array: (n_rows,) or (n_rows, n_columns)."""
    import dask
    import dask.array as da

    width = () if n_columns is None else (n_columns,)
    lengths = X.chunks[0] if _is_array(X) else (np.nan,) * X.npartitions
    starts = np.cumsum([0, *lengths])[:-1].tolist()
    blocks = [
        da.from_delayed(dask.delayed(_apply)(function, part, width, dtype, i, start), (length, *width), dtype)
        for i, (part, length, start) in enumerate(zip(_parts(X, None), lengths, starts, strict=True))
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _apply(
    function: Callable[[Any], Array], part: Any, width: tuple[int, ...], dtype: Any, number: int, start: float
) -> Array:
    """Apply a function to one partition; a refused row is that of the table, if lengths are known."""
    if not len(part):
        return np.empty((0, *width), dtype=dtype)
    try:
        return function(part)
    except RowError as error:
        if np.isnan(start):
            raise error.within(f" of partition {number}") from None
        raise error.at(error.row + int(start)) from None


def _is_array(X: Any) -> bool:
    return type(X).__module__.startswith("dask.array")


def _parts(values: Any, row_chunks: Sequence[int] | None) -> list[Any]:
    """Return partitions of rows, as delayed objects."""
    import dask.array as da

    if not is_lazy(values):
        if row_chunks is None or np.isnan(row_chunks).any():
            raise TypeError(
                "X has partitions of unknown length, so that labels or weights in memory cannot be divided among "
                "them; pass both as dask series from the same frame"
            )
        values = da.from_array(np.asarray(values), chunks=(tuple(row_chunks),))
    if not _is_array(values):
        # columns are chosen first; more of the optimiser would put partitions together where columns are few
        return list(values.simplify().to_delayed(optimize_graph=False))
    if values.ndim == 2:
        values = values.rechunk({1: -1})
    elif row_chunks is not None and not np.isnan(row_chunks).any():
        values = values.rechunk((tuple(row_chunks),))
    return list(values.to_delayed().ravel())


def open_parquet(path: Any, columns: Collection[str] | None = None) -> Any:
    """Open a ``pyarrow.dataset.Dataset`` of a file, a folder or several files.

    Folders named like ``region=north`` make a column. A column has the type that holds the cells of all files.

    Parameters
    ----------
    path : str, Path, list of paths, or pyarrow.dataset.Dataset
    columns : collection of str, optional
        Those that will be read; others may differ between files.

    Raises
    ------
    ValueError
        If there is no file, files do not have the same columns, or a column has types in them of which none holds
        the other.
    """
    try:
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow: pip install 'bayesppl[parquet]'") from None
    if isinstance(path, ds.Dataset):
        return path
    is_file = isinstance(path, str | Path) and Path(path).is_file()
    options = {"format": "parquet", "partitioning": None if is_file else "hive"}
    try:
        opened = ds.dataset(path, **options)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {str(path)!r}") from None
    except pa.ArrowInvalid as error:
        raise ValueError(f"{str(path)!r} is no Parquet file, nor a folder of them: {error}") from None
    schema, remedy = opened.schema, "or a pyarrow.dataset.Dataset with the schema to read"
    names = set[str]()
    for file in opened.get_fragments():
        found = file.physical_schema
        if columns is not None:
            found = pa.schema(field for field in found if field.name in columns)
        names = names or set(found.names)
        if differing := names ^ set(found.names):
            raise ValueError(
                f"{file.path!r} and the first file do not have the same columns: only one of them has "
                f"{min(differing)!r}. Give files that do, {remedy}"
            )
        try:
            schema = pa.unify_schemas([schema, found], promote_options="permissive")
        except pa.ArrowTypeError as error:
            raise ValueError(
                f"{file.path!r} and the files before it hold one column as different types: {error}. Write it "
                f"with one type, {remedy}"
            ) from None
    if not schema.names:
        raise ValueError(f"{str(path)!r} holds no Parquet files; give a file, or a folder that has some")
    return ds.dataset(path, schema=schema, **options)


def is_unnamed_index(column: str) -> bool:
    """Whether pandas wrote the column for an index without a name."""
    return re.fullmatch(r"__index_level_\d+__", column) is not None


def scan(dataset: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Yield batches of rows as pyarrow tables, without empty ones."""
    import pyarrow as pa

    batches = dataset.to_batches(
        columns=list(columns), batch_size=_BATCH_ROWS, batch_readahead=_READ_AHEAD, fragment_readahead=1
    )
    return (pa.Table.from_batches([batch]) for batch in batches if len(batch))


def labels_in(dataset: Any, target: str, unlabelled: Unlabelled) -> list[Hashable]:
    """Find all labels of the target column, in ascending order; read that column only."""
    return labels_of_parts(label_set(batch[target], unlabelled) for batch in scan(dataset, [target]))
