r"""The normal-inverse-Wishart prior as a PyMC model that compiles fast and samples well.

With :math:`\Psi = L L^\top` and A lower triangular, :math:`A_{ii}^2 \sim \chi^2_{\nu - i}` (i from 0) and normals
below the diagonal, :math:`A A^\top` is Wishart(ν, I) (Bartlett 1933) and
:math:`\Sigma^{-1} = L^{-\top} A A^\top L^{-1}` is Wishart(ν, Ψ⁻¹). Means live in the coordinates
:math:`w = L^{-1}(\mu - m)`, so that every quadratic form is :math:`|A^\top(\cdot)|^2`: elementwise products and
sums, where a Cholesky factorisation in the graph would cost minutes of compilation.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bayesppl.arrays import Array, Theta
from bayesppl.conjugates import NormalInverseWishart
from bayesppl.conjugates.normal import LOG_2PI
from bayesppl.statistics import Moments


def declare(prior: NormalInverseWishart, prefix: str) -> dict[str, Any]:
    """Declare the factor, the whitened means, and the mean and covariance they determine."""
    import pymc as pm
    import pytensor.tensor as pt

    n_classes, n_features = prior.location.shape
    class_dim = () if prior.is_tied else ("class",)
    feature, other = f"{prefix}feature", f"{prefix}other_feature"
    chi_square = pm.ChiSquared(
        f"{prefix}chi_square", nu=prior.nu[..., None] - np.arange(n_features), dims=(*class_dim, feature)
    )
    n_lower = n_features * (n_features - 1) // 2
    lower = pm.Normal(f"{prefix}lower", shape=(*prior.nu.shape, n_lower))
    factor = _assemble(chi_square, lower, n_features)

    whitened = pm.Flat(f"{prefix}mean_whitened", dims=("class", feature))
    log_det = _per_class(pt.log(chi_square).sum(-1), prior)
    squares = (_apply(factor, whitened, prior) ** 2).sum(-1)
    log_prior = 0.5 * (n_features * (np.log(prior.kappa) - LOG_2PI) + log_det - prior.kappa * squares)
    pm.Potential(f"{prefix}mean_prior", log_prior.sum())

    root = np.linalg.cholesky(prior.psi)
    per_class_root = np.broadcast_to(root, (n_classes, n_features, n_features))
    mean = prior.location + (per_class_root * whitened[:, None, :]).sum(-1)
    inverse = pt.linalg.inv(factor)
    scaled = (root[..., :, :, None] * pt.swapaxes(inverse, -1, -2)[..., None, :, :]).sum(-2)
    covariance = (scaled[..., :, None, :] * scaled[..., None, :, :]).sum(-1)
    return {
        "mean": pm.Deterministic(f"{prefix}mean", mean, dims=("class", feature)),
        "covariance": pm.Deterministic(f"{prefix}covariance", covariance, dims=(*class_dim, feature, other)),
        "observe": partial(_observe, prior, factor, log_det, whitened, prefix),
    }


def _observe(
    prior: NormalInverseWishart, factor: Any, log_det: Any, whitened: Any, prefix: str, statistics: Moments
) -> None:
    """Declare the likelihood of the rows through their counts, means and scatter matrices."""
    import pymc as pm

    n, n_features = statistics.count, prior.location.shape[1]
    unroot = np.linalg.inv(np.linalg.cholesky(prior.psi))
    scatter = unroot @ statistics.scatter @ np.swapaxes(unroot, -1, -2)
    centre = np.einsum("...ij,kj->ki" if prior.is_tied else "kij,kj->ki", unroot, statistics.mean - prior.location)
    gram = (factor[..., :, None, :] * factor[..., None, :, :]).sum(-1)
    squares = (_apply(factor, centre - whitened, prior) ** 2).sum(-1)
    log_det_psi = np.linalg.slogdet(prior.psi)[1]
    log_density = 0.5 * (
        (n * (log_det - log_det_psi - n_features * LOG_2PI) - n * squares).sum() - (gram * scatter).sum()
    )
    pm.Potential(f"{prefix}x", log_density)


def recover(draws: dict[str, Array], prior: NormalInverseWishart, prefix: str) -> Theta:
    """Means and covariances from draws of the free variables; draw axes lead."""
    n_features = prior.location.shape[1]
    chi_square, lower = draws[f"{prefix}chi_square"], draws[f"{prefix}lower"]
    factor = np.zeros((*chi_square.shape, n_features))
    np.einsum("...ii->...i", factor)[...] = np.sqrt(chi_square)
    rows, columns = np.tril_indices(n_features, -1)
    factor[..., rows, columns] = lower
    root = np.linalg.cholesky(prior.psi)
    scaled = root @ np.swapaxes(np.linalg.inv(factor), -1, -2)
    mean = prior.location + np.einsum("...ij,...j->...i", root, draws[f"{prefix}mean_whitened"])
    return {"mean": mean, "covariance": scaled @ np.swapaxes(scaled, -1, -2)}


def _assemble(chi_square: Any, lower: Any, n_features: int) -> Any:
    """The triangular factor, by one gather from [0, roots of chi-squares, normals]."""
    import pytensor.tensor as pt

    zero = pt.zeros_like(chi_square[..., :1])
    entries = pt.concatenate([zero, pt.sqrt(chi_square), lower], axis=-1)
    place = np.zeros((n_features, n_features), dtype=int)
    np.fill_diagonal(place, 1 + np.arange(n_features))
    rows, columns = np.tril_indices(n_features, -1)
    place[rows, columns] = 1 + n_features + np.arange(len(rows))
    return entries[..., place]


def _apply(factor: Any, vectors: Any, prior: NormalInverseWishart) -> Any:
    """Aᵀ v for every class."""
    per_class = factor[None] if prior.is_tied else factor
    return (per_class * vectors[..., :, None]).sum(-2)


def _per_class(value: Any, prior: NormalInverseWishart) -> Any:
    return value[None] if prior.is_tied else value
