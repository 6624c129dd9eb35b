r"""Sums over features of log(1 + c (x − m)²) where every row has one m and c, those of its own class.

As for the Student t of all classes, the logarithm is taken of the product once per row where all features carry the
same exponent: :math:`u = \prod_d (1 + t_d) - 1` by :math:`u \leftarrow u + t + u t`. Here c, and so t, may be negative.
"""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.compiled import own_products as engine

# Below this, 1 + u has lost more than three of its digits to the one.
_LEAST = -0.999


def own_log1p_squares(
    X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray, exponents: np.ndarray
) -> np.ndarray:
    """Σ_d exponents_gd · log(1 + factors_gd (x_d − location_gd)²) of every row, g being its owner: (n_rows,).

    Parameters
    ----------
    X : (n_rows, n_features)
        NaN marks a missing cell, which adds nothing.
    owners : (n_rows,)
    location, factors, exponents : (n_owners, n_features)

    Returns
    -------
    (n_rows,)
        Not finite where the argument of a logarithm is not positive.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if (exponents == exponents[:, :1]).all():
            out = _products(X, owners, location, factors)
            odd = np.flatnonzero(~((out > _LEAST) & (out < np.inf)))
            np.log1p(out, out=out)
            out *= exponents[owners, 0]
        else:
            out, odd = np.empty(len(X)), np.arange(len(X))
        for block in row_blocks(len(odd), X.shape[1]):
            rows = odd[block]
            out[rows] = _cell_by_cell(X[rows], owners[rows], location, factors, exponents)
    return out


def _products(X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Π (1 + factors (x − location)²) − 1; NaN where a cell is missing."""
    u = np.zeros(len(X))
    compiled = engine.loop(X.size)
    if compiled is not None:
        compiled(np.ascontiguousarray(X, dtype=np.float64), owners, location, factors, u)
        return u
    for rows in row_blocks(*X.shape):
        of, total = owners[rows], u[rows]
        T = X[rows] - location.take(of, axis=0)
        T *= T
        T *= factors.take(of, axis=0)
        ut = np.empty(len(of))
        for t in np.ascontiguousarray(T.T):
            np.multiply(total, t, out=ut)
            total += t
            total += ut
    return u


def _cell_by_cell(
    X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray, exponents: np.ndarray
) -> np.ndarray:
    terms = exponents[owners] * np.log1p(factors[owners] * (X - location[owners]) ** 2)
    return np.where(np.isnan(X), 0.0, terms).sum(1)
