"""Data and fitted densities in every class, a panel for every column."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.data.columns import missing
from bayesppl.data.levels import factorize
from bayesppl.data.rows import Rows
from bayesppl.kernels.arrays import Array
from bayesppl.plots.densities import as_read, bin_edges, density_along, require_densities
from bayesppl.plots.style import (
    beside_values,
    colour,
    drawn_names,
    given_cells,
    in_legend,
    line_style,
    name_axes,
    rows_of,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesppl.estimators.classifier import BayesClassifier
    from bayesppl.model.rules import RuleName

# Panels and their contents in the picture of all columns.
_PANELS_PER_ROW, _LABELS_PER_LINE, _POINTS, _BINS, _MOST_LEVELS = 3, 4, 400, 30, 12

# Positive numbers that reach beyond this many medians are shown on a logarithmic axis
_LONG_TAIL = 20


def plot_columns(clf: BayesClassifier, X: Any, y: Any, *, rule: RuleName | None = None) -> Figure:
    """Draw data and fitted density of every column, one panel each.

    Parameters
    ----------
    clf : BayesClassifier
        Whose columns may be missing one by one, such as :class:`~bayesppl.MixedNB`: the density of a column is
        that of a row which holds nothing else.
    X : table or (n_rows, n_features) array-like
    y : (n_rows,) array-like
        Rows to show: as histograms, or as relative frequencies of levels (of the most frequent ones) and of counts
        that range over a dozen at most. Bins that a family cuts numbers into are named by their middle value.
    rule : optional
        Of the lines, as for ``predict_proba``.

    Returns
    -------
    matplotlib.figure.Figure
        Where a density has a probability of zero, it is written above the panel for every class, and the curves
        hold the rest. Positive measurements with a long tail have a logarithmic axis, and densities of their
        logarithm; lines and bars of counts of a wide range are averages over the counts of a bin.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_columns
    >>> X, y = [[0.0, 3], [1.0, 0], [4.0, 2], [5.5, 9]], ["a", "a", "b", "b"]
    >>> figure = plot_columns(bp.GaussianNB().fit(X, y), X, y)
    >>> [panel.get_xlabel() for panel in figure.axes]
    ['x0', 'x1']
    """
    import matplotlib.pyplot as plt

    table = rows_of(clf, X)
    codes = Rows.read(X, y, classes=clf.classes_).codes
    measures = clf.fitted_.model.family.bound.measures
    names = [name for name in table.names if name in measures]
    require_densities(clf.fitted_.model.family, names)
    n_rows = -(-len(names) // _PANELS_PER_ROW)
    n_lines = -(-len(clf.classes_) // _LABELS_PER_LINE)
    size = (3.6 * _PANELS_PER_ROW, 2.7 * n_rows + 0.25 * n_lines)
    figure, panels = plt.subplots(n_rows, min(_PANELS_PER_ROW, len(names)), figsize=size, squeeze=False)
    read, others = as_read(clf, table), dict.fromkeys(table.names) | given_cells(clf, table)
    for name, ax in zip(names, panels.flat, strict=False):
        density = partial(density_along, clf, others, name, rule)
        if measures[name] == "mass" and not _are_spread(read[name]):
            _draw_levels(clf, name, table.column(name), read[name], density, codes, ax)
        else:
            _draw_density(clf, measures[name], np.asarray(read[name], dtype=float), density, codes, ax)
        name_axes(ax, name)
        tidy(ax)
    for ax in panels.flat[len(names) :]:
        ax.remove()
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, drawn_names(labels), loc="outside upper right", ncols=_LABELS_PER_LINE)
    figure.set_layout_engine("constrained")
    return figure


def _are_spread(values: Array) -> bool:
    """Whether these are counts, neither levels nor bins, of a wide range."""
    if values.dtype.kind not in "fiu":
        return False
    shown = values[~np.isnan(values)]
    return len(shown) > 0 and bool(np.ptp(shown) > _MOST_LEVELS)


def _draw_density(
    clf: BayesClassifier,
    measure: str,
    values: Array,
    density_of: Callable[[Array], Array],
    codes: Array,
    ax: Axes,
) -> None:
    has_atom = measure not in ("density", "mass")
    shown = values[~np.isnan(values) & ~(has_atom & (values == 0))]
    low, high = (shown.min(), shown.max()) if len(shown) else (0.0, 1.0)
    if measure == "mass":
        step = np.ceil((high - low + 1) / _BINS)
        position = edges = np.arange(low - 0.5, high + step, step)
        counts = edges[:-1, None] + 0.5 + np.unique(np.linspace(0, step - 1, min(int(step), _POINTS)).round())
        # lines are averages over the counts of a bin, as the bars are
        grid, density = counts.mean(1), density_of(counts.ravel()).reshape(*counts.shape, -1).mean(1)
    elif low > 0 and high > _LONG_TAIL * np.median(shown):
        grid = beside_values(np.geomspace(low, high, _POINTS + 1), shown)
        edges = np.geomspace(low, high, _BINS + 1)
        ax.set_xscale("log")
        ax.set_ylabel("density per decade", fontsize="small")
        position, density = np.log10(edges), density_of(grid) * np.log(10) * grid[:, None]
    else:
        grid = np.linspace(low, high, _POINTS + 1) if high > low else low + np.linspace(-0.5, 0.5, _POINTS + 1)
        grid = beside_values(grid[grid != 0] if has_atom else grid, shown)
        position = edges = bin_edges(shown, _BINS)
        density = density_of(grid)
    for k, label in enumerate(clf.classes_.tolist()):
        own = values[(codes == k) & ~np.isnan(values)]
        if len(own):
            heights = np.histogram(own[~(has_atom & (own == 0))], edges)[0] / (len(own) * np.diff(position))
            ax.stairs(heights, edges, fill=True, color=colour(k), alpha=0.25)
        ax.plot(grid, density[:, k], color=colour(k), linestyle=line_style(k), label=in_legend(label))
    ax.set_ylim(0, None)
    if has_atom:
        zero = density_of(np.zeros(1))[0]
        ax.set_title("zero: " + ", ".join(f"{p:.2f}" for p in zero), fontsize="small")


def _draw_levels(
    clf: BayesClassifier,
    name: Hashable,
    cells: Array,
    read: Array,
    density_of: Callable[[Array], Array],
    codes: Array,
    ax: Axes,
) -> None:
    known = clf.fitted_.model.family.bound.levels_of_columns.get(name)
    is_number = cells.dtype.kind in "fiu" and known is None  # and may be cut into bins
    if missing(cells).all():
        levels, places = list(known or ()), np.full(len(cells), -1)
    else:
        levels, places = factorize(np.asarray(read, dtype=float) if is_number else cells, name)
        places[missing(cells)] = -1
    if not levels:
        ax.set_xticks([])
        return
    counts = np.bincount(places[places >= 0], minlength=len(levels))
    most = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])
    mass = density_of(np.asarray([levels[j] for j in most], dtype=object))
    is_new = np.array([known is not None and levels[j] not in known for j in most])
    mass[is_new & (mass == 1).all(1)] = np.nan  # a cell that is skipped
    at, width = np.arange(len(most)), 0.8 / len(clf.classes_)
    for k, label in enumerate(clf.classes_.tolist()):
        own = places[(codes == k) & (places >= 0)]
        share = np.bincount(own, minlength=len(levels))[most] / max(1, len(own))
        middle = at + (k - (len(clf.classes_) - 1) / 2) * width
        ax.bar(middle, share, width, color=colour(k), alpha=0.25)
        ax.plot(middle, mass[:, k], "_", color=colour(k), markersize=9, markeredgewidth=2, label=in_legend(label))
    shown = (f"{level:.4g}" if isinstance(level, float) else level for level in (levels[j] for j in most))
    ax.set_xticks(at, drawn_names(shown, 10), rotation=45, ha="right", fontsize="small")
