"""The trees along which columns depend on each other."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster.hierarchy import average, leaves_list
from scipy.spatial.distance import squareform

from bayesppl.data.names import spelled
from bayesppl.estimators.mixed_nb import TreeNB
from bayesppl.estimators.shell import require_classifier
from bayesppl.plots.style import axes_or_new, colour, drawn_name, drawn_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# edges that are less probable are not drawn
_LEAST = 0.01


def plot_tree(clf: TreeNB, label: Hashable = None, *, ax: Axes | None = None) -> Axes:
    """Draw columns on a circle, and lines between them as wide and dark as their connection is probable.

    Parameters
    ----------
    clf : TreeNB
    label : hashable, optional
        The class whose tree is drawn, where each has its own.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Columns that are connected stand close to each other. Edges of a probability below .01 are left out.

    Raises
    ------
    ValueError
        If ``label`` is no class, or not given where each class has a tree of its own.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_tree
    >>> from sklearn.datasets import load_iris
    >>> ax = plot_tree(bp.TreeNB().fit(*load_iris(return_X_y=True, as_frame=True)))
    >>> len(ax.texts)
    4
    """
    found = require_classifier(clf, "a fitted bayesppl.TreeNB", TreeNB).edge_probabilities()
    classes = clf.classes_.tolist()
    if "class" in found.dims:
        if label not in classes:
            raise ValueError(
                f"each class has a tree of its own: label must be one of {classes}, found {spelled(label)}"
            )
        found = found[classes.index(label)]
    elif label is not None:
        raise ValueError(
            f"the classes share one tree, and label={spelled(label)} has none of its own; leave it out"
        )
    edges, n_columns = found.to_numpy(), len(found)
    order = np.arange(n_columns)
    if n_columns > 2:
        order = leaves_list(average(squareform(1 - edges - np.eye(n_columns), checks=False)))
    angles = np.empty(n_columns)
    angles[order] = np.pi / 2 - 2 * np.pi * np.arange(n_columns) / n_columns
    x, y = np.cos(angles), np.sin(angles)
    ax = axes_or_new(ax, 5.5, 5.0)
    ax.set_aspect("equal")
    for first, second in np.argwhere(np.triu(edges, 1) >= _LEAST):
        p = edges[first, second]
        ax.plot(x[[first, second]], y[[first, second]], color=colour(0), lw=0.5 + 2.5 * p, alpha=p, zorder=1)
    ax.scatter(x, y, s=18, color=colour(0), zorder=2)
    turned = n_columns > 12
    for name, at, right, up in zip(drawn_names(found["column"].values, 18), angles, x, y, strict=True):
        side = "center" if abs(right) < 0.3 and not turned else "left" if right >= 0 else "right"
        degrees = np.degrees(at) + 180 * (right < 0)
        ax.annotate(
            name,
            (right, up),
            (6 * right, 6 * up),
            textcoords="offset points",
            ha=side,
            va="center" if turned or side != "center" else "bottom" if up > 0 else "top",
            rotation=degrees if turned else 0,
            rotation_mode="anchor",
            fontsize="small" if n_columns <= 30 else 6,
        )
    reach = 1.5 if turned else 1.25
    ax.set(xlim=(-1.5, 1.5), ylim=(-reach, reach))
    ax.set_axis_off()
    if label is not None:
        ax.set_title(drawn_name(label))
    return ax
