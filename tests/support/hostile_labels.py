"""Labels and weights that nobody should pass: each is to be read rightly, or refused in a sentence."""

import datetime
import decimal
import fractions
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
import xarray as xr
from support.hostile import CODES, DATES, Make, N

LABELS: dict[str, Make] = {
    "codes": lambda: CODES.copy(),
    "two dimensions": lambda: np.tile(CODES[:, None], 2),
    "a column": lambda: CODES[:, None],
    "three dimensions": lambda: CODES[:, None, None],
    "too few": lambda: CODES[:-1],
    "too many": lambda: np.r_[CODES, 0],
    "none": lambda: CODES[:0],
    "None as labels": lambda: None,
    "a number": lambda: 3,
    "a text": lambda: "a" * N,
    "one class": lambda: np.zeros(N, dtype=int),
    "all different": lambda: np.arange(N),
    "NaN": lambda: _labels(np.nan, float),
    "inf": lambda: _labels(np.inf, float),
    "half": lambda: _labels(0.5, float),
    "whole floats": lambda: CODES.astype(float),
    "huge floats": lambda: CODES * 1e300,
    "float16": lambda: CODES.astype(np.float16),
    "longdouble": lambda: CODES.astype(np.longdouble),
    "complex": lambda: CODES.astype(complex),
    "big-endian": lambda: CODES.astype(">i4"),
    "big-endian text": lambda: CODES.astype(">U3"),
    "None": lambda: _labels(None, object),
    "NA": lambda: _labels(pd.NA, object),
    "NaT": lambda: _labels(pd.NaT, object),
    "text and NaN": lambda: np.array(["u", "v", np.nan] * 4, dtype=object),
    "truth values": lambda: CODES > 0,
    "truth values and numbers": lambda: [True, 2, 0] * 4,
    "numbers and text": lambda: [1, "a", 2] * 4,
    "mixed objects": lambda: np.array([1, "a", 2.0] * 4, dtype=object),
    "bytes": lambda: CODES.astype("S2"),
    "dates": lambda: DATES[CODES].to_numpy(),
    "date objects": lambda: np.array([datetime.date(2020, 1, 1 + k) for k in CODES], dtype=object),
    "durations": lambda: (DATES[CODES] - DATES[0]).to_numpy(),
    "NaT among dates": lambda: np.where(CODES == 0, np.datetime64("NaT", "ns"), DATES[CODES].to_numpy()),
    "periods": lambda: pd.Series(pd.period_range("2020-01", periods=N, freq="M")),
    "lists": lambda: [[0], [1], [2]] * 4,
    "ragged lists": lambda: [[0], [1, 2], [2]] * 4,
    "tuples": lambda: np.array([*[(0, 1), (1, 0)] * 6, None], dtype=object)[:-1],
    "sets": lambda: np.array([{0}, {1}] * 6, dtype=object),
    "dictionary": lambda: {"a": 1},
    "decimals": lambda: np.array([decimal.Decimal(int(k)) for k in CODES], dtype=object),
    "fractions": lambda: np.array([fractions.Fraction(int(k), 2) for k in CODES], dtype=object),
    "huge integers": lambda: np.array([10**30 * int(k) for k in CODES], dtype=object),
    "uint64": lambda: CODES.astype(np.uint64) + np.uint64(2**63),
    "int64 extremes": lambda: np.array([-(2**63), 2**63 - 1, 0] * 4),
    "structured": lambda: np.zeros(N, dtype=[("a", int)]),
    "numpy strings": lambda: CODES.astype(str).astype(np.dtypes.StringDType()),
    "masked": lambda: np.ma.masked_array(CODES, mask=CODES == 2),
    "sparse": lambda: sp.csr_array(CODES[None]),
    "Int64 with NA": lambda: pd.Series([pd.NA, *CODES[1:].tolist()], dtype="Int64"),
    "Int64": lambda: pd.Series(CODES, dtype="Int64"),
    "boolean with NA": lambda: pd.Series([pd.NA, True, False] * 4, dtype="boolean"),
    "categories": lambda: pd.Series(pd.Categorical(["u", "v", "w"] * 4)),
    "categories with NaN": lambda: pd.Series(pd.Categorical(["u", None, "w"] * 4)),
    "a Categorical": lambda: pd.Categorical(["u", "v"] * 6),
    "string": lambda: pd.Series(["u", "v"] * 6, dtype="string"),
    "an index": lambda: pd.Index(["u", "v"] * 6),
    "data frame": lambda: pd.DataFrame({"y": CODES}),
    "data frame of two": lambda: pd.DataFrame({"y": CODES, "z": CODES}),
    "polars": lambda: pl.Series(["u", None, "w"] * 4),
    "polars frame": lambda: pl.DataFrame({"y": CODES}),
    "polars Enum": lambda: pl.Series(["u", "w"] * 6, dtype=pl.Enum(["w", "u"])),
    "polars List": lambda: pl.Series([[1], [2]] * 6),
    "polars Struct": lambda: pl.Series([{"u": 1}] * N),
    "arrow": lambda: pa.array(["u", None, "w"] * 4),
    "arrow chunks": lambda: pa.chunked_array([["u", "v", "w"] * 4]),
    "DataArray": lambda: xr.DataArray(CODES),
    "Dataset": lambda: xr.Dataset({"y": ("row", CODES)}),
    "generator": lambda: (int(code) for code in CODES),
    "range": lambda: range(N),
    "empty texts": lambda: ["", " ", "a"] * 4,
    "control characters": lambda: ["\x1b[31m", "a\nb", "\x00"] * 4,
    "-0.0": lambda: np.array([-0.0, 0.0, 1.0] * 4),
}

WEIGHTS: dict[str, Make] = {
    "one": lambda: 1.0,
    "two dimensions": lambda: np.ones((N, 1)),
    "too few": lambda: np.ones(N - 1),
    "none": lambda: np.ones(0),
    "negative": lambda: _weights(-1.0),
    "NaN": lambda: _weights(np.nan),
    "inf": lambda: _weights(np.inf),
    "all zero": lambda: np.zeros(N),
    "a class without weight": lambda: (CODES > 0).astype(float),
    "one row": lambda: np.eye(N)[0],
    "1e300": lambda: np.full(N, 1e300),
    "1e100": lambda: np.full(N, 1e100),
    "1e150": lambda: np.full(N, 1e150),
    "1e-100": lambda: np.full(N, 1e-100),
    "1e-300": lambda: np.full(N, 1e-300),
    "1e-100 and 1e100": lambda: np.geomspace(1e-100, 1e100, N),
    "integers": lambda: np.arange(N),
    "truth values": lambda: CODES > 0,
    "text": lambda: ["a"] * N,
    "text of numbers": lambda: ["1"] * N,
    "a text": lambda: "balanced",
    "None": lambda: [None, *[1.0] * (N - 1)],
    "NA": lambda: pd.Series([pd.NA, *[1] * (N - 1)], dtype="Int64"),
    "Int64": lambda: pd.Series([2] * N, dtype="Int64"),
    "complex": lambda: np.ones(N, dtype=complex),
    "complex object": lambda: np.array([1 + 1j] * N, dtype=object),
    "decimals": lambda: [decimal.Decimal(1)] * N,
    "objects": lambda: np.array([object()] * N),
    "ragged lists": lambda: [[1.0], [1.0, 2.0]] * 6,
    "lists": lambda: [[1.0]] * N,
    "dictionary": lambda: {0: 1.0, 1: 2.0},
    "dates": lambda: DATES,
    "durations": lambda: (DATES - DATES[0]).to_numpy(),
    "structured": lambda: np.ones(N, dtype=[("a", float)]),
    "big-endian": lambda: np.ones(N, dtype=">f4"),
    "float16": lambda: np.ones(N, dtype=np.float16),
    "longdouble": lambda: np.ones(N, dtype=np.longdouble),
    "longdouble beyond float64": lambda: np.full(N, np.longdouble("1e400")),
    "huge integers": lambda: [10**400] * N,
    "masked": lambda: np.ma.masked_array(np.ones(N), mask=CODES == 0),
    "sparse": lambda: sp.csr_array(np.ones((1, N))),
    "polars": lambda: pl.Series([1.0] * N),
    "polars with null": lambda: pl.Series([None, *[1.0] * (N - 1)]),
    "arrow": lambda: pa.array([1.0] * N),
    "DataArray": lambda: xr.DataArray(np.ones(N)),
    "data frame": lambda: pd.DataFrame({"w": np.ones(N)}),
    "generator": lambda: (1.0 for _ in range(N)),
    "function": lambda: len,
}


def _labels(value: Any, dtype: Any) -> np.ndarray:
    labels = CODES.astype(dtype)
    labels[4] = value
    return labels


def _weights(value: float) -> np.ndarray:
    weights = np.ones(N)
    weights[4] = value
    return weights
