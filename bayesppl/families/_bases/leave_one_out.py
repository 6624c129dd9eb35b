r"""The predictive of a row that has been taken out of the posterior: what families share.

A conjugate posterior forgets a row as it learned it, by arithmetic on its hyperparameters, and the predictive is a
ratio of normalisers,

.. math:: \log p(x_i \mid y_i, D_{-i}) = \log Z(D) - \log Z(D_{-i}) + \log h(x_i)

for a row of weight one (Bernardo & Smith 1994). Rows are treated all at once: each is a class of its
own, whose belief is that of the class it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.data.labels import one_hot
from bayesppl.families._bases.family import Family
from bayesppl.families._bases.membership import Membership
from bayesppl.kernels import blocks
from bayesppl.kernels.arrays import Array


def own_class_without(family: Family, posterior: Conjugate, X: Any, members: Membership) -> Array:
    """log p(x_i | y_i, all data but row i) where classes share nothing: (n_rows,)."""
    own = np.empty(len(members.codes))
    for block in row_blocks(X):
        rows, remaining = forget(family, posterior, X[block], members[block])
        own[block] = per_row(log_evidence_of(remaining, rows))
    return own


def weight_by_weight(
    with_and_without: Callable[[Any, Membership], tuple[Array, Array]], X: Any, members: Membership
) -> tuple[Array, Array]:
    """What a function returns of rows that weigh the same, put together for rows of few weights."""
    if members.has_common_weight:
        return with_and_without(X, members)
    chosen = [np.flatnonzero(members.weights == weight) for weight in np.unique(members.groups.weights)]
    parts = [with_and_without(X[rows], members[rows]) for rows in chosen]
    fitted, without = (np.empty((parts[0][0].shape[1], len(members.codes))).T for _ in range(2))
    for rows, (some_fitted, some_without) in zip(chosen, parts, strict=True):
        fitted[rows], without[rows] = some_fitted, some_without
    return fitted, without


def forget(family: Family, posterior: Conjugate, X: Any, members: Membership) -> tuple[Any, Any]:
    """Statistics of each row (of weight one), and the belief about its class once it is taken out."""
    each = np.arange(len(members.codes))
    rows = family.sufficient_statistics(X, one_hot(each, len(each)))
    weighted = rows
    if (members.weights != 1).any():
        weighted = family.sufficient_statistics(X, one_hot(each, len(each), members.weights))
    remaining = posterior.take(members.codes).update(weighted.scale(-1.0))
    return rows, remaining


def counts_without(counts: Array, weights: Array) -> Array:
    """What remains of counts, or concentrations, that a row of some weight was counted into.

    What is not positive was lost to rounding (or belongs to no row): zero, whose logarithm marks the rows it was lost to.
    """
    return np.where(counts > weights * (1 + 1e-9), counts - weights, 0.0)


def log_evidence_of(belief: Conjugate, statistics: Any) -> Array:
    """Log evidence of statistics under a belief, per independent factor."""
    with np.errstate(divide="ignore", invalid="ignore"):  # where the belief is improper the answer is not finite
        gained = belief.log_increment(statistics)
    base = np.asarray(statistics.log_base)
    # the base measure may be kept per feature where the factors are not (a variance shared by features)
    return gained + base.reshape(*base.shape[: gained.ndim], -1).sum(-1)


def per_row(values: Array) -> Array:
    """Sum over everything but the leading axis."""
    return np.asarray(values.reshape(len(values), -1).sum(-1))


def row_blocks(X: Any) -> Iterator[slice]:
    """Blocks of rows small enough for dense temporaries of several times their size."""
    return blocks.row_blocks(X.shape[0], X.shape[1], 2 * blocks.BLOCK_CELLS)
