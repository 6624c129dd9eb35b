r"""Sums over features of Student-t terms with and without a row in its own class.

As for the Student t of all classes, the logarithm is taken of the product once per row and class where all
features carry the same exponent: :math:`u = \prod_d (1 + t_d) - 1` by :math:`u \leftarrow u + t + u t`. Here t may
be negative, and the product is taken of some columns at a time, lest it come close to zero.
"""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.compiled import less_own_products as engine

# Below this, 1 + u has lost more than three of its digits to the one.
_LEAST = -0.999

# Columns multiplied before a logarithm is taken: so many that it costs little beside them.
_COLUMNS = 32


def own_log1p_squares(
    X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray, exponents: np.ndarray
) -> np.ndarray:
    """Σ_d exponents_gd · log(1 + factors_gd (x_d − location_gd)²) of every row, g being its owner: (n_rows,).

    The parameters are those of :func:`less_own_log1p_squares`, with the opposite sign of the factors and no other
    class.
    """
    nothing = np.zeros((1, X.shape[1]))
    return less_own_log1p_squares(X, owners, nothing, nothing, location, -factors, exponents)[:, 0]


def own_log1p_sum(
    X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray, exponents: np.ndarray
) -> np.ndarray:
    """exponents_g · log(1 + Σ_d factors_gd (x_d − location_gd)²) of complete rows, as :func:`own_log1p_squares`.

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
    """Σ_d exponents_gd · log(1 + factors_kd (x_d − location_kd)² − own_factors_gd (x_d − own_location_gd)²).

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
    classes, own = (location, factors), (owners, own_location, own_factors)
    out = np.full((len(location), len(X)), np.nan)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if (exponents == exponents[:, :1]).all():
            _log_of_products(X, *classes, *own, out)
            out *= exponents[owners, 0]
        odd = np.flatnonzero(np.isnan(np.add.reduce(out, axis=0)))
        for block in row_blocks(len(odd), X.shape[1]):
            rows, of = odd[block], owners[odd[block]]
            Z, taken = X[rows], _own_squares(X[rows], of, own_location, own_factors)
            for k in range(len(location)):
                terms = exponents[of] * np.log1p(factors[k] * (Z - location[k]) ** 2 - taken)
                out[k, rows] = np.where(np.isnan(Z), 0.0, terms).sum(1)
    return out.T


def _own_squares(X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """factor · (x − location)² of every cell, both of its owner."""
    T = X - location.take(owners, axis=0)
    T *= T
    T *= factors.take(owners, axis=0)
    return T


def _log_of_products(
    X: np.ndarray,
    location: np.ndarray,
    factors: np.ndarray,
    owners: np.ndarray,
    own_location: np.ndarray,
    own_factors: np.ndarray,
    out: np.ndarray,
) -> None:
    """log Π (1 + t) in ``out``, NaN where a cell is missing or digits would be lost."""
    given = X, location, factors, owners, own_location, own_factors
    multiply = engine.loop(X.size * len(location))
    if multiply is None:
        multiply = _multiply
    else:
        given = np.ascontiguousarray(X, dtype=np.float64), *given[1:]
    out[...] = 0.0
    u = np.empty(out.shape)
    for first in range(0, X.shape[1], _COLUMNS):
        multiply(*given, first, min(first + _COLUMNS, X.shape[1]), u)
        if not (u.min(initial=0.0) > _LEAST and u.max(initial=0.0) < np.inf):  # or a cell is missing
            u[~((u > _LEAST) & (u < np.inf))] = np.nan
        out += np.log1p(u, out=u)


def _multiply(
    X: np.ndarray,
    location: np.ndarray,
    factors: np.ndarray,
    owners: np.ndarray,
    own_location: np.ndarray,
    own_factors: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> None:
    """u = Π (1 + t) − 1 over the columns from ``first`` to ``last``, of every class and row."""
    at = slice(first, last)
    for rows in row_blocks(len(X), last - first):
        T = _own_squares(X[rows, at], owners[rows], own_location[:, at], own_factors[:, at])
        tile, taken = np.ascontiguousarray(X[rows, at].T, dtype=np.float64), np.ascontiguousarray(T.T)
        t, ut = np.empty(len(T)), np.empty(len(T))
        for u, centre, factor in zip(out[:, rows], location[:, at], factors[:, at], strict=True):
            u[...] = 0.0
            for d in range(len(tile)):  # steps along rows are long
                if factor[d]:
                    np.subtract(tile[d], centre[d], out=t)
                    t *= t
                    t *= factor[d]
                    t -= taken[d]
                else:
                    np.negative(taken[d], out=t)
                np.multiply(u, t, out=ut)
                u += t
                u += ut
