"""Comparison of the four rules: on the parameters, and on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from bayesppl.analysis import scores
from bayesppl.analysis.parameter_tables import PROB, coord, parameter_summary, tails
from bayesppl.data.arguments import generator, whole
from bayesppl.data.frames import warn_of_other_orders
from bayesppl.data.labels import codes_among
from bayesppl.data.read_table import as_table
from bayesppl.errors import NotConjugateError, UndefinedEstimateError
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.kernels.arrays import Array
from bayesppl.model.normalisation import log_probabilities
from bayesppl.model.rules import REFERENCE, RULES, RuleName

if TYPE_CHECKING:
    import xarray as xr

#: Scores that are averages over rows, by name.
ROW_SCORES = {"accuracy": scores.hits, "log_score": scores.log_scores, "brier": scores.brier_scores}
SCORES = (*ROW_SCORES, "ece")


def average_scores(log_proba: Array, codes: Array) -> dict[str, float]:
    """Average every score of some rows."""
    averages = {name: float(per_row(log_proba, codes).mean()) for name, per_row in ROW_SCORES.items()}
    return {**averages, "ece": scores.expected_calibration_error(log_proba, codes)}


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of :func:`compare`.

    Attributes
    ----------
    parameters : xarray.Dataset
        Every parameter along "estimate": ``mle``, ``map``, ``mean``, then the posterior ``sd`` and the bounds
        ``lower`` and ``upper`` of the equal-tailed credible interval. ``attrs`` name its probability (``prob``)
        and the number of draws behind sd and interval (``draws``).
    scores : xarray.Dataset
        Over "rule": ``accuracy``, ``log_score``, ``brier`` and ``ece``; of each, the difference from
        ``predictive`` (``accuracy_difference``, …) and its standard error (``accuracy_difference_se``, …); and
        ``impossible_rows``, the number of rows with probability zero under every class, which are classified by
        the class weights. Its attribute ``temperature`` is that of the calibration, 1 without one.
    probabilities : xarray.DataArray
        (rule, row, class), with the true label of every row as the coordinate ``label``.
    undefined : mapping of str to str
        Rules that do not exist for these data, and why; their entries above are nan.
    classifier : BayesClassifier
        Fitted to the training rows.
    """

    parameters: xr.Dataset
    scores: xr.Dataset
    probabilities: xr.DataArray
    undefined: Mapping[str, str]
    classifier: BayesClassifier

    def __repr__(self) -> str:
        rows = self.probabilities.sizes["row"]
        table = self.scores[list(SCORES)].to_dataframe().round(4)
        attributes = ".parameters, .scores, .probabilities, .undefined, .classifier"
        return f"Comparison on {rows} held-out rows: {attributes}\n{table}"

    def _repr_html_(self) -> str:
        """Show the scores as a table in a notebook, and why rules do not exist."""
        rows = self.probabilities.sizes["row"]
        why = "".join(f"<p>{rule} is undefined: {escape(reason)}</p>" for rule, reason in self.undefined.items())
        table = self.scores[list(SCORES)].to_dataframe().round(4).to_html()
        return f"<p>Comparison of the rules on {rows} held-out rows</p>{table}{why}"


def compare(
    clf: BayesClassifier,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    draws: int = 4000,
    prob: float = PROB,
    random_state: int | None = 0,
) -> Comparison:
    """Fit once, then classify held-out rows by maximum likelihood, MAP, posterior mean and the predictive.

    Parameters
    ----------
    clf : BayesClassifier
        Left as it is; a clone is fitted.
    X_train, X_test : table or (n_rows, n_features) array-like
    y_train, y_test : (n_rows,) array-like
        Labels; every test label must occur among the training labels (or in ``clf.classes``).
    draws : int
        Exact posterior draws behind the sd and the credible intervals; fewer where draws times parameters would
        exceed 2^25 numbers. A sampled posterior uses the draws it has.
    prob : float
        Probability of the credible intervals.
    random_state : int or None
        Seed of the draws and of the bootstrap.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        For data the classifier refuses, unknown test labels, or settings out of range.

    Notes
    -----
    Differences from ``predictive`` are paired: for the scores that average over rows, the standard error is that
    of the mean of the per-row differences; for the calibration error, that of 1000 bootstrap resamples of the
    rows. A label held impossible makes a log score of -inf; its difference is then -inf too, without a standard
    error.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = bp.compare(bp.GaussianNB(), X[::2], y[::2], X[1::2], y[1::2])
    >>> result.scores["accuracy"].round(3).to_series().to_dict()
    {'mle': 0.96, 'map': 0.96, 'mean': 0.96, 'predictive': 0.96}
    """
    whole("draws", draws, 2)
    tails(prob)  # refuse an impossible probability before fitting
    require_declared("clf", clf)
    rng = generator(random_state)
    fitted = clone(clf).fit(X_train, y_train)
    warn_of_other_orders(X_test, y_test=y_test)
    table, codes = as_table(X_test), codes_among(y_test, fitted.classes_)
    if len(codes) != len(table) or len(table) == 0:
        raise ValueError(
            f"X_test has {len(table)} rows and y_test has {len(codes)} labels; they must match, and not be none"
        )

    bootstrap = rng.spawn(1)[0]
    log_proba, impossible, undefined = probabilities_by_rule(fitted, table)
    return Comparison(
        parameter_summary(fitted.fitted_, draws, prob, random_state),
        _scores(log_proba, impossible, codes, bootstrap).assign_attrs(temperature=fitted.fitted_.temperature),
        _label_probabilities(log_proba, codes, fitted),
        undefined,
        fitted,
    )


def require_declared(argument: str, clf: Any) -> None:
    """Refuse what is not one declared classifier, whose rules can be compared.

    Raises
    ------
    TypeError
    """
    if not isinstance(clf, BayesClassifier):
        raise TypeError(
            f"{argument} must be one declared classifier, such as bayesppl.GaussianNB(), found a value of "
            f"{type(clf)}. Pipelines, classifiers that combine several, and those of other packages have no rules "
            "to compare; sklearn.model_selection.cross_val_score takes any"
        )


def probabilities_by_rule(
    fitted: BayesClassifier, table: Any
) -> tuple[dict[RuleName, Array], dict[RuleName, int], dict[str, str]]:
    """Return log probabilities and numbers of impossible rows by rule, and why other rules do not exist."""
    log_proba: dict[RuleName, Array] = {}
    impossible: dict[RuleName, int] = {}
    undefined: dict[str, str] = {}
    for rule in RULES:
        try:
            log_joint = fitted.fitted_.log_labels(table, rule)
            class_weights = fitted.posterior_.scorer(rule).class_weights
        except (UndefinedEstimateError, NotConjugateError) as error:
            undefined[rule] = str(error)
            continue
        impossible[rule] = int(np.isneginf(log_joint).all(-1).sum())
        log_proba[rule] = log_probabilities(log_joint, class_weights)
    return log_proba, impossible, undefined


def _scores(
    log_proba: Mapping[RuleName, Array], impossible: Mapping[RuleName, int], codes: Array, rng: np.random.Generator
) -> xr.Dataset:
    import pandas as pd
    import xarray as xr

    averages = {rule: average_scores(values, codes) for rule, values in log_proba.items()}
    gaps = [scores.calibration_gaps(values, codes) for values in log_proba.values()]
    resampled = scores.bootstrap_calibration_errors(gaps, rng)
    resampled -= resampled[:, [list(log_proba).index(REFERENCE)]]
    spread = dict(zip(log_proba, resampled.std(0, ddof=1).tolist(), strict=True))
    table = {}
    for rule, values in log_proba.items():
        differences = {
            score: scores.paired_difference(per_row(values, codes), per_row(log_proba[REFERENCE], codes))
            for score, per_row in ROW_SCORES.items()
        }
        differences["ece"] = averages[rule]["ece"] - averages[REFERENCE]["ece"], spread[rule]
        row = {
            f"{score}{suffix}": number
            for score, average in averages[rule].items()
            for suffix, number in zip(
                ("", "_difference", "_difference_se"), (average, *differences[score]), strict=True
            )
        }
        table[rule] = {**row, "impossible_rows": float(impossible[rule])}
    by_rule = pd.DataFrame.from_dict(table, orient="index").reindex(list(RULES))
    return xr.Dataset(
        {name: ("rule", column.to_numpy()) for name, column in by_rule.items()},
        coords={"rule": list(RULES)},
        attrs={"rows": len(codes), "ece_bins": scores.BINS},
    )


def _label_probabilities(
    log_proba: Mapping[RuleName, Array], codes: Array, fitted: BayesClassifier
) -> xr.DataArray:
    import xarray as xr

    classes = coord(fitted.classes_.tolist())
    missing = np.full((len(codes), len(classes)), np.nan)
    return xr.DataArray(
        [np.exp(log_proba[rule]) if rule in log_proba else missing for rule in RULES],
        dims=("rule", "row", "class"),
        coords={
            "rule": list(RULES),
            "row": np.arange(len(codes)),
            "class": classes,
            "label": ("row", classes[codes]),
        },
        name="probability",
    )
