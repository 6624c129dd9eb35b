"""Data frames and series: all that depends on the library they come from stands here, behind narwhals."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np

from bayesppl.data.columns import Kind, as_objects, beyond_floats, kind_of_values, refuse_rounding, to_float
from bayesppl.data.levels import as_level
from bayesppl.data.matrices import plain, read_matrix
from bayesppl.data.names import listed, only_count, positions_of
from bayesppl.data.table import ROWS_BY_COLUMN, MatrixTable, Table
from bayesppl.errors import warn
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.ranges import Extent

#: The data frames in which class probabilities can be returned.
Container = Literal["default", "pandas", "polars"]


@dataclass(frozen=True, eq=False)
class FrameTable(Table):
    """Columns of a data frame: pandas, polars, pyarrow, or anything narwhals reads."""

    names: tuple[Hashable, ...]
    frame: nw.DataFrame[Any]
    is_named: bool = True
    matrix = None

    @property
    def extent(self) -> Extent:
        return Extent(len(self.frame), len(self.names), ROWS_BY_COLUMN)

    def numeric(self, names: Sequence[Hashable] | None = None) -> Any:
        raw = {name: self.column(name) for name in (self.names if names is None else names)}
        columns = [cells if cells.dtype.kind in "fiub" else to_float(cells, name) for name, cells in raw.items()]
        if not columns:
            return np.empty((len(self), 0))
        together = np.column_stack(columns)
        for name, column in zip(raw, columns, strict=True):
            if column.dtype.kind in "iu" and together.dtype.kind == "f" and beyond_floats(column):
                refuse_rounding(column, name)
        return together

    def column(self, name: Hashable) -> Array:
        series = self.frame[str(name)]
        dtype = series.dtype  # worked out anew each time
        if dtype.is_decimal():
            return to_float(series.to_numpy(), name)
        # polars turns a column of nothing at all, and integers with gaps of an extension type, to floating-point
        # numbers
        is_unknown = series.implementation.is_polars() and dtype == nw.Unknown
        if dtype.is_nested() or dtype in (nw.Int128, nw.UInt128) or is_unknown:
            return as_objects(series.to_list(), len(series))
        values = plain(np.asarray(series.to_numpy()))
        # a single missing cell makes integers floating-point numbers, which round the large ones
        if values.dtype.kind == "f" and dtype.is_integer() and beyond_floats(values):
            return np.asarray(series.to_list(), dtype=object)
        return values

    def categories(self, name: Hashable) -> list[Hashable] | None:
        series = self.frame[str(name)]
        dtype, found = series.dtype, None
        if isinstance(dtype, nw.Enum):
            found = dtype.categories
        elif dtype == nw.Categorical and series.implementation.is_pandas():
            found = getattr(series.to_native().dtype, "categories", None)  # dictionaries in pandas list none
        return None if found is None else [as_level(value) for value in found]

    def kind(self, name: Hashable) -> Kind:
        series = self.frame[str(name)]
        dtype = series.dtype
        if dtype == nw.Boolean:
            return "boolean"
        if dtype.is_integer():
            return "integer"
        if dtype.is_float():
            return "continuous"
        if dtype in (nw.Categorical, nw.Enum):
            return "category"
        cells = as_objects(series.to_list(), len(series)) if dtype.is_decimal() else self.column(name)
        return kind_of_values(cells, name, dtype)

    def select(self, names: Sequence[Hashable]) -> Table:
        names = tuple(names)
        if names == self.names:
            return self
        self.require(names)
        return FrameTable(names, self.frame.select([str(name) for name in names]))

    def take(self, rows: Array | slice) -> Table:
        return replace(self, frame=self.frame[rows])

    def picked(self, other: Table, places: Array) -> Table:
        both = nw.concat([nw.maybe_reset_index(nw.from_native(table.native())) for table in (self, other)])
        columns = [both.select(str(name))[places[:, j]] for j, name in enumerate(self.names)]
        return replace(self, frame=nw.concat(list(map(nw.maybe_reset_index, columns)), how="horizontal"))

    def native(self) -> Any:
        return self.frame.to_native()

    def renamed(self, names: Sequence[Hashable]) -> Table:
        new = dict(zip(self.frame.columns, map(str, names), strict=True))
        return FrameTable(tuple(names), self.frame.rename(new))

    def snapshot(self, *, copied: bool) -> Table:
        if not self.frame.implementation.is_pandas():
            # polars does not change columns in place; memory beneath them can change all the same
            return self.take(np.arange(len(self))) if copied else self
        frame = self.frame.to_native().copy(deep=copied)
        return replace(self, frame=nw.from_native(frame, eager_only=True))


def read_frame(X: Any) -> Table | None:
    """Read a data frame of any kind, or a series of structs of polars; None for anything else.

    Raises
    ------
    ValueError, TypeError
        If it is lazy, two columns share a name, only some names are text, or names have several levels.
    """
    native = _native(X)
    if nw.dependencies.is_pandas_dataframe(native):
        native = _readable_pandas(native)
    elif nw.dependencies.is_polars_series(native) and nw.from_native(native, series_only=True).dtype == nw.Struct:
        native = native.struct.unnest()
    try:
        frame = nw.from_native(native, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise _named_twice(list(native.columns)) from error
    if isinstance(frame, nw.LazyFrame):
        raise ValueError(f"X is lazy ({type(X).__name__}): call its collect(), compute() or df() first")
    return _as_table(frame) if isinstance(frame, nw.DataFrame) else None


def _as_table(frame: nw.DataFrame[Any]) -> Table:
    """Name the columns, and read those that are one matrix as such."""
    given = tuple(frame.columns)
    are_texts = [isinstance(name, str) for name in given]
    if any(are_texts) and not all(are_texts):
        raise TypeError(
            f"Feature names are only supported if all input features have string names, found {listed(given)}; "
            "make them all text, as in X.columns = X.columns.map(str)"
        )
    # columns that are only numbered have no names; years, for example, are names, as they are in a text file
    is_named = all(are_texts) or not only_count(given)
    names = given if all(are_texts) else tuple(map(str, given)) if is_named else positions_of(len(given))
    if len(set(names)) < len(names):
        raise _named_twice(names)
    native = frame.to_native()
    if nw.dependencies.is_pandas_dataframe(native) and len(given):
        kinds = set(native.dtypes)
        if all(getattr(kind, "fill_value", None) == 0 for kind in kinds):
            return MatrixTable(names, read_matrix(native.sparse.to_coo()), is_named)
        if not is_named and len(kinds) == 1 and isinstance(kinds.pop(), np.dtype):
            return MatrixTable(names, read_matrix(native.to_numpy()))
        if names != given:
            frame = nw.from_native(native.set_axis(list(names), axis=1), eager_only=True)
    return FrameTable(names, frame, is_named)


def _named_twice(names: Sequence[Hashable]) -> ValueError:
    twice = next(name for place, name in enumerate(names) if name in names[:place])
    return ValueError(
        f"column names must be unique, found {twice!r} more than once among {listed(names)}; rename or drop "
        "columns"
    )


def read_series(y: Any) -> Array | None:
    """Read the cells of a series of any kind; None for anything else.

    Integers beside gaps are held one by one, for floating-point numbers round large ones; so are times of a zone,
    which numpy has not.
    """
    native, pandas = _native(y), nw.dependencies.get_pandas()
    if pandas is not None and isinstance(native, pandas.MultiIndex):
        return None
    if pandas is not None and isinstance(native, pandas.api.extensions.ExtensionArray | pandas.Index):
        native = pandas.Series(native)
    series = nw.from_native(native, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return None
    categories = getattr(getattr(native, "dtype", None), "categories", None)  # of pandas
    are_whole = series.dtype.is_integer() or getattr(getattr(categories, "dtype", None), "kind", "") in "iu"
    if are_whole and series.null_count():
        return np.array(series.to_list(), dtype=object)
    values = np.asarray(series.to_numpy())
    if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None:
        from pandas import DatetimeIndex

        # Python's own times of a zone are equal where the clock was set back
        return np.array(DatetimeIndex(values, tz="UTC").tz_convert(series.dtype.time_zone), dtype=object)
    return values


def _native(value: Any) -> Any:
    """Return data of narwhals in their own library, and data of pyarrow in pandas.

    Whoever passes data of pyarrow has imported it. Integers beside gaps are objects, as in :func:`read_series`.
    """
    native, pa = nw.to_native(value, pass_through=True), nw.dependencies.get_pyarrow()
    if pa is None or not isinstance(native, pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray):
        return native
    is_series = isinstance(native, pa.Array | pa.ChunkedArray)  # such as labels, where a date equals no time
    return native.to_pandas(integer_object_nulls=True, date_as_object=is_series, ignore_metadata=True)


def warn_of_other_orders(X: Any, **given: Any) -> None:
    """Warn where what is given for each row has the index of ``X`` in pandas, in another order.

    Parameters
    ----------
    X : table or (n_rows, n_features) array-like
    given : (n_rows,) or (n_rows, n) array-like
        By the names of arguments.
    """
    for name, values in given.items():
        if _is_other_order(*(nw.to_native(value, pass_through=True) for value in (X, values))):
            warn(
                f"X and {name} have the same index in different orders, and are paired by position. Pass "
                f"{name}.loc[X.index] to pair them by index, or reset the index of both",
                UserWarning,
            )


def index_labels(X: Any) -> list[Hashable] | None:
    """Return the labels of the rows of a pandas data frame, one for each; None of anything else.

    Tuples, which are labels of several levels or written as such, are none.
    """
    is_named = nw.dependencies.is_pandas_dataframe(X) and X.index.nlevels == 1
    return list(X.index) if is_named and not any(isinstance(label, tuple) for label in X.index) else None


def warn_of_places(X: Any, places: Any) -> None:
    """Warn where places of the rows of ``X`` are labels of its index in pandas, too, and of other rows."""
    if not nw.dependencies.is_pandas_dataframe(X) or X.index.tolist() == list(range(len(X))):
        return
    if np.isin(places, X.index).all():
        warn(
            "items of annotations are places of the rows of X, from 0, and all of them are also found in its "
            "index, which numbers the rows otherwise. Pass X.reset_index(drop=True), and, if they name the index, "
            "X.index.get_indexer(items) as the items",
            UserWarning,
        )


def _is_other_order(X: Any, y: Any) -> bool:
    is_series_or_frame = nw.dependencies.is_pandas_series(y) or nw.dependencies.is_pandas_dataframe(y)
    if not (nw.dependencies.is_pandas_dataframe(X) and is_series_or_frame):
        return False
    return not X.index.equals(y.index) and len(X) == len(y) and X.index.isin(y.index).all() and y.index.is_unique


def in_library_of(X: Any, frame: Any) -> Any:
    """Return a pandas data frame as one of the library of ``X``; as it is, where ``X`` is no frame of another.

    Columns have the types that they have in ``X``, where these hold their values.
    """
    found = nw.from_native(X, pass_through=True, eager_only=True)
    if not isinstance(found, nw.DataFrame) or found.implementation.is_pandas():
        return frame
    columns = {name: cells.to_list() for name, cells in frame.items()}
    made = nw.from_dict(columns, backend=found.implementation)
    for name, dtype in found.schema.items():
        with suppress(Exception):  # of any library, such as a text that is none of the levels
            cast = made[name].cast(dtype)
            made = made.with_columns(cast) if cast.to_list() == columns[name] else made
    return made.to_native()


def as_frame(probabilities: Array, classes: Array, X: Any, container: Container) -> Any:
    """Return probabilities (n_rows, n_classes) as a data frame whose columns are the classes.

    A pandas data frame keeps the index of ``X``, where it has one.
    """
    if container == "polars":
        import polars as pl

        return pl.DataFrame(probabilities, schema=[str(label) for label in classes.tolist()])
    import pandas as pd

    index = X.index if isinstance(X, pd.DataFrame) else None
    return pd.DataFrame(probabilities, columns=classes.tolist(), index=index)


def _readable_pandas(frame: Any) -> Any:
    """Convert the columns of a data frame of pandas that are not in the byte order of this machine."""
    if frame.columns.nlevels > 1:
        raise TypeError(
            f"columns have names on {frame.columns.nlevels} levels, such as ({listed(frame.columns[0])}); join "
            "them, as in X.columns = ['_'.join(map(str, names)) for names in X.columns]"
        )
    types = [(name, dtype) for name, dtype in frame.dtypes.items() if isinstance(dtype, np.dtype)]
    swapped = {name: dtype.newbyteorder("=") for name, dtype in types if not dtype.isnative}
    return frame.astype(swapped) if swapped else frame
