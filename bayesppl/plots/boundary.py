"""Where the decision changes, and how sure we are of where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.uncertainty import probability_draws
from bayesppl.data.arguments import whole
from bayesppl.data.rows import Rows
from bayesppl.data.table import MatrixTable
from bayesppl.kernels.arrays import Array
from bayesppl.model.rules import RuleName
from bayesppl.plots.densities import grid_along
from bayesppl.plots.style import Style, axes_or_new, colour, in_legend, legend_beside, marker, name_axes, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesppl.estimators.classifier import BayesClassifier


def plot_decision_boundary(
    clf: BayesClassifier,
    X: Any,
    y: Any = None,
    *,
    rule: RuleName | None = None,
    draws: int = 40,
    resolution: int = 120,
    random_state: int | None = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the regions of a classifier of two features, its boundary, and boundaries under posterior draws.

    Parameters
    ----------
    clf : BayesClassifier
        Fitted to two features.
    X : table or (n_rows, 2) array-like
        Rows to show; they set the limits of the picture.
    y : (n_rows,) array-like, optional
        Their labels.
    rule : optional
        Rule of the regions and of the thick boundary, as for ``predict_proba``.
    draws : int
        Number of posterior draws of the parameters; each has a thin boundary of its own. 0 draws none.
    resolution : int
        Number of grid points along each axis, or the most of them along an axis of counts.
    random_state : int, optional
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the classifier has another number of features than two.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_decision_boundary
    >>> X, y = [[0, 1], [1, 0], [4, 4], [5, 6.0]], ["a", "a", "b", "b"]
    >>> ax = plot_decision_boundary(bp.GaussianNB().fit(X, y), X, y, resolution=20)
    >>> ax.get_xlabel()
    'x0'
    """
    from matplotlib.colors import to_rgb

    table = rows_of(clf, X)
    whole("draws", draws, 0)
    if len(table.names) != 2:
        raise ValueError(f"a decision boundary is drawn for two features; the classifier has {len(table.names)}")
    known = clf.levels_of_columns()
    levels = [name for name in table.names if any(isinstance(level, str) for level in known.get(name, ()))]
    if levels:
        raise ValueError(
            f"a decision boundary is drawn along numbers, and column {levels[0]!r} holds levels; plot_columns "
            "draws them"
        )
    points = np.asarray(table.numeric(), dtype=float)
    ax = axes_or_new(ax)
    across, up = (grid_along(clf, points, column, 0.08, resolution) for column in (0, 1))
    grid = MatrixTable(table.names, np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2))
    probabilities = clf.probabilities(grid, rule)
    ink = np.array([to_rgb(colour(k)) for k in range(probabilities.shape[1])])
    shade = 1 - 0.45 * (1 - probabilities @ ink)  # pale, in proportion to the probabilities
    extent = (*_ends(across), *_ends(up))
    ax.imshow(shade.reshape(len(up), len(across), 3), origin="lower", extent=extent, aspect="auto", zorder=0)
    if draws:
        blocks = list(probability_draws(clf.fitted_, grid, max(draws, 2), random_state, np.asarray))
        for drawn in np.concatenate(blocks, axis=1)[:draws]:
            _boundary(ax, across, up, drawn, color="0.35", linewidths=0.5, alpha=0.35)
    _boundary(ax, across, up, probabilities, color="black", linewidths=1.8)
    if y is None:
        ax.plot(*points.T, ".", color="0.2", markersize=4)
    else:
        codes = Rows.read(X, y, classes=clf.classes_).codes
        style: Style = {"markeredgecolor": "0.15", "markeredgewidth": 0.5, "markersize": 5}
        for k, label in enumerate(clf.classes_.tolist()):
            ax.plot(*points[codes == k].T, marker(k), color=colour(k), label=in_legend(label), **style)
        legend_beside(ax)
    ax.set(xlim=extent[:2], ylim=extent[2:])
    name_axes(ax, *table.names)
    return ax


def _ends(points: Array) -> tuple[float, float]:
    """Return the ends of an axis, half a step beyond its points."""
    half = (points[1] - points[0]) / 2 if len(points) > 1 else 0.5
    return points[0] - half, points[-1] + half


def _boundary(ax: Axes, across: Array, up: Array, probabilities: Array, *, color: str, **style: Any) -> None:
    """Draw where a class is as probable as the best of the others, for every class but the last."""
    from contourpy import contour_generator
    from matplotlib.collections import LineCollection

    n_classes, lines = probabilities.shape[1], list[Any]()
    if n_classes < 2:
        return
    second, first = np.partition(probabilities, -2, axis=1)[:, -2:].T
    for k in range(n_classes if n_classes > 2 else 1):
        own = probabilities[:, k]
        margin = own - np.where(own == first, second, first)
        if margin.min() < 0 < margin.max() and min(len(across), len(up)) > 1:
            lines += contour_generator(across, up, margin.reshape(len(up), len(across))).lines(0.0)
    ax.add_collection(LineCollection(lines, colors=color, **style), autolim=False)
