r"""Rows with multivariate Student-t densities, as normal rows whose covariance is divided by a weight of each row.

With ν > 2 degrees of freedom, mean μ and covariance Σ,

.. math:: x \mid w \sim N(\mu, \Sigma / w), \qquad w \sim \mathrm{Gamma}\bigl(\nu/2,\; (\nu - 2)/2\bigr),

and given D cells of the row at the squared distance δ the weight is
:math:`\mathrm{Gamma}((\nu + D)/2,\; (\nu - 2 + \delta)/2)` (Lange, Little & Taylor 1989). Given the weights,
mean and covariance have a normal-inverse-Wishart posterior: its degrees of freedom count rows, its κ weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from scipy.special import logsumexp

from bayesppl.conjugate.correlated_normals import (
    by_distances,
    by_pattern,
    log_t_density,
    t_terms,
)
from bayesppl.conjugate.log_density import Evaluate, LogDensity
from bayesppl.conjugate.moments import Moments, moments
from bayesppl.conjugate.normal_inverse_wishart import NormalInverseWishart
from bayesppl.conjugate.row_statistics import RowStatistics, refuse_closed_form
from bayesppl.kernels.arrays import Array, Responsibilities


@final
@dataclass(frozen=True, eq=False)
class TailedRows(RowStatistics):
    """Rows with Student-t densities.

    Attributes
    ----------
    X : (n_rows, n_features)
    weights : (n_rows,), optional
        By which the covariance of each row is divided, once the rows are completed.
    dof : float
        ν.
    is_tied : bool
    """

    X: Array
    weights: Array | None
    dof: float
    is_tied: bool

    def sum_rows(self, responsibilities: Responsibilities) -> Moments:
        if self.weights is None:
            if responsibilities.nnz:
                refuse_closed_form("weight")
            return moments(self.X, responsibilities, matrix=True, tied=self.is_tied)
        weighted = responsibilities.multiply(self.weights[:, None]).tocsr()
        found = moments(self.X, weighted, matrix=True, tied=self.is_tied)
        return replace(found, spare=np.asarray(responsibilities.sum(0)).ravel() - found.count)


def log_density(mean: Array, covariance: Array, tied: bool, dof: float) -> LogDensity:
    """Return log p(x | y = k, θ) of rows for these means and covariances; draw axes may lead."""

    def log_t(dimension: int, log_det: Array) -> Evaluate:
        constant, exponent = t_terms(np.asarray(dof), dimension, log_det[..., None, :], dof - 2)
        return lambda squares: log_t_density(squares, constant, exponent, np.asarray(dof - 2))

    return LogDensity(by_pattern(by_distances(mean, covariance, tied, log_t), mean.shape[-1]))


def expected_weights(mean: Array, covariance: Array, tied: bool, dof: float, X: Array) -> tuple[Array, Array]:
    """Compute shape and mean of the weights of rows, given the cells that are there: (n_rows, n_classes) each."""

    def unchanged(dimension: int, log_det: Array) -> Evaluate:
        return np.asarray

    squares = by_pattern(by_distances(mean, covariance, tied, unchanged), X.shape[1])(X)
    shape = np.broadcast_to((dof + (~np.isnan(X)).sum(1, keepdims=True)) / 2, (len(X), len(mean)))
    return shape, 2 * shape / (dof - 2 + squares)


def log_predictive(posterior: NormalInverseWishart) -> LogDensity:
    """Return log p(x | y = k, data), averaged over the weight that each row can have by the trapezoidal rule."""
    n_classes, n_features = posterior.location.shape
    left = np.broadcast_to(posterior.nu - n_features + 1, n_classes)

    def log_density(rows: TailedRows) -> Array:
        # exact to rounding for a density that vanishes at both ends (Trefethen & Weideman 2014)
        half = rows.dof / 2
        log_units = np.arange(-40.0, 4.0, min(0.5, half**-0.5))  # of weights, in units of ν/(ν − 2)
        log_shares = half * (log_units - np.exp(log_units))
        log_shares -= logsumexp(log_shares)
        some = log_shares > -300
        inflations = 1 / posterior.kappa + (1 - 1 / half) * np.exp(-log_units[some])[:, None]

        def log_t(dimension: int, log_det: Array) -> Evaluate:
            def averaged(squares: Array) -> Array:
                out = np.full_like(squares, -np.inf)
                with np.errstate(invalid="ignore"):  # of rows with gaps, which have a marginal of their own
                    for log_share, inflation in zip(log_shares[some], inflations, strict=True):
                        terms = t_terms(left, dimension, log_det, inflation)
                        found = log_t_density(squares.copy(), *terms, inflation)
                        np.logaddexp(out, found + log_share, out=out)
                return out

            return averaged

        marginal = by_distances(posterior.location, posterior.psi, posterior.is_tied, log_t)
        return by_pattern(marginal, n_features)(rows.X)

    return LogDensity(log_density)
