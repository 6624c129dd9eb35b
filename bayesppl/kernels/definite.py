"""Symmetric matrices: positive definite or not, decided in one way wherever covariances are used, and their roots.

A sum of products in floating-point numbers is known to about sixteen digits of its largest terms. A matrix whose
columns copy each other is singular in truth and, by rounding, slightly positive or negative as computed, depending
on the order of the columns. The question is therefore put to the correlations, which have no units, with a
tolerance far above rounding: then it depends on neither units nor order, and at least five digits of determinant
and inverse are left wherever the answer is yes.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtri

from bayesppl.kernels.arrays import Array

#: The smallest eigenvalue of a correlation matrix that counts as positive.
TOLERANCE = 1e-10

#: The same for a matrix that a proper prior makes positive definite in truth: below it, rounding leaves no digit.
LOST = 1e-14


def is_positive_definite(matrix: Array, tolerance: float = TOLERANCE) -> Array:
    """Whether the smallest eigenvalue of the correlation matrix exceeds ``tolerance``: one answer per matrix.

    Parameters
    ----------
    matrix : (..., n, n)
        Symmetric, in any units.
    """
    sd = np.sqrt(np.maximum(np.einsum("...ii->...i", matrix), 0.0))
    usable = np.isfinite(matrix).all((-1, -2)) & (sd > 0).all(-1)
    scale = np.where(usable[..., None], sd, 1.0)
    correlation = np.where(usable[..., None, None], matrix, 0.0) / scale[..., :, None] / scale[..., None, :]
    np.einsum("...ii->...i", correlation)[...] = 1.0 - tolerance
    return usable & _have_roots(correlation)


def root_of(covariance: Array) -> Array:
    """Return a root R of every matrix, R Rᵀ, also where a draw of it is singular to rounding: (..., n, n)."""
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return root_by_eigenvalues(covariance)


def root_by_eigenvalues(matrix: Array) -> Array:
    """Return a root R of every matrix, R Rᵀ, which may be singular: (..., n, n)."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


def whitener_of(matrix: Array) -> tuple[Array, Array]:
    """Compute the inverse Cholesky factor of every matrix, and the log determinant of the matrix."""
    root = np.linalg.cholesky(matrix)
    return inverses_of_triangles(root), 2 * np.log(np.linalg.diagonal(root)).sum(-1)


def inverses_of_triangles(lower: Array) -> Array:
    """Invert lower triangular matrices, (..., n, n)."""
    if lower.shape[-1] < 12 and lower.size > 5000:  # of many small ones the loop would take longer
        return np.tril(np.linalg.inv(lower))
    inverse = np.empty_like(lower)
    for place in np.ndindex(lower.shape[:-2] if lower.size else (0,)):  # LAPACK complains of empty ones
        # takes a third of the time of numpy's general inverse, and copies nothing: Fortran reads rows as columns
        upper, is_singular = dtrtri(lower[place].T)
        if is_singular:
            raise np.linalg.LinAlgError("Singular matrix")
        inverse[place] = upper.T
    return inverse


def _have_roots(matrices: Array) -> Array:
    """Whether each matrix has a Cholesky root, which is quicker to find out than the smallest eigenvalue."""
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        if matrices.ndim == 2:
            return np.asarray(False)
        return np.asarray([_have_roots(matrix) for matrix in matrices])
    return np.full(matrices.shape[:-2], True)


def weakest_direction(matrix: Array) -> list[int]:
    """Find the features, by place, along which together a matrix varies least, relative to their units.

    Parameters
    ----------
    matrix : (n, n)
        Symmetric and finite.
    """
    sd = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    if not (sd > 0).all():
        return np.flatnonzero(sd <= 0).tolist()
    weights = np.abs(np.linalg.eigh(matrix / sd[:, None] / sd)[1][:, 0])
    return np.flatnonzero(weights > 0.1 * weights.max()).tolist()
