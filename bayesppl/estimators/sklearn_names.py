"""What scikit-learn's constructor arguments are called here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WEIGHTS = "class_weights=[...] (or 'uniform', 'empirical', or a bayesppl.Dirichlet) sets the class weights"
_SMOOTHING = (
    "smoothing is a prior here: alpha pseudo-counts are probability=bayesppl.Beta(alpha, alpha) for BernoulliNB "
    "and bayesppl.Dirichlet(alpha) for categories and words; with rule='mean' the probabilities are scikit-learn's"
)
_PROPER = (
    "a proper prior keeps variances from being zero, and the default needs no tuning. To add eps to the variance "
    "of n rows: prior=bayesppl.NormalInverseGamma(kappa=1e-9, a=1, b=n*eps/2) and rule='mean'"
)
_GUIDE = "; see 'Migrate from scikit-learn' in the documentation"
_SHRINKAGE = (
    "the default prior regularises the covariance as much as the evidence asks for. Shrinkage by s is the "
    "posterior mean under an inverse Wishart worth r = n*s/(1 - s) of the n rows: with v the mean variance "
    "within classes and D columns, prior=bayesppl.NormalInverseWishart(kappa=1e-9, nu=r + D + 1, psi=r*v) and "
    "rule='mean'" + _GUIDE
)
_REGULARISED = (
    "the default prior regularises the covariance as much as the evidence asks for. reg_param=s is the posterior "
    "mean under an inverse Wishart worth r = n*s/(1 - s) of the n rows of a class: with D columns, "
    "prior=bayesppl.NormalInverseWishart(kappa=1e-9, nu=r + D + 1, psi=r) and rule='mean'" + _GUIDE
)
_KNOWN = (
    "a covariance C that was estimated elsewhere is known here: prior=bayesppl.NormalInverseWishart(kappa=1e-9, "
    "nu=1e12, psi=1e12*C) and rule='mean'" + _GUIDE
)

_INSTEAD: Mapping[str, str] = {
    "priors": _WEIGHTS,
    "class_prior": _WEIGHTS,
    "fit_prior": "class_weights='uniform' for fit_prior=False, class_weights='empirical' for fit_prior=True",
    "var_smoothing": _PROPER,
    "alpha": _SMOOTHING,
    "force_alpha": _SMOOTHING,
    "binarize": "put sklearn.preprocessing.Binarizer(threshold=...) before it in a pipeline",
    "min_categories": "levels={column: range(n), ...} declares the levels of every column",
    "norm": (
        "there is no complement Naive Bayes here: it is no model of the rows. Use "
        "MultinomialNB(class_weights='uniform')"
    ),
    "solver": "the fit is exact, so there is no solver to choose",
    "shrinkage": _SHRINKAGE,
    "reg_param": _REGULARISED,
    "covariance_estimator": _KNOWN,
    "store_covariance": "estimates() reports the covariance always",
    "tol": "singular covariances are regularised by the prior, so there is no tolerance",
}


def refuse_foreign_parameters(estimator: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter of scikit-learn's estimator of the same name, and name what to use instead.

    Raises
    ------
    TypeError
    """
    for name in parameters:
        if name in _INSTEAD:
            raise TypeError(f"bayesppl.{estimator} has no parameter {name!r}: {_INSTEAD[name]}")
