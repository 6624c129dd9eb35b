"""Tables that nobody should pass: each is to be read rightly, or refused in a sentence."""

import datetime
import decimal
import fractions
from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
import xarray as xr

N = 12
_rng = np.random.default_rng(7)
BINARY = _rng.integers(0, 2, size=(N, 2)).astype(float)
REAL = _rng.normal(size=(N, 2))
CODES = np.arange(N) % 3

Make = Callable[[], Any]


def _with(value: Any, base: np.ndarray = BINARY, dtype: Any = object) -> np.ndarray:
    """One cell of the second column replaced."""
    cells = base.astype(dtype)
    cells[4, 1] = value
    return cells


def _frame(values: Any, name: str = "b") -> pd.DataFrame:
    return pd.DataFrame({"a": BINARY[:, 0], name: values})


def _polars(values: Any, dtype: Any = None) -> pl.DataFrame:
    return pl.DataFrame({"a": BINARY[:, 0], "b": pl.Series(values, dtype=dtype, strict=False)})


_ONE_ZERO = BINARY[:, 1].astype(int).tolist()
DATES = pd.date_range("2020-01-01", periods=N)

TABLES: dict[str, Make] = {
    "zeros and ones": lambda: BINARY.copy(),
    "real numbers": lambda: REAL.copy(),
    "duplicate names": lambda: pd.DataFrame(BINARY, columns=["a", "a"]),
    "duplicate numbers as names": lambda: pd.DataFrame(BINARY, columns=[0, 0]),
    "duplicate numbers as names, two types": lambda: _frame(_ONE_ZERO).set_axis([0, 0], axis=1),
    "names of several levels": lambda: pd.DataFrame(
        BINARY, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    ),
    "names of several types": lambda: pd.DataFrame(BINARY, columns=["a", 1]),
    "a missing name": lambda: pd.DataFrame(BINARY, columns=["a", None]),
    "missing names": lambda: pd.DataFrame(BINARY, columns=[np.nan, None]),
    "dates as names": lambda: pd.DataFrame(BINARY, columns=DATES[:2]),
    "empty names": lambda: pd.DataFrame(BINARY, columns=["", " "]),
    "names of parameters": lambda: pd.DataFrame(BINARY, columns=["class", "feature"]),
    "odd names": lambda: pd.DataFrame(BINARY, columns=["a/b", "\x1b[31m\n"]),
    "rows under a name twice": lambda: pd.DataFrame(BINARY, columns=["a", "b"], index=[0] * N),
    "Dataset": lambda: xr.Dataset({"a": ("row", BINARY[:, 0]), "b": ("row", BINARY[:, 1])}),
    "Dataset without rows": lambda: xr.Dataset({"a": 1.0}),
    "DataArray": lambda: xr.DataArray(BINARY, dims=["row", "feature"], coords={"feature": ["a", "b"]}),
    "DataArray, names twice": lambda: xr.DataArray(
        BINARY, dims=["row", "feature"], coords={"feature": ["a", "a"]}
    ),
    "DataArray of 3 dimensions": lambda: xr.DataArray(BINARY[None]),
    "DataArray of one number": lambda: xr.DataArray(1.0),
    "DataArray, labels of several levels": lambda: xr.DataArray(
        BINARY,
        dims=["row", "feature"],
        coords=xr.Coordinates.from_pandas_multiindex(
            pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["p", "q"]), "feature"
        ),
    ),
    "DataTree": lambda: xr.DataTree(xr.Dataset({"a": ("row", BINARY[:, 0])})),
    "big-endian": lambda: BINARY.astype(">f8"),
    "big-endian integers": lambda: BINARY.astype(">i4"),
    "big-endian 16 bits": lambda: BINARY.astype(">u2"),
    "big-endian text": lambda: BINARY.astype(">U4"),
    "big-endian frame": lambda: pd.DataFrame(BINARY.astype(">f8"), columns=["a", "b"]),
    "big-endian column": lambda: _frame(BINARY[:, 1].astype(">i8")),
    "float16": lambda: BINARY.astype(np.float16),
    "float16, real": lambda: REAL.astype(np.float16),
    "float32, real": lambda: REAL.astype(np.float32),
    "longdouble": lambda: BINARY.astype(np.longdouble),
    "longdouble, real": lambda: REAL.astype(np.longdouble),
    "longdouble beyond float64": lambda: _with(np.longdouble("1e400"), dtype=np.longdouble),
    "frame of longdouble": lambda: pd.DataFrame(BINARY.astype(np.longdouble), columns=["a", "b"]),
    "frame of float16": lambda: _frame(BINARY[:, 1].astype(np.float16)),
    "sparse": lambda: sp.csr_array(BINARY),
    "sparse, real": lambda: sp.csr_array(REAL),
    "sparse float16": lambda: _sparse(np.float16),
    "sparse longdouble": lambda: sp.csr_array(BINARY.astype(np.longdouble)),
    "sparse big-endian": lambda: _sparse(">f8"),
    "sparse big-endian integers": lambda: _sparse(">i8"),
    "sparse complex": lambda: sp.csr_array(BINARY.astype(complex)),
    "sparse truth values": lambda: sp.csr_array(BINARY.astype(bool)),
    "sparse objects": lambda: _sparse(object),
    "sparse NaN": lambda: sp.csr_array(_with(np.nan, dtype=float)),
    "sparse inf": lambda: sp.csr_array(_with(np.inf, dtype=float)),
    "sparse negative": lambda: sp.csr_array(_with(-1.0, dtype=float)),
    "sparse half": lambda: sp.csr_array(_with(0.5, dtype=float)),
    "sparse, duplicates": lambda: sp.csr_matrix(
        (np.ones(4), np.array([0, 0, 1, 1]), np.r_[0, 4, np.full(N - 1, 4)])
    ),
    "sparse, one dimension": lambda: sp.coo_array(BINARY[:, 0]),
    "sparse, no rows": lambda: sp.csr_array((0, 2)),
    "sparse, no columns": lambda: sp.csr_array((N, 0)),
    "sparse coordinates": lambda: sp.coo_matrix(BINARY),
    "sparse lists": lambda: sp.lil_matrix(BINARY),
    "frame of sparse columns": lambda: pd.DataFrame.sparse.from_spmatrix(
        sp.csr_matrix(BINARY), columns=["a", "b"]
    ),
    "objects": lambda: BINARY.astype(object),
    "objects and a text": lambda: _with("39.1 "),
    "a word": lambda: _with("word"),
    "an empty text": lambda: _with(""),
    "bytes": lambda: _with(b"1"),
    "all bytes": lambda: BINARY.astype("S4"),
    "a list": lambda: _with([1, 2]),
    "a dictionary": lambda: _with({"a": 1}),
    "a set": lambda: _frame(np.array([{1}] * N, dtype=object)),
    "a tuple": lambda: _frame(pd.Series([(1, 2)] * N)),
    "a function": lambda: _with(len),
    "an array as cell": lambda: _frame(pd.Series([np.zeros(2)] * N)),
    "a truth value among numbers": lambda: _with(True),
    "a complex cell": lambda: _with(1 + 1j),
    "complex": lambda: BINARY.astype(complex),
    "complex column": lambda: _frame(BINARY[:, 1] + 1j),
    "decimals": lambda: _frame([decimal.Decimal(v) for v in _ONE_ZERO]),
    "decimal NaN": lambda: _with(decimal.Decimal("nan")),
    "decimal infinity": lambda: _with(decimal.Decimal("inf")),
    "decimal beyond float64": lambda: _with(decimal.Decimal("1e400")),
    "fractions": lambda: _frame([fractions.Fraction(v, 1) for v in _ONE_ZERO]),
    "a fraction": lambda: _with(fractions.Fraction(1, 3)),
    "huge integer": lambda: _with(10**400),
    "integer beyond int64": lambda: _with(2**70),
    "uint64": lambda: _with(2**64 - 1, dtype=np.uint64),
    "int64 minimum": lambda: _with(-(2**63), dtype=np.int64),
    "None": lambda: _with(None),
    "NA": lambda: _with(pd.NA),
    "NaT": lambda: _with(pd.NaT),
    "numpy NaT": lambda: _with(np.datetime64("NaT", "D")),
    "all None": lambda: np.full((N, 2), None),
    "all NaN": lambda: np.full((N, 2), np.nan),
    "one column all NaN": lambda: _frame(np.full(N, np.nan)),
    "one column all NA": lambda: _frame(pd.array([pd.NA] * N, dtype="Int64")),
    "NaN": lambda: _with(np.nan, dtype=float),
    "inf": lambda: _with(np.inf, dtype=float),
    "-inf": lambda: _with(-np.inf, dtype=float),
    "inf among objects": lambda: _with(np.inf),
    "-0.0": lambda: _with(-0.0, dtype=float),
    "1e308": lambda: _with(1e308, dtype=float),
    "all 1e308": lambda: np.full((N, 2), 1e308),
    "1e154": lambda: _with(1e154, dtype=float),
    "1e20": lambda: _with(1e20, dtype=float),
    "-1": lambda: _with(-1.0, dtype=float),
    "0.5": lambda: _with(0.5, dtype=float),
    "1e-320": lambda: _with(1e-320, dtype=float),
    "all 1e-320": lambda: BINARY * 1e-320,
    "all 1e-170": lambda: REAL * 1e-170,
    "constant": lambda: np.ones((N, 2)),
    "zeros": lambda: np.zeros((N, 2)),
    "same column twice": lambda: REAL[:, [0, 0]],
    "masked": lambda: np.ma.masked_array(BINARY, mask=BINARY == 0),
    "masked integers": lambda: np.ma.masked_array(BINARY.astype(int), mask=np.eye(N, 2, dtype=bool)),
    "masked text": lambda: np.ma.masked_array(BINARY.astype("U3"), mask=np.eye(N, 2, dtype=bool)),
    "masked objects": lambda: np.ma.masked_array(BINARY.astype(object), mask=np.eye(N, 2, dtype=bool)),
    "masked everything": lambda: np.ma.masked_all((N, 2)),
    "lists": lambda: BINARY.tolist(),
    "tuples": lambda: tuple(map(tuple, BINARY.tolist())),
    "ragged lists": lambda: [[0, 1]] * (N - 1) + [[1]],
    "lists of lists of lists": lambda: [[[0, 1], [1, 0]]] * N,
    "lists with text": lambda: [[0, "a"]] * N,
    "lists with None": lambda: [[0, None], [1, 1]] * (N // 2),
    "lists with a dictionary": lambda: [{"a": 1, "b": 0}] * N,
    "dictionary": lambda: {"a": BINARY[:, 0], "b": BINARY[:, 1]},
    "generator": lambda: (row for row in BINARY),
    "iterator": lambda: iter(BINARY.tolist()),
    "set": lambda: {1, 2},
    "text": lambda: "0 1",
    "None as table": lambda: None,
    "number": lambda: 3.0,
    "function": lambda: len,
    "one dimension": lambda: BINARY[:, 0],
    "three dimensions": lambda: BINARY[:, :, None],
    "no dimension": lambda: np.array(1.0),
    "structured": lambda: np.zeros(N, dtype=[("a", float), ("b", int)]),
    "structured, 2-D": lambda: np.zeros((N, 2), dtype=[("a", float)]),
    "records": lambda: pd.DataFrame(BINARY, columns=["a", "b"]).to_records(index=False),
    "void": lambda: np.zeros((N, 2), dtype="V8"),
    "dates": lambda: np.tile(DATES.to_numpy()[:, None], 2),
    "durations": lambda: np.tile((DATES - DATES[0]).to_numpy()[:, None], 2),
    "date column": lambda: _frame(DATES),
    "date column with a zone": lambda: _frame(DATES.tz_localize("UTC")),
    "duration column": lambda: _frame(DATES - DATES[0]),
    "period column": lambda: _frame(pd.period_range("2020-01", periods=N, freq="M")),
    "interval column": lambda: _frame(pd.interval_range(0, N)),
    "date cells": lambda: _frame(np.array([datetime.date(2020, 1, 1)] * N, dtype=object)),
    "time cells": lambda: _frame(np.array([datetime.time(1)] * N, dtype=object)),
    "datetime cells": lambda: _frame(pd.Series([datetime.datetime(2020, 1, 1)] * N, dtype=object)),
    "Int64 with NA": lambda: _frame(pd.array([pd.NA, *_ONE_ZERO[1:]], dtype="Int64")),
    "UInt8 with NA": lambda: _frame(pd.array([pd.NA, *_ONE_ZERO[1:]], dtype="UInt8")),
    "Float64 with NA": lambda: _frame(pd.array([pd.NA, *BINARY[1:, 1]], dtype="Float64")),
    "boolean with NA": lambda: _frame(pd.array([pd.NA, *BINARY[1:, 1].astype(bool)], dtype="boolean")),
    "string with NA": lambda: _frame(pd.array([pd.NA, *["u", "v"] * 5, "u"], dtype="string")),
    "truth values": lambda: BINARY.astype(bool),
    "truth values and None": lambda: _with(None, BINARY.astype(bool)),
    "categories": lambda: _frame(pd.Categorical(["u", "v", None] * 4)),
    "categories of numbers": lambda: _frame(pd.Categorical([0, 1, None] * 4)),
    "ordered categories": lambda: _frame(pd.Categorical(["u", "v"] * 6, ["v", "u", "w"], ordered=True)),
    "empty categories": lambda: _frame(pd.Categorical([None] * N)),
    "categories of mixed types": lambda: _frame(pd.Categorical(["u", 1] * 6)),
    "text and numbers": lambda: _frame(pd.Series(["u", 1] * 6, dtype=object)),
    "text of numbers": lambda: BINARY.astype("U4"),
    "text, 1 and '1'": lambda: _frame(pd.Series([1, "1"] * 6, dtype=object)),
    "1 and True": lambda: _frame(pd.Series([1, True] * 6, dtype=object)),
    "numpy strings": lambda: BINARY.astype(np.dtypes.StringDType()),
    "arrow dtypes": lambda: _frame(pd.array(_ONE_ZERO, dtype="int8[pyarrow]")),
    "arrow lists": lambda: _frame(pd.array([[1]] * N, dtype=pd.ArrowDtype(pa.list_(pa.int8())))),
    "arrow decimals": lambda: _frame(pd.array([decimal.Decimal(1)] * N, dtype=pd.ArrowDtype(pa.decimal128(5, 2)))),
    "polars": lambda: pl.DataFrame(BINARY, schema=["a", "b"]),
    "polars with null": lambda: _polars([None, *_ONE_ZERO[1:]]),
    "polars all null": lambda: _polars([None] * N),
    "polars List": lambda: _polars([[1, 2]] * N),
    "polars Array": lambda: _polars([[1, 2]] * N, pl.Array(pl.Int8, 2)),
    "polars Struct": lambda: _polars([{"u": 1}] * N),
    "polars Decimal": lambda: _polars([decimal.Decimal(v) for v in _ONE_ZERO], pl.Decimal(10, 2)),
    "polars Decimal with null": lambda: _polars([None, *map(decimal.Decimal, _ONE_ZERO[1:])], pl.Decimal(10, 2)),
    "polars Enum": lambda: _polars(["u", "v"] * 6, pl.Enum(["v", "u", "w"])),
    "polars Categorical": lambda: _polars(["u", None] * 6, pl.Categorical),
    "polars Binary": lambda: _polars([b"u"] * N),
    "polars Boolean": lambda: _polars([True, None] * 6),
    "polars Date": lambda: _polars([datetime.date(2020, 1, 1)] * N),
    "polars Time": lambda: _polars([datetime.time(1)] * N),
    "polars Duration": lambda: _polars([datetime.timedelta(1)] * N),
    "polars Object": lambda: pl.DataFrame({"a": BINARY[:, 0], "b": pl.Series([object()] * N, dtype=pl.Object)}),
    "polars Int128": lambda: _polars(_ONE_ZERO, pl.Int128),
    "polars text": lambda: _polars(["u", "v"] * 6),
    "polars series": lambda: pl.Series(BINARY[:, 0]),
    "polars lazy": lambda: pl.DataFrame(BINARY, schema=["a", "b"]).lazy(),
    "pandas series": lambda: pd.Series(BINARY[:, 0]),
    "narwhals": lambda: nw.from_native(pd.DataFrame(BINARY, columns=["a", "b"])),
    "narwhals of polars": lambda: nw.from_native(pl.DataFrame(BINARY, schema=["a", "b"])),
    "narwhals lazy": lambda: nw.from_native(pl.DataFrame(BINARY, schema=["a", "b"]).lazy()),
    "narwhals series": lambda: nw.from_native(pd.Series(BINARY[:, 0]), series_only=True),
    "arrow": lambda: pa.table({"a": BINARY[:, 0], "b": BINARY[:, 1]}),
    "arrow, names twice": lambda: pa.table([BINARY[:, 0], BINARY[:, 1]], names=["a", "a"]),
    "arrow null": lambda: pa.table({"a": BINARY[:, 0], "b": pa.nulls(N)}),
    "arrow float16": lambda: pa.table({"a": BINARY[:, 0], "b": pa.array(BINARY[:, 1].astype(np.float16))}),
    "arrow dictionary": lambda: pa.table({"a": BINARY[:, 0], "b": pa.array(["u", "v"] * 6).dictionary_encode()}),
    "arrow list": lambda: pa.table({"a": BINARY[:, 0], "b": pa.array([[1]] * N)}),
    "arrow decimal": lambda: pa.table({"a": BINARY[:, 0], "b": pa.array([decimal.Decimal("1.5")] * N)}),
    "arrow batch": lambda: pa.record_batch({"a": BINARY[:, 0], "b": BINARY[:, 1]}),
    "no rows": lambda: np.empty((0, 2)),
    "no columns": lambda: np.empty((N, 0)),
    "nothing": lambda: np.empty((0, 0)),
    "empty list": list,
    "list of empty lists": lambda: [[]] * N,
    "frame without rows": lambda: pd.DataFrame(BINARY, columns=["a", "b"]).iloc[:0],
    "frame without columns": lambda: pd.DataFrame(index=range(N)),
    "polars without columns": lambda: pl.DataFrame(),
    "one row": lambda: BINARY[:1],
    "one column": lambda: BINARY[:, :1],
    "three columns": lambda: np.column_stack([BINARY, BINARY[:, 0]]),
}


def _sparse(dtype: Any) -> sp.csr_array:
    """Whatever scipy thinks of the type."""
    matrix = sp.csr_array(BINARY)
    matrix.data = matrix.data.astype(dtype)
    return matrix
