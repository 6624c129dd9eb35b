"""How the rules differ as rows accumulate, and whether what is predicted with confidence turns out right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.data.arguments import one_of
from bayesppl.evaluation.held_out import learning_curve, reliability
from bayesppl.model.rules import REFERENCE
from bayesppl.plots.style import (
    LETTERS_PER_INCH,
    RULE_STYLE,
    Style,
    axes_or_new,
    colour,
    drawn_names,
    inches,
    legend_beside,
    result_of,
    tidy,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.estimators.auto import AutoClassifier
    from bayesppl.estimators.classifier import BayesClassifier


def plot_reliability(
    found: xr.Dataset | BayesClassifier | AutoClassifier,
    *arguments: Any,
    label: str | None = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw a reliability diagram: hit rate over confidence, with a credible interval of every hit rate.

    Parameters
    ----------
    found : xarray.Dataset, BayesClassifier or AutoClassifier
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

    bins = result_of(reliability, xr.Dataset, found, arguments, options, ("bin", "hit_rate"))
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
        handles, labels = ax.get_legend_handles_labels()
        room = max(8, int(inches(ax)[0] * LETTERS_PER_INCH) - 6)  # without the mark and the margins
        ax.legend(handles, drawn_names(labels, room), frameon=False, loc="upper left", markerscale=0.7)
    return tidy(ax)


_HEADINGS = {
    "log_score": "log score (nats)",
    "accuracy": "accuracy",
    "brier": "Brier score",
    "ece": "calibration error",
}

# Points farther from zero than this many times the median would flatten all others
_FAR = 20.0


def plot_learning_curve(
    curve: xr.Dataset | BayesClassifier,
    *arguments: Any,
    score: str = "log_score",
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw how far every plug-in rule falls behind the predictive, over the number of training rows.

    Parameters
    ----------
    curve : xarray.Dataset or BayesClassifier
        What :func:`bayesppl.learning_curve` returns, or, with what follows, all that it is called with.
    score : {"log_score", "accuracy", "brier", "ece"}
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Mean paired differences, with two standard errors to either side. Where outliers would flatten all other
        points, the axis is logarithmic beyond these; the legend has the number of sizes at which a difference is
        infinite or a rule never existed.

    Raises
    ------
    ValueError
        If there is no such score.

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
    import xarray as xr

    one_of("score", score, _HEADINGS)
    parts = "size", "rule", f"{score}_difference"
    found = result_of(learning_curve, xr.Dataset, curve, arguments, options, parts)
    ax = axes_or_new(ax)
    sizes = found["size"].values
    plug_in = [rule for rule in found["rule"].values.tolist() if rule != REFERENCE]
    away = abs(found[f"{score}_difference"].sel(rule=plug_in).values)
    finite = away[np.isfinite(away) & (away > 0)]
    if len(finite) and finite.max() > _FAR * np.median(finite):
        ax.set_yscale("symlog", linthresh=_FAR * np.median(finite), linscale=3)
    for k, rule in enumerate(plug_in):
        at = found.sel(rule=rule)
        mean, error = at[f"{score}_difference"].values, at[f"{score}_difference_se"].values
        shown = np.isfinite(mean)
        label = rule if shown.all() else f"{rule} ({(~shown).sum()} not finite)"
        shifted = sizes[shown] * 1.02 ** (k - 1)  # so that the bars of the rules stay apart
        ax.errorbar(
            shifted, mean[shown], 2 * error[shown], linestyle="-", label=label, capsize=3, **RULE_STYLE[rule]
        )
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{size:g}" for size in sizes])
    ax.minorticks_off()
    ax.set(xlabel="training rows", ylabel=f"{_HEADINGS[score]},\ndifference from {REFERENCE}")
    legend_beside(ax)
    return tidy(ax)
