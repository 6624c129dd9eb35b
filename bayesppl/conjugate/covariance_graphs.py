"""Covariance matrices in PyMC without linear algebra, by Cholesky factors or partial correlations.

A solver would cost a minute of compilation. Elimination goes through the columns one by one instead, all rows and
classes together, with elementwise operations only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Spread(NamedTuple):
    """What a model needs of covariance matrices to be observed.

    Attributes
    ----------
    root : graph
        Cholesky factors: (class, feature, feature), or (feature, feature) where tied.
    log_det : graph
        Log determinants of the covariances: (class,), or a scalar.
    whiten : callable
        Solves the root for vectors (..., feature, vector).
    """

    root: Any
    log_det: Any
    whiten: Callable[[Any], Any]


def by_factor(factor: Any) -> Spread:
    """Covariances given by their Cholesky factors."""
    import pytensor.tensor as pt

    diagonal = pt.diagonal(factor, axis1=-2, axis2=-1)

    def whiten(vectors: Any) -> Any:
        n_features = vectors.type.shape[-2]
        below = factor * np.tri(n_features, k=-1) / diagonal[..., None, :]
        for j in range(n_features - 1):
            vectors = vectors - below[..., :, j, None] * vectors[..., j, None, :]
        return vectors / diagonal[..., None]

    return Spread(factor, 2 * pt.log(diagonal).sum(-1), whiten)


def by_partials(sd: Any, partials: Any) -> Spread:
    """Covariances given by standard deviations, and partial correlations below the diagonal of empty matrices."""
    import pytensor.tensor as pt

    left = log_left(partials)
    root = sd[..., None] * (partials + np.eye(partials.type.shape[-1])) * pt.exp(log_lengths(left))

    def whiten(vectors: Any) -> Any:
        """Regress every feature in turn out of those after it, which keep the variance one."""
        shrink = pt.exp(-left)
        vectors = vectors / sd[..., None]
        for j in range(vectors.type.shape[-2] - 1):
            explained = partials[..., :, j, None] * vectors[..., j, None, :]
            vectors = (vectors - explained) * shrink[..., :, j, None]
        return vectors

    return Spread(root, 2 * (pt.log(sd) + left.sum(-1)).sum(-1), whiten)


def below_diagonal(values: Any, n_features: int) -> Any:
    """Values below the diagonal of otherwise empty matrices, by one gather."""
    import pytensor.tensor as pt

    place = np.zeros((n_features, n_features), dtype=int)
    rows, columns = np.tril_indices(n_features, -1)
    place[rows, columns] = 1 + np.arange(len(rows))
    zero = pt.zeros((*values.shape[:-1], 1))
    return pt.concatenate([zero, values], axis=-1)[..., place]


def log_left(partials: Any) -> Any:
    """log of the share of its standard deviation that regression on one more feature leaves to each feature."""
    import pytensor.tensor as pt

    return 0.5 * pt.log1p(-(partials**2))


def log_lengths(left: Any) -> Any:
    """log of what the columns before leave of each row of unit length."""
    import pytensor.tensor as pt

    return pt.cumsum(left, axis=-1) - left
