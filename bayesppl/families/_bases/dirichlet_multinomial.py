"""What families of counts of words share: rows as sparse counts, and sums of log rising factorials over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.membership import Membership, counts_without
from bayesppl.families.support import COUNTS
from bayesppl.kernels.arrays import Array, log_rising

#: Counts up to this are looked up in a table, as far as it has no more numbers than that; log gamma is dearer.
_LOOKED_UP, _TABLE = 6, 1 << 21

#: Counts of words, which are often passed as weights instead.
WORD_COUNTS = COUNTS._replace(
    remedy="Weights, such as tf-idf, are no counts and have no mass: pass the counts themselves, as CountVectorizer makes "
    "them. Otherwise correct the value, or choose a family of real numbers."
)

# where log gamma and its series take turns in log_rising
_LARGE = 16.0

# columns from which on it pays to leave out those without counts
_WIDE = 1 << 10


def nonzeros(X: Any) -> csr_array:
    """The counts above zero, each cell stored once."""
    counts = X if issparse(X) else csr_array(X)
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.sum_duplicates()
    return counts


def row_totals(counts: csr_array) -> Array:
    """Sum of every row, in float64: (n_rows,)."""
    return np.asarray(counts @ np.ones(counts.shape[1]))  # their own sum would be rounded as float32 is


def rising_sums(alpha: Array) -> Callable[[csr_array], Array]:
    """Σ_j log Γ(α_kj + x_ij) − log Γ(α_kj) for every row and class, as a function of the rows.

    Parameters
    ----------
    alpha : (n_classes, n_columns)

    Returns
    -------
    function of (n_rows, n_columns) counts to (n_rows, n_classes)
        Each cell of the counts is stored at most once.
    """
    return _rising(alpha, contrast=False)


def rising_contrast(alpha: Array) -> Callable[[csr_array], Array]:
    """:func:`rising_sums` up to a term that classes share: of small counts, the first of two classes has zeros."""
    return _rising(alpha, contrast=len(alpha) == 2)


def _rising(alpha: Array, *, contrast: bool) -> Callable[[csr_array], Array]:
    n_classes = len(alpha)
    n_counts = _looked_up(alpha.size)
    # log α, log α + log(α + 1), ...: what counts of one, two, ... add
    table = np.cumsum([np.log(alpha.T + m) for m in range(n_counts)], axis=0).reshape(-1, n_classes)
    weights = table[:, 1] - table[:, 0] if contrast else table

    def sums(counts: csr_array) -> Array:
        if not counts.data.all():
            counts = _above(counts, 0)
        out = np.zeros((counts.shape[0], n_classes))
        out[:, slice(1, None) if contrast else slice(None)] = _look_up(
            counts, weights.reshape(len(table), -1), n_counts
        )
        if counts.data.max(initial=0) > n_counts:
            left = _above(counts, n_counts)
            for k in range(n_classes):
                out[:, k] += _sum_rising(alpha[k, left.indices] + n_counts, n_counts, left)
        return out

    return sums


def rising_sums_with_and_without(alpha: Array) -> Callable[[csr_array], tuple[Array, Array]]:
    """:func:`rising_sums` and Σ_j log Γ(α_kj) − log Γ(α_kj − x_ij), which a row of weight one leaves behind in its class.

    Parameters
    ----------
    alpha : (n_classes, n_columns)

    Returns
    -------
    function of (n_rows, n_columns) counts to two arrays (n_rows, n_classes)
        Of the second only the class of the row means anything. It is not finite where rounding leaves nothing of α − x.
    """
    n_classes, n_counts = len(alpha), _looked_up(2 * alpha.size)
    with np.errstate(divide="ignore"):
        units = [
            np.log(np.hstack([alpha.T + m, counts_without(alpha.T - m, np.ones(()))])) for m in range(n_counts)
        ]
    table = np.cumsum(units, axis=0).reshape(-1, 2 * n_classes)

    def sums(counts: csr_array) -> tuple[Array, Array]:
        if not counts.data.all():
            counts = _above(counts, 0)
        out = _look_up(counts, table, n_counts)
        if counts.data.max(initial=0) > n_counts:
            left = _above(counts, n_counts)
            for k in range(n_classes):
                concentration = alpha[k, left.indices]
                out[:, k] += _sum_rising(concentration + n_counts, n_counts, left)
                without = counts_without(concentration, left.data)
                out[:, n_classes + k] += _sum_rising(without, n_counts, left)
        return out[:, :n_classes], out[:, n_classes:]

    return sums


def own_rising_sums(alpha: Array, counts: csr_array, members: Membership) -> Array:
    """Σ_j log Γ(α_kj − w_i x_ij + x_ij) − log Γ(α_kj − w_i x_ij) for the class k of every row: (n_rows,)."""
    entries = counts.tocoo()
    x, w = entries.data, members.weights[entries.row]
    without = counts_without(alpha[members.codes[entries.row], entries.col], w * x)
    return np.bincount(entries.row, log_rising(without, x), minlength=counts.shape[0])


def share_rising_sums(alpha: Array, shares: csr_array) -> Array:
    """Σ_j log Γ(α_kj + s_ij) − log Γ(α_kj) less the same of the sums over j, for rows of positive numbers.

    Parameters
    ----------
    alpha : (n_classes, n_columns)
    shares : (n_rows, n_columns)

    Returns
    -------
    (n_rows, n_classes)
    """
    of_rows = row_totals(shares)
    out = np.empty((len(alpha), shares.shape[0]))
    for k, concentration in enumerate(alpha):
        rising, large = np.empty(shares.nnz), concentration[shares.indices] >= _LARGE
        for part in (np.flatnonzero(large), np.flatnonzero(~large)):  # by themselves, each takes one series only
            rising[part] = log_rising(concentration[shares.indices[part]], shares.data[part])
        of_words = csr_array((rising, shares.indices, shares.indptr), shape=shares.shape)
        out[k] = row_totals(of_words) - log_rising(concentration.sum(), of_rows)
    return out.T


def narrowed_words(posterior: Dirichlet, X: Any) -> tuple[Dirichlet, Any]:
    """The belief about the words that these rows show and about all others together, and the rows in its columns.

    The probabilities of some words, and of all others together, are Dirichlet too (Bernardo & Smith 1994).
    """
    if X.shape[1] < _WIDE:
        return posterior, X
    counts = nonzeros(X)
    words, inverse = np.unique(counts.indices, return_inverse=True)
    alpha = posterior.concentration
    if 2 * len(words) > X.shape[1]:
        return posterior, counts
    shown = alpha[:, words]
    others = np.delete(alpha, words, axis=1).sum(1, keepdims=True)
    shape = (counts.shape[0], len(words) + 1)
    return Dirichlet(np.hstack([shown, others])), csr_array((counts.data, inverse, counts.indptr), shape=shape)


def _looked_up(n_numbers: int) -> int:
    """The largest count that is looked up, in a table of so many numbers for each count."""
    return max(1, min(_LOOKED_UP, _TABLE // max(1, n_numbers)))


def _sum_rising(start: Array, n_counts: int, left: csr_array) -> Array:
    """Σ log Γ(start + x − n_counts) − log Γ(start) over the stored cells of every row: (n_rows,)."""
    rest = np.subtract(left.data, n_counts, dtype=np.float64)  # in float32, large counts would stay as they are
    with np.errstate(invalid="ignore"):
        rising = log_rising(start, rest)
    return np.asarray(csr_array((rising, left.indices, left.indptr), shape=left.shape).sum(axis=1))


def _look_up(counts: csr_array, weights: Array, n_counts: int) -> Array:
    """Sums over the stored cells of what is at their column in the table of their count, or of the last one."""
    n_rows, n_columns = counts.shape
    places = np.minimum(counts.data, n_counts).astype(np.int32)
    places -= 1
    places *= np.int32(n_columns)
    places += counts.indices
    ones = np.ones(counts.nnz)
    return np.asarray(csr_array((ones, places, counts.indptr), shape=(n_rows, len(weights))) @ weights)


def _above(counts: csr_array, least: int) -> csr_array:
    """The entries greater than ``least``."""
    at = np.flatnonzero(counts.data > least)
    starts = np.searchsorted(at, counts.indptr).astype(counts.indptr.dtype)
    return csr_array((counts.data[at], counts.indices[at], starts), shape=counts.shape)
