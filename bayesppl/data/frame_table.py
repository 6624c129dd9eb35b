"""Columns of a data frame: pandas, polars, pyarrow, or anything narwhals reads."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from bayesppl.data.cells import as_objects, plain, values_of
from bayesppl.data.columns import Kind, as_level, beyond_floats, kind_of_values, refuse_rounding, to_float
from bayesppl.data.table import ROWS_BY_COLUMN, Table
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class FrameTable(Table):
    """Columns of a data frame: pandas, polars, pyarrow, or anything narwhals reads."""

    names: tuple[Hashable, ...]
    frame: nw.DataFrame[Any]
    is_named: bool = True

    def __len__(self) -> int:
        return len(self.frame)

    def numeric(self) -> Any:
        columns = [self._numbers(str(name)) for name in self.names]
        if not columns:
            return np.empty((len(self), 0))
        together = np.column_stack(columns)
        for name, column in zip(self.names, columns, strict=True):
            if column.dtype.kind in "iu" and together.dtype.kind == "f" and beyond_floats(column):
                refuse_rounding(column, name)
        return together

    def integers(self) -> Array | None:
        return None

    def column(self, name: Hashable) -> Array:
        series = self.frame[str(name)]
        values = _cells(series)
        # a single missing cell makes integers floating-point numbers, which round the large ones
        if values.dtype.kind == "f" and series.dtype.is_integer() and beyond_floats(values):
            return np.asarray(series.to_list(), dtype=object)
        return values

    def categories(self, name: Hashable) -> list[Hashable] | None:
        series = self.frame[str(name)]
        dtype, listed = series.dtype, None
        if isinstance(dtype, nw.Enum):
            listed = dtype.categories
        elif dtype == nw.Categorical and series.implementation.is_pandas():
            listed = getattr(series.to_native().dtype, "categories", None)  # dictionaries of pyarrow list none
        return None if listed is None else [as_level(value) for value in listed]

    def kind(self, name: Hashable) -> Kind:
        dtype = self.frame[str(name)].dtype
        if dtype == nw.Boolean:
            return "boolean"
        if dtype.is_integer():
            return "integer"
        if dtype.is_float() or dtype.is_decimal():
            return "continuous"
        if dtype in (nw.Categorical, nw.Enum):
            return "category"
        return kind_of_values(self.column(name), name, dtype)

    def select(self, names: Sequence[Hashable]) -> Table:
        self.require(names)
        return FrameTable(tuple(names), self.frame.select([str(name) for name in names]))

    def take(self, rows: Array | slice) -> Table:
        return replace(self, frame=self.frame[rows])

    def renamed(self, names: Sequence[Hashable]) -> Table:
        return FrameTable(
            tuple(names), self.frame.rename(dict(zip(self.frame.columns, map(str, names), strict=True)))
        )

    def snapshot(self, *, copied: bool) -> Table:
        if not self.frame.implementation.is_pandas():
            # polars and pyarrow do not change columns in place; memory beneath them can change all the same
            return self.take(np.arange(len(self))) if copied else self
        import pandas as pd

        copies_on_write = int(pd.__version__.split(".")[0]) >= 3
        frame = self.frame.to_native().copy(deep=copied or not copies_on_write)
        return replace(self, frame=nw.from_native(frame, eager_only=True))

    @property
    def cells_per_row(self) -> int:
        return len(self.names)

    @property
    def words_per_row(self) -> int:
        return len(self.names)

    @property
    def least_rows(self) -> int:
        return ROWS_BY_COLUMN

    def _numbers(self, name: str) -> Array:
        series = self.frame[name]
        cells = _cells(series)
        if cells.dtype.kind == "O" and series.dtype.is_numeric() | (series.dtype == nw.Boolean):
            return to_float(as_objects(series.to_list(), len(series)), name)
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            if not series.is_null().any():
                return cells
            if series.dtype.is_integer() and beyond_floats(cells):
                return to_float(series.to_list(), name)
            return series.cast(nw.Float64).to_numpy()
        return to_float(cells, name)


def _cells(series: nw.Series[Any]) -> Array:
    """The values of a column one by one, in types that can be computed with."""
    dtype = series.dtype  # worked out anew each time
    if dtype.is_decimal():
        return to_float(series.to_numpy(), series.name)
    # polars turns a column of nothing at all, and integers with gaps of an extension type, to floating-point numbers
    is_unknown = series.implementation.is_polars() and dtype == nw.Unknown
    if dtype.is_nested() or dtype in (nw.Int128, nw.UInt128) or is_unknown:
        return as_objects(series.to_list(), len(series))
    return plain(values_of(series), (series.name,))
