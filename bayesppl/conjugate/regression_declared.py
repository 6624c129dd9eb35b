r"""The prior of regressions as a PyMC model: effects live in the coordinates of their prior and of the covariance.

With :math:`\Lambda = C C^\top` and the root S of the covariance, :math:`\Sigma = S S^\top`, effects are
:math:`B = B_0 + C^{-\top} W S^\top` for independent standard normals W; means and covariances as in
:mod:`bayesppl.conjugate.bartlett`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from bayesppl.conjugate import bartlett
from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.moments import Moments
from bayesppl.kernels.arrays import LOG_2PI, Array


def declare(prior: Any, dims: Dims, prefix: str) -> dict[str, Any]:
    """Declare whitened means and effects, the factor of the covariance, and the parameters they determine."""
    import pymc as pm

    found = bartlett.declare_factor(prior.numbers, dims, prefix)
    effect_named = named(dims, prefix, "effect")
    whitened = pm.Normal(f"{prefix}effect_whitened", dims=effect_named["dims"])
    inverse = np.swapaxes(np.linalg.inv(np.linalg.cholesky(prior.precision)), -1, -2)
    spread = (inverse[..., :, :, None] * whitened[..., None, :, :]).sum(-2)
    effect = prior.effect + (spread[..., :, None, :] * found.root[..., None, :, :]).sum(-1)
    mean = found.mean - (prior.centre[..., None] * effect).sum(-2)
    return {
        "mean": pm.Deterministic(var=mean, **named(dims, prefix, "mean")),
        "effect": pm.Deterministic(var=effect, **effect_named),
        "covariance": pm.Deterministic(var=found.covariance, **named(dims, prefix, "covariance")),
        "observe": partial(_observe, prior, found, mean, effect, prefix),
    }


def recover(prior: Any, draws: Mapping[str, Array], prefix: str) -> tuple[Array, Array]:
    """Means where the predictors are c, and roots of the covariances, from draws of the free variables."""
    mean = bartlett.recover(prior.numbers, draws, prefix)["mean"]
    return mean, bartlett.recover_root(prior.numbers, draws, prefix)


def _observe(
    prior: Any, found: bartlett.Declared, mean: Any, effect: Any, prefix: str, statistics: Moments
) -> None:
    """Declare the likelihood of the numbers of the rows, given their predictors, through their moments."""
    import pymc as pm
    import pytensor.tensor as pt

    n, (n_predictors, n_features) = statistics.count, prior.effect.shape[-2:]
    values, vectors = np.linalg.eigh(statistics.scatter)
    scatter_root = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    swapped = pt.swapaxes(effect, -1, -2)
    explained = (swapped[..., :, :, None] * scatter_root[..., None, :n_predictors, :]).sum(-2)
    within = scatter_root[..., n_predictors:, :] - explained
    gaps = statistics.mean[:, n_predictors:] - mean - (statistics.mean[:, :n_predictors, None] * effect).sum(-2)
    gaps = bartlett.columns_of(gaps * np.sqrt(n)[:, None], prior)
    unroot = np.linalg.inv(np.linalg.cholesky(prior.psi))
    squares = sum(
        bartlett.squares_of(found.factor, (unroot[..., :, :, None] * part[..., None, :, :]).sum(-2)).sum()
        for part in (within, gaps)
    )
    log_det = ((n.sum() if prior.is_tied else n[:, None]) * pt.log(found.chi_square)).sum()
    constant = (n * (np.linalg.slogdet(prior.psi)[1] + n_features * LOG_2PI)).sum()
    pm.Potential(f"{prefix}x", 0.5 * (log_det - squares - constant))
