r"""The normal-inverse-Wishart prior as a PyMC model that compiles fast and samples well.

With :math:`\Psi = L L^\top` and A lower triangular, :math:`A_{ii}^2 \sim \chi^2_{\nu - i}` (i from 0) and normals
below the diagonal, :math:`A A^\top` is Wishart(ν, I) (Bartlett 1933) and
:math:`\Sigma^{-1} = L^{-\top} A A^\top L^{-1}` is Wishart(ν, Ψ⁻¹). Means live in the coordinates
:math:`w = L^{-1}(\mu - m)`, so that every quadratic form is :math:`|A^\top(\cdot)|^2`: elementwise products and
sums, where a Cholesky factorisation in the graph would cost minutes of compilation.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.moments import Moments
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta


class Declared(NamedTuple):
    """Random variables and what they determine: (n_classes, …), without that axis where tied."""

    factor: Any
    chi_square: Any
    whitened: Any
    mean: Any
    root: Any  # of the covariance, S with Σ = S Sᵀ
    covariance: Any


def declare(prior: Any, dims: Dims, prefix: str) -> dict[str, Any]:
    """Declare the factor, the whitened means, and the mean and covariance they determine."""
    import pymc as pm

    found = declare_factor(prior, dims, prefix)
    return {
        "mean": pm.Deterministic(var=found.mean, **named(dims, prefix, "mean")),
        "covariance": pm.Deterministic(var=found.covariance, **named(dims, prefix, "covariance")),
        "observe": partial(_observe, prior, found.factor, found.chi_square, found.whitened, prefix),
    }


def declare_factor(prior: Any, dims: Dims, prefix: str) -> Declared:
    """Declare the factor and the whitened means."""
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
    squares = squares_of(factor, columns_of(whitened * np.sqrt(prior.kappa)[:, None], prior))
    # one sum of one expression: sums of a matrix by itself are slow to compile
    pm.Potential(f"{prefix}mean_prior", 0.5 * (constant + (pt.log(chi_square)[..., None] - squares).sum()))

    root = np.linalg.cholesky(prior.psi)
    per_class_root = np.broadcast_to(root, (n_classes, n_features, n_features))
    mean = prior.location + (per_class_root * whitened[:, None, :]).sum(-1)
    inverse = pt.linalg.inv(factor[..., 0])
    scaled = (root[..., :, :, None] * pt.swapaxes(inverse, -1, -2)[..., None, :, :]).sum(-2)
    covariance = (scaled[..., :, None, :] * scaled[..., None, :, :]).sum(-1)
    return Declared(factor, chi_square, whitened, mean, scaled, covariance)


def _observe(
    prior: Any,
    factor: Any,
    chi_square: Any,
    whitened: Any,
    prefix: str,
    statistics: Moments,
) -> None:
    """Declare the likelihood of the rows through their counts, means and scatter matrices."""
    import pymc as pm
    import pytensor.tensor as pt

    n, n_features = statistics.count, prior.location.shape[1]
    unroot = np.linalg.inv(np.linalg.cholesky(prior.psi))
    values, vectors = np.linalg.eigh(unroot @ statistics.scatter @ np.swapaxes(unroot, -1, -2))
    scatter_root = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    centre = np.einsum("...ij,kj->ki" if prior.is_tied else "kij,kj->ki", unroot, statistics.mean - prior.location)
    squares = squares_of(factor, columns_of((centre - whitened) * np.sqrt(n)[:, None], prior))
    log_det = ((n.sum() if prior.is_tied else n[:, None]) * pt.log(chi_square)).sum()
    constant = (n * (np.linalg.slogdet(prior.psi)[1] + n_features * LOG_2PI)).sum()
    log_density = log_det - squares.sum() - squares_of(factor, scatter_root).sum() - constant
    pm.Potential(f"{prefix}x", 0.5 * log_density)


def recover(prior: Any, draws: Mapping[str, Array], prefix: str) -> Theta:
    """Means and covariances from draws of the free variables; draw axes lead."""
    scaled = recover_root(prior, draws, prefix)
    root = np.linalg.cholesky(prior.psi)
    mean = prior.location + np.einsum("...ij,...j->...i", root, draws[f"{prefix}mean_whitened"])
    return {"mean": mean, "covariance": scaled @ np.swapaxes(scaled, -1, -2)}


def recover_root(prior: Any, draws: Mapping[str, Array], prefix: str) -> Array:
    """Roots S of covariances S Sᵀ from draws of the free variables; draw axes lead."""
    n_features = prior.location.shape[1]
    chi_square, lower = draws[f"{prefix}chi_square"], draws[f"{prefix}lower"]
    factor = np.zeros((*chi_square.shape, n_features))
    np.einsum("...ii->...i", factor)[...] = np.sqrt(chi_square)
    rows, columns = np.tril_indices(n_features, -1)
    factor[..., rows, columns] = lower
    return np.asarray(np.linalg.cholesky(prior.psi) @ np.swapaxes(np.linalg.inv(factor), -1, -2))


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


def columns_of(vectors: Any, prior: Any) -> Any:
    """One vector per class as columns of a matrix per covariance."""
    return vectors.T if prior.is_tied else vectors[:, :, None]


def squares_of(factor: Any, columns: Any) -> Any:
    """Squares of the entries of Aᵀ v for all columns v."""
    import pytensor.tensor as pt

    return (factor * pt.as_tensor(columns)[..., :, None, :]).sum(-3) ** 2
