"""Count, mean and centred second moments of every class, in one pass over the rows.

Deviations are taken from a typical row *of the same class* (the median of the first few), so that all digits are
kept however far the class lies from zero, and from other classes. Where that row turns out to lie far from the
mean, as one that hardly counts may, they are taken again from the mean, until that is known to its last digits.
Rows of float32 are summed in float64.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array

from bayesppl.kernels.class_sums import owned_rows, spread
from bayesppl.kernels.numba_loops import lane_sums as engine
from bayesppl.kernels.ranges import BLOCK_CELLS, row_blocks

# Rows whose median is a pivot; classes up to which each is looked at by itself; first rows, which show most pivots
_TYPICAL_ROWS, _MANY_CLASSES, _HEAD = 9, 64, 256

# Cells of a block of rows that belong to one class each, what the lanes of a class should hold at least, and rows
# of a class from which on lanes pay
_LANE_BLOCK, _WIDE, _ROWS_FOR_LANES = 1 << 20, 128, 256

# Up to this many columns a block is so small that BLAS starts no threads, which would cost more than they gain.
_NARROW, _PRODUCT_CELLS = 64, 400_000

#: Where the square of the distance of a class from its pivot is larger, in variances, another pass is about its
#: mean. So the squares that are summed are at most this many scatters more than the scatter.
FARTHEST = 4.0

# Each pass finds some sixteen digits of the mean, of three hundred at most.
_MOST_PASSES = 20

# About a pivot that all classes share: larger ones cost more than four digits.
_DIGITS_KEPT = 1e4

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    if _have_one_row_each(responsibilities):
        return _one_row_each(X, responsibilities.tocsc())
    pivot = np.zeros((responsibilities.shape[1], X.shape[1]))
    X, owners, weights = owned_rows(X, responsibilities)
    count, shift, scatter = _cells_about(pivot, np.zeros(pivot.shape, dtype=bool), X, owners, weights)
    for _ in range(_MOST_PASSES):
        far = _is_far(count * shift**2, scatter).any(0)
        if not far.any():
            break
        means = pivot[:, far] + shift[:, far]
        again = _cells_about(means, np.ones(means.shape, dtype=bool), X[:, far], owners, weights)
        pivot[:, far], (_, shift[:, far], scatter[:, far]) = means, again
    return count, np.where(count > 0, pivot + shift, 0.0), scatter


def _is_far(between: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """Whether the mean lies so far from the pivot that digits were lost; sums that overflow stay as they are."""
    return np.asarray(between > FARTHEST * scatter)


def _cells_about(
    pivot: np.ndarray, seen: np.ndarray, X: np.ndarray, owners: np.ndarray, weights_of_rows: np.ndarray
) -> Triple:
    """Compute counts, means less the pivots, and scatters of cells; pivots that are not set yet are set."""
    n_classes, n_features = pivot.shape
    count, first, second = np.zeros_like(pivot), np.zeros_like(pivot), np.zeros_like(pivot)
    are_many = n_classes <= _MANY_CLASSES and len(X) >= _ROWS_FOR_LANES * n_classes
    lanes = are_many and bool((weights_of_rows == 1).all())
    for rows in row_blocks(len(X), n_features, _LANE_BLOCK if lanes else BLOCK_CELLS):
        values, codes, weights = X[rows], owners[rows], weights_of_rows[rows]
        for head in (slice(_HEAD), slice(None)):  # the first rows are nearly always enough
            if not seen.all():
                _set_pivots(values[head], codes[head], pivot, seen)
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


def _have_one_row_each(responsibilities: csr_array) -> bool:
    """Whether no class has two rows: then nothing deviates."""
    n_classes = responsibilities.shape[1]
    return bool(
        responsibilities.nnz <= n_classes and np.bincount(responsibilities.indices, minlength=1).max() <= 1
    )


def _one_row_each(X: np.ndarray, by_class: csc_array) -> Triple:
    """Compute moments where no class has two rows; cells may be missing."""
    count, mean = np.zeros((by_class.shape[1], X.shape[1])), np.zeros((by_class.shape[1], X.shape[1]))
    taken = np.diff(by_class.indptr) == 1
    values = X[by_class.indices]
    present = ~np.isnan(values)
    count[taken] = by_class.data[:, None] * present
    mean[taken] = np.where(present, values, 0.0)
    return count, mean, np.zeros_like(mean)


def _set_pivots(values: np.ndarray, codes: np.ndarray, pivot: np.ndarray, seen: np.ndarray) -> None:
    """Set the pivots of the cells (class and column) that have a value for the first time."""
    counts = np.bincount(codes, minlength=len(seen))
    # the usual case, quickly
    if not seen.any() and (counts >= _TYPICAL_ROWS).all() and not np.isnan(values).any():
        starts = np.cumsum(counts) - counts
        rows = np.argsort(codes, kind="stable")[starts[:, None] + np.arange(_TYPICAL_ROWS)]
        pivot[...] = np.sort(values[rows], axis=1)[:, _TYPICAL_ROWS // 2]
        seen[...] = True
        return
    if not (~seen.all(1))[codes].any():
        return
    at, columns = np.nonzero(~seen[codes] & ~np.isnan(values))
    new = np.zeros_like(seen)
    new[codes[at], columns] = True
    # backwards, so that the first value is the one that stays
    pivot[codes[at[::-1]], columns[::-1]] = values[at[::-1], columns[::-1]]
    classes = np.flatnonzero(new.any(1))
    for k in classes if len(classes) <= _MANY_CLASSES else ():
        typical = _typical(values[np.flatnonzero(codes == k)[:_TYPICAL_ROWS]])
        known = new[k] & ~np.isnan(typical)
        pivot[k, known] = typical[known]
    seen |= new


def _typical(rows: np.ndarray) -> np.ndarray:
    """Find the lower median of every column, of the cells that are present; NaN where none is."""
    ordered = np.sort(rows.astype(np.float64), axis=0)  # missing cells last
    if not np.isnan(ordered[-1]).any():
        return ordered[(len(ordered) - 1) // 2]
    middle = np.maximum((~np.isnan(ordered)).sum(0) - 1, 0) // 2
    return np.take_along_axis(ordered, middle[None], axis=0)[0]


def products(X: np.ndarray, responsibilities: csr_array, tied: bool) -> Triple:
    """Compute moments with products of features; no cell may be missing.

    Parameters
    ----------
    X : (n_rows, n_features)
    responsibilities : (n_rows, n_classes)
    tied : bool
        Whether to sum the scatter over classes.

    Returns
    -------
    count : (n_classes,)
    mean : (n_classes, n_features)
    scatter : (n_classes, n_features, n_features), or (n_features, n_features) where tied
        Sums of products of deviations from the mean of the class.
    """
    n_classes, n_features = responsibilities.shape[1], X.shape[1]
    count, mean = np.zeros(n_classes), np.zeros((n_classes, n_features))
    scatter = np.zeros((n_features, n_features) if tied else (n_classes, n_features, n_features))
    if _have_one_row_each(responsibilities):
        turned = responsibilities.tocsc()
        taken = np.diff(turned.indptr) == 1
        count[taken], mean[taken] = turned.data, X[turned.indices]
        return count, mean, scatter
    X, owners, weights = owned_rows(X, responsibilities)
    if n_classes <= _MANY_CLASSES:  # to look at all rows for each class is quick
        by_class = [np.flatnonzero(owners == k) for k in range(n_classes)]
    else:
        ends = np.cumsum(np.bincount(owners, minlength=n_classes))
        by_class = np.split(np.argsort(owners, kind="stable"), ends[:-1])
    for k, rows in enumerate(by_class):
        if len(rows):
            pivot = _typical(X[rows[:_TYPICAL_ROWS]])
            count[k : k + 1], mean[k], within = _moments_of_class(X, weights[rows, None], pivot, True, rows)
            scatter[() if tied else k] += within[0]
    return count, mean, scatter


def shared(X: np.ndarray, shares: np.ndarray, matrix: bool, tied: bool) -> Triple | None:
    """Compute moments of rows that belong to several classes at once, of all classes in one pass.

    Where a class lies so far from the first rows that digits are lost, further passes are about its mean.

    Parameters
    ----------
    X : (n_rows, n_features)
    shares : (n_rows, n_classes)
    matrix, tied : bool
        Whether the scatter has products of features, and is summed over classes.

    Returns
    -------
    count, mean, scatter : as :func:`diagonal` and :func:`products` return them
        None where a cell is missing.
    """
    pivot, pooled = _typical(X[:_TYPICAL_ROWS]), matrix and tied
    count, mean, scatter, between = _moments_about(X, shares, pivot, matrix, pooled)
    if not np.isfinite(scatter).all():
        return None
    if not (between <= _DIGITS_KEPT * _squares(scatter, matrix)).all():
        each = [_moments_of_class(X, shares[:, k : k + 1], mean[k], matrix) for k in range(len(count))]
        _, mean, scatter = (np.concatenate(found) for found in zip(*each, strict=True))
    scatter = scatter.sum(0) if tied else scatter
    return (count if matrix else np.repeat(count[:, None], X.shape[1], 1)), mean, scatter


def _moments_of_class(
    X: np.ndarray, shares: np.ndarray, pivot: np.ndarray, matrix: bool, taken: np.ndarray | None = None
) -> Triple:
    """Compute the moments of one class, each with an axis of one class; of all rows, or of those ``taken``."""
    for _ in range(_MOST_PASSES):
        count, mean, scatter, between = _moments_about(X, shares, pivot, matrix, False, taken)
        if not _is_far(between, _squares(scatter, matrix)).any():
            break
        pivot = mean[0]
    return count, mean, scatter


def _moments_about(
    X: np.ndarray,
    shares: np.ndarray,
    pivot: np.ndarray,
    matrix: bool,
    pooled: bool,
    taken: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compute counts, means and scatters from deviations from a pivot, and what was subtracted of the squares."""
    n_classes, n_features = shares.shape[1], X.shape[1]
    first = np.zeros((n_classes, n_features))
    second = np.zeros((1 if pooled else n_classes, *[n_features] * (1 + matrix)))
    cells = _PRODUCT_CELLS // max(n_features, 8) if matrix and n_features <= _NARROW else BLOCK_CELLS
    for rows in row_blocks(len(shares), n_features, cells):
        of_block = X[rows] if taken is None else X.take(taken[rows], axis=0)
        own = None if taken is None or X.dtype != np.float64 else of_block
        Z = np.subtract(of_block, pivot, dtype=np.float64, out=own)
        weights = shares[rows].T
        first += weights @ Z
        if not matrix:
            np.multiply(Z, Z, out=Z)
            second += weights @ Z
            continue
        for k, roots in enumerate(np.sqrt(weights.sum(0, keepdims=True) if pooled else weights)):
            weighted = Z if (roots == 1).all() else Z * roots[:, None]
            second[k] += weighted.T @ weighted  # a symmetric product, which BLAS computes at half the cost
    count = shares.sum(0)
    present = count[:, None] > 0
    shift = np.divide(first, count[:, None], out=np.zeros_like(first), where=present)
    between = count[:, None] * shift**2
    subtracted = count[:, None, None] * (shift[:, :, None] * shift[:, None]) if matrix else between
    second -= subtracted.sum(0) if pooled else subtracted
    squares = _squares(second, matrix)
    np.maximum(squares, 0.0, out=squares)
    between = between.sum(0, keepdims=True) if pooled else between
    return count, np.where(present, pivot + shift, 0.0), second, between


def _squares(scatter: np.ndarray, matrix: bool) -> np.ndarray:
    """View the sums of squares among sums of products."""
    return np.einsum("kdd->kd", scatter) if matrix else scatter
