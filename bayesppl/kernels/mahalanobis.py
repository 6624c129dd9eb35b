"""Squared Mahalanobis distances of rows to the classes."""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.squares import NEAR
from bayesppl.kernels.tiles import multiply, tiles

# rows of a triangular matrix multiplied at once: the zeros to their right are left out
_STRIP = 32


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
    offsets = (location - centre) @ whitener[0].T
    with np.errstate(over="ignore", invalid="ignore"):
        if len(whitener) == 1 < len(location) and np.abs(offsets).max() < NEAR:
            _tied(X, centre, offsets, whitener[0], out)
        else:
            _per_class(X, location, np.broadcast_to(whitener, (len(location), *whitener.shape[1:])), out)
    return out.T


def _per_class(X: np.ndarray, location: np.ndarray, whitener: np.ndarray, out: np.ndarray) -> None:
    for rows, tile in tiles(X, np.zeros(X.shape[1])):
        z, rotated = np.empty(tile.shape), np.empty(tile.shape)
        for k in range(len(location)):
            np.subtract(tile, location[k, :, None], out=z)
            _rotate(whitener[k], z, rotated)
            _sum_squares(rotated, out[k, rows])


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
    """factor @ tile for a lower triangular factor."""
    for start in range(0, len(factor), _STRIP):
        stop = start + _STRIP
        multiply(factor[start:stop, :stop], tile[:stop], out[start:stop])


def _sum_squares(tile: np.ndarray, out: np.ndarray) -> None:
    np.einsum("dn,dn->n", tile, tile, out=out)
