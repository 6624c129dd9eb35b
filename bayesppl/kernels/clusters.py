"""Rows divided into clusters: a first guess for mixtures."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

_STEPS = 10


def clusters(X: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Divide rows into clusters by k-means, from rows far apart (Arthur & Vassilvitskii 2007): (n_rows,) of codes.

    Columns count in units of their standard deviation; a missing cell is at the mean.

    Parameters
    ----------
    X : (n_rows, n_features)
    n_clusters : int
    rng : numpy.random.Generator
    """
    if not len(X):
        return np.empty(0, dtype=np.intp)
    masked = np.ma.masked_invalid(X)
    spread = masked.std(0).filled(0.0)
    Z = ((masked - masked.mean(0)) / np.where(spread > 0, spread, 1.0)).filled(0.0)
    centres = Z[[rng.integers(len(Z))]]
    while len(centres) < n_clusters:
        gap = cdist(Z, centres, "sqeuclidean").min(1)
        share = gap / gap.sum() if gap.any() else np.full(len(Z), 1 / len(Z))
        centres = np.vstack([centres, Z[rng.choice(len(Z), p=share)]])
    for _ in range(_STEPS):
        nearest = cdist(Z, centres, "sqeuclidean").argmin(1)
        occupied = np.unique(nearest)
        centres[occupied] = [Z[nearest == c].mean(0) for c in occupied]
    return nearest
