"""Squared Mahalanobis distances of rows to the classes."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtrmm

from bayesppl.kernels.blocks import row_blocks


def squared_distances(X: np.ndarray, location: np.ndarray, whitener: np.ndarray) -> np.ndarray:
    """|W_k (x − m_k)|² for every row and class.

    Parameters
    ----------
    X : (n_rows, n_features)
    location : (n_classes, n_features)
    whitener : (n_classes or 1, n_features, n_features)
        Lower triangular: the inverse of the Cholesky factor of the covariance; one for all classes where tied.

    Returns
    -------
    (n_rows, n_classes)
    """
    n_classes, n_features = location.shape
    out = np.empty((n_classes, len(X)))
    factors = [np.asfortranarray(factor) for factor in whitener]
    tied = len(factors) == 1
    centre = location.mean(0)
    offsets = (location - centre) @ whitener[0].T
    for rows in row_blocks(len(X), n_features):
        values = X[rows]
        if tied:  # one rotation serves all classes
            rotated = _rotate(factors[0], values - centre)
            for k in range(n_classes):
                out[k, rows] = _squares(rotated - offsets[k])
        else:
            for k in range(n_classes):
                out[k, rows] = _squares(_rotate(factors[k], values - location[k]))
    return out.T


def _rotate(factor: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Z @ factorᵀ, in the place of Z: a triangular product costs half of a full one."""
    return dtrmm(1.0, factor, Z.T, lower=1, overwrite_b=1).T


def _squares(Z: np.ndarray) -> np.ndarray:
    return np.einsum("nd,nd->n", Z, Z)
