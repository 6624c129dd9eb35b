"""Count, mean and sum of squared deviations of every cell (class and column), in one pass over the rows.

Deviations are taken from a typical row *of the same class*, see :mod:`bayesppl.kernels.pivots`. Rows of float32
are summed in float64.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array

from bayesppl.kernels.class_sums import have_one_row_each, owned_rows, spread
from bayesppl.kernels.numba_loops import lane_sums as engine
from bayesppl.kernels.pivots import MANY_CLASSES, MOST_PASSES, Triple, is_far, set_pivots
from bayesppl.kernels.ranges import BLOCK_CELLS, row_blocks

# Cells of a block of rows that belong to one class each, what the lanes of a class should hold at least, and rows
# of a class from which on lanes pay; first rows, which show most pivots
_LANE_BLOCK, _WIDE, _ROWS_FOR_LANES, _HEAD = 1 << 20, 128, 256, 256


def diagonal(X: np.ndarray, responsibilities: csr_array) -> Triple:
    """Compute moments of features one by one; NaN marks a missing cell, which is skipped.

    Parameters
    ----------
    X : (n_rows, n_features)
    responsibilities : (n_rows, n_classes)

    Returns
    -------
    count, mean, scatter : (n_classes, n_features)
        Total weight, weighted mean, and sum of squared deviations from the mean.
    """
    if have_one_row_each(responsibilities):
        return _one_row_each(X, responsibilities.tocsc())
    pivot = np.zeros((responsibilities.shape[1], X.shape[1]))
    X, owners, weights = owned_rows(X, responsibilities)
    count, shift, scatter = _cells_about(pivot, np.zeros(pivot.shape, dtype=bool), X, owners, weights)
    for _ in range(MOST_PASSES):
        far = is_far(count * shift**2, scatter).any(0)
        if not far.any():
            break
        means = pivot[:, far] + shift[:, far]
        again = _cells_about(means, np.ones(means.shape, dtype=bool), X[:, far], owners, weights)
        pivot[:, far], (_, shift[:, far], scatter[:, far]) = means, again
    return count, np.where(count > 0, pivot + shift, 0.0), scatter


def _cells_about(
    pivot: np.ndarray, seen: np.ndarray, X: np.ndarray, owners: np.ndarray, weights_of_rows: np.ndarray
) -> Triple:
    """Compute counts, means less the pivots, and scatters of cells; pivots that are not set yet are set."""
    n_classes, n_features = pivot.shape
    count, first, second = np.zeros_like(pivot), np.zeros_like(pivot), np.zeros_like(pivot)
    are_many = n_classes <= MANY_CLASSES and len(X) >= _ROWS_FOR_LANES * n_classes
    lanes = are_many and bool((weights_of_rows == 1).all())
    for rows in row_blocks(len(X), n_features, _LANE_BLOCK if lanes else BLOCK_CELLS):
        values, codes, weights = X[rows], owners[rows], weights_of_rows[rows]
        for head in (slice(_HEAD), slice(None)):  # the first rows are nearly always enough
            if not seen.all():
                set_pivots(values[head], codes[head], pivot, seen)
        if lanes:
            sums, squares = _lane_sums(values, codes, pivot)
            if not np.isnan(sums).any():
                count += np.bincount(codes, minlength=n_classes)[:, None]
                first += sums
                second += squares
                continue
        Z = np.take(pivot, codes, axis=0, mode="clip")
        np.subtract(values, Z, out=Z)
        by_class = spread(codes, weights, n_classes)
        sums = by_class @ Z
        if np.isnan(sums).any():
            missing = np.isnan(Z)
            Z[missing] = 0.0
            sums = by_class @ Z
            count += by_class @ (~missing).astype(np.float64)
        else:
            count += np.bincount(codes, weights, n_classes)[:, None]
        first += sums
        np.multiply(Z, Z, out=Z)
        second += by_class @ Z
    shift = np.divide(first, count, out=np.zeros_like(first), where=count > 0)
    return count, shift, np.maximum(second - count * shift**2, 0.0)


def _lane_sums(X: np.ndarray, owners: np.ndarray, pivot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum deviations from the pivot of the row's class, and their squares; each row belongs to one class.

    The rows of a class go to its lanes in turn, and the lanes are added in the end. That is how numpy adds
    fastest, for lanes side by side are one long row; and a compiled loop can follow the same order, to the same
    bits.
    """
    n_classes, n_features = pivot.shape
    if X.dtype not in (np.float64, np.float32) or not X.flags.c_contiguous:
        X = np.ascontiguousarray(X, dtype=np.float64)
    n_lanes = max(1, _WIDE // n_features)
    first = np.zeros((n_classes, n_lanes, n_features))
    second = np.zeros_like(first)
    compiled = engine.loop(X.size)
    if compiled is not None:
        compiled(X, owners, pivot, first, second)
    else:
        deep = max(1, BLOCK_CELLS // (n_lanes * n_features))
        for k in range(n_classes):
            own, pivots = np.flatnonzero(owners == k), np.tile(pivot[k], n_lanes)
            for start in range(0, len(own), deep * n_lanes):
                _fill_lanes(X, own[start : start + deep * n_lanes], pivots, first[k], second[k])
    return np.add.accumulate(first, axis=1)[:, -1], np.add.accumulate(second, axis=1)[:, -1]


def _fill_lanes(X: np.ndarray, own: np.ndarray, pivots: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Add some rows of a class to its lanes."""
    n_lanes, n_features = first.shape
    deep = len(own) // n_lanes
    whole = deep * n_lanes
    stack = np.empty((1 + deep, n_lanes, n_features))  # on top the sums so far, so that rows are added in order
    Z, rest = stack[1:].reshape(deep, len(pivots)), X[own[whole:]] - pivots[:n_features]
    np.subtract(X.take(own[:whole], axis=0).reshape(Z.shape), pivots, out=Z)
    stack[0] = first
    np.add.reduce(stack, axis=0, out=first)
    first[: len(rest)] += rest
    np.multiply(Z, Z, out=Z)
    stack[0] = second
    np.add.reduce(stack, axis=0, out=second)
    second[: len(rest)] += rest * rest


def _one_row_each(X: np.ndarray, by_class: csc_array) -> Triple:
    """Compute moments where no class has two rows; cells may be missing."""
    count, mean = np.zeros((by_class.shape[1], X.shape[1])), np.zeros((by_class.shape[1], X.shape[1]))
    taken = np.diff(by_class.indptr) == 1
    values = X[by_class.indices]
    present = ~np.isnan(values)
    count[taken] = by_class.data[:, None] * present
    mean[taken] = np.where(present, values, 0.0)
    return count, mean, np.zeros_like(mean)
