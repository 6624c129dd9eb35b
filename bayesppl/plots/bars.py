"""Pictures with a row for every model or column: scores, relevance, weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.column_weights import column_weights
from bayesppl.analysis.parameter_tables import PROB, tails
from bayesppl.data.arguments import whole
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.estimators.shell import require_classifier
from bayesppl.estimators.stack_answers import StackAnswers
from bayesppl.evaluation.comparison import Comparison
from bayesppl.evaluation.several_models import compare_models
from bayesppl.plots.style import (
    axes_of_rows,
    colour,
    draw_bars,
    draw_ranges,
    legend_beside,
    name_axes,
    number_axis,
    result_of,
    tidy,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.estimators.auto import AutoClassifier


def plot_comparison(table: Any, *arguments: Any, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw log evidence and exact leave-one-out score of every model, as differences from the best.

    Parameters
    ----------
    table : xarray.Dataset, or models
        What :func:`bayesppl.compare_models` returns, or, with what follows, all that it is called with.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Nats below the best; bars are ± one standard error of the paired difference. The evidence has none: it is a
        number that the data determine. A model that holds a left-out row impossible has its elpd beside its name.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_comparison
    >>> ax = plot_comparison({"naive": bp.GaussianNB(), "tied": bp.LinearDiscriminantAnalysis()}, *load("iris"))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['tied', 'naive']
    """
    import xarray as xr

    if isinstance(table, Comparison):
        raise TypeError(
            "plot_comparison draws the table of bayesppl.compare_models, with one entry per model; for a "
            "Comparison of the four rules there is plot_probabilities"
        )
    parts = "model", "log_evidence"
    found = result_of(compare_models, xr.Dataset, table, arguments, options, parts, takes_several=True)
    ordered = found.sortby("log_evidence", ascending=False)
    evidence = ordered["log_evidence"] - ordered["log_evidence"].max()
    both = zip(ordered["elpd"].values, ordered["elpd_difference"].values, strict=True)
    ends = ["" if np.isfinite(difference) else f", elpd {elpd:g}" for elpd, difference in both]
    ax = axes_of_rows(ax, ordered["model"].values, ends, line=0.45, width=5.0)
    at = np.arange(ordered.sizes["model"])
    ax.axvline(0, color="0.7", linewidth=1, zorder=0)
    ax.plot(evidence, at - 0.1, "D", color=colour(0), markersize=7, label="log evidence")
    ax.errorbar(
        ordered["elpd_difference"],
        at + 0.1,
        xerr=ordered["elpd_difference_se"],
        fmt="o",
        color=colour(1),
        markersize=7,
        label="leave-one-out (elpd)",
    )
    name_axes(ax, "difference from the best, in nats")
    legend_beside(ax)
    return tidy(ax)


def plot_relevance(
    relevance: xr.Dataset | BayesClassifier,
    *arguments: Any,
    most: int = 20,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw log Bayes factors of features, to the right where they depend on the class, to the left where not.

    Parameters
    ----------
    relevance : xarray.Dataset or BayesClassifier
        What ``clf.feature_relevance()`` returns, or all that it is called with.
    most : int
        Number of features shown: those farthest from zero.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_relevance
    >>> clf = bp.GaussianNB().fit([[0.0, 3.0], [1.0, 4.0], [4.0, 3.1], [5.5, 3.9]], [0, 0, 1, 1])
    >>> ax = plot_relevance(clf)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x0', 'x1']
    """
    import xarray as xr

    whole("most", most, 1)
    twin, parts = BayesClassifier.feature_relevance, ("feature", "log_bayes_factor")
    found = result_of(twin, xr.Dataset, relevance, arguments, options, parts)
    factor = found["log_bayes_factor"]
    farthest = factor.isel(feature=np.argsort(-np.abs(factor.values), kind="stable")[:most])
    shown = farthest.sortby(farthest, ascending=False)
    ax = axes_of_rows(ax, shown["feature"].values, line=0.25)
    draw_bars(ax, shown.values)
    name_axes(ax, "log Bayes factor of dependence, in nats")
    return tidy(ax)


def plot_stack(clf: AutoClassifier, *, prob: float = PROB, ax: Axes | None = None) -> Axes:
    """Draw the weights of the models that matter, the largest on top, with their credible intervals.

    Parameters
    ----------
    clf : AutoClassifier
        Fitted.
    prob : float
        Probability of the intervals.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Each model is named with its temperature.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_stack
    >>> models = {"naive": bp.GaussianNB(), "quadratic": bp.QuadraticDiscriminantAnalysis()}
    >>> ax = plot_stack(bp.AutoClassifier(models).fit(*load("iris")))
    >>> [text.get_text().partition(",")[0] for text in ax.get_yticklabels()]
    ['quadratic', 'naive']
    """
    stack = require_classifier(clf, "a fitted bayesppl.AutoClassifier", StackAnswers).stack_
    names = [member.name for member in stack.members]
    ax = axes_of_rows(ax, names, [f", T = {member.temperature:.3g}" for member in stack.members], line=0.35)
    draw_ranges(ax, stack.weights, *np.quantile(stack.weight_draws, tails(prob), axis=0))
    ax.set_xlim(0, 1)
    name_axes(ax, f"weight, {100 * prob:.3g}% intervals")
    return tidy(ax)


def plot_weights(clf: BayesClassifier, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """Draw the weights of columns, the largest on top, with two standard errors of their logarithms.

    Parameters
    ----------
    clf : BayesClassifier
        Fitted with ``calibration="weights"``.
    most : int
        Number of columns or blocks that are drawn; of more, those of the largest weights.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        The dashed line is at 1, where a density counts as the model has it.

    Raises
    ------
    ValueError
        If the fit has no weights.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_weights
    >>> clf = bp.GaussianNB(calibration="weights").fit(*load("iris"))
    >>> [text.get_text() for text in plot_weights(clf).get_yticklabels()]
    ['petal length (cm)', 'petal width (cm)', 'sepal width (cm)', 'sepal length (cm)']
    """
    whole("most", most, 1)
    weights = column_weights(require_classifier(clf).fitted_)
    table = weights.sortby("weight", ascending=False).isel(column=slice(0, most))
    ax = axes_of_rows(ax, table["column"].values, line=0.25)
    ax.axvline(1.0, color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    draw_ranges(ax, *(table[name].values for name in ("weight", "lower", "upper")))
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    low, high = ax.set_xlim(min(low, 0.5), max(high, 2.0))
    round_ = [m * 10.0**k for k in range(-6, 7) for m in (1, 2, 5) if low <= m * 10.0**k <= high]
    number_axis(ax, round_, [f"{place:g}" for place in round_])
    name_axes(ax, "weight of log p(x | class)")
    return tidy(ax)
