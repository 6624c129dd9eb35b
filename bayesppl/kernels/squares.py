r"""Sums over features of z², the heart of the independent normal.

:math:`\sum_d (x_d - m_{kd})^2 w_{kd}` is linear in x and x², so that one matrix product serves all classes. It
loses as many digits as the square of the distance of a class from the common origin, in standard deviations, has
before the decimal point; classes that lie too far apart for that are summed cell by cell.
"""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.blocks import row_blocks

#: Distance from the common origin, in standard deviations, at which four digits of twelve and more are lost.
_NEAR = 100.0


def weighted_squares(X: np.ndarray, location: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Σ_d ((x_d − location_kd)/scale_kd)² for every row and class.

    Parameters
    ----------
    X : (n_rows, n_features)
        NaN marks a missing cell, which adds nothing.
    location, scale : (n_classes, n_features)

    Returns
    -------
    (n_rows, n_classes)
    """
    n_rows, n_classes = len(X), len(location)
    out = np.empty((n_classes, n_rows))
    origin = 0.5 * (location.min(0) + location.max(0))
    gap = (location - origin) / scale
    if np.abs(gap).max() < _NEAR:
        _by_product(X, origin, gap, scale, out)
        odd = ~np.isfinite(out.sum(0))
    else:
        odd = np.ones(n_rows, dtype=bool)
    if odd.any():
        rows = np.flatnonzero(odd)
        for block in row_blocks(len(rows), X.shape[1]):
            out[:, rows[block]] = _cell_by_cell(X[rows[block]], location, scale)
    return out.T


def _by_product(X: np.ndarray, origin: np.ndarray, gap: np.ndarray, scale: np.ndarray, out: np.ndarray) -> None:
    weights = 1 / scale**2
    slopes = -2 * gap / scale
    constant = (gap**2).sum(1)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in row_blocks(len(X), max(gap.shape)):
            Z = X[rows] - origin
            part = slopes @ Z.T
            np.multiply(Z, Z, out=Z)
            part += weights @ Z.T
            np.add(part, constant, out=out[:, rows])


def _cell_by_cell(X: np.ndarray, location: np.ndarray, scale: np.ndarray) -> np.ndarray:
    out = np.empty((len(location), len(X)))
    for k in range(len(location)):
        z = (X - location[k]) / scale[k]
        z[np.isnan(z)] = 0.0
        out[k] = np.einsum("nd,nd->n", z, z)
    return out
