"""How the rules differ as rows accumulate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.evaluation.learning_curve import learning_curve
from bayesppl.model.rules import REFERENCE
from bayesppl.plots.style import RULE_STYLE, axes_or_new, legend_beside, result_of, tidy

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.estimators.classifier import BayesClassifier

_HEADINGS = {
    "log_score": "log score (nats)",
    "accuracy": "accuracy",
    "brier": "Brier score",
    "ece": "calibration error",
}


def plot_learning_curve(
    curve: xr.Dataset | BayesClassifier,
    *arguments: Any,
    score: str = "log_score",
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """How far every plug-in rule falls behind the predictive, over the number of training rows.

    Parameters
    ----------
    curve : xarray.Dataset or BayesClassifier
        What :func:`bayesppl.learning_curve` returns, or, with what follows, all that it is called with.
    score : {"log_score", "accuracy", "brier", "ece"}
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Mean paired differences, with two standard errors to either side; infinite ones are not drawn.

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

    if score not in _HEADINGS:
        raise ValueError(f"score must be one of {', '.join(map(repr, _HEADINGS))}, found {score!r}")
    found = result_of(learning_curve, xr.Dataset, curve, arguments, options)
    ax = axes_or_new(ax)
    sizes = found["size"].values
    plug_in = [rule for rule in found["rule"].values.tolist() if rule != REFERENCE]
    for k, rule in enumerate(plug_in):
        at = found.sel(rule=rule)
        mean, error = at[f"{score}_difference"].values, at[f"{score}_difference_se"].values
        finite = np.isfinite(mean)
        shifted = sizes[finite] * 1.02 ** (k - 1)  # so that the bars of the rules stay apart
        ax.errorbar(
            shifted, mean[finite], 2 * error[finite], linestyle="-", label=rule, capsize=3, **RULE_STYLE[rule]
        )
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{size:g}" for size in sizes])
    ax.minorticks_off()
    ax.set(xlabel="training rows", ylabel=f"{_HEADINGS[score]},\ndifference from {REFERENCE}")
    legend_beside(ax)
    return tidy(ax)
