"""Evidence and leave-one-out scores of models side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.evaluation.comparison import Comparison
from bayesppl.evaluation.models import compare_models
from bayesppl.plots.style import axes_or_new, colour, legend_beside, name_axes, name_rows, result_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_comparison(table: Any, *arguments: Any, ax: Axes | None = None, **options: Any) -> Axes:
    """Log evidence and exact leave-one-out score of every model, as differences from the best.

    Parameters
    ----------
    table : xarray.Dataset, or models
        What :func:`bayesppl.compare_models` returns, or, with what follows, all that it is called with.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Nats below the best; bars are ± one standard error of the paired difference. The evidence has none: it is a number that
        the data determine.

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
            "plot_comparison draws the table of bayesppl.compare_models, with one entry per model; for a Comparison of "
            "the four rules there is plot_probabilities"
        )
    found = result_of(compare_models, xr.Dataset, table, arguments, options)
    ordered = found.sortby("log_evidence", ascending=False)
    names = ordered["model"].values.tolist()
    at = np.arange(len(names))
    evidence = ordered["log_evidence"] - ordered["log_evidence"].max()
    ax = axes_or_new(ax, height=1.2 + 0.45 * len(names))
    ax.axvline(0, color="0.7", linewidth=1, zorder=0)
    ax.plot(evidence, at - 0.1, "D", color=colour(0), markersize=7, label="log evidence")
    ax.errorbar(
        ordered["elpd_difference"],
        at + 0.1,
        xerr=ordered["elpd_difference_se"],
        fmt="o",
        color=colour(1),
        markersize=7,
        label="leave-one-out\n(elpd)",
    )
    name_rows(ax, names)
    name_axes(ax, "difference from the best, in nats")
    legend_beside(ax)
    return tidy(ax)
