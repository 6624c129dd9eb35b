r"""How many rows the common mean of the classes is worth, :math:`\kappa`, chosen by the evidence of their means.

Class means are :math:`\mu_k \sim N(m, \Sigma/\kappa)`. With m integrated out under a flat density, and

.. math:: r_k = \frac{\kappa}{\kappa + n_k}, \qquad w_k = n_k r_k, \qquad
   \bar m = \frac{\sum_k w_k \bar x_k}{\sum_k w_k}, \qquad
   B = \sum_k w_k (\bar x_k - \bar m)(\bar x_k - \bar m)^T,

the evidence of κ is that of a scatter W + B with N − 1 degrees of freedom, where W is the scatter within the
classes, whose covariance is one, :math:`\Sigma \sim \mathrm{InverseWishart}(\nu, \Psi)`: up to a constant

.. math:: \tfrac D2 \Bigl(\sum_k \log r_k - \log \sum_k w_k\Bigr)
   - \tfrac{\nu + N - 1}2 \log \det\bigl(I + (\Psi + W)^{-1} B\bigr).

The logarithm of κ is averaged over a grid, so that κ is a smooth function of the statistics. Independent columns
have a κ each, and these come from one distribution: :func:`averages`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.kernels.arrays import Array, logarithm
from bayesppl.kernels.ranges import row_blocks

_GRID = 2.0 ** np.arange(-10, 6.25, 0.5)

# of the distribution of the numbers of columns, in steps of the grid: from nearly one number to any
_SPREADS = np.array([0.5, 2.0, 8.0, 1e3])


def average(grid: Array, log_evidence: Array) -> float:
    """Return the geometric mean of ``grid`` under its posterior: unlike the mode, it is smooth in the data."""
    weights = np.exp(log_evidence - log_evidence.max())
    return float(np.exp(weights @ np.log(grid) / weights.sum()))


def averages(grid: Array, log_evidence: Array) -> Array:
    """Return the geometric mean of ``grid`` for each column, whose numbers come from one log-normal distribution.

    Its median and its spread, from none to any, are averaged over by evidence. So columns that are alike have
    nearly one number, and one of another kind has its own.

    Parameters
    ----------
    grid : (n_grid,)
        Evenly spaced in its logarithm.
    log_evidence : (n_grid, n_columns)
    """
    prior = _distributions(len(grid))
    likelihood = np.exp(log_evidence - log_evidence.max(0, initial=-np.inf))
    total = prior @ likelihood
    weights = logarithm(total).sum(1)
    weights = np.exp(weights - weights.max())
    shares = np.divide(weights[:, None], total, out=np.zeros_like(total), where=total > 0) / weights.sum()
    return np.asarray(np.exp(np.log(grid) @ (likelihood * (prior.T @ shares))))


@cache
def _distributions(n_grid: int) -> Array:
    """Return the distributions of numbers on a grid, of every median and spread: (n_distributions, n_grid)."""
    places = np.arange(n_grid)
    density = np.exp(-0.5 * ((places - places[:, None, None]) / _SPREADS[:, None]) ** 2).reshape(-1, n_grid)
    return np.asarray(density / density.sum(1, keepdims=True))


def rows_of_vectors(products: Array, count: Array, nu: float, n_features: int) -> float:
    """Find κ of correlated columns.

    Parameters
    ----------
    products : (n_classes, n_classes)
        Of class means, less the mean of all rows, in the metric of the inverse of Ψ + W.
    count : (n_classes,)
    nu : float
        Degrees of freedom of the prior.
    n_features : int
    """
    if not count.any():
        return average(_GRID, np.zeros(len(_GRID)))
    weights, of_counts = _weights(count)
    between = weights[:, :, None] * (np.eye(len(count)) - (weights / weights.sum(1, keepdims=True))[:, None, :])
    # the determinant is at least one, but for rounding
    log_det = np.maximum(np.linalg.slogdet(np.eye(len(count)) + between @ products)[1], 0.0)
    return average(_GRID, 0.5 * n_features * of_counts - 0.5 * (nu + count.sum() - 1) * log_det)


def rows_of_columns(shared: Array, gaps: Array, count: Array, nu: float) -> Array:
    """Find κ of each of some independent columns: (n_features,).

    Parameters
    ----------
    shared : (n_features,)
        Scale of the prior and sum of squares within the classes of each column.
    gaps, count : (n_classes, n_features)
    nu : float
    """
    log_evidence = np.zeros((len(_GRID), len(shared)))
    seen = np.flatnonzero(count.any(0))
    for block in row_blocks(len(seen), len(_GRID) * len(gaps)):
        at = seen[block]
        weights, of_counts = _weights(count[:, at])
        between = (weights * gaps[:, at] ** 2).sum(1) - (weights * gaps[:, at]).sum(1) ** 2 / weights.sum(1)
        # a sum of squares is no less than zero, but for rounding
        log_det = np.log1p(np.maximum(between, 0.0) / shared[at])
        log_evidence[:, at] = 0.5 * of_counts - 0.5 * (nu + count[:, at].sum(0) - 1) * log_det
    return averages(_GRID, log_evidence)


def _weights(count: Array) -> tuple[Array, Array]:
    """Return the weights of class means, (n_grid, n_classes, ...), and what follows from the counts alone."""
    kappa = _GRID.reshape(-1, *(1,) * count.ndim)
    shrunk = kappa / (kappa + count)
    weights = shrunk * count
    return weights, np.log(shrunk).sum(1) - np.log(weights.sum(1))


def of_one_mean(prior: Any, n_seen: Array) -> Any:
    """Return the prior of one class in place of K of a learned κ; its mean is the average of their means.

    It is worth K times as many rows. Were it worth no more than that of each, the evidence of one mean would be
    too low: the location is the mean of the same rows. A κ found without the classes would be found for another
    question.

    Parameters
    ----------
    prior : Conjugate
    n_seen : (n_features,) or ()
        K, the number of classes that have rows.
    """
    found = prior.select_classes(np.zeros(1, dtype=np.intp))
    return replace_unchecked(found, kappa=n_seen * found.kappa)
