"""Class probabilities of rows with their credible intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.plots.style import (
    Style,
    axes_or_new,
    colour,
    inches,
    legend_beside,
    marker,
    name_axes,
    name_rows,
    result_of,
    tidy,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.model.rules import RuleName


def plot_intervals(
    interval: xr.Dataset | BayesClassifier,
    *arguments: Any,
    rule: RuleName | None = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Posterior mean and credible interval of p(y | x, θ) of a few rows, and the result of ``predict_proba``.

    Parameters
    ----------
    interval : xarray.Dataset or BayesClassifier
        What ``clf.predict_proba_interval(X)`` returns; or the classifier and, with what follows, all that
        :func:`~bayesppl.answers.uncertainty.predict_proba_interval` is called with.
    rule : optional
        Of the open marks, as for ``predict_proba``. There are none where only the intervals are given.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        A line per row and class, from top to bottom. The predictive p(y | x, data) is not the mean of p(y | x, θ).

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_intervals
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], ["a", "a", "b", "b"])
    >>> [text.get_text() for text in plot_intervals(clf, [[0.5], [2.5]], random_state=0).get_yticklabels()]
    ['row 0', 'row 1']
    """
    import xarray as xr

    found = result_of(BayesClassifier.predict_proba_interval, xr.Dataset, interval, arguments, options)
    classes = found["class"].values.tolist()
    n_rows, n_classes = found.sizes["row"], len(classes)
    ax = axes_or_new(ax, height=1.2 + 0.14 * n_rows * (n_classes + 1))
    places = [np.arange(n_rows) + (k - (n_classes - 1) / 2) * 0.7 / n_classes for k in range(n_classes)]
    size = float(np.clip(inches(ax)[1] * 60 / (n_rows * n_classes), 2, 5))
    for k, (label, at) in enumerate(zip(classes, places, strict=True)):
        one = found.isel({"class": k})
        ax.hlines(at, one["lower"], one["upper"], color=colour(k), linewidth=2.5, alpha=0.8)
        ax.plot(one["mean"], at, marker(k), color=colour(k), markersize=size, label=str(label))
    if not isinstance(interval, xr.Dataset):
        X = arguments[0] if arguments else options["X"]
        proba = interval.probabilities(X, rule)
        style: Style = {"color": "black", "markerfacecolor": "none", "linestyle": "none"}
        for k, at in enumerate(places):
            ax.plot(proba[:, k], at, marker=marker(k), markersize=1.4 * size, **style)
        ax.plot([], [], marker="o", label=f"rule {(rule or interval.rule)!r}", **style)
    name_rows(ax, [f"row {row}" for row in found["row"].values])
    ax.set_xlim(-0.03, 1.03)
    name_axes(ax, f"class probability, {found.attrs['prob']:.0%} interval")
    legend_beside(ax)
    return tidy(ax)
