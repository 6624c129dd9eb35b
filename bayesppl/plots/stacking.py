"""Which models a stack is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesppl.analysis.parameters import PROB, tails
from bayesppl.plots.style import axes_or_new, colour, name_axes, name_rows, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesppl.estimators.auto import AutoClassifier


def plot_stack(clf: AutoClassifier, *, prob: float = PROB, ax: Axes | None = None) -> Axes:
    """Weights of the models that matter, the largest on top, with their credible intervals.

    Parameters
    ----------
    clf : AutoClassifier
        Fitted.
    prob : float
        Probability of the intervals.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Each model is named with its temperature.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_stack
    >>> models = {"naive": bp.GaussianNB(), "quadratic": bp.QuadraticDiscriminantAnalysis()}
    >>> ax = plot_stack(bp.AutoClassifier(models).fit(*load("iris")))
    >>> [text.get_text().partition(",")[0] for text in ax.get_yticklabels()]
    ['quadratic', 'naive']
    """
    stack = clf.stack_
    lower, upper = np.quantile(stack.weight_draws, tails(prob), axis=0)
    at = np.arange(len(stack.members))
    ax = axes_or_new(ax, height=1.2 + 0.35 * len(at))
    ax.hlines(at, lower, upper, color=colour(0), linewidth=2, alpha=0.5)
    ax.plot(stack.weights, at, "o", color=colour(0))
    name_rows(
        ax,
        [member.name for member in stack.members],
        [f", T = {member.temperature:.2g}" for member in stack.members],
    )
    ax.set_xlim(0, 1)
    name_axes(ax, f"weight, {100 * prob:.3g}% intervals")
    return tidy(ax)
