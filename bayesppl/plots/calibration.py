"""Whether what is predicted with confidence p turns out right in a share p of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.evaluation.calibration import reliability
from bayesppl.plots.style import Style, axes_or_new, colour, result_of, tidy

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.estimators.classifier import BayesClassifier


def plot_reliability(
    found: xr.Dataset | BayesClassifier,
    *arguments: Any,
    label: str | None = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Reliability diagram: hit rate over confidence, with a credible interval of every hit rate.

    Parameters
    ----------
    found : xarray.Dataset or BayesClassifier
        What :func:`bayesppl.reliability` returns, or, with what follows, all that it is called with.
    label : str, optional
        For the legend, when several are drawn into the same axes.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        A mark per bin of confidence, the larger the more rows it holds. Marks below the diagonal are too sure.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_reliability
    >>> X, y = load("wine")
    >>> clf = bp.GaussianNB().fit(X[::2], y[::2])
    >>> ax = plot_reliability(clf, X[1::2], y[1::2], rule="mle", label="mle")
    >>> ax = plot_reliability(clf, X[1::2], y[1::2], label="predictive", ax=ax)
    >>> ax.get_ylabel()
    'share that is right'
    """
    import xarray as xr

    bins = result_of(reliability, xr.Dataset, found, arguments, options)
    ax = axes_or_new(ax, width=4.5)
    k = len(ax.containers)
    if k == 0:
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=0)
    style: Style = {"color": colour((0, 1, 6, 8)[k % 4]), "zorder": 2.2}
    confidence = bins["confidence"].values + 0.008 * k  # so that several stay apart
    rate = bins["hit_rate"].values
    # a rate of 0 or 1 may lie just outside its equal-tailed interval
    reach = np.clip([rate - bins["lower"].values, bins["upper"].values - rate], 0, None)
    ax.errorbar(confidence, rate, reach, fmt="none", label=None, **style)
    size = 15 + 90 * np.sqrt(bins["rows"].values / bins["rows"].values.sum())
    ax.scatter(confidence, rate, size, marker="os^D"[k % 4], label=label, **style)
    ax.set(
        xlim=(-0.02, 1.03),
        ylim=(-0.02, 1.03),
        aspect="equal",
        xlabel="confidence of the most probable label",
        ylabel="share that is right",
    )
    if label is not None:
        ax.legend(frameon=False, loc="upper left", markerscale=0.7)
    return tidy(ax)
