"""Arrays and sparse matrices as they are passed, in types that can be computed with."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayesppl.data.cells import plain
from bayesppl.data.columns import beyond_floats, listed
from bayesppl.kernels.arrays import Array

#: Layouts of sparse matrices whose cells are one array, which the caller can replace by one of any type.
_OF_AN_ARRAY = ("csr", "csc", "coo", "bsr", "dia")

_COMPLEX = "Complex data not supported: give real and imaginary parts columns of their own"

_HOW = {
    "Dataset": "X.to_dataframe(), or X.to_dataarray('feature').transpose(..., 'feature') if all variables have one dimension",
    "DataTree": "the Dataset or DataArray of one node",
}


def read_sparse(X: Any) -> csr_array:
    """A sparse matrix in rows.

    Raises
    ------
    ValueError, TypeError
        If it is not two-dimensional, or its cells are no numbers.
    """
    if X.ndim != 2:
        raise ValueError(_not_two_dimensional(X.ndim))
    if X.format in _OF_AN_ARRAY:
        X = _plain_data(X)
    if X.dtype.kind == "c":
        raise ValueError(_COMPLEX)
    matrix = csr_array(X)
    if X.format == "csr":  # kept by the matrix that was passed, so that it is found out once
        matrix.has_canonical_format = X.has_canonical_format
    return matrix


def _plain_data(X: Any) -> Any:
    if X.data.dtype.kind not in "biufc":
        raise TypeError(
            f"X is a sparse matrix of {X.data.dtype}, which scipy cannot compute with; convert its cells to numbers, as in "
            "X.data = X.data.astype(float)"
        )
    data = plain(X.data.ravel(), ("data",)).reshape(X.data.shape)
    if data.dtype == X.data.dtype:
        return X
    changed = copy(X)
    changed.data = data
    return changed


def read_array(X: Any) -> Array:
    """Anything else that numpy takes, as (n_rows, n_columns).

    Raises
    ------
    ValueError, TypeError
        If it is no table.
    """
    if isinstance(X, np.ma.MaskedArray):
        as_objects = X.dtype.kind not in "biuf" or (X.dtype.kind in "iu" and beyond_floats(X.data))
        return np.ma.filled(X.astype(object if as_objects else np.float64), np.nan)
    xarray = sys.modules.get("xarray")  # whoever passes a Dataset has imported xarray
    if xarray is not None and isinstance(X, xarray.Dataset | xarray.DataTree):
        kind = type(X).__name__
        raise TypeError(f"X is an xarray.{kind}, found where rows by columns must be; pass {_HOW[kind]}")
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(_ragged(X)) from None
    if isinstance(X, list | tuple) and array.dtype.kind in "iuf" and array.ndim == 2 and len(X):
        as_they_are = (
            np.asarray(X, dtype=object) if isinstance(X[0], list | tuple) or beyond_floats(array) else array
        )
        if not _of_one_type(as_they_are):
            array = as_they_are  # every column keeps its type; integers beside fractions may have been rounded
    elif array.dtype.kind == "U" and not isinstance(X, np.ndarray):
        array = np.asarray(X, dtype=object)  # numbers and gaps next to text are still numbers and gaps
    if array.dtype.names or array.dtype.kind == "V":
        raise ValueError(
            "X is a structured array; convert it to a data frame, as in pandas.DataFrame.from_records(X), so that every "
            "column keeps its own type"
        )
    if array.dtype.kind == "c":
        raise ValueError(_COMPLEX)
    if array.ndim != 2:
        raise ValueError(_TEXTS if _is_texts(array) else _not_two_dimensional(array.ndim))
    return array


def _of_one_type(cells: Array) -> bool:
    """Whether all cells are of one type."""
    return cells.dtype.kind != "O" or len(set(map(type, cells.flat))) <= 1


def column_labels(X: Any) -> tuple[Hashable, ...]:
    """Names of the columns of an ``xarray.DataArray``, empty for anything else."""
    xarray = sys.modules.get("xarray")  # whoever passes a DataArray has imported xarray
    if xarray is None or not isinstance(X, xarray.DataArray):
        return ()
    labels = tuple(X.indexes.get(X.dims[-1], ()))
    if not all(isinstance(label, str) for label in labels):
        return ()
    if len(set(labels)) < len(labels):
        raise ValueError(f"column names must be unique, found {listed(labels)}")
    return labels


def _is_texts(array: Array) -> bool:
    return array.ndim == 1 and array.dtype.kind in "OUT" and bool(array.size) and isinstance(array[0], str)


_TEXTS = (
    "Expected 2D array, got texts instead, where rows by columns must be. Count their words first, as in "
    "sklearn.pipeline.make_pipeline(CountVectorizer(), bayesppl.DirichletMultinomialNB()); if they are levels of one "
    "column, pass a table that names it, as in pandas.DataFrame({'colour': X})"
)


def _not_two_dimensional(n: int) -> str:
    return (
        f"Expected 2D array, got {n}D array instead: rows by columns. Reshape your data with "
        "X.reshape(-1, 1) if it has a single column, or X.reshape(1, -1) if it has a single row."
    )


def _ragged(X: Any) -> str:
    lengths = [np.size(np.asarray(row, dtype=object)) for row in X]
    odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), 0)
    return (
        f"X must be rows of equal length: row 0 holds {lengths[0]} cells and row {odd} holds {lengths[odd]}; complete the rows, "
        "with None where a cell is missing"
    )
