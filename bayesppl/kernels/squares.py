r"""Sums over features of z², the heart of the independent normal, and what is linear in x.

:math:`\sum_d (x_d - m_{kd})^2 w_{kd}` is linear in x and x², so that one matrix product serves all classes. It
loses as many digits as the square of the distance of a class from the common origin, in standard deviations, has
before the decimal point; classes that lie too far apart for that are summed cell by cell.
"""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.products import row_products

#: Distance from the common origin, in standard deviations, at which four digits of twelve and more are lost.
NEAR = 100.0

#: Distance from zero, in standard deviations, below which no other origin is needed: two digits are lost at most.
AT_ZERO = 10.0


def weighted_squares(X: np.ndarray, location: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ_d ((x_d − location_kd)/scale_kd)² for every row and class.

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
