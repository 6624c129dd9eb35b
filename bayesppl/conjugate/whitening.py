"""Rows in the coordinates in which a covariance is the identity."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from bayesppl.conjugate.log_density import Evaluate
from bayesppl.kernels.arrays import Array, diagonal
from bayesppl.kernels.mahalanobis import NEAR, squared_distances
from bayesppl.kernels.products import row_products


def whitener_of(matrix: Array) -> tuple[Array, Array]:
    """The inverse Cholesky factor of every matrix, and its log determinant."""
    root = np.linalg.cholesky(matrix)
    return np.linalg.inv(root), 2 * np.log(diagonal(root)).sum(-1)


def distances_to(location: Array, whitener: Array) -> Evaluate:
    """Squared Mahalanobis distances of rows: (..., n_rows, n_classes)."""

    def make(draw: tuple[int, ...]) -> Callable[[Array, Array], None]:
        return squared_distances(location[draw], whitener[draw])

    of_draw = cache(make) if location.ndim == 2 else make  # many draws would keep a copy of their matrices each

    def distances(values: Array) -> Array:
        squares = np.empty((*location.shape[:-1], len(values)))
        for draw in np.ndindex(location.shape[:-2]):
            of_draw(draw)(values, squares[draw])
        return np.swapaxes(squares, -1, -2)

    return distances


def without_common_square(location: Array, matrix: Array) -> Evaluate | None:
    """Log densities of normals with a common covariance, without the square of x that they share.

    None where a class lies so far from the others that the linear form would lose digits to the square.
    """
    whitener, _ = whitener_of(matrix)
    centre = location.mean(-2, keepdims=True)
    offsets = (location - centre) @ np.swapaxes(whitener, -1, -2)[..., 0, :, :]
    if not np.abs(offsets).max() < NEAR:
        return None
    slopes = (offsets @ whitener[..., 0, :, :]).reshape(-1, location.shape[-1])
    origin = centre.reshape(-1, location.shape[-1]).mean(0)
    # every draw has a centre of its own
    constant = -0.5 * (offsets**2).sum(-1)
    constant -= (slopes.reshape(location.shape) * (centre - origin)).sum(-1)

    def scores(X: Array) -> Array:
        out = row_products(X, slopes, origin).T.reshape(*location.shape[:-1], len(X))
        out += constant[..., None]
        return np.moveaxis(out, -1, -2)

    return scores
