r"""Covariance matrices in PyMC without linear algebra, by Bartlett factors or partial correlations.

A solver would cost a minute of compilation. Elimination goes through the columns one by one instead, all rows and
classes together, with elementwise operations only.

Normal-inverse-Wishart priors compile fast and sample well in these coordinates: with :math:`\Psi = L L^\top` and A
lower triangular, :math:`A_{ii}^2 \sim \chi^2_{\nu - i}` (i from 0) and normals below the diagonal,
:math:`A A^\top` is Wishart(ν, I) (Bartlett 1933) and :math:`\Sigma^{-1} = L^{-\top} A A^\top L^{-1}` is
Wishart(ν, Ψ⁻¹). Means are :math:`w = L^{-1}(\mu - m)`, so that every quadratic form is :math:`|A^\top(\cdot)|^2`.

Effects of predictors live in the coordinates of their prior and of the covariance: with :math:`\Lambda = C C^\top`
and the root S of the covariance, :math:`\Sigma = S S^\top`, they are :math:`B = B_0 + C^{-\top} W S^\top` for
independent standard normals W.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.moments import Moments
from bayesppl.kernels.arrays import LOG_2PI, Array, log_determinants
from bayesppl.kernels.definite import root_by_eigenvalues, whitener_of


class Spread(NamedTuple):
    """What a model needs of covariance matrices to be observed.

    Attributes
    ----------
    root : graph
        Cholesky factors: (class, feature, feature), or (feature, feature) where tied.
    log_det : graph
        Log determinants of the covariances: (class,), or a scalar.
    whiten : callable
        Solves the root for vectors (..., feature, vector), which may come in several arrays; they are put side by
        side.
    """

    root: Any
    log_det: Any
    whiten: Callable[..., Any]

    @property
    def covariance(self) -> Any:
        """Compute the covariances by elementwise products."""
        return (self.root[..., :, None, :] * self.root[..., None, :, :]).sum(-1)


def by_covariance(covariance: Array) -> Spread:
    """Make the spread of covariances that are known."""
    import pytensor.tensor as pt

    root = np.linalg.cholesky(covariance)
    unroot = np.linalg.inv(root)

    def whiten(*parts: Any) -> Any:
        return (unroot[..., :, :, None] * pt.concatenate(parts, axis=-1)[..., None, :, :]).sum(-2)

    return Spread(root, log_determinants(covariance), whiten)


def by_partials(sd: Any, partials: Any) -> Spread:
    """Make the spread from standard deviations, and partial correlations below the diagonal of empty matrices."""
    import pytensor.tensor as pt

    left = log_left(partials)
    root = sd[..., None] * (partials + np.eye(partials.type.shape[-1])) * pt.exp(log_lengths(left))

    def whiten(*parts: Any) -> Any:
        """Regress every feature in turn out of those after it, which keep the variance one."""
        shrink = pt.exp(-left)
        vectors = pt.concatenate(parts, axis=-1) / sd[..., None]
        for j in range(vectors.type.shape[-2] - 1):
            explained = partials[..., :, j, None] * vectors[..., j, None, :]
            vectors = (vectors - explained) * shrink[..., :, j, None]
        return vectors

    return Spread(root, 2 * (pt.log(sd) + left.sum(-1)).sum(-1), whiten)


def by_bartlett(psi: Array, factor: Any, chi_square: Any) -> Spread:
    """Make the spread from the Bartlett factors A of inverse covariances, (..., row, column, 1), and the A_ii²."""
    import pytensor.tensor as pt

    lower = np.linalg.cholesky(psi)
    unroot = np.linalg.inv(lower)
    inverse = pt.linalg.inv(factor[..., 0])
    root = (lower[..., :, :, None] * pt.swapaxes(inverse, -1, -2)[..., None, :, :]).sum(-2)

    def whiten(*parts: Any) -> Any:
        known = [
            unroot @ part
            if isinstance(part, np.ndarray)
            else (unroot[..., :, :, None] * part[..., None, :, :]).sum(-2)
            for part in parts
        ]
        return times_transposed(factor, pt.concatenate(known, axis=-1))

    return Spread(root, np.linalg.slogdet(psi)[1] - pt.log(chi_square).sum(-1), whiten)


def observe(variables: Mapping[str, Any], statistics: Moments, n_predictors: int, prefix: str) -> None:
    """Declare the likelihood of the rows through their counts, means and scatter matrices.

    Parameters
    ----------
    variables : mapping
        "mean" (class, feature), "spread" (a :class:`Spread`) and, where there are predictors, their "effect":
        (class, predictor, feature), or (predictor, feature) where tied.
    statistics : Moments
        Of predictors, if there are any, and features side by side.
    n_predictors : int
    prefix : str
    """
    import pymc as pm
    import pytensor.tensor as pt

    q, n, spread = n_predictors, statistics.count, variables["spread"]
    root = root_by_eigenvalues(statistics.scatter)
    within, centre = root[..., q:, :], statistics.mean[:, q:] - variables["mean"]
    if q:
        effect = variables["effect"]
        slopes = pt.swapaxes(effect, -1, -2)
        within = within - (slopes[..., :, :, None] * root[..., None, :q, :]).sum(-2)
        centre = centre - (statistics.mean[:, :q, None] * effect).sum(-2)
    whitened = spread.whiten(within, columns_of(centre * np.sqrt(n)[:, None], statistics.is_tied))
    constant = (statistics.mean.shape[1] - q) * LOG_2PI
    pm.Potential(f"{prefix}x", -0.5 * ((n * (spread.log_det + constant)).sum() + (whitened**2).sum()))


def whitened(matrix: Any, columns: Any) -> tuple[Any, Any]:
    """Compute log |A| of positive definite matrices A = L Lᵀ, and L⁻¹v for all columns v.

    Parameters
    ----------
    matrix : (..., feature, feature)
    columns : (..., feature, vector)
    """
    import pytensor.tensor as pt

    d, log_det, rows = matrix.type.shape[-1], 0.0, []
    rest = pt.concatenate([matrix, columns], axis=-1)
    for left in range(d, 0, -1):
        pivot = rest[..., 0, 0]
        row = rest[..., 0, 1:] / pt.sqrt(pivot)[..., None]
        log_det = log_det + pt.log(pivot)
        rows.append(row[..., left - 1 :])
        if left > 1:
            rest = rest[..., 1:, 1:] - row[..., : left - 1, None] * row[..., None, :]
    return log_det, pt.stack(rows, axis=-2)


def columns_of(vectors: Any, tied: bool) -> Any:
    """Write one vector per class as columns of a matrix per covariance."""
    return vectors.T if tied else vectors[:, :, None]


def times_transposed(factor: Any, columns: Any) -> Any:
    """Compute Aᵀ v for all columns v, by elementwise products."""
    return (factor * columns[..., :, None, :]).sum(-3)


def below_diagonal(values: Any, n_features: int) -> Any:
    """Put values below the diagonal of otherwise empty matrices, by one gather."""
    import pytensor.tensor as pt

    place = np.zeros((n_features, n_features), dtype=int)
    rows, columns = np.tril_indices(n_features, -1)
    place[rows, columns] = 1 + np.arange(len(rows))
    zero = pt.zeros((*values.shape[:-1], 1))
    return pt.concatenate([zero, values], axis=-1)[..., place]


def log_left(partials: Any) -> Any:
    """Compute the log share of its standard deviation that regressing on one more feature leaves to each one."""
    import pytensor.tensor as pt

    return 0.5 * pt.log1p(-(partials**2))


def log_lengths(left: Any) -> Any:
    """Compute the log length that the columns before leave of each row of unit length."""
    import pytensor.tensor as pt

    return pt.cumsum(left, axis=-1) - left


def declare_normal_inverse_wishart(prior: Any, dims: Dims, prefix: str) -> dict[str, Any]:
    """Declare the factor, the whitened means, and the mean and covariance they determine."""
    import pymc as pm

    mean, spread = _declare_factor(prior, dims, prefix)
    return {
        "mean": pm.Deterministic(var=mean, **named(dims, prefix, "mean")),
        "covariance": pm.Deterministic(var=spread.covariance, **named(dims, prefix, "covariance")),
        "spread": spread,
    }


def declare_regression(prior: Any, dims: Dims, prefix: str) -> dict[str, Any]:
    """Declare whitened means and effects, the factor of the covariance, and the parameters they determine."""
    import pymc as pm

    mean_at_centre, spread = _declare_factor(prior.numbers, dims, prefix)
    effect_named = named(dims, prefix, "effect")
    whitened = pm.Normal(f"{prefix}effect_whitened", dims=effect_named["dims"])
    inverse = np.swapaxes(whitener_of(prior.precision)[0], -1, -2)
    rotated = (inverse[..., :, :, None] * whitened[..., None, :, :]).sum(-2)
    effect = prior.effect + (rotated[..., :, None, :] * spread.root[..., None, :, :]).sum(-1)
    mean = mean_at_centre - (prior.centre[..., None] * effect).sum(-2)
    return {
        "mean": pm.Deterministic(var=mean, **named(dims, prefix, "mean")),
        "effect": pm.Deterministic(var=effect, **effect_named),
        "covariance": pm.Deterministic(var=spread.covariance, **named(dims, prefix, "covariance")),
        "spread": spread,
    }


def _declare_factor(prior: Any, dims: Dims, prefix: str) -> tuple[Any, Spread]:
    """Declare the factor and the whitened means; return the means of the classes, and their covariances."""
    import pymc as pm
    import pytensor.tensor as pt

    n_classes, n_features = prior.location.shape
    mean_named, covariance_named = (named(dims, prefix, name) for name in ("mean", "covariance"))
    chi_square = pm.ChiSquared(
        f"{prefix}chi_square", nu=prior.nu[..., None] - np.arange(n_features), dims=covariance_named["dims"][:-1]
    )
    n_lower = n_features * (n_features - 1) // 2
    lower = pm.Normal(f"{prefix}lower", shape=(*prior.nu.shape, n_lower)) if n_lower else None
    factor = _bartlett_factor(chi_square, lower, n_features)
    whitened = pm.Flat(f"{prefix}mean_whitened", dims=mean_named["dims"])
    constant = n_features * (np.log(prior.kappa) - LOG_2PI).sum()
    scaled = columns_of(whitened * np.sqrt(prior.kappa)[:, None], prior.is_tied)
    # one sum of one expression: sums of a matrix by itself are slow to compile
    exponents = pt.log(chi_square)[..., None] - times_transposed(factor, scaled) ** 2
    pm.Potential(f"{prefix}mean_prior", 0.5 * (constant + exponents.sum()))

    spread = by_bartlett(prior.psi, factor, chi_square)
    per_class_root = np.broadcast_to(np.linalg.cholesky(prior.psi), (n_classes, n_features, n_features))
    mean = prior.location + (per_class_root * whitened[:, None, :]).sum(-1)
    return mean, spread


def _bartlett_factor(chi_square: Any, lower: Any, n_features: int) -> Any:
    """Make the triangular factor (..., row, column, 1).

    By one gather, for what is joined would have to be split for the gradient, and with the last axis in place, for
    what is reshaped after a gather cannot be fused with it. Both would cost seconds of compilation.
    """
    import pytensor.tensor as pt

    identity = np.eye(n_features, dtype=np.int8)[..., None]
    diagonal = pt.sqrt(chi_square)[..., None, None] * identity
    if n_features == 1:
        return diagonal
    place = np.zeros_like(identity, dtype=int)
    rows, columns = np.tril_indices(n_features, -1)
    place[rows, columns, 0] = np.arange(len(rows))
    return diagonal + lower[..., place] * np.tri(n_features, k=-1, dtype=np.int8)[..., None]
