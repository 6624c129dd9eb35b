"""Comparison of models by their evidence and by exact leave-one-out, and the range of what they predict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone

from bayesppl.analysis.evidence import prior_depends_on_data
from bayesppl.analysis.parameter_tables import coord, row_names
from bayesppl.analysis.scores import standard_error_of_sum
from bayesppl.data.arguments import by_name
from bayesppl.data.names import spelled
from bayesppl.errors import ImproperError, UndefinedEstimateError
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.evaluation.comparison import require_declared
from bayesppl.kernels.arrays import Array, logarithm

if TYPE_CHECKING:
    import xarray as xr


def compare_models(
    models: Sequence[BayesClassifier] | Mapping[str, BayesClassifier],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    prior: Sequence[float] | Mapping[str, float] | None = None,
) -> xr.Dataset:
    r"""Fit models to the same data and compare their evidence and their exact leave-one-out scores.

    The posterior probability of model m is :math:`p(m \mid D) \propto p(m)\,p(D \mid m)` (Kass & Raftery
    1995). The evidence judges a model together with its prior; the leave-one-out scores depend on the prior far
    less. The evidence is that of the model, whatever its ``rule``; the leave-one-out scores are those of the rule.
    Weights of columns (``calibration="weights"``) are learned from labels and held fixed as rows are left out;
    where rows are few for the columns, this favours their model.

    Parameters
    ----------
    models : sequence or mapping of str to classifiers
        Left as they are; clones are fitted.
    X : table or (n_rows, n_features) array-like
    y : (n_rows,) array-like
    sample_weight : (n_rows,) array-like, optional
    prior : sequence or mapping of str to float, optional
        Prior probabilities of the models, in turn or by name; equal by default.

    Returns
    -------
    xarray.Dataset
        Over "model": ``rule``; ``log_evidence``; ``probability``, the posterior probability of the model; ``elpd``
        and ``elpd_se``, Σ log p(x_i, y_i | D without i), under the ``rule`` of the model; ``elpd_difference`` from
        the model of the largest, and ``elpd_difference_se``, of the sum of paired differences (Vehtari, Gelman &
        Gabry 2017, eq. 24); ``log_score`` and ``accuracy`` of the left-out labels with standard errors;
        ``expected_log_score``, which the model expects of itself; ``temperature``, that of the calibration, 1
        without one; and ``prior_depends_on_data``, true where the prior was resolved from the very data it is
        judged on, which favours the model (by little where the prior is weak).

    Raises
    ------
    ImproperError
        If a prior is improper: its evidence is undefined.
    UndefinedEstimateError
        If the rule of a model plugs in an estimate that does not exist without some row.
    ValueError
        If the models are not about the same data: other columns or classes, or densities taken over different
        things. A probability density (Gaussian) and a probability mass (Poisson) of the same numbers cannot be
        compared, nor can a mass given the row total (Multinomial) and one that includes it.

    Warns
    -----
    OverconfidentWarning
        If a model expects a far better log score of left-out labels than it attains.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> models = {"naive": bp.GaussianNB(), "tied": bp.LinearDiscriminantAnalysis()}
    >>> result = bp.compare_models(models, *load_iris(return_X_y=True))
    >>> result["probability"].round(3).to_series().to_dict()
    {'naive': 0.0, 'tied': 1.0}
    """
    import xarray as xr

    named = _name(models)
    for name, clf in named.items():
        require_declared(f"model {name!r}", clf)
    weights = np.ones(len(named)) if prior is None else _prior_weights(prior, list(named))
    fitted = _fit(named, X, y, sample_weight)
    _require_same_columns(fitted)

    evidence = np.asarray([float(_call(name, clf.log_evidence)["total"]) for name, clf in fitted.items()])
    loos = [_call(name, clf.loo) for name, clf in fitted.items()]
    elpds = [loo.elpd() for loo in loos]
    by_row = np.array([np.asarray(elpd.elpd_i).ravel() for elpd in elpds])
    with np.errstate(invalid="ignore"):  # a row that two rules hold impossible
        differences = by_row - by_row[np.argmax(by_row.sum(1))]
    for name, loo in zip(fitted, loos, strict=True):
        loo.confidence.warn_if_far_too_high(f"model {name!r}", loo.calibration.log_score)
    log_weights = logarithm(weights / weights.sum())
    columns = {
        "rule": [loo.rule for loo in loos],
        "log_evidence": evidence,
        "probability": softmax(evidence + log_weights),
        "elpd": [elpd.elpd for elpd in elpds],
        "elpd_se": [elpd.se for elpd in elpds],
        "elpd_difference": differences.sum(1),
        "elpd_difference_se": [standard_error_of_sum(of_rows) for of_rows in differences],
        "log_score": [loo.log_score[0] for loo in loos],
        "log_score_se": [loo.log_score[1] for loo in loos],
        "expected_log_score": [loo.confidence.expected for loo in loos],
        "accuracy": [loo.accuracy[0] for loo in loos],
        "accuracy_se": [loo.accuracy[1] for loo in loos],
        "temperature": [loo.temperature for loo in loos],
        "prior_depends_on_data": [prior_depends_on_data(clf.fitted_) for clf in fitted.values()],
    }
    return xr.Dataset(
        {name: ("model", np.asarray(values)) for name, values in columns.items()}, coords={"model": list(fitted)}
    )


def _call[T](name: str, method: Callable[[], T]) -> T:
    """Call a method of a model, and name the model in a refusal."""
    try:
        return method()
    except (ImproperError, UndefinedEstimateError) as error:
        kind = ImproperError if isinstance(error, ImproperError) else UndefinedEstimateError
        raise kind(f"model {name!r}: {error}") from None


def _prior_weights(prior: Any, names: Sequence[str]) -> Array:
    """Return prior weights of the models, in their order."""
    given = by_name(prior)
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise ValueError(f"prior must name every model once, {names}, found {list(given)}")
        given = [given[name] for name in names]
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.empty(0)
    is_one_each = weights.shape == (len(names),) and np.isfinite(weights).all()
    if not is_one_each or not (weights >= 0).all() or not weights.sum() > 0:
        raise ValueError(
            f"prior must hold one non-negative number per model ({len(names)}), found {spelled(given)}"
        )
    return weights


def _name(models: Sequence[BayesClassifier] | Mapping[str, BayesClassifier]) -> Mapping[str, BayesClassifier]:
    """Name the models; those without a name by what they print."""
    if isinstance(models, BaseEstimator):
        raise TypeError("models must be a list of classifiers, or a mapping of names to them, found a single one")
    models = models if isinstance(models, Mapping) else list(models)
    if not models:
        raise ValueError("models is empty; give at least one model")
    if isinstance(models, Mapping):
        return models
    names = [" ".join(repr(clf).split()) for clf in models]
    if len(set(names)) < len(names):
        names = [f"{name} #{i}" for i, name in enumerate(names, start=1)]
    return dict(zip(names, models, strict=True))


def _fit(named: Mapping[str, BayesClassifier], X: Any, y: Any, sample_weight: Any) -> dict[str, BayesClassifier]:
    """Fit clones of the models to the same rows."""
    fitted = {name: clone(clf).fit(X, y, sample_weight) for name, clf in named.items()}
    (first, reference), *others = fitted.items()
    for name, clf in others:
        if clf.classes_.tolist() != reference.classes_.tolist():
            raise ValueError(
                f"the models must have the same classes, found {reference.classes_.tolist()} of {first!r} and "
                f"{clf.classes_.tolist()} of {name!r}; declare the same classes="
            )
    return fitted


def _require_same_columns(fitted: Mapping[str, BayesClassifier]) -> None:
    (first, reference), *others = fitted.items()
    expected = reference.posterior_.model.family.bound.measures
    for name, clf in others:
        found = clf.posterior_.model.family.bound.measures
        if set(found) != set(expected):
            column = next(iter(set(found) ^ set(expected)))
            raise ValueError(
                f"the evidences are not comparable: column {column!r} is a feature of only one of {first!r} and "
                f"{name!r}"
            )
        differing = [column for column in expected if found[column] != expected[column]]
        if differing:
            column = differing[0]
            raise ValueError(
                "the evidences are not comparable, for the models are not about the same data: of column "
                f"{column!r}, {first!r} gives a {expected[column]} and {name!r} a {found[column]}. Compare models "
                "of one kind (all densities, or all masses), or compare predictions of the label with "
                "bayesppl.compare"
            )


def credal_proba(
    models: Sequence[BayesClassifier] | Mapping[str, BayesClassifier],
    X: Any,
    y: Any,
    X_new: Any,
    sample_weight: Any = None,
) -> xr.Dataset:
    """Bound class probabilities over a set of priors, and the classes that none of them rules out.

    Class j dominates class k in a row if it is the more probable of the two under every prior (credal dominance,
    Zaffalon 2002); the credal answer is the set of classes that no other dominates. Where it holds one class the
    answer does not depend on the prior.

    Parameters
    ----------
    models : sequence or mapping of str to classifiers
        One for each prior, the same but for it: ``[bp.BernoulliNB(bp.Beta(a, a)) for a in (0.5, 1, 2)]``. Left as
        they are; clones are fitted. The bounds are over these priors, not over what lies between them.
    X, y, sample_weight
        Rows to learn from.
    X_new : table or (n_rows, n_features) array-like
        Rows to classify.

    Returns
    -------
    xarray.Dataset
        ``lower``, ``upper`` and the Boolean ``credal`` (whether the class belongs to the answer), each (row,
        class), and ``is_determinate`` (row); rows are named by the index of a data frame.

    Examples
    --------
    >>> import bayesppl as bp
    >>> models = [bp.GaussianNB(bp.NormalInverseGamma(2.5, kappa, 1, 1)) for kappa in (0.01, 0.1, 1.0)]
    >>> result = bp.credal_proba(models, [[0.0], [1.0], [4.0]], list("aab"), [[0.5], [2.5]])
    >>> result["is_determinate"].values.tolist(), result["credal"].sum("class").values.tolist()
    ([True, False], [1, 2])
    """
    import xarray as xr

    fitted = list(_fit(_name(models), X, y, sample_weight).values())
    probabilities = np.stack([clf.predict_proba(X_new) for clf in fitted])
    dominates = (probabilities[..., :, None] > probabilities[..., None, :]).all(0)  # (row, winner, loser)
    credal = ~dominates.any(1)
    both = ("row", "class")
    return xr.Dataset(
        {
            "lower": (both, probabilities.min(0)),
            "upper": (both, probabilities.max(0)),
            "credal": (both, credal),
            "is_determinate": ("row", credal.sum(1) == 1),
        },
        coords={"row": row_names(X_new, len(credal)), "class": coord(fitted[0].classes_.tolist())},
        attrs={"priors": len(fitted)},
    )
