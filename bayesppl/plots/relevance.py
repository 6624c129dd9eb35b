"""Which features depend on the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesppl.plots.style import axes_or_new, colour, tidy

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def plot_relevance(relevance: xr.Dataset, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Log Bayes factors of the features, to the right where they depend on the class, to the left where they do not.

    Parameters
    ----------
    relevance : xarray.Dataset
        From :func:`bayesppl.feature_relevance`.
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
    >>> ax = plot_relevance(bp.feature_relevance(clf))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x1', 'x0']
    """
    factor = relevance["log_bayes_factor"]
    farthest = np.argsort(-np.abs(factor.values), kind="stable")[:most]
    shown = factor.isel(feature=farthest).sortby(factor.isel(feature=farthest))
    ax = axes_or_new(ax, height=1.2 + 0.25 * shown.size)
    colours = [colour(0) if value > 0 else colour(3) for value in shown.values]
    ax.barh(range(shown.size), shown.values, color=colours)
    ax.set_yticks(range(shown.size), [str(name) for name in shown["feature"].values])
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_xlabel("log Bayes factor of “depends on the class”")
    return tidy(ax)
