"""Squared Mahalanobis distances of rows to the classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from bayesppl.kernels.products import multiply, row_products, tiles
from bayesppl.kernels.ranges import row_blocks

# rows of a triangular matrix multiplied at once: the zeros to their right are left out
_STRIP = 8


def squared_distances(location: np.ndarray, whitener: np.ndarray) -> Callable[[np.ndarray, np.ndarray], None]:
    """Compute |W_k (x − m_k)|² for every row and class, as a function of the rows.

    Parameters
    ----------
    location : (n_classes, n_features)
    whitener : (n_classes or 1, n_features, n_features)
        Lower triangular: the inverse of the Cholesky factor of the covariance; one for all classes where tied.

    Returns
    -------
    function of (n_rows, n_features) X and an array (n_classes, n_rows)
        Fills the array; NaN where a cell is missing.
    """
    centre = location.mean(0)
    whiteners = np.broadcast_to(whitener, (len(location), *whitener.shape[1:]))
    offsets = np.einsum("kij,kj->ki", whiteners, location - centre)
    if not np.abs(offsets).max() < NEAR:
        fill = partial(_far_apart, location, whiteners)
    elif len(whitener) == 1 < len(location):
        fill = partial(_tied, centre, -2 * offsets, (offsets**2).sum(1)[:, None], whitener[0])
    else:
        # deviations from a common centre serve all classes; the offset of a class is a column of its matrix more
        fill = partial(_around, centre, np.concatenate([-offsets[..., None], whiteners], axis=-1))

    def distances(X: np.ndarray, out: np.ndarray) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            fill(X, out)

    return distances


def _far_apart(location: np.ndarray, whiteners: np.ndarray, X: np.ndarray, out: np.ndarray) -> None:
    for rows, tile in tiles(X, np.zeros(X.shape[1])):
        z, rotated = np.empty(tile.shape), np.empty(tile.shape)
        for k in range(len(location)):
            np.subtract(tile, location[k, :, None], out=z)
            _rotate(whiteners[k], z, rotated)
            np.einsum("dn,dn->n", rotated, rotated, out=out[k, rows])


def _around(centre: np.ndarray, factors: np.ndarray, X: np.ndarray, out: np.ndarray) -> None:
    for rows, tile in tiles(X, centre, ones=True):
        rotated = np.empty((X.shape[1], tile.shape[1]))
        for factor, sums in zip(factors, out, strict=True):
            _rotate(factor, tile, rotated)
            np.einsum("dn,dn->n", rotated, rotated, out=sums[rows])


def _tied(
    centre: np.ndarray,
    slopes: np.ndarray,
    constant: np.ndarray,
    whitener: np.ndarray,
    X: np.ndarray,
    out: np.ndarray,
) -> None:
    """Rotate once for all classes, whose distances are |r|² − 2 r·o + |o|² by the rotation r."""
    for rows, tile in tiles(X, centre):
        rotated, common, part = np.empty(tile.shape), np.empty(tile.shape[1]), out[:, rows]
        _rotate(whitener, tile, rotated)
        multiply(slopes, rotated, part)
        np.einsum("dn,dn->n", rotated, rotated, out=common)
        part += common
        part += constant


def _rotate(factor: np.ndarray, tile: np.ndarray, out: np.ndarray) -> None:
    """Compute factor @ tile for a lower triangular factor, in front of which there may be full columns."""
    full = factor.shape[1] - len(factor)
    for start in range(0, len(factor), _STRIP):
        stop = min(start + _STRIP, len(factor))
        multiply(factor[start:stop, : full + stop], tile[: full + stop], out[start:stop])


#: Distance from the common origin, in standard deviations, at which four digits of twelve and more are lost.
NEAR = 100.0

#: Distance from zero, in standard deviations, below which no other origin is needed: two digits are lost at most.
AT_ZERO = 10.0


def weighted_squares(X: np.ndarray, location: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute Σ_d ((x_d − location_kd)/scale_kd)² for every row and class.

    Parameters
    ----------
    X : (n_rows, n_features)
        NaN marks a missing cell, which adds nothing.
    location, scale : (n_classes, n_features)

    Returns
    -------
    sums : (n_rows, n_classes)
    odd : (n_odd,)
        Rows that have missing cells, or sums beyond the largest number.
    """
    origin: np.ndarray | None = None
    gap = location / scale
    if not np.abs(gap).max() < AT_ZERO:
        origin = 0.5 * (location.min(0) + location.max(0))
        gap = (location - origin) / scale
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.abs(gap).max() < NEAR:
            return _cell_by_cell(X, location, scale).T, np.flatnonzero(np.isnan(X).any(1))
        out = row_products(X, -2 * gap / scale, origin, 1 / scale**2).T
        out += (gap**2).sum(1)[:, None]
        odd = np.flatnonzero(~np.isfinite(np.add.reduce(out, axis=0)))
        if len(odd):
            out[:, odd] = _cell_by_cell(X[odd], location, scale)
    return out.T, odd


def _cell_by_cell(X: np.ndarray, location: np.ndarray, scale: np.ndarray) -> np.ndarray:
    out = np.empty((len(location), len(X)))
    for rows in row_blocks(*X.shape):
        for k in range(len(location)):
            z = (X[rows] - location[k]) / scale[k]
            z[np.isnan(z)] = 0.0
            np.einsum("nd,nd->n", z, z, out=out[k, rows])
    return out
