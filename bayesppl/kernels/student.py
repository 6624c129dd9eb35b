r"""Sums over features of log(1 + t), the heart of the Student t, with and without a row in its own class.

Where all features carry the same exponent, the logarithm is taken of the product once per row and class instead of
once per cell. The product is kept as :math:`u = \prod_d (1 + t_d) - 1`, by :math:`u \leftarrow u + t + u t`:
unlike the product itself, it keeps the digits of t far below one, as they are with many degrees of freedom. It is
taken of some columns at a time, lest it grow beyond the largest number or, where t is negative, come close to
zero.
"""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.numba_loops import log_products as engine
from bayesppl.kernels.products import tiles
from bayesppl.kernels.ranges import row_blocks

# Below this, 1 + u has lost more than three of its digits to the one.
_LEAST = -0.999

# Columns multiplied before a logarithm is taken: so many that it costs little beside them, fewer where some is
# subtracted, and a few where their product is too large or too close to zero.
_COLUMNS, _COLUMNS_LESS_OWN, _FEW_COLUMNS = 512, 32, 4

# Rows of a tile: a class and feature at a time, a step is worth its call where it is long. Cells bound the memory.
_ROWS, _CELLS = 1 << 13, 1 << 20


def weighted_log1p_squares(
    X: np.ndarray, location: np.ndarray, scale: np.ndarray, exponents: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute Σ_d exponents_kd · log(1 + ((x_d − location_kd)/scale_kd)²) for every row and class.

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
    nobody = np.zeros(0, dtype=np.intp), location[:0], location[:0]
    return _weighted_logs(X, location, 1 / scale, *nobody, exponents)


def own_log1p_squares(
    X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray, exponents: np.ndarray
) -> np.ndarray:
    """Compute Σ_d exponents_gd · log(1 + factors_gd (x_d − location_gd)²) of every row and its owner g.

    The parameters are those of :func:`less_own_log1p_squares`, with the opposite sign of the factors and no other
    class.
    """
    nothing = np.zeros((1, X.shape[1]))
    return less_own_log1p_squares(X, owners, nothing, nothing, location, -factors, exponents)[:, 0]


def own_log1p_sum(
    X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray, exponents: np.ndarray
) -> np.ndarray:
    """Compute exponents_g · log(1 + Σ_d factors_gd (x_d − location_gd)²) of complete rows.

    Parameters
    ----------
    exponents : (n_owners, n_features)
        The same for all features.
    """
    out = np.empty(len(X))
    for rows in row_blocks(*X.shape):
        out[rows] = _own_squares(X[rows], owners[rows], location, factors).sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        np.log1p(out, out=out)
    out *= exponents[owners, 0]
    return out


def less_own_log1p_squares(
    X: np.ndarray,
    owners: np.ndarray,
    location: np.ndarray,
    factors: np.ndarray,
    own_location: np.ndarray,
    own_factors: np.ndarray,
    exponents: np.ndarray,
) -> np.ndarray:
    """Sum exponents · log(1 + t) over columns, where t loses what the owner of the row has added to it.

    That is Σ_d exponents_gd · log(1 + factors_kd (x_d − location_kd)² − own_factors_gd (x_d − own_location_gd)²).

    Parameters
    ----------
    X : (n_rows, n_features)
        NaN marks a missing cell, which adds nothing.
    owners : (n_rows,)
        The owner g of each row.
    location, factors : (n_classes, n_features)
    own_location, own_factors, exponents : (n_owners, n_features)

    Returns
    -------
    (n_rows, n_classes)
        Not finite where the argument of a logarithm is not positive.
    """
    return _weighted_logs(X, location, np.sqrt(factors), owners, own_location, own_factors, exponents)[0]


def _weighted_logs(
    X: np.ndarray,
    location: np.ndarray,
    inverse: np.ndarray,
    owners: np.ndarray,
    own_location: np.ndarray,
    own_factors: np.ndarray,
    exponents: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute either sum; where nobody owns a row, the exponents are those of the classes."""
    owned = len(own_location) > 0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if (exponents == exponents[:, :1]).all():
            classes, of_owners = (location, inverse), (own_location, own_factors)
            out = _log_of_products(X, *classes, owners, *of_owners, _COLUMNS_LESS_OWN if owned else _COLUMNS)
            again = _not_finite(out)
            if len(again):
                some = owners[again] if owned else owners
                out[:, again] = _log_of_products(X[again], *classes, some, *of_owners, _FEW_COLUMNS)
            out *= exponents[owners, 0] if owned else exponents[:, :1]
            again = odd = _not_finite(out)
        else:
            out = np.empty((len(location), len(X)))
            again, odd = np.arange(len(X)), np.flatnonzero(np.isnan(X).any(1))
        # the plain formula, which skips missing cells and survives squares beyond the largest number
        for block in row_blocks(len(again), X.shape[1]):
            rows = again[block]
            cells = X[rows]
            taken = _own_squares(cells, owners[rows], own_location, own_factors) if owned else 0.0
            for k in range(len(location)):
                z = (cells - location[k]) * inverse[k]
                logs = np.log1p(z * z - taken)
                if not np.isfinite(logs.sum()):
                    huge = np.isposinf(logs)
                    logs[huge] = 2 * np.log(np.abs(z[huge]))
                    logs[np.isnan(cells)] = 0.0
                logs *= exponents[owners[rows]] if owned else exponents[k]
                out[k, rows] = logs.sum(1)
    return out.T, odd


def _own_squares(X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Compute factor · (x − location)² of every cell, both of its owner."""
    T = X - location.take(owners, axis=0)
    T *= T
    T *= factors.take(owners, axis=0)
    return T


def _not_finite(out: np.ndarray) -> np.ndarray:
    return np.flatnonzero(~np.isfinite(np.add.reduce(out, axis=0)))


def _log_of_products(
    X: np.ndarray,
    location: np.ndarray,
    inverse: np.ndarray,
    owners: np.ndarray,
    own_location: np.ndarray,
    own_factors: np.ndarray,
    n_columns: int,
) -> np.ndarray:
    """Compute log Π (1 + t) of every class and row, NaN where a cell is missing or digits would be lost."""
    multiply = engine.loop(X.size * len(location))
    if multiply is None:
        multiply = _multiply
    else:
        X = np.ascontiguousarray(X, dtype=np.float64)
    out, u = np.zeros((len(location), len(X))), np.empty((len(location), len(X)))
    for first in range(0, X.shape[1], n_columns):
        last = min(first + n_columns, X.shape[1])
        multiply(X, location, inverse, owners, own_location, own_factors, first, last, u)
        if len(own_location) and not u.min(initial=0.0) > _LEAST:  # or a cell is missing
            u[u < _LEAST] = np.nan
        out += np.log1p(u, out=u)
    return out


def _multiply(
    X: np.ndarray,
    location: np.ndarray,
    inverse: np.ndarray,
    owners: np.ndarray,
    own_location: np.ndarray,
    own_factors: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> None:
    """Compute u = Π (1 + t) − 1 over the columns from ``first`` to ``last``, of every class and row."""
    at, n_classes = slice(first, last), len(location)
    step = max(1, min(_ROWS, len(X), _CELLS // max(last - first, n_classes)))
    T, UT = np.empty((2, n_classes, step))
    own = np.empty((2, last - first, step))
    for rows, tile in tiles(X[:, at], np.zeros(last - first), step):
        u, t, ut = out[:, rows], T[:, : tile.shape[1]], UT[:, : tile.shape[1]]
        taken = np.zeros(0)
        if len(own_location):
            taken, factor = own[..., : tile.shape[1]]
            np.subtract(tile, own_location[:, at].T.take(owners[rows], 1, factor, "clip"), out=taken)
            taken *= taken
            taken *= own_factors[:, at].T.take(owners[rows], 1, factor, "clip")
        u[...] = 0.0
        for d in range(len(tile)):  # steps along rows are long
            np.subtract(tile[d], location[:, first + d, None], out=t)
            t *= inverse[:, first + d, None]
            t *= t
            if len(taken):
                t -= taken[d]
            np.multiply(u, t, out=ut)
            u += t
            u += ut
