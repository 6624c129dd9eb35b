"""Arrays, sparse matrices and whatever else numpy takes, in types that can be computed with."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from bayesppl.data.arguments import labels_of
from bayesppl.data.columns import beyond_floats
from bayesppl.data.names import listed
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.class_sums import stored_once

_COMPLEX = "Complex data not supported: give real and imaginary parts columns of their own"

_TEXTS = (
    "Expected 2D array, got texts instead, where rows by columns must be. Count their words first, as in "
    "sklearn.pipeline.make_pipeline(CountVectorizer(), bayesppl.DirichletMultinomialNB()); if they are levels "
    "of one column, pass a table that names it, as in pandas.DataFrame({'colour': X}). Candidates of an "
    "AutoClassifier count words of such a column, by sklearn.compose.make_column_transformer((CountVectorizer(), "
    "'colour'))"
)

_ONE_ROW = (
    "Expected 2D array, got a list or series of texts and numbers instead, where rows by columns must be. If it "
    "is a single row, pass it within a list, or as a data frame, as by X.iloc[[0]]"
)

_NOT_TWO_DIMENSIONAL = (
    "Expected 2D array, got {}D array instead: rows by columns. Reshape your data with "
    "numpy.asarray(X).reshape(-1, 1) if it has a single column, or .reshape(1, -1) if it has a single row."
)


#: Types of arrays that are computed with as they are.
NUMBERS = frozenset(map(np.dtype, "?bBhHiIlLqQfd"))


def read_matrix(X: Any) -> Any:
    """Read rows by columns that have no names of their own as an array or a CSR array.

    Raises
    ------
    ValueError, TypeError
        If it is no table, or its cells are complex numbers.
    """
    if issparse(X):
        return _read_sparse(X)
    is_array = isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray)
    array = np.asarray(X) if is_array else _as_array(X)
    if array.dtype.names or array.dtype.kind == "V":
        raise ValueError(
            "X is a structured array; convert it to a data frame, as in pandas.DataFrame.from_records(X), so that "
            "every column keeps its own type"
        )
    if array.dtype.kind == "c":
        raise ValueError(_COMPLEX)
    if array.ndim != 2:
        is_text = (
            [isinstance(cell, str) for cell in array] if array.ndim == 1 and array.dtype.kind in "OUT" else []
        )
        if any(is_text):
            raise ValueError(_TEXTS if all(is_text) else _ONE_ROW)
        raise ValueError(_NOT_TWO_DIMENSIONAL.format(array.ndim))
    return plain(array)


def plain(values: Array) -> Array:
    """Convert to types that can be computed with, in the byte order of this machine.

    float16 becomes float32, long doubles float64, text of numpy objects.

    Parameters
    ----------
    values : (n_rows,) or (n_rows, n_columns)
    """
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "T":
        return values.astype(object)
    if kind == "f" and size not in (4, 8):
        with np.errstate(over="ignore"):  # infinities are refused where they are no numbers of the model
            return values.astype(np.float32 if size == 2 else np.float64)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def _read_sparse(X: Any) -> csr_array:
    if X.ndim != 2:
        raise ValueError(_NOT_TWO_DIMENSIONAL.format(X.ndim))
    if X.dtype.kind not in "biuf":
        of_objects = f"X is a sparse matrix of {X.dtype}; convert its cells to numbers, as in X.astype(float)"
        raise ValueError(_COMPLEX if X.dtype.kind == "c" else of_objects)
    matrix = csr_array(X.astype(plain(np.empty(0, dtype=X.dtype)).dtype, copy=False))
    if X.format == "csr":  # kept by the matrix that was passed, so that it is found out once
        matrix.has_canonical_format = X.has_canonical_format
    return stored_once(matrix)


def _as_array(X: Any) -> Array:
    """Make an array of lists, masked cells or whatever else numpy takes; cells of lists keep their types."""
    are_masked = isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X)
    try:
        array = np.ma.stack(X) if are_masked else X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    except ValueError:
        raise ValueError(_ragged(X)) from None
    except TypeError as error:  # of a Dataset of xarray
        raise TypeError(f"X must be rows by columns: {error}") from None
    if isinstance(array, np.ma.MaskedArray):
        return with_gaps(array)
    if isinstance(X, list | tuple) and array.dtype.kind in "iuf" and array.ndim == 2 and len(X):
        as_they_are = (
            np.asarray(X, dtype=object) if isinstance(X[0], list | tuple) or beyond_floats(array) else array
        )
        if as_they_are.dtype.kind == "O" and len(set(map(type, as_they_are.flat))) > 1:
            return as_they_are  # every column keeps its type; integers beside fractions may have been rounded
    elif array.dtype.kind == "U":
        return np.asarray(X, dtype=object)  # numbers and gaps next to text are still numbers and gaps
    return array


def with_gaps(X: Any) -> Array:
    """Fill masked cells with NaN; whatever is no floating-point number keeps its type beside gaps."""
    if not np.ma.is_masked(X):
        return np.asarray(X.data)
    return np.asarray(np.ma.filled(X.astype(np.float64 if X.dtype.kind == "f" else object), np.nan))


def column_labels(X: Any) -> tuple[Hashable, ...]:
    """Find names of the columns of an ``xarray.DataArray``, none for anything else."""
    axes = labels_of(X)
    labels = tuple(axes[-1] or ()) if axes else ()
    if not all(isinstance(label, str) for label in labels):
        return ()
    if len(set(labels)) < len(labels):
        raise ValueError(f"column names must be unique, found {listed(labels)}")
    return labels


def _ragged(X: Any) -> str:
    lengths = [np.size(np.asarray(row, dtype=object)) for row in X]
    odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is None:
        return "X must be rows of cells, found a list or an array in a cell; give its numbers columns of their own"
    return (
        f"X must be rows of equal length: row 0 holds {lengths[0]} cells and row {odd} holds {lengths[odd]}; "
        "complete the rows, with None where a cell is missing"
    )
