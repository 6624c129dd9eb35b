"""Count, mean and sums of products of deviations of every class, of rows that belong to one class or to several.

Deviations are taken from a typical row *of the same class*, see :mod:`bayesppl.kernels.pivots`. Rows of float32
are summed in float64.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from bayesppl.kernels.class_sums import have_one_row_each, owned_rows
from bayesppl.kernels.pivots import MANY_CLASSES, MOST_PASSES, TYPICAL_ROWS, Triple, is_far, typical
from bayesppl.kernels.ranges import BLOCK_CELLS, row_blocks

# Up to this many columns a block is so small that BLAS starts no threads, which would cost more than they gain.
_NARROW, _PRODUCT_CELLS = 64, 400_000

# About a pivot that all classes share: larger ones cost more than four digits.
_DIGITS_KEPT = 1e4


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
    if have_one_row_each(responsibilities):
        turned = responsibilities.tocsc()
        taken = np.diff(turned.indptr) == 1
        count[taken], mean[taken] = turned.data, X[turned.indices]
        return count, mean, scatter
    X, owners, weights = owned_rows(X, responsibilities)
    if n_classes <= MANY_CLASSES:  # to look at all rows for each class is quick
        by_class = [np.flatnonzero(owners == k) for k in range(n_classes)]
    else:
        ends = np.cumsum(np.bincount(owners, minlength=n_classes))
        by_class = np.split(np.argsort(owners, kind="stable"), ends[:-1])
    for k, rows in enumerate(by_class):
        if len(rows):
            pivot = typical(X[rows[:TYPICAL_ROWS]])
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
    count, mean, scatter : as :func:`~bayesppl.kernels.cell_moments.diagonal` and :func:`products` return them
        None where a cell is missing.
    """
    pivot, pooled = typical(X[:TYPICAL_ROWS]), matrix and tied
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
    for _ in range(MOST_PASSES):
        count, mean, scatter, between = _moments_about(X, shares, pivot, matrix, False, taken)
        if not is_far(between, _squares(scatter, matrix)).any():
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
