"""Squared Mahalanobis distances of rows to the classes."""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.squares import NEAR
from bayesppl.kernels.tiles import multiply, tiles

# rows of a triangular matrix multiplied at once: the zeros to their right are left out
_STRIP = 8


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
        NaN where a cell is missing.
    """
    out = np.empty((len(location), len(X)))
    centre = location.mean(0)
    whiteners = np.broadcast_to(whitener, (len(location), *whitener.shape[1:]))
    offsets = np.einsum("kij,kj->ki", whiteners, location - centre)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.abs(offsets).max() < NEAR:
            _far_apart(X, location, whiteners, out)
        elif len(whitener) == 1 < len(location):
            _tied(X, centre, offsets, whitener[0], out)
        else:
            _around(X, centre, offsets, whiteners, out)
    return out.T


def _far_apart(X: np.ndarray, location: np.ndarray, whiteners: np.ndarray, out: np.ndarray) -> None:
    for rows, tile in tiles(X, np.zeros(X.shape[1])):
        z, rotated = np.empty(tile.shape), np.empty(tile.shape)
        for k in range(len(location)):
            np.subtract(tile, location[k, :, None], out=z)
            _rotate(whiteners[k], z, rotated)
            _sum_squares(rotated, out[k, rows])


def _around(
    X: np.ndarray, centre: np.ndarray, offsets: np.ndarray, whiteners: np.ndarray, out: np.ndarray
) -> None:
    """Deviations from a common centre serve all classes; the offset of a class is a column of its matrix more."""
    n_features = X.shape[1]
    factors = [
        np.ascontiguousarray(np.column_stack([-offset, matrix]))
        for offset, matrix in zip(offsets, whiteners, strict=True)
    ]
    for rows, tile in tiles(X, centre, ones=True):
        rotated = np.empty((n_features, tile.shape[1]))
        for factor, sums in zip(factors, out, strict=True):
            _rotate(factor, tile, rotated)
            _sum_squares(rotated, sums[rows])


def _tied(X: np.ndarray, centre: np.ndarray, offsets: np.ndarray, whitener: np.ndarray, out: np.ndarray) -> None:
    """One rotation r serves all classes, whose distances are |r|² − 2 r·o + |o|²."""
    constant = (offsets**2).sum(1)[:, None]
    for rows, tile in tiles(X, centre):
        rotated, common, part = np.empty(tile.shape), np.empty(tile.shape[1]), out[:, rows]
        _rotate(whitener, tile, rotated)
        multiply(-2 * offsets, rotated, part)
        _sum_squares(rotated, common)
        part += common
        part += constant


def _rotate(factor: np.ndarray, tile: np.ndarray, out: np.ndarray) -> None:
    """factor @ tile for a lower triangular factor, in front of which there may be full columns."""
    full = factor.shape[1] - len(factor)
    for start in range(0, len(factor), _STRIP):
        stop = min(start + _STRIP, len(factor))
        multiply(factor[start:stop, : full + stop], tile[: full + stop], out[start:stop])


def _sum_squares(tile: np.ndarray, out: np.ndarray) -> None:
    np.einsum("dn,dn->n", tile, tile, out=out)
