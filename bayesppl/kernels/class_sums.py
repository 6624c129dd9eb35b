"""Sums of rows over the classes they belong to."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse

from bayesppl.kernels.numba_loops import count_entries as engine
from bayesppl.kernels.ranges import row_blocks

# up to here a dense product with mostly zero responsibilities beats the sparse one
FEW_CLASSES = 24

# columns that an addition of bytes should at least have
_WIDE = 1024


def class_sums(responsibilities: csr_array, X: Any) -> np.ndarray:
    """Sum the rows of each class, weighted.

    Parameters
    ----------
    responsibilities : (n_rows, n_classes)
    X : (n_rows, n_columns), dense or CSR

    Returns
    -------
    (n_classes, n_columns)
        In float64, whatever the dtype of ``X``.
    """
    if issparse(X):
        if responsibilities.shape[1] <= FEW_CLASSES:  # one pass over the stored cells
            transposed = sparse_of(csc_array, X.data, X.indices, X.indptr, X.shape[::-1])
            return np.asarray((transposed @ responsibilities.toarray()).T, dtype=np.float64)
        by_class = responsibilities.T.tocsr()  # as it stands, scipy would convert X to match it
        return np.asarray((by_class @ X).toarray(), dtype=np.float64)
    if X.dtype.kind in "bu" and X.dtype.itemsize == 1 and (responsibilities.data == 1).all():
        lanes = 255 // max(1, int(X.max(initial=0)))
        if lanes >= 16:
            return _byte_sums(responsibilities, X, lanes)
    X, owners, weights = owned_rows(X, responsibilities)
    sums = np.zeros((responsibilities.shape[1], X.shape[1]))
    for rows in row_blocks(*X.shape):
        by_class = spread(owners[rows], weights[rows], len(sums))
        with np.errstate(over="ignore"):  # overflow is refused where the columns have names
            sums += by_class @ X[rows].astype(np.float64, copy=False)
    return sums


def sparse_of(kind: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> Any:
    """Make a sparse array of these parts as they are: the constructor would copy slices of longer ones."""
    matrix = kind(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    return matrix


def stored_once(X: csr_array) -> csr_array:
    """Return the same counts, each cell stored at most once, in memory of their own where cells are summed."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def row_view(matrix: csr_array, start: int, stop: int) -> csr_array:
    """Return consecutive rows, which share the memory of the matrix."""
    starts = matrix.indptr[start : max(start, stop) + 1]
    entries = slice(starts[0], starts[-1])
    shape = (len(starts) - 1, matrix.shape[1])
    rows = sparse_of(csr_array, matrix.data[entries], matrix.indices[entries], starts - starts[0], shape)
    rows.has_canonical_format = matrix.has_canonical_format
    return rows


# up to so many entries, what is the same in all matrices of one shape is kept for the next ones
_SHARED_ENTRIES = 1 << 18


def one_in_each(n_rows: int, n_entries: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return where rows of as many entries each begin, and a one for every entry; not to be written to."""
    make = _one_in_each if n_rows * n_entries <= _SHARED_ENTRIES else _one_in_each.__wrapped__
    return make(n_rows, n_entries)


@lru_cache(maxsize=4)
def _one_in_each(n_rows: int, n_entries: int) -> tuple[np.ndarray, np.ndarray]:
    starts, ones = np.arange(n_rows + 1, dtype=np.int32) * np.int32(n_entries), np.ones(n_rows * n_entries)
    starts.flags.writeable = ones.flags.writeable = False
    return starts, ones


def class_counts(responsibilities: csr_array) -> np.ndarray:
    """Sum the weights of the rows of each class: (n_classes,)."""
    owners, weights = responsibilities.indices, responsibilities.data
    unit = bool((weights == 1).all())
    return np.bincount(owners, None if unit else weights, responsibilities.shape[1]).astype(np.float64)


def owned_rows(X: Any, responsibilities: csr_array) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the rows that belong to a class, which it is, and their weights; others weigh nothing."""
    if responsibilities.nnz < X.shape[0]:
        X = X[np.diff(responsibilities.indptr) > 0]
    return X, responsibilities.indices, responsibilities.data


def spread(codes: np.ndarray, weights: np.ndarray, n_classes: int) -> Any:
    """Transpose responsibilities of rows: (n_classes, n_rows), dense where classes are few.

    Parameters
    ----------
    codes, weights : (n_rows,)
        Class and weight of each row.
    """
    if n_classes > FEW_CLASSES:
        return csr_array((weights, codes, np.arange(len(codes) + 1)), shape=(len(codes), n_classes)).T
    dense = np.zeros((n_classes, len(codes)))
    dense[codes, np.arange(len(codes))] = weights
    return dense


def _byte_sums(responsibilities: csr_array, X: np.ndarray, lanes: int) -> np.ndarray:
    """Add bytes as bytes, so many rows at a time that no sum exceeds 255: one instruction adds 32 of them."""
    by_class = responsibilities.tocsc()
    values, n_columns = X.view(np.uint8), X.shape[1]
    sums = np.zeros((by_class.shape[1], n_columns))
    abreast = max(1, _WIDE // max(1, n_columns))  # short rows are laid side by side, so that each addition is long
    for k, (start, stop) in enumerate(pairwise(by_class.indptr)):
        for first in range(start, stop, lanes * abreast):
            rows = values[by_class.indices[first : min(first + lanes * abreast, stop)]]
            deep = len(rows) // abreast
            body, rest = rows[: deep * abreast], rows[deep * abreast :]
            added = np.add.reduce(body.reshape(deep, abreast * n_columns), axis=0, dtype=np.uint8)
            sums[k] += added.reshape(abreast, n_columns).sum(0, dtype=np.float64)
            sums[k] += rest.sum(0, dtype=np.float64)
    return sums


#: Counts from here on share the last bin.
MANY = 256

# Rows whose counts below MANY are summed in 32 bits, and bins of each class that are used in turn: the same bin
# twice in a row would have to wait for itself.
_ROWS, _LANES = 1 << 22, 4


class CountSums(NamedTuple):
    """Small counts, summed.

    Attributes
    ----------
    sums : (n_classes, n_columns)
    sizes : (n_classes, MANY + 1)
        How many counts of each class have each size; those from MANY on are in the last bin.
    totals : (n_rows,)
    """

    sums: np.ndarray
    sizes: np.ndarray
    totals: np.ndarray


def count_sums(counts: csr_array, owners: np.ndarray, n_classes: int) -> CountSums | None:
    """Check the numbers of a sparse matrix and sum them, in one compiled pass.

    Parameters
    ----------
    counts : (n_rows, n_columns)
        Every cell stored at most once.
    owners : (n_rows,)
        Class of each row.

    Returns
    -------
    CountSums or None
        None as long as compiling does not pay, and where a number is anything but a count below MANY.
    """
    compiled = engine.loop(4 * counts.nnz)
    if compiled is None:
        return None
    sums, totals = np.zeros((n_classes, counts.shape[1])), np.empty(len(owners), dtype=np.int64)
    sizes = np.zeros((n_classes, MANY + 1), dtype=np.int64)
    for rows in row_blocks(len(owners), 1, _ROWS):
        part = np.zeros(sums.shape, dtype=np.int32)
        found = np.zeros((n_classes, _LANES, MANY + 1), dtype=np.int64)
        starts = counts.indptr[rows.start : rows.stop + 1]
        if compiled(counts.data, counts.indices, starts, owners[rows], part, found, totals[rows]):
            return None
        sums += part
        sizes += found.sum(1)
    return None if sizes[:, MANY].any() else CountSums(sums, sizes, totals)


def have_one_row_each(responsibilities: csr_array) -> bool:
    """Whether no class has two rows: then nothing deviates."""
    n_classes = responsibilities.shape[1]
    return bool(
        responsibilities.nnz <= n_classes and np.bincount(responsibilities.indices, minlength=1).max() <= 1
    )
