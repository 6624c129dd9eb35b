"""Densities of the multivariate t, and of rows some of whose numbers are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesppl.conjugate.log_density import Evaluate
from bayesppl.kernels.arrays import Array, log_rising


def t_terms(dof: Any, dimension: int, log_det: Any, inflation: Any) -> tuple[Array, Array]:
    """Constant c and exponent e of the log density c + e log(1 + uᵀΨ⁻¹u / inflation) of a multivariate t.

    Its scale matrix is Ψ · inflation / dof, and ``log_det`` is log |Ψ|.
    """
    constant = log_rising(dof / 2, np.asarray(dimension / 2)) - 0.5 * dimension * np.log(np.pi * inflation)
    return np.asarray(constant - 0.5 * log_det), np.asarray(-0.5 * (dof + dimension))


def log_t_density(squares: Array, constant: Array, exponent: Array, inflation: Array) -> Array:
    """Log density of a multivariate t, by the terms of :func:`t_terms`; overwrites ``squares``, uᵀΨ⁻¹u."""
    squares /= inflation
    np.log1p(squares, out=squares)
    squares *= exponent
    squares += constant
    return squares


def by_pattern(marginal: Callable[[Array], Evaluate], n_features: int) -> Evaluate:
    """The density of rows that may have gaps: those that miss the same columns share the marginal of the others."""
    complete = marginal(np.arange(n_features))

    def log_density(X: Array) -> Array:
        out = complete(X)
        with np.errstate(over="ignore", invalid="ignore"):
            odd = np.flatnonzero(~np.isfinite(out[(0,) * (out.ndim - 2)].sum(-1)))
        if not len(odd):
            return out
        patterns, group = np.unique(~np.isnan(X[odd]), axis=0, return_inverse=True)
        for g, pattern in enumerate(patterns):
            rows, at = odd[group == g], np.flatnonzero(pattern)
            if not len(at):
                out[..., rows, :] = 0.0
            elif len(at) < n_features:
                out[..., rows, :] = marginal(at)(X[np.ix_(rows, at)])
        return out

    return log_density
