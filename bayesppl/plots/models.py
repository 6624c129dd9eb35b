"""Evidence and leave-one-out scores of models side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesppl.comparison import Comparison
from bayesppl.plots.style import axes_or_new, colour, tidy

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def plot_comparison(table: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Log evidence and exact leave-one-out score of every model, as differences from the best.

    Parameters
    ----------
    table : xarray.Dataset
        As :func:`bayesppl.compare_models` returns it.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Nats below the best. (The standard errors in ``table`` are of the scores, not of their differences, and are not
        drawn.)

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_comparison
    >>> table = bp.compare_models({"naive": bp.GaussianNB(), "tied": bp.LinearDiscriminantAnalysis()}, *load("iris"))
    >>> [text.get_text() for text in plot_comparison(table).get_yticklabels()]
    ['tied', 'naive']
    """
    if isinstance(table, Comparison):
        raise TypeError(
            "plot_comparison draws the table of bayesppl.compare_models, with one entry per model; for a Comparison of "
            "the four rules there is plot_probabilities"
        )
    ordered = table.sortby("log_evidence", ascending=False)
    names = [str(name) for name in ordered["model"].values]
    at = np.arange(len(names))
    evidence = ordered["log_evidence"] - ordered["log_evidence"].max()
    elpd = ordered["elpd"] - ordered["elpd"].max()
    ax = axes_or_new(ax, height=1.2 + 0.45 * len(names))
    ax.axvline(0, color="0.7", linewidth=1, zorder=0)
    ax.plot(evidence, at - 0.1, "D", color=colour(0), markersize=7, label="log evidence")
    ax.plot(elpd, at + 0.1, "o", color=colour(3), markersize=7, label="leave-one-out (elpd)")
    ax.set_yticks(at, names)
    ax.set(ylim=(len(names) - 0.5, -0.5), xlabel="difference from the best, in nats")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tidy(ax)
