"""Data and fitted density in every class of one feature, with what is not known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.parameter_tables import PROB, tails
from bayesppl.data.arguments import generator, whole
from bayesppl.data.rows import Rows
from bayesppl.data.table import MatrixTable
from bayesppl.kernels.arrays import join_chains
from bayesppl.plots.densities import bin_edges, density_along, grid_along, require_densities
from bayesppl.plots.style import (
    Style,
    axes_or_new,
    beside_values,
    colour,
    drawn_names,
    legend_beside,
    line_style,
    name_axes,
    rows_of,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesppl.estimators.classifier import BayesClassifier
    from bayesppl.model.rules import RuleName

_MOST_BINS, _FEW = 30, 4
_FAINT, _HIGHEST = 0.2, 0.95


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
    require_densities(family, table.names)
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
    density = density_along(clf, {}, table.names[0], rule, grid)

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
            shares, edges = np.histogram(own, steps if in_steps else bin_edges(own, n_bins), density=True)
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
