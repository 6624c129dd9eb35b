"""Columns of pyarrow in types that narwhals, pandas and numpy read: views, runs of equal cells and extensions become ordinary columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from typing import Any

#: What pyarrow calls these types, and the ordinary ones of the same cells.
_VIEWS = {"string_view": "large_string", "binary_view": "large_binary"}


def readable_table(table: Any) -> Any:
    """A table or a record batch of pyarrow as a table whose columns can be read.

    Raises
    ------
    TypeError
        As for :func:`readable_column`.
    """
    import pyarrow as pa

    columns = [
        readable_column(column, name) for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def readable_frame(frame: Any) -> Any:
    """A data frame of pandas whose columns of pyarrow can be read.

    Raises
    ------
    TypeError
        As for :func:`readable_column`.
    """
    import pandas as pd

    places = [place for place, dtype in enumerate(frame.dtypes) if isinstance(dtype, pd.ArrowDtype)]
    changed = {place: readable_series(frame.iloc[:, place]) for place in places}
    changed = {place: column for place, column in changed.items() if column.dtype != frame.dtypes.iloc[place]}
    if not changed:
        return frame
    frame = frame.copy(deep=False)
    for place, column in changed.items():
        frame.isetitem(place, column)
    return frame


def readable_series(series: Any) -> Any:
    """A column of pandas that can be read.

    Raises
    ------
    TypeError
        As for :func:`readable_column`.
    """
    import pandas as pd

    if not isinstance(series.dtype, pd.ArrowDtype):
        return series
    import pyarrow as pa

    column = readable_column(pa.array(series.array), series.name)
    if column.type == series.dtype.pyarrow_dtype:
        return series
    return pd.Series(pd.array(column, dtype=pd.ArrowDtype(column.type)), index=series.index, name=series.name)


def readable_column(column: Any, name: Hashable) -> Any:
    """A column of pyarrow, in chunks, of a type that can be read.

    Raises
    ------
    TypeError
        If its type has no ordinary counterpart, naming column, type and remedy.
    """
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        column = pa.chunked_array([column])
    kind = column.type
    step = next((step for is_of_kind, step in _steps() if is_of_kind(kind)), None)
    return column if step is None else step(column, name)


def is_arrow_batch(X: Any) -> bool:
    """Whether ``X`` is a record batch of pyarrow; whoever passes one has imported pyarrow."""
    pa = sys.modules.get("pyarrow")
    return pa is not None and isinstance(X, pa.RecordBatch)


def is_arrow_array(y: Any) -> bool:
    """Whether ``y`` is an array of pyarrow, in one chunk or several."""
    pa = sys.modules.get("pyarrow")
    return pa is not None and isinstance(y, pa.Array | pa.ChunkedArray)


def _steps() -> list[tuple[Callable[[Any], bool], Callable[[Any, Hashable], Any]]]:
    """What turns columns of some types into columns of types that are closer to ordinary ones."""
    from pyarrow import types

    return [
        (types.is_string_view, _of_view),
        (types.is_binary_view, _of_view),
        (types.is_run_end_encoded, _of_runs),
        (types.is_dictionary, _of_dictionary),
        (_is_extension, _of_extension),
        *(
            (is_of_kind, _refuse)
            for is_of_kind in (types.is_union, types.is_list_view, types.is_large_list_view, types.is_interval)
        ),
    ]


def _refuse(column: Any, name: Hashable) -> Any:
    raise TypeError(
        f"column {name!r} has the type {column.type} of pyarrow, whose cells are neither numbers nor levels; convert it to numbers "
        "or text, or drop it"
    )


def _is_extension(kind: Any) -> bool:
    import pyarrow as pa

    return isinstance(kind, pa.BaseExtensionType)


def _of_view(column: Any, name: Hashable) -> Any:
    return column.cast(_VIEWS[str(column.type)])


def _of_runs(column: Any, name: Hashable) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
    return readable_column(pa.chunked_array(chunks, type=column.type.value_type), name)


def _of_extension(column: Any, name: Hashable) -> Any:
    import pyarrow as pa

    chunks = [chunk.storage for chunk in column.chunks]
    return readable_column(pa.chunked_array(chunks, type=column.type.storage_type), name)


def _of_dictionary(column: Any, name: Hashable) -> Any:
    """Levels stay levels where these are text, bytes, numbers or truth values; of other cells, such as dates, the dictionary is left."""
    import pyarrow as pa

    kind = column.type
    values = readable_column(pa.chunked_array([], type=kind.value_type), name).type
    # pandas before 3 reads no dictionary of the large types
    values = {"large_string": pa.string(), "large_binary": pa.binary()}.get(str(values), values)
    if values != kind.value_type:
        column = column.cast(pa.dictionary(kind.index_type, values, kind.ordered))
    return column if _can_be_listed(values) else column.cast(values)


def _can_be_listed(kind: Any) -> bool:
    from pyarrow import types

    tests = (
        types.is_string,
        types.is_binary,
        types.is_fixed_size_binary,
        types.is_integer,
        types.is_floating,
        types.is_boolean,
    )
    return any(test(kind) for test in tests)
