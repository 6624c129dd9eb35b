"""The same table in every container and type that can hold it."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")


def _with_dtypes(X: pd.DataFrame, of_numbers: dict[str, str], of_text: str) -> pd.DataFrame:
    return X.astype({column: of_numbers.get(dtype.kind, of_text) for column, dtype in X.dtypes.items()})


_NAMED: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda X: X,
    "pandas, objects": lambda X: X.astype(object),
    "pandas, nullable": lambda X: _with_dtypes(X, {"i": "Int64", "f": "Float64"}, "string"),
    "pandas, pyarrow dtypes": lambda X: _with_dtypes(
        X, {"i": "int64[pyarrow]", "f": "double[pyarrow]"}, "string[pyarrow]"
    ),
    "polars": pl.from_pandas,
    "pyarrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
}
_UNNAMED: dict[str, Callable[[pd.DataFrame], Any]] = {
    "numbered pandas": lambda X: X.set_axis(range(X.shape[1]), axis=1),
    "numpy, objects": lambda X: X.to_numpy(dtype=object),
    "lists": lambda X: X.to_numpy(dtype=object).tolist(),
    "tuples": lambda X: tuple(X.itertuples(index=False, name=None)),
}


def containers(X: pd.DataFrame, *, named_only: bool, sparse: bool) -> Iterator[tuple[str, Any]]:
    """Names of containers, and the table in each.

    Parameters
    ----------
    X : data frame
        Of integers, floating-point numbers and text.
    named_only : bool
        Leave out containers whose columns have no names.
    sparse : bool
        Whether sparse matrices are among them, where all cells are numbers.
    """
    for name, make in {**_NAMED, **({} if named_only else _UNNAMED)}.items():
        yield name, make(X)
    no_floats = [column for column, dtype in X.dtypes.items() if dtype.kind != "f"]
    if no_floats:
        categories = X.astype(dict.fromkeys(no_floats, "category"))
        yield "pandas, category", categories
        if not named_only:
            yield "numbered pandas, category", categories.set_axis(range(X.shape[1]), axis=1)
    for dtype in _types_of_all(X):
        if dtype in ("int8", "uint64", "float32", "bool"):
            yield f"pandas, {dtype}", X.astype(dtype)
        if named_only:
            continue
        dense = X.to_numpy().astype(dtype)
        yield f"numpy, {dtype}", dense
        if dtype in ("int8", "int64", "float32", "float64"):
            yield f"numpy, {dtype}, Fortran order", np.asfortranarray(dense)
        if dtype in ("int64", "float64"):
            yield f"numpy, {dtype}, strided", np.repeat(np.repeat(dense, 2, axis=0), 3, axis=1)[::2, ::3]
            yield f"numpy, {dtype}, masked", np.ma.masked_array(dense, mask=False)
        if sparse:
            yield f"sparse rows, {dtype}", sp.csr_array(dense)
            yield f"sparse columns, {dtype}", sp.csc_matrix(dense)


def _types_of_all(X: pd.DataFrame) -> list[str]:
    """The types in which every cell of the table is the same number."""
    if not all(dtype.kind in "iuf" for dtype in X.dtypes):
        return []
    cells = X.to_numpy(dtype=np.float64)
    kinds = (*INTEGERS, *FLOATS, "bool")
    with np.errstate(invalid="ignore"):
        return [dtype for dtype in kinds if (cells.astype(dtype).astype(np.float64) == cells).all()]
