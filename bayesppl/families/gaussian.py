"""Gaussian features, by the structure of their covariance.

The five structures are two families: independent features (``diag``, ``tied_diag``, ``spherical``) under a
normal-inverse-gamma prior, and correlated features (``full``, ``tied``) under a normal-inverse-Wishart prior.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from bayesppl.conjugates import NormalInverseGamma, NormalInverseWishart
from bayesppl.families.base import NumericFamily
from bayesppl.families.gaussian_diagonal import DiagonalGaussian
from bayesppl.families.gaussian_full import FullGaussian

Covariance = Literal["full", "tied", "diag", "tied_diag", "spherical"]

_STRUCTURES: dict[str, Callable[[Any], NumericFamily]] = {
    "full": lambda prior: FullGaussian(prior, tied=False),
    "tied": lambda prior: FullGaussian(prior, tied=True),
    "diag": lambda prior: DiagonalGaussian(prior, shared=()),
    "tied_diag": lambda prior: DiagonalGaussian(prior, shared=("class",)),
    "spherical": lambda prior: DiagonalGaussian(prior, shared=("feature",)),
}


def Gaussian(
    covariance: Covariance = "diag",
    prior: str | NormalInverseGamma | NormalInverseWishart = "fraley-raftery",
) -> NumericFamily:
    """Gaussian class-conditional density.

    Parameters
    ----------
    covariance : {"full", "tied", "diag", "tied_diag", "spherical"}
        ``full``: a matrix per class (quadratic discriminant analysis); ``tied``: one matrix for all classes
        (linear discriminant analysis); ``diag``: a variance per class and feature (Naive Bayes); ``tied_diag``:
        a variance per feature; ``spherical``: a variance per class.
    prior : {"fraley-raftery", "jeffreys", "flat"} or conjugate prior
        ``fraley-raftery`` is proper, weak and free of units (Fraley & Raftery 2007). ``jeffreys`` is
        ``|Σ|^−(D+1)/2``, improper (Geisser 1964). ``flat`` is constant in means and (co)variances, improper: MAP is
        then maximum likelihood. Or a :class:`~bayesppl.NormalInverseGamma` (diag, tied_diag, spherical) or
        :class:`~bayesppl.NormalInverseWishart` (full, tied) with your own hyperparameters.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.Gaussian("full", prior="jeffreys")
    FullGaussian(prior='jeffreys', tied=False)
    """
    if covariance not in _STRUCTURES:
        raise ValueError(f"covariance must be one of {', '.join(map(repr, _STRUCTURES))}, found {covariance!r}")
    return _STRUCTURES[covariance](prior)
