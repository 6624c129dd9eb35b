"""What scikit-learn's constructor arguments are called here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WEIGHTS = "class_weights=[...] (or 'uniform', 'empirical', or a bayesppl.Dirichlet) sets the class weights"
_SMOOTHING = (
    "smoothing is a prior here: alpha pseudo-counts are probability=bayesppl.Beta(alpha, alpha) for BernoulliNB and "
    "bayesppl.Dirichlet(alpha) for categories and words"
)
_PROPER = "a proper prior keeps variances from being zero: see prior=..., whose default needs no tuning"
_SHRINKAGE = "a prior regularises the covariance: prior=bayesppl.NormalInverseWishart(...), or the default"

_INSTEAD: Mapping[str, str] = {
    "priors": _WEIGHTS,
    "class_prior": _WEIGHTS,
    "fit_prior": "class_weights='uniform' for fit_prior=False, class_weights='empirical' for fit_prior=True",
    "var_smoothing": _PROPER,
    "alpha": _SMOOTHING,
    "force_alpha": _SMOOTHING,
    "binarize": "put sklearn.preprocessing.Binarizer(threshold=...) before it in a pipeline",
    "min_categories": "declare the levels of the family instead",
    "norm": "there is no complement Naive Bayes here",
    "solver": "the fit is exact, so there is no solver to choose",
    "shrinkage": _SHRINKAGE,
    "reg_param": _SHRINKAGE,
    "covariance_estimator": _SHRINKAGE,
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
