r"""Sums over features of log(1 + c (x − m)²) where every row has one m and c, those of its own class.

As for the Student t of all classes, the logarithm is taken of the product once per row where all features carry the
same exponent: :math:`u = \prod_d (1 + t_d) - 1` by :math:`u \leftarrow u + t + u t`. Here c, and so t, may be negative,
and the product is taken of some columns at a time, lest it come close to zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.compiled import less_own_products, own_products

# Below this, 1 + u has lost more than three of its digits to the one.
_LEAST = -0.999

# Columns multiplied before a logarithm is taken: so many that it costs little beside them.
_COLUMNS = 32


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
            out = _log_of_products(X, owners, location, factors)
            out *= exponents[owners, 0]
        else:
            out = np.full(len(X), np.nan)
        odd = np.flatnonzero(np.isnan(out))
        for block in row_blocks(len(odd), X.shape[1]):
            rows = odd[block]
            out[rows] = _cell_by_cell(X[rows], owners[rows], location, factors, exponents)
    return out


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
        of = owners[rows]
        np.einsum("nd,nd->n", _own_squares(X[rows], of, location), factors.take(of, axis=0), out=out[rows])
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
        Complete rows.
    owners : (n_rows,)
        The owner g of each row.
    location, factors : (n_classes, n_features)
    own_location, own_factors, exponents : (n_owners, n_features)

    Returns
    -------
    (n_rows, n_classes)
        Not finite where the argument of a logarithm is not positive.
    """
    own = owners, own_location, own_factors
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if (exponents == exponents[:, :1]).all():
            out = _log_of_products_less_own(X, location, factors, *own)
            out *= exponents[owners, 0]
        else:
            out = np.full((len(location), len(X)), np.nan)
        odd = np.flatnonzero(np.isnan(np.add.reduce(out, axis=0)))
        for block in row_blocks(len(odd), X.shape[1]):
            rows, of = odd[block], owners[odd[block]]
            taken = own_factors[of] * _own_squares(X[rows], of, own_location)
            for k in range(len(location)):
                terms = np.log1p(factors[k] * (X[rows] - location[k]) ** 2 - taken)
                out[k, rows] = np.einsum("nd,nd->n", exponents[of], terms)
    return out.T


def _own_squares(X: np.ndarray, owners: np.ndarray, location: np.ndarray) -> np.ndarray:
    """(x − location of its owner)² of every cell."""
    T = X - location.take(owners, axis=0)
    T *= T
    return T


def _log_of_products(X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """log Π (1 + factors (x − location)²), NaN where a cell is missing or digits would be lost."""
    compiled = own_products.loop(X.size)
    if compiled is not None:
        X = np.ascontiguousarray(X, dtype=np.float64)

    def multiply(first: int, last: int, u: np.ndarray) -> None:
        if compiled is not None:
            compiled(X, owners, location, factors, first, last, u)
        else:
            _multiply(X[:, first:last], owners, location[:, first:last], factors[:, first:last], u)

    return _sum_of_logs(multiply, X.shape[1], (len(X),))


def _sum_of_logs(
    multiply: Callable[[int, int, np.ndarray], None], n_columns: int, shape: tuple[int, ...]
) -> np.ndarray:
    """Sums of log(1 + u) over runs of columns, of each of which ``multiply`` writes the products less one, u."""
    out, u = np.zeros(shape), np.empty(shape)
    for first in range(0, n_columns, _COLUMNS):
        multiply(first, min(first + _COLUMNS, n_columns), u)
        out += _log1p_where_digits_are_left(u)
    return out


def _log1p_where_digits_are_left(u: np.ndarray) -> np.ndarray:
    """log(1 + u) in the memory of u, NaN elsewhere."""
    if not (u.min(initial=0.0) > _LEAST and u.max(initial=0.0) < np.inf):  # or a cell is missing
        u[~((u > _LEAST) & (u < np.inf))] = np.nan
    return np.log1p(u, out=u)


def _multiply(
    X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray, out: np.ndarray
) -> None:
    for rows in row_blocks(*X.shape):
        of, u = owners[rows], out[rows]
        T = _own_squares(X[rows], of, location)
        T *= factors.take(of, axis=0)
        u[...] = 0.0
        ut = np.empty(len(u))
        for t in np.ascontiguousarray(T.T):  # steps along rows are long
            np.multiply(u, t, out=ut)
            u += t
            u += ut


def _cell_by_cell(
    X: np.ndarray, owners: np.ndarray, location: np.ndarray, factors: np.ndarray, exponents: np.ndarray
) -> np.ndarray:
    terms = exponents[owners] * np.log1p(factors[owners] * _own_squares(X, owners, location))
    return np.where(np.isnan(X), 0.0, terms).sum(1)


def _log_of_products_less_own(
    X: np.ndarray,
    location: np.ndarray,
    factors: np.ndarray,
    owners: np.ndarray,
    own_location: np.ndarray,
    own_factors: np.ndarray,
) -> np.ndarray:
    """log Π (1 + factors (x − location)² − own_factors (x − own_location)²), NaN where digits would be lost."""
    compiled = less_own_products.loop(X.size * len(location))
    if compiled is not None:
        X = np.ascontiguousarray(X, dtype=np.float64)

    def multiply(first: int, last: int, u: np.ndarray) -> None:
        if compiled is not None:
            compiled(X, location, factors, owners, own_location, own_factors, first, last, u)
        else:
            at = slice(first, last)
            _multiply_less_own(
                X[:, at], location[:, at], factors[:, at], owners, own_location[:, at], own_factors[:, at], u
            )

    return _sum_of_logs(multiply, X.shape[1], (len(location), len(X)))


def _multiply_less_own(
    X: np.ndarray,
    location: np.ndarray,
    factors: np.ndarray,
    owners: np.ndarray,
    own_location: np.ndarray,
    own_factors: np.ndarray,
    out: np.ndarray,
) -> None:
    for rows in row_blocks(*X.shape):
        of = owners[rows]
        T = _own_squares(X[rows], of, own_location)
        T *= own_factors.take(of, axis=0)
        tile, taken = np.ascontiguousarray(X[rows].T, dtype=np.float64), np.ascontiguousarray(T.T)
        t, ut = np.empty(len(of)), np.empty(len(of))
        for u, centre, factor in zip(out[:, rows], location, factors, strict=True):
            u[...] = 0.0
            for d in range(len(tile)):
                np.subtract(tile[d], centre[d], out=t)
                t *= t
                t *= factor[d]
                t -= taken[d]
                np.multiply(u, t, out=ut)
                u += t
                u += ut
