"""Class probabilities of rows with their credible intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.plots.style import axes_or_new, colour, marker, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesppl.classifier import BayesClassifier


def plot_intervals(
    clf: BayesClassifier,
    X: Any,
    *,
    prob: float = 0.94,
    draws: int = 1000,
    random_state: int | None = 0,
    ax: Axes | None = None,
) -> Axes:
    """Posterior mean and credible interval of p(y | x, θ), and the predictive, for a few rows.

    Parameters
    ----------
    clf : BayesClassifier
    X : table or (n_rows, n_features) array-like
        The rows, from top to bottom.
    prob : float
        Probability of the intervals.
    draws, random_state
        As for ``predict_interval``.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        A line per row and class; the open marker is the predictive p(y | x, data), which is not the mean.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_intervals
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], ["a", "a", "b", "b"])
    >>> [text.get_text() for text in plot_intervals(clf, [[0.5], [2.5]]).get_yticklabels()]
    ['row 0', 'row 1']
    """
    interval = clf.predict_interval(X, prob, draws, random_state)
    predictive = clf.probabilities(X, "predictive")
    n_rows, n_classes = predictive.shape
    ax = axes_or_new(ax, height=1.2 + 0.14 * n_rows * (n_classes + 1))
    for k, label in enumerate(interval["class"].values.tolist()):
        at = np.arange(n_rows) + (k - (n_classes - 1) / 2) * 0.7 / n_classes
        one = interval.isel({"class": k})
        ax.hlines(at, one["lower"], one["upper"], color=colour(k), linewidth=2.5, alpha=0.8)
        ax.plot(one["mean"], at, marker(k), color=colour(k), markersize=5, label=str(label))
        ax.plot(predictive[:, k], at, marker(k), color="black", markerfacecolor="none", markersize=7)
    ax.set_yticks(np.arange(n_rows), [f"row {i}" for i in range(n_rows)])
    ax.set(xlim=(-0.03, 1.03), ylim=(n_rows - 0.5, -0.5), xlabel=f"class probability, {prob:.0%} interval")
    ax.plot([], [], "o", color="black", markerfacecolor="none", label="predictive")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tidy(ax)
