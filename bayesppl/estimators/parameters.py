"""Parameters of priors and families under the names that scikit-learn gives to those of nested estimators.

``probability__concentration`` is the concentration of the prior ``probability``, ``family__prior__kappa`` the
strength of the prior of a family, so that :class:`sklearn.model_selection.GridSearchCV` can search over them.
Priors and families are immutable: the parameter is replaced by a changed copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from bayesppl.data.names import listed
from bayesppl.estimators.sklearn_bases import BaseEstimator


def nested_parameters(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the arguments of a declaration, and of declarations among them."""
    if not is_dataclass(value) or isinstance(value, type | BaseEstimator):
        return
    for field in fields(value):
        if field.repr and field.init:  # others are filled in when rows are seen
            held = getattr(value, field.name)
            yield field.name, held
            yield from ((f"{field.name}__{inner}", deeper) for inner, deeper in nested_parameters(held))


def by_owner(params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Group parameters of declarations by the name of the declaration."""
    owners: dict[str, dict[str, Any]] = {}
    for name, value in params.items():
        owner, separator, inner = name.partition("__")
        if separator:
            owners.setdefault(owner, {})[inner] = value
    return owners


def changed(path: str, value: Any, params: Mapping[str, Any]) -> Any:
    """Copy a declaration with other parameters."""
    if isinstance(value, BaseEstimator):
        return value.set_params(**params)
    names = [name for name, _ in nested_parameters(value) if "__" not in name]
    if not names:
        raise ValueError(
            f"Invalid parameter {path}__{next(iter(params))}: {path}={value!r} has no parameters of its own, as "
            f"priors of bayesppl have. Search over whole values, as in {{{path!r}: [{value!r}, …]}}"
        )
    changes = {name: given for name, given in params.items() if "__" not in name}
    nested = by_owner(params)
    for name in [*changes, *nested]:
        if name not in names:
            raise ValueError(
                f"Invalid parameter {path}__{name}: {type(value).__name__} has no parameter {name!r}, only "
                f"{listed(names)}"
            )
    for name, inner in nested.items():
        changes[name] = changed(f"{path}__{name}", changes.get(name, getattr(value, name)), inner)
    return replace(value, **changes)


_WEIGHTS = "class_weights=[...] (or 'uniform', 'empirical', or a bayesppl.Dirichlet) sets the class weights"
_SMOOTHING = (
    "smoothing is a prior here: alpha pseudo-counts are probability=bayesppl.Beta(alpha, alpha) for BernoulliNB "
    "and bayesppl.Dirichlet(alpha) for categories and words; with rule='mean' and class_weights='empirical' the "
    "probabilities are scikit-learn's"
)
_GUIDE = "; see 'Migrate from scikit-learn' in the documentation"
_INSTEAD: Mapping[str, str] = {
    "priors": _WEIGHTS,
    "class_prior": _WEIGHTS,
    "fit_prior": "class_weights='uniform' for fit_prior=False, class_weights='empirical' for fit_prior=True",
    "var_smoothing": (
        "a proper prior keeps variances from being zero, and the default needs no tuning. To add eps to the "
        "variance of n rows: prior=bayesppl.NormalInverseGamma(kappa=1e-9, a=1, b=n*eps/2) and rule='mean'"
    ),
    "alpha": _SMOOTHING,
    "force_alpha": _SMOOTHING,
    "binarize": "put sklearn.preprocessing.Binarizer(threshold=...) before it in a pipeline",
    "min_categories": "levels={column: range(n), ...} declares the levels of every column",
    "norm": (
        "there is no complement Naive Bayes here: it is no model of the rows. Use "
        "MultinomialNB(class_weights='uniform')"
    ),
    "solver": "the fit is exact, so there is no solver to choose",
    "shrinkage": (
        "the default prior regularises the covariance as much as the evidence asks for. Shrinkage by s is the "
        "posterior mean under an inverse Wishart worth r = n*s/(1 - s) of the n rows: with v the mean variance "
        "within classes and D columns, prior=bayesppl.NormalInverseWishart(kappa=1e-9, nu=r + D + 1, psi=r*v) and "
        "rule='mean'" + _GUIDE
    ),
    "reg_param": (
        "the default prior regularises the covariance as much as the evidence asks for. reg_param=s is the "
        "posterior mean under an inverse Wishart worth r = n*s/(1 - s) of the n rows of a class: with D columns, "
        "prior=bayesppl.NormalInverseWishart(kappa=1e-9, nu=r + D + 1, psi=r) and rule='mean'" + _GUIDE
    ),
    "covariance_estimator": (
        "a covariance C that was estimated elsewhere is known here: "
        "prior=bayesppl.NormalInverseWishart(kappa=1e-9, nu=1e12, psi=1e12*C) and rule='mean'" + _GUIDE
    ),
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
