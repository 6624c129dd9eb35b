"""Counts in sparse rows: their sums over the rows of each class, and how often every small one occurs there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.compiled import count_entries as engine

#: Counts from here on share the last bin.
MANY = 256

# Rows whose counts below MANY are summed in 32 bits, and bins of each class that are used in turn: the same bin
# twice in a row would have to wait for itself.
_ROWS, _LANES = 1 << 22, 4

# bytes of the numbers that compiled loops take; long doubles are none of them
_LARGEST_ITEM = 8


class CountSums(NamedTuple):
    """Small counts, summed.

    Attributes
    ----------
    sums : (n_classes, n_columns)
    sizes : (n_classes, MANY + 1)
        See :func:`count_histogram`.
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
    compiled = None if counts.dtype.itemsize > _LARGEST_ITEM else engine.loop(4 * counts.nnz)
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


def count_histogram(counts: np.ndarray, starts: np.ndarray, owners: np.ndarray, n_classes: int) -> np.ndarray:
    """Number of counts of each size, by the class of their row.

    Parameters
    ----------
    counts : (n_entries,)
        Whole numbers, not negative: those of one row after the other.
    starts : (n_rows + 1,)
        Where the counts of each row begin.
    owners : (n_rows,)
        Class of each row.

    Returns
    -------
    (n_classes, MANY + 1)
    """
    total = np.zeros(n_classes * (MANY + 1), dtype=np.int64)
    for rows in row_blocks(len(owners), -(-len(counts) // max(1, len(owners)))):
        entries = slice(starts[rows.start], starts[rows.stop])
        bins = np.minimum(counts[entries].astype(np.intp), MANY)
        bins += np.repeat(owners[rows].astype(np.intp) * (MANY + 1), np.diff(starts[rows.start : rows.stop + 1]))
        total += np.bincount(bins, minlength=len(total))
    return total.reshape(n_classes, MANY + 1)
