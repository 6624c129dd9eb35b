"""Whether events given probability p happen with frequency p."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta

from bayesppl.labels import encode_labels
from bayesppl.plots.style import axes_or_new, colour, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_reliability(
    y: Any,
    probabilities: Any,
    classes: Any,
    *,
    bins: int = 10,
    prob: float = 0.94,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Reliability diagram of class probabilities, with a credible interval of every frequency.

    Each class of each row is one forecast. Forecasts are grouped by their probability into bins of equal width (DeGroot &
    Fienberg 1983); the interval is that of a binomial proportion under Jeffreys' prior (Brown, Cai & DasGupta 2001).

    Parameters
    ----------
    y : (n_rows,) array-like
        True labels.
    probabilities : (n_rows, n_classes) array-like
        As ``predict_proba`` gives them.
    classes : sequence
        Labels of the columns, ``clf.classes_``.
    bins : int
    prob : float
        Probability of the intervals.
    label : str, optional
        For the legend, when several are drawn into the same axes.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from bayesppl.plots import plot_reliability
    >>> ax = plot_reliability(["a", "b", "b"], [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]], ["a", "b"], bins=5)
    >>> ax.get_ylabel()
    'observed frequency'
    """
    forecasts = np.asarray(probabilities, dtype=float)
    _, codes = encode_labels(y, list(classes))
    happened = np.zeros(forecasts.shape)
    happened[np.arange(len(codes)), codes] = 1
    group = np.minimum((forecasts * bins).astype(int), bins - 1).ravel()
    count = np.bincount(group, minlength=bins)
    used = count > 0
    mean = np.bincount(group, forecasts.ravel(), bins)[used] / count[used]
    events = np.bincount(group, happened.ravel(), bins)[used]
    lower, upper = (
        beta.ppf(tail, events + 0.5, count[used] - events + 0.5) for tail in ((1 - prob) / 2, (1 + prob) / 2)
    )
    frequency = events / count[used]
    lower, upper = np.where(events == 0, 0.0, lower), np.where(events == count[used], 1.0, upper)

    ax = axes_or_new(ax, width=4.5)
    k = sum(bool(container) for container in ax.containers)
    if k == 0:
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=0)
    errors = [frequency - lower, upper - frequency]
    shift = 0.006 * k  # so that intervals of several rules stay apart
    ax.errorbar(
        mean + shift,
        frequency,
        errors,
        fmt="os^D"[k % 4],
        color=colour((0, 3, 6, 8)[k % 4]),
        markersize=5,
        label=label,
    )
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        aspect="equal",
        xlabel="class probability",
        ylabel="observed frequency",
    )
    if label is not None:
        ax.legend(frameon=False, loc="lower right")
    return tidy(ax)
