r"""Normal rows with gaps: the missing cells are normal given the others (Little & Rubin 2019, section 11.2).

.. math:: x_m \mid x_o \sim N\bigl(\mu_m + B (x_o - \mu_o),\; \Sigma_{mm} - B \Sigma_{om}\bigr),
   \qquad B = \Sigma_{mo} \Sigma_{oo}^{-1}.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayesppl.conjugate.moments import Moments
from bayesppl.conjugate.row_statistics import sum_each, sum_shares
from bayesppl.families.gaussian_full import CorrelatedNormals
from bayesppl.families.gaussian_regression import GaussianRegression
from bayesppl.kernels.arrays import Array, Theta


def draw_normals(
    family: CorrelatedNormals,
    theta: Theta | None,
    X: Array,
    codes: Array,
    rng: np.random.Generator,
    weights: Array,
) -> Array:
    """Draw the missing cells of normal rows, the covariance of each of which is divided by its weight."""
    rows = np.flatnonzero(np.isnan(X).any(1))
    if not len(rows):
        return X
    out = np.array(X, dtype=np.float64)
    found = _given_present(family, theta, X[rows], codes[rows])
    is_missing = np.einsum("gii->gi", found.covariance) > 0
    # cells that are there have a block of their own, of which nothing is used
    roots = np.linalg.cholesky(found.covariance + np.eye(is_missing.shape[1]) * ~is_missing[:, None])
    noise = np.einsum("nij,nj->ni", roots[found.group], rng.standard_normal((len(rows), is_missing.shape[1])))
    noise *= is_missing[found.group] / np.sqrt(weights[rows])[:, None]
    out[rows, -is_missing.shape[1] :] = found.mean + noise
    return out


def expected_moments(
    family: CorrelatedNormals, theta: Theta | None, X: Array, shares: Array, weighted: Array
) -> Moments:
    """Sum normal rows, in expectation over their missing cells.

    ``weighted`` holds their shares, times the weights that their covariances are divided by.
    """
    rows = np.flatnonzero(np.isnan(X).any(1))
    if not len(rows):
        return sum_shares(family.rows(X), weighted)
    filled, n_numbers = [], len(family.columns)
    spread = np.zeros((shares.shape[1], X.shape[1], X.shape[1]))
    for k in range(shares.shape[1]):
        found = _given_present(family, theta, X[rows], np.full(len(rows), k), shares[rows].sum(1))
        of_class = np.array(X, dtype=np.float64)
        of_class[rows, -n_numbers:] = found.mean
        filled.append(family.rows(of_class))
        weights = np.bincount(found.group, shares[rows, k])
        spread[k, -n_numbers:, -n_numbers:] = np.tensordot(weights, found.covariance, 1)
    sums: Moments = sum_each(filled, weighted.T)
    return replace(sums, scatter=sums.scatter + (spread.sum(0) if sums.is_tied else spread))


class _Given(NamedTuple):
    """The distribution of rows of numbers, given the cells that are there.

    Attributes
    ----------
    mean : (n_rows, n_numbers)
        Cells that are there, and the mean of those missing.
    covariance : (n_groups, n_numbers, n_numbers)
        Of the missing cells, zero elsewhere, of rows of one class that lack the same.
    group : (n_rows,)
    """

    mean: Array
    covariance: Array
    group: Array


def _given_present(
    family: CorrelatedNormals, theta: Theta | None, X: Array, codes: Array, weights: Array | None = None
) -> _Given:
    numbers = X[:, X.shape[1] - len(family.columns) :]
    mean, covariance = _normal(family, theta, X, codes, weights)
    missing = np.isnan(numbers)
    combinations, group = np.unique(np.column_stack([codes, missing]), axis=0, return_inverse=True)
    matrices = np.broadcast_to(
        covariance if covariance.ndim == 2 else covariance[combinations[:, 0]],
        (len(combinations), *covariance.shape[-2:]),
    )
    lacking = combinations[:, 1:].astype(bool)
    across = np.where(lacking[:, None], 0.0, matrices)
    # the identity stands in where cells are missing, which leaves their part of the solution zero
    known = np.where(lacking[:, :, None] | lacking[:, None], np.eye(lacking.shape[1]), matrices)
    slope = np.swapaxes(np.linalg.solve(known, np.swapaxes(across, 1, 2)), 1, 2)
    left = (matrices - slope @ np.swapaxes(across, 1, 2)) * (lacking[:, :, None] & lacking[:, None])
    group = group.ravel()
    expected = mean + np.einsum("nij,nj->ni", slope[group], np.where(missing, 0.0, numbers - mean))
    return _Given(np.where(missing, expected, numbers), left, group)


def _normal(
    family: CorrelatedNormals, theta: Theta | None, X: Array, codes: Array, weights: Array | None
) -> tuple[Array, Array]:
    """Return the mean of the numbers of every row given its class, and the covariance of each class, or of all."""
    if theta is None:
        there = np.ma.masked_invalid(X[:, X.shape[1] - len(family.columns) :])
        centre: Any = np.ma.average(there, 0, weights)
        variances: Any = np.ma.average((there - centre) ** 2, 0, weights)
        mean = np.broadcast_to(centre.filled(0.0), there.shape)
        return mean, np.diag(np.where(variances.filled(0.0) > 0, variances.filled(0.0), 1.0))
    mean = theta["mean"][codes]
    if isinstance(family, GaussianRegression):
        effect, given = theta["effect"], X[:, : X.shape[1] - len(family.columns)]
        mean = mean + (given @ effect if family.tied else np.einsum("nq,nqp->np", given, effect[codes]))
    return mean, family.covariances(theta)
