"""Class probabilities row by row: under every rule, and with their credible intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.data.arguments import whole
from bayesppl.data.labels import codes_among
from bayesppl.estimators.auto import AutoClassifier
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.evaluation.comparison import Comparison, compare
from bayesppl.kernels.arrays import Array
from bayesppl.model.rules import REFERENCE
from bayesppl.plots.style import (
    Style,
    axes_of_rows,
    bar_style,
    colour,
    drawn_names,
    in_legend,
    inches,
    legend_beside,
    marker,
    name_axes,
    number_axis,
    require_parts,
    result_of,
    tidy,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesppl.model.rules import RuleName


def plot_probabilities(
    probabilities: xr.DataArray | Comparison | BayesClassifier,
    *arguments: Any,
    most_rows: int = 20,
    undefined: Mapping[str, str] | None = None,
    **options: Any,
) -> Figure:
    """Draw class probabilities under every rule, side by side, for the rows on which the rules differ most.

    Parameters
    ----------
    probabilities : bayesppl.Comparison, xarray.DataArray or BayesClassifier
        What :func:`bayesppl.compare` returns, or its ``probabilities`` (rule, row, class) with the true labels as
        the coordinate ``label``; or, with what follows, all that :func:`bayesppl.compare` is called with.
    most_rows : int
        Number of rows shown: those with the largest total variation distance between ``predictive`` and another
        rule, in the order of their labels.
    undefined : mapping of str to str
        Why a rule has no probabilities, written into its panel; by default that of the comparison.

    Returns
    -------
    matplotlib.figure.Figure
        One bar per row, divided among the classes; a cross marks a wrong decision.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_probabilities
    >>> X, y = load("wine")
    >>> figure = plot_probabilities(bp.GaussianNB(), X[::9], y[::9], X[1::9], y[1::9], random_state=0)
    >>> [panel.get_title() for panel in figure.axes]
    ['mle', 'map', 'mean', 'predictive']
    """
    import xarray as xr
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch

    whole("most_rows", most_rows, 1)
    if isinstance(probabilities, xr.DataArray):
        found = probabilities
        require_parts(found.to_dataset(name="probability"), ("rule", "row", "class", "label"), "compare")
    else:
        comparison = result_of(compare, Comparison, probabilities, arguments, options)
        undefined = comparison.undefined if undefined is None else undefined
        found = comparison.probabilities
    undefined = undefined or {}
    classes = found["class"].values.tolist()
    rules = found["rule"].values.tolist()
    shown = _rows_that_differ(found, most_rows)
    n_shown = shown.sizes["row"]
    bar_height = 0.21
    size = (2.6 + 2.2 * len(rules), 1.9 + bar_height * max(n_shown, 6))
    figure, grid = plt.subplots(1, len(rules), sharey=True, squeeze=False, figsize=size, layout="constrained")
    panels = grid[0]
    for rule, panel in zip(rules, panels, strict=True):
        panel.set_title(rule)
        _draw_bars(panel, shown.sel(rule=rule), classes, undefined.get(rule))
    labels = drawn_names(shown["label"].values)
    names = [f"{label}, row {row}" for label, row in zip(labels, shown["row"].values, strict=True)]
    panels[0].set_yticks(range(n_shown), names)
    panels[0].set_ylim(n_shown - 0.5, -0.5)
    figure.supylabel("true label of a held-out row", fontsize="medium")
    figure.supxlabel("probability of each class", fontsize="medium")
    figure.suptitle(
        f"The {n_shown} of {found.sizes['row']} held-out rows on which the rules differ most  (× wrong class)"
    )
    keys = [Patch(label=in_legend(label), **bar_style(k)) for k, label in enumerate(drawn_names(classes))]
    figure.legend(handles=keys, title="class", loc="outside right upper", frameon=False)
    return figure


def _rows_that_differ(probabilities: xr.DataArray, most: int) -> xr.DataArray:
    """Select the rows with the largest distance from the reference rule, grouped by label."""
    rules = probabilities["rule"].values.tolist()
    if REFERENCE not in rules:
        raise ValueError(
            f"rows are chosen by their distance from {REFERENCE!r}, which is not among the rules {rules}"
        )
    away = abs(probabilities - probabilities.sel(rule=REFERENCE))
    distance = 0.5 * away.sum("class").max("rule").values
    chosen = np.sort(np.argsort(-distance, kind="stable")[:most])
    shown = probabilities.isel(row=chosen)
    codes = codes_among(shown["label"].values, probabilities["class"].values)
    return shown.isel(row=np.argsort(codes, kind="stable"))


def _draw_bars(panel: Axes, shown: xr.DataArray, classes: list[Any], reason: str | None) -> None:
    values: Array = shown.values
    panel.set_xlim(0, 1.08)
    panel.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    panel.tick_params(axis="y", length=0)
    panel.spines[["top", "right", "left"]].set_visible(False)
    if np.isnan(values).any():
        text = textwrap.fill(f"undefined: {reason}" if reason else "undefined", 26)
        panel.text(0.5, 0.97, text, transform=panel.transAxes, ha="center", va="top", fontsize=8)
        return
    left = np.zeros(len(values))
    for k in range(len(classes)):
        panel.barh(range(len(values)), values[:, k], left=left, height=0.82, **bar_style(k))
        left += values[:, k]
    wrong = np.asarray(classes)[values.argmax(1)] != shown["label"].values
    # clipped, for an artist without points that is not clipped makes the layout collapse
    panel.plot(np.full(wrong.sum(), 1.045), np.flatnonzero(wrong), "x", color="black", markersize=5)


# Rows with a class above this are too sure for a linear axis, on which all of them lie at the edge.
_ALL_BUT_CERTAIN = 0.99

# The smallest probability on the axis of log odds.
_EDGE = 1e-6

# Numbers on the axis of log odds.
_LOGIT_NUMBERS = (
    (1e-5, "$10^{-5}$"),
    (1e-4, "$10^{-4}$"),
    (1e-3, "0.001"),
    (0.01, "0.01"),
    (0.1, "0.1"),
    (0.5, "0.5"),
    (0.9, "0.9"),
    (0.99, "0.99"),
    (0.999, "0.999"),
    (1 - 1e-4, "$1-10^{-4}$"),
    (1 - 1e-5, "$1-10^{-5}$"),
)


def plot_intervals(
    interval: xr.Dataset | BayesClassifier | AutoClassifier,
    *arguments: Any,
    rule: RuleName | None = None,
    logit: bool | None = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw credible intervals of p(y | x, θ) of a few rows, and the result of ``predict_proba``.

    Parameters
    ----------
    interval : xarray.Dataset, BayesClassifier or AutoClassifier
        What ``clf.predict_proba_interval(X)`` returns; or the classifier and, with what follows, all that
        :func:`~bayesppl.analysis.uncertainty.predict_proba_interval` is called with.
    rule : optional
        Of the open marks, as for ``predict_proba``. There are none where only the intervals are given,
        nor of an :class:`AutoClassifier`.
    logit : bool, optional
        Whether the axis is that of log odds, on which probabilities of 0.99 and 0.9999 lie apart; by default where
        the classes of most rows are all but certain. Probabilities closer to zero or one than a millionth are
        drawn at the edge.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        A line per row and class, from top to bottom; rows of a pandas data frame have the names of its index.
        Filled marks are means of p(y | x, θ) over the draws, or medians on the scale of log odds, where a mean may
        lie outside of its interval; open ones are the probability under the rule, which for the predictive is
        neither.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_intervals
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], ["a", "a", "b", "b"])
    >>> [text.get_text() for text in plot_intervals(clf, [[0.5], [2.5]], random_state=0).get_yticklabels()]
    ['row 0', 'row 1']
    """
    import xarray as xr

    if isinstance(interval, AutoClassifier):
        if rule is not None:
            raise TypeError("an AutoClassifier averages several models and has no rules: leave out rule=")
        interval, arguments, options = interval.predict_proba_interval(*arguments, **options), (), {}
    if isinstance(interval, xr.Dataset) and rule is not None:
        raise TypeError(
            "intervals alone have no probabilities by rule; pass the classifier and the rows with rule="
        )
    twin, parts = BayesClassifier.predict_proba_interval, ("row", "class", "mean")
    found = result_of(twin, xr.Dataset, interval, arguments, options, parts)
    classes, prob = found["class"].values.tolist(), found.attrs["prob"]
    n_rows, n_classes = found.sizes["row"], len(classes)
    ax = axes_of_rows(ax, [f"row {name}" for name in found["row"].values], line=0.14 * (n_classes + 1), width=5.0)
    places = [np.arange(n_rows) + (k - (n_classes - 1) / 2) * 0.7 / n_classes for k in range(n_classes)]
    size = float(np.clip(inches(ax)[1] * 60 / (n_rows * n_classes), 2, 5))
    if logit is None:
        logit = bool(np.median(found["mean"].max("class")) > _ALL_BUT_CERTAIN)
    if logit:
        found = found.clip(_EDGE, 1 - _EDGE)
    middle = "median" if logit else "mean"
    for k, (label, at) in enumerate(zip(classes, places, strict=True)):
        one = found.isel({"class": k})
        ax.hlines(at, one["lower"], one["upper"], color=colour(k), linewidth=2.5, alpha=0.8)
        ax.plot(one[middle], at, marker(k), color=colour(k), markersize=size, label=in_legend(label))
    if not isinstance(interval, xr.Dataset):
        rows = arguments[0] if arguments else options["X"]
        proba = interval.probabilities(rows, rule, options.get("class_weights"))
        proba = np.clip(proba, _EDGE, 1 - _EDGE) if logit else proba
        style: Style = {"color": "black", "markerfacecolor": "none", "linestyle": "none"}
        for k, at in enumerate(places):
            ax.plot(proba[:, k], at, marker=marker(k), markersize=1.4 * size, **style)
        ax.plot([], [], marker="o", label=f"rule {(rule or interval.rule)!r}", **style)
    ax.plot([], [], "o", color="0.4", markersize=size, label=f"{middle} of draws")
    if logit:
        ax.set_xscale("logit")
        number_axis(ax, *zip(*_LOGIT_NUMBERS, strict=True))
        ax.set_xlim(_EDGE / 2, 1 - _EDGE / 2)
    else:
        ax.set_xlim(-0.03, 1.03)
    name_axes(ax, f"class probability, {prob:.0%} interval{', on the scale of log odds' if logit else ''}")
    legend_beside(ax)
    return tidy(ax)
