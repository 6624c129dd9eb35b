"""Class probabilities of rows with their credible intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.plots.style import (
    Style,
    axes_of_rows,
    colour,
    inches,
    legend_beside,
    marker,
    name_axes,
    number_axis,
    result_of,
    tidy,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.model.rules import RuleName

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
    interval: xr.Dataset | BayesClassifier,
    *arguments: Any,
    rule: RuleName | None = None,
    logit: bool | None = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw credible intervals of p(y | x, θ) of a few rows, and the result of ``predict_proba``.

    Parameters
    ----------
    interval : xarray.Dataset or BayesClassifier
        What ``clf.predict_proba_interval(X)`` returns; or the classifier and, with what follows, all that
        :func:`~bayesppl.analysis.uncertainty.predict_proba_interval` is called with.
    rule : optional
        Of the open marks, as for ``predict_proba``. There are none where only the intervals are given.
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
    import pandas as pd
    import xarray as xr

    found = result_of(BayesClassifier.predict_proba_interval, xr.Dataset, interval, arguments, options)
    classes, prob = found["class"].values.tolist(), found.attrs["prob"]
    n_rows, n_classes = found.sizes["row"], len(classes)
    names = found["row"].values
    if not isinstance(interval, xr.Dataset):
        X = arguments[0] if arguments else options["X"]
        names = X.index if isinstance(X, pd.DataFrame) else names
    ax = axes_of_rows(ax, [f"row {name}" for name in names], line=0.14 * (n_classes + 1), width=5.0)
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
        ax.plot(one[middle], at, marker(k), color=colour(k), markersize=size, label=str(label))
    if not isinstance(interval, xr.Dataset):
        proba = interval.probabilities(X, rule)
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
