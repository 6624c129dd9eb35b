r"""Normal-inverse-Wishart priors as PyMC models that compile fast and sample well.

With :math:`\Psi = L L^\top` and A lower triangular, :math:`A_{ii}^2 \sim \chi^2_{\nu - i}` (i from 0) and normals
below the diagonal, :math:`A A^\top` is Wishart(ν, I) (Bartlett 1933) and
:math:`\Sigma^{-1} = L^{-\top} A A^\top L^{-1}` is Wishart(ν, Ψ⁻¹). Means live in the coordinates
:math:`w = L^{-1}(\mu - m)`, so that every quadratic form is :math:`|A^\top(\cdot)|^2`: elementwise products and
sums, where a Cholesky factorisation in the graph would cost minutes of compilation.

Effects of predictors live in the coordinates of their prior and of the covariance: with :math:`\Lambda = C C^\top`
and the root S of the covariance, :math:`\Sigma = S S^\top`, they are :math:`B = B_0 + C^{-\top} W S^\top` for
independent standard normals W.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesppl.conjugate.covariance_graphs import Spread, by_bartlett, columns_of, times_transposed
from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.kernels.arrays import LOG_2PI


def declare(prior: Any, dims: Dims, prefix: str) -> dict[str, Any]:
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
    inverse = np.swapaxes(np.linalg.inv(np.linalg.cholesky(prior.precision)), -1, -2)
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
    lower = pm.Normal(f"{prefix}lower", shape=(*prior.nu.shape, n_lower))
    factor = _assemble(chi_square, lower, n_features)
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


def _assemble(chi_square: Any, lower: Any, n_features: int) -> Any:
    """The triangular factor (..., row, column, 1).

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
