"""Which features depend on the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.plots.style import axes_or_new, colour, name_axes, name_rows, result_of, tidy

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def plot_relevance(
    relevance: xr.Dataset | BayesClassifier,
    *arguments: Any,
    most: int = 20,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Log Bayes factors of the features, to the right where they depend on the class, to the left where they do not.

    Parameters
    ----------
    relevance : xarray.Dataset or BayesClassifier
        What :func:`bayesppl.feature_relevance` returns, or all that it is called with.
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

    factor = result_of(BayesClassifier.feature_relevance, xr.Dataset, relevance, arguments, options)[
        "log_bayes_factor"
    ]
    farthest = np.argsort(-np.abs(factor.values), kind="stable")[:most]
    shown = factor.isel(feature=farthest).sortby(factor.isel(feature=farthest), ascending=False)
    ax = axes_or_new(ax, height=1.2 + 0.25 * shown.size)
    colours = [colour(0) if value > 0 else colour(1) for value in shown.values]
    ax.barh(range(shown.size), shown.values, color=colours)
    name_rows(ax, shown["feature"].values)
    ax.axvline(0, color="black", linewidth=0.8)
    name_axes(ax, "log Bayes factor of dependence, in nats")
    return tidy(ax)
