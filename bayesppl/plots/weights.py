"""How far each column is trusted where labels are predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesppl.analysis.calibrated import column_weights
from bayesppl.plots.style import axes_or_new, colour, name_axes, name_rows, number_axis, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesppl.estimators.classifier import BayesClassifier


def plot_weights(clf: BayesClassifier, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """Weights of the columns under ``calibration="weights"``, the largest on top, less and plus two standard errors of log w.

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
    weights = column_weights(clf.fitted_)
    if most < 1:
        raise ValueError(f"most must be at least 1, found {most}")
    table = weights.sortby("weight", ascending=False).isel(column=slice(0, most))
    at = np.arange(table.sizes["column"])
    ax = axes_or_new(ax, height=1.2 + 0.25 * len(at))
    ax.axvline(1.0, color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    ax.hlines(at, table["lower"], table["upper"], color=colour(0), linewidth=2, alpha=0.5)
    ax.plot(table["weight"], at, "o", color=colour(0))
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    round_ = [m * 10.0**k for k in range(-6, 7) for m in (1, 2, 5) if low <= m * 10.0**k <= high]
    number_axis(ax, round_, [f"{place:g}" for place in round_])
    name_rows(ax, [str(name) for name in table["column"].values])
    name_axes(ax, "weight of log p(x | class)")
    return tidy(ax)
