r"""Sums over features of log(1 + z²), the heart of the Student t.

Where all features of a class carry the same exponent, the logarithm is taken of the product once per row and class
instead of once per cell. The product is kept as :math:`u = \prod_d (1 + t_d) - 1`, by
:math:`u \leftarrow u + t + u t`: unlike the product itself, it keeps the digits of t far below one, as they are
with many degrees of freedom. Before u grows large its logarithm is put aside.
"""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.compiled import log_products as engine
from bayesppl.kernels.tiles import tiles

# u is put aside above LARGE; checked every few features, between which it cannot overflow unless a z exceeds 1e34
LARGE, _FEATURES_PER_CHECK = 1e30, 4

# Rows of a tile: a class and feature at a time, a step is worth its call where it is long. Cells bound the memory.
_ROWS, _CELLS = 1 << 13, 1 << 20


def weighted_log1p_squares(
    X: np.ndarray, location: np.ndarray, scale: np.ndarray, exponents: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Σ_d exponents_kd · log(1 + ((x_d − location_kd)/scale_kd)²) for every row and class.

    Parameters
    ----------
    X : (n_rows, n_features)
        NaN marks a missing cell, which adds nothing.
    location, scale, exponents : (n_classes, n_features)

    Returns
    -------
    sums : (n_rows, n_classes)
    odd : (n_odd,)
        Rows that have missing cells, or squares beyond the largest number.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if not (exponents == exponents[:, :1]).all():
            out = _cell_by_cell(X, location, scale, exponents)
            return out.T, np.flatnonzero(np.isnan(X).any(1))
        out = _log_of_products(X, location, 1 / scale)
        out *= exponents[:, :1]
        odd = _not_finite(out)
        if len(odd):
            out[:, odd] = _cell_by_cell(X[odd], location, scale, exponents)
    return out.T, odd


def _not_finite(out: np.ndarray) -> np.ndarray:
    return np.flatnonzero(~np.isfinite(np.add.reduce(out, axis=0)))


def _log_of_products(X: np.ndarray, location: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """log Π (1 + z²), not finite where a cell is missing or a square too large."""
    compiled = engine.loop(X.size * len(location))
    if compiled is None:
        return _multiplied(X, location, inverse)
    out = np.empty((len(location), len(X)))
    compiled(np.ascontiguousarray(X, dtype=np.float64), location, inverse, LARGE, out)
    np.log1p(out, out=out)
    large = _not_finite(out)
    if len(large):
        out[:, large] = _multiplied(X[large], location, inverse)
    return out


def _multiplied(X: np.ndarray, location: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    n_classes, n_features = location.shape
    out = np.empty((n_classes, len(X)))
    step = max(1, min(_ROWS, _CELLS // max(n_features, n_classes)))
    T, UT = (np.empty((n_classes, step)) for _ in range(2))
    for rows, tile in tiles(X, np.zeros(n_features), step):
        u, t, ut = out[:, rows], T[:, : tile.shape[1]], UT[:, : tile.shape[1]]
        u[...] = 0.0
        aside = None
        for d in range(n_features):
            np.subtract(tile[d], location[:, d, None], out=t)
            np.multiply(t, inverse[:, d, None], out=t)
            np.multiply(t, t, out=t)
            np.multiply(u, t, out=ut)
            np.add(u, t, out=u)
            np.add(u, ut, out=u)
            if d % _FEATURES_PER_CHECK == _FEATURES_PER_CHECK - 1 and u.max() > LARGE:
                large = u > LARGE
                aside = np.zeros(u.shape) if aside is None else aside
                aside[large] += np.log1p(u[large])
                u[large] = 0.0
        np.log1p(u, out=u)
        if aside is not None:
            u += aside
    return out


def _cell_by_cell(X: np.ndarray, location: np.ndarray, scale: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """The plain formula, which skips missing cells and survives squares beyond the largest number."""
    out = np.empty((len(location), len(X)))
    for rows in row_blocks(*X.shape):
        for k in range(len(location)):
            z = (X[rows] - location[k]) / scale[k]
            logs = np.log1p(z * z)
            if not np.isfinite(logs.sum()):
                huge = np.isinf(logs)
                logs[huge] = 2 * np.log(np.abs(z[huge]))
                logs[np.isnan(z)] = 0.0
            out[k, rows] = logs @ exponents[k]
    return out
