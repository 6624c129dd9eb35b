"""How the rules differ as rows accumulate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesppl.comparison import REFERENCE
from bayesppl.plots.style import axes_or_new, colour, marker, tidy

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def plot_learning_curve(curve: xr.Dataset, score: str = "log_score", *, ax: Axes | None = None) -> Axes:
    """How far every plug-in rule falls behind the predictive, over the number of training rows.

    Parameters
    ----------
    curve : xarray.Dataset
        From :func:`bayesppl.learning_curve`.
    score : {"log_score", "accuracy", "brier", "ece"}
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Mean paired differences, with two standard errors to either side; infinite ones are not drawn.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_learning_curve
    >>> X, y = load("iris")
    >>> ax = plot_learning_curve(bp.learning_curve(bp.GaussianNB(), X, y, [12, 60], repeats=2))
    >>> ax.get_legend_handles_labels()[1]
    ['mle', 'map', 'mean']
    """
    ax = axes_or_new(ax)
    plug_in = [rule for rule in curve["rule"].values.tolist() if rule != REFERENCE]
    for k, rule in enumerate(plug_in):
        at = curve.sel(rule=rule)
        mean, error = at[f"{score}_difference"].values, at[f"{score}_difference_se"].values
        finite = np.isfinite(mean)
        sizes = at["size"].values[finite]
        style = {"fmt": f"{marker(k)}-", "color": colour((0, 3, 6)[k % 3]), "label": rule, "capsize": 3}
        ax.errorbar(sizes, mean[finite], 2 * error[finite], **style)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set(xscale="log", xlabel="training rows", ylabel=f"{score.replace('_', ' ')}, difference from {REFERENCE}")
    ax.legend(frameon=False)
    return tidy(ax)
