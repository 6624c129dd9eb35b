"""Labels in doubt: the classes of rows that are only partly known, and the errors of annotators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.parameter_tables import PROB
from bayesppl.data.names import spelled
from bayesppl.estimators.shell import require_classifier
from bayesppl.plots.style import axes_or_new, bar_style, colour, drawn_name, drawn_names, in_legend, marker, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_completed(clf: Any, *, ax: Axes | None = None) -> Axes:
    """Draw class probabilities of the rows whose class is not certain, the surest of each class first.

    Parameters
    ----------
    clf : estimator
        Fitted to rows some of which are only partly known.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        A bar for every row, divided among the classes.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_completed
    >>> votes = [["a", "a", None], ["a", "a", "a"], ["b", "b", "a"], ["b", "b", "b"], ["a", "b", "a"]]
    >>> ax = plot_completed(bp.dawid_skene(votes, inference="em"))
    >>> ax.get_ylabel()
    'probability of the class'
    """
    proba = require_classifier(clf).completed_proba()["proba"].to_numpy()
    winner = proba.argmax(1)
    proba = proba[np.lexsort((-proba.max(1), winner))]
    ax = axes_or_new(ax)
    bottom = np.zeros(len(proba))
    for k, name in enumerate(drawn_names(clf.classes_.tolist())):
        style = {**bar_style(k), "linewidth": 0.0}
        ax.bar(np.arange(len(proba)), proba[:, k], 1.0, bottom=bottom, label=in_legend(name), **style)
        bottom += proba[:, k]
    ax.set(
        xlim=(-0.5, len(proba) - 0.5), ylim=(0, 1), xlabel="rows, by class and probability",
        ylabel="probability of the class",
    )  # fmt: skip
    ax.figure.legend(loc="outside upper center", ncols=4)
    return tidy(ax)


def plot_annotator(clf: Any, annotator: str, prob: float = PROB, *, ax: Axes | None = None) -> Axes:
    """Draw how often an annotator gives rows of each class each label, with intervals.

    Parameters
    ----------
    clf : estimator
        Fitted to labels that may be wrong.
    annotator : str
        A name in ``clf.annotators()``; "y" where the labels were given as ``y``.
    prob : float
        Of the equal-tailed intervals.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        A row for every class, in it a mark and an interval for every label; filled where the label is right.

    Raises
    ------
    ValueError
        If there is no such annotator.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_annotator
    >>> votes = [["a", "a", None], ["a", "a", "a"], ["b", "b", "a"], ["b", "b", "b"], ["a", "b", "a"]]
    >>> ax = plot_annotator(bp.dawid_skene(votes, inference="em"), "x2")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    found = require_classifier(clf).annotators(prob)
    names = found["annotator"].values.tolist()
    if str(annotator) not in names:
        raise ValueError(f"annotator must be one of {names}, found {spelled(annotator)}")
    mean, lower, upper = (found[name].sel(annotator=str(annotator)).to_numpy() for name in found.data_vars)
    n_classes = len(mean)
    ax = axes_or_new(ax, height=1.2 + 0.5 * n_classes)
    classes, at = drawn_names(clf.classes_.tolist()), np.arange(n_classes)
    for label in range(n_classes):
        y = at + 0.6 * ((label + 0.5) / n_classes - 0.5)
        ax.hlines(y, lower[:, label], upper[:, label], color=colour(label), linewidth=2, alpha=0.5)
        ax.scatter(
            mean[:, label], y, marker=marker(label), edgecolor=colour(label),
            facecolor=[colour(label) if k == label else "white" for k in at], zorder=3,
            label=in_legend(classes[label]),
        )  # fmt: skip
    ax.set_yticks(at, classes)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel=f"probability of the label by {drawn_name(annotator)}", ylabel="class")
    ax.figure.legend(title="label", loc="outside upper center", ncols=4)
    return tidy(ax)
