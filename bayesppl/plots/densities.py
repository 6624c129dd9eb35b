"""Data and fitted densities in every class: of one feature with what is not known of it, or of every column."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.parameter_tables import PROB, tails
from bayesppl.data.arguments import generator, whole
from bayesppl.data.columns import missing
from bayesppl.data.levels import factorize
from bayesppl.data.rows import Rows
from bayesppl.data.table import MatrixTable, Table
from bayesppl.errors import ImpossibleCellWarning
from bayesppl.families import Family
from bayesppl.families.bound import GIVEN_TOTAL
from bayesppl.kernels.arrays import Array, join_chains, logarithm
from bayesppl.plots.style import (
    Style,
    axes_or_new,
    beside_values,
    colour,
    drawn_names,
    given_cells,
    in_legend,
    legend_beside,
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

_MOST_BINS, _FEW = 30, 4
_FAINT, _HIGHEST = 0.2, 0.95

# Panels and their contents in the picture of all columns.
_PANELS_PER_ROW, _LABELS_PER_LINE, _POINTS, _BINS, _MOST_LEVELS = 3, 4, 400, 30, 12

# Positive numbers that reach beyond this many medians are shown on a logarithmic axis
_LONG_TAIL = 20


def plot_class_densities(
    clf: BayesClassifier,
    X: Any,
    y: Any,
    *,
    rule: RuleName | None = None,
    prob: float = PROB,
    draws: int = 500,
    resolution: int = 300,
    random_state: int | None = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw data, density and its credible band, for a classifier of one numeric feature.

    Parameters
    ----------
    clf : BayesClassifier
        Fitted to one feature: continuous, or counts.
    X : table or (n_rows, 1) array-like
    y : (n_rows,) array-like
        Rows to show as histograms.
    rule : optional
        Of the line, as for ``predict_proba``.
    prob : float
        Probability of the band, at each point.
    draws, random_state
        Of the posterior.
    resolution : int
        Number of points along the axis of a continuous feature.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        The line of the default rule is the predictive p(x | y, data); the band holds p(x | y, θ). Of more than
        four classes each has a line of its own, scaled to the peak of its density.

    Raises
    ------
    ValueError
        If the classifier has more than one feature, or the feature a probability of zero beside its density.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_class_densities
    >>> X, y = [[0.0], [1.0], [4.0], [5.5]], ["a", "a", "b", "b"]
    >>> plot_class_densities(bp.GaussianNB().fit(X, y), X, y).get_xlabel()
    'x0'
    """
    table = rows_of(clf, X)
    if len(table.names) != 1:
        raise ValueError(
            f"class densities are drawn for one feature; the classifier has {len(table.names)}. Fit one to this "
            "column alone"
        )
    bounds, rng = tails(prob), generator(random_state)
    whole("draws", draws, 1)
    posterior = clf.posterior_
    family = posterior.model.family
    measure = family.bound.measures[table.names[0]]
    is_mass = measure == "mass"
    _require_densities(family, table.names)
    if not is_mass and measure != "density":
        raise ValueError(
            f"column {table.names[0]!r} has a probability of zero beside its density; plot_columns draws both"
        )
    of_levels = ValueError(
        f"column {table.names[0]!r} holds levels or bins, which have probabilities and no density; plot_columns "
        "draws them"
    )
    if table.names[0] in family.bound.levels_of_columns:
        raise of_levels
    values = np.asarray(table.numeric(), dtype=float)[:, 0]
    codes = Rows.read(X, y, classes=clf.classes_).codes
    if is_mass and (values % 1 > 0).any():
        raise of_levels
    grid = grid_along(clf, values[:, None], 0, 0.15, resolution)
    grid = grid if is_mass else beside_values(grid, values)
    rows = MatrixTable(table.names, grid[:, None])
    theta = join_chains(posterior.draws(1, draws, rng))
    drawn = np.exp(family.log_likelihood(theta)(family.bound.encode(rows)))
    density = _density(clf, {}, table.names[0], rule, grid)

    names = clf.classes_.tolist()
    # each of many classes stands on a line of its own, as high as its density reaches
    is_crowded = len(names) > _FEW
    ax = axes_or_new(ax, height=1.2 + 0.45 * len(names) if is_crowded else 4.0)
    base = np.arange(len(names))[::-1] if is_crowded else np.zeros(len(names))
    scale = 0.8 / np.maximum(density.max(0), np.finfo(float).tiny) if is_crowded else np.ones(len(names))
    highest = _HIGHEST if is_crowded else np.inf
    curves = np.stack([*np.quantile(drawn, bounds, axis=0), density])
    lower, upper, middle = base + np.minimum(scale * curves, highest)
    # bins are laid about each count, unless there are too many
    in_steps = is_mass and bool((np.diff(grid) == 1).all())
    steps = np.append(grid, grid[-1] + 1) - 0.5
    for k, label in enumerate(names):
        own = values[(codes == k) & ~np.isnan(values)]
        if len(own):
            # bins of all rows together would be too wide for each class, and a correct fit would look wrong
            n_bins = min(_MOST_BINS, len(np.histogram_bin_edges(own, "auto")) - 1)
            shares, edges = np.histogram(own, steps if in_steps else _edges(own, n_bins), density=True)
            heights = base[k] + np.minimum(scale[k] * shares, highest)
            ax.stairs(heights, edges, baseline=base[k], fill=True, color=colour(k), alpha=_FAINT)
        band: Style = {"color": colour(k), "alpha": 1.75 * _FAINT, "linewidth": 0}
        ax.fill_between(grid, lower[:, k], upper[:, k], step="mid" if in_steps else None, **band)
        style: Style = {"color": colour(k), "linewidth": 1.8, "linestyle": line_style(k), "label": str(label)}
        ax.plot(grid, middle[:, k], drawstyle="steps-mid" if in_steps else "default", **style)
    what = "probability" if is_mass else "density"
    ends = steps if in_steps else grid
    ax.set(xlim=(ends[0], ends[-1]), ylim=(0, len(names)) if is_crowded else (0, None))
    name_axes(ax, table.names[0], f"class, and the {what} in it" if is_crowded else f"{what} in the class")
    if is_crowded:
        ax.set_yticks(range(len(names))[::-1], drawn_names(names))
    else:
        legend_beside(ax)
    return tidy(ax)


def _require_densities(family: Family, names: Sequence[Hashable]) -> None:
    """Refuse columns that have no density by themselves."""
    for name in names:
        if family.bound.measures[name] in GIVEN_TOTAL:
            raise ValueError(
                f"column {name!r} has a probability given the total of its row only, and none by itself; "
                "plot_relevance and plot_explanation draw such columns"
            )
        if family.bound.measures[name] == "mass at limits, density between":
            raise ValueError(
                f"column {name!r} is censored, and has probabilities at its limits beside its density; "
                "plot_explanation draws such columns"
            )
    if family.missing == "refused" and len(names) > 1:
        raise ValueError(
            f"the {family.name} family leaves no column out, so that its columns have no densities by themselves"
        )


def grid_along(clf: BayesClassifier, cells: Array, column: int, margin: float, resolution: int) -> Array:
    """Lay points along the axis of a column: beyond its cells, unless the family models no such numbers.

    Parameters
    ----------
    cells : (n_rows, n_columns)
    column : int
    margin : float
        How far beyond the cells, in parts of their range.
    resolution : int
        Number of points, or the most of them if the column holds counts.
    """
    whole("resolution", resolution, 2)
    bound, names = clf.fitted_.model.family.bound, clf.fitted_.columns.names
    seen = cells[~np.isnan(cells).any(1)]
    low, high = (seen[:, column].min(), seen[:, column].max()) if len(seen) else (0.0, 1.0)
    is_count = bound.measures[names[column]] in ("mass", *GIVEN_TOTAL) and not (seen[:, column] % 1).any()
    if is_count:  # and no measurement that is cut into bins
        return np.arange(low, high + 1, -(-(high + 1 - low) // resolution))
    beyond = margin * (high - low) if high > low else 1.0
    first = seen[:1].copy()
    first[:, column] = low - beyond
    try:
        read = _as_read(clf, MatrixTable(names, first))[names[column]]
        is_outside = bool(np.isnan(np.asarray(read, dtype=float)).any())
    except ValueError:
        is_outside = True
    return np.linspace(low if is_outside else low - beyond, high + beyond, resolution)


def _as_read(clf: BayesClassifier, table: Table) -> dict[Hashable, Array]:
    """Return the cells of every column as its family reads them; a number that it skips is NaN."""
    bound = clf.fitted_.model.family.bound
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleCellWarning)  # of which the rows were warned already
        return bound.decode(bound.encode(table))


def plot_columns(clf: BayesClassifier, X: Any, y: Any, *, rule: RuleName | None = None) -> Figure:
    """Draw data and fitted density of every column, one panel each.

    Parameters
    ----------
    clf : BayesClassifier
        Whose columns may be missing one by one, such as :class:`~bayesppl.MixedNB`: the density of a column is
        that of a row which holds nothing else.
    X : table or (n_rows, n_features) array-like
    y : (n_rows,) array-like
        Rows to show: as histograms, or as relative frequencies of levels (of the most frequent ones). Bins that a
        family cuts numbers into are named by their middle value.
    rule : optional
        Of the lines, as for ``predict_proba``.

    Returns
    -------
    matplotlib.figure.Figure
        Where a column has a probability of zero, it is written above the panel for every class, and the curves
        hold the rest. Positive numbers with a long tail have a logarithmic axis, and densities of their logarithm.

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
    _require_densities(clf.fitted_.model.family, names)
    n_rows = -(-len(names) // _PANELS_PER_ROW)
    n_lines = -(-len(clf.classes_) // _LABELS_PER_LINE)
    size = (3.6 * _PANELS_PER_ROW, 2.7 * n_rows + 0.25 * n_lines)
    figure, panels = plt.subplots(n_rows, min(_PANELS_PER_ROW, len(names)), figsize=size, squeeze=False)
    read, others = _as_read(clf, table), dict.fromkeys(table.names) | given_cells(clf, table)
    for name, ax in zip(names, panels.flat, strict=False):
        density = partial(_density, clf, others, name, rule)
        if measures[name] == "mass":
            _draw_levels(clf, name, table.column(name), read[name], density, codes, ax)
        else:
            _draw_density(clf, name, np.asarray(read[name], dtype=float), density, codes, ax)
        name_axes(ax, name)
        tidy(ax)
    for ax in panels.flat[len(names) :]:
        ax.remove()
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, drawn_names(labels), loc="outside upper right", ncols=_LABELS_PER_LINE)
    figure.set_layout_engine("constrained")
    return figure


def _draw_density(
    clf: BayesClassifier,
    name: Hashable,
    values: Array,
    density_of: Callable[[Array], Array],
    codes: Array,
    ax: Axes,
) -> None:
    has_atom = clf.fitted_.model.family.bound.measures[name] != "density"
    shown = values[~np.isnan(values) & ~(has_atom & (values == 0))]
    low, high = (shown.min(), shown.max()) if len(shown) else (0.0, 1.0)
    if low > 0 and high > _LONG_TAIL * np.median(shown):
        grid = beside_values(np.geomspace(low, high, _POINTS + 1), shown)
        edges = np.geomspace(low, high, _BINS + 1)
        ax.set_xscale("log")
        ax.set_ylabel("density per decade", fontsize="small")
        position, per_unit = np.log10(edges), grid * np.log(10)
    else:
        grid = np.linspace(low, high, _POINTS + 1) if high > low else low + np.linspace(-0.5, 0.5, _POINTS + 1)
        grid = beside_values(grid[grid != 0] if has_atom else grid, shown)
        edges = _edges(shown, _BINS)
        position, per_unit = edges, np.ones(len(grid))
    density = density_of(grid) * per_unit[:, None]
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


def _edges(values: Array, n_bins: int) -> Array:
    """Lay bins about numbers; where these are rounded, each holds as many of the values that they can have."""
    distinct = np.unique(values)
    if len(distinct) < 2:
        return np.histogram_bin_edges(values, n_bins)
    step, extent = np.diff(distinct).min(), distinct[-1] - distinct[0]
    width = step * np.ceil(extent / (n_bins * step))
    return np.asarray(distinct[0] - step / 2 + width * np.arange(np.ceil((extent + step / 2) / width) + 1))


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


def _density(
    clf: BayesClassifier, others: Mapping[Hashable, Any], name: Hashable, rule: RuleName | None, values: Array
) -> Array:
    """Compute the density of single values of one column, beside one cell of each other: (n_values, n_classes)."""
    import pandas as pd

    rows = pd.DataFrame({other: [cell] * len(values) for other, cell in others.items()}, dtype=object)
    rows[name] = values if values.dtype != object else pd.Series(values.tolist())
    weights = clf.posterior_.scorer(clf.rule if rule is None else rule).class_weights
    return np.asarray(np.exp(clf.predict_joint_log_proba(rows, rule) - logarithm(weights)))
