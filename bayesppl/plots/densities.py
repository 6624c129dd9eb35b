"""Class-conditional densities of one feature, with what is not known about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.parameters import PROB, tails
from bayesppl.data.labels import codes_among
from bayesppl.data.table import MatrixTable
from bayesppl.kernels.arrays import Array
from bayesppl.plots.style import (
    Style,
    axes_or_new,
    colour,
    drawn_names,
    legend_beside,
    line_style,
    name_axes,
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
    """Data, density and credible band of the density, for a classifier of one numeric feature.

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
        The line of the default rule is the predictive p(x | y, data); the band holds p(x | y, θ). Of more than four classes each
        has a line of its own, scaled to the peak of its density.

    Raises
    ------
    ValueError
        If the classifier has more than one feature.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_class_densities
    >>> X, y = [[0.0], [1.0], [4.0], [5.5]], ["a", "a", "b", "b"]
    >>> plot_class_densities(bp.GaussianNB().fit(X, y), X, y).get_xlabel()
    'x0'
    """
    table = clf.fitted_.columns.align(X)
    if len(table.names) != 1:
        raise ValueError(
            f"class densities are drawn for one feature; the classifier has {len(table.names)}. Fit one to the column"
        )
    bounds = tails(prob)
    posterior = clf.posterior_
    family = posterior.model.family
    is_mass = family.bound.measures[table.names[0]] == "mass"
    values = np.asarray(table.numeric(), dtype=float)[:, 0]
    codes = codes_among(y, clf.classes_)
    grid = _grid(values, resolution, is_mass)
    rows = MatrixTable(table.names, grid[:, None])
    theta = posterior.draws(1, draws, np.random.default_rng(random_state))
    flat = {name: drawn.reshape(-1, *drawn.shape[2:]) for name, drawn in theta.items()}
    drawn = np.exp(family.log_likelihood(flat)(family.bound.encode(rows)))
    lower, upper = np.quantile(drawn, bounds, axis=0)
    log_joint = clf.predict_joint_log_proba(rows, rule)
    weights = posterior.scorer(clf.rule if rule is None else rule).class_weights
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.exp(log_joint - np.log(weights))

    n_classes = len(clf.classes_)
    is_crowded = n_classes > _FEW
    ax = axes_or_new(ax, height=1.2 + 0.45 * n_classes) if is_crowded else axes_or_new(ax)
    steps = np.append(grid, grid[-1] + 1) - 0.5
    band: Style = {"step": "mid"} if is_mass else {}
    shape: Style = {"drawstyle": "steps-mid"} if is_mass else {}
    for k, label in enumerate(clf.classes_.tolist()):
        scale = 0.8 / max(float(density[:, k].max()), np.finfo(float).tiny) if is_crowded else 1.0
        base = float(n_classes - 1 - k) if is_crowded else 0.0

        def height(numbers: Array, base: float = base, scale: float = scale) -> Array:
            high = scale * numbers
            return base + (np.minimum(high, _HIGHEST) if is_crowded else high)

        own = _present(values[codes == k])
        if len(own):
            # bins of all rows together would be too wide for each class, and a correct fit would look wrong
            shares, edges = np.histogram(own, steps if is_mass else _edges(own), density=True)
            ax.stairs(height(shares), edges, baseline=base, fill=True, color=colour(k), alpha=_FAINT)
        ax.fill_between(
            grid,
            height(lower[:, k]),
            height(upper[:, k]),
            color=colour(k),
            alpha=1.75 * _FAINT,
            linewidth=0,
            **band,
        )
        style: Style = {"color": colour(k), "linewidth": 1.8, "linestyle": line_style(k), "label": str(label)}
        ax.plot(grid, height(density[:, k]), **style, **shape)
    what = "probability" if is_mass else "density"
    ends = steps if is_mass else grid
    ax.set(xlim=(ends[0], ends[-1]), ylim=(0, n_classes) if is_crowded else (0, None))
    if is_crowded:
        ax.set_yticks(range(n_classes)[::-1], drawn_names(clf.classes_.tolist()))
        name_axes(ax, table.names[0], f"class, and the {what} in it")
        return tidy(ax)
    name_axes(ax, table.names[0], f"{what} in the class")
    legend_beside(ax)
    return tidy(ax)


def _present(values: Array) -> Array:
    return values[~np.isnan(values)]


def _edges(values: Array) -> Array:
    edges = np.histogram_bin_edges(values, "auto")
    return edges if len(edges) <= _MOST_BINS + 1 else np.histogram_bin_edges(values, _MOST_BINS)


def _grid(values: Array, resolution: int, is_mass: bool) -> Array:
    low, high = np.nanmin(values), np.nanmax(values)
    if is_mass:
        return np.arange(low, high + 1)
    margin = 0.15 * (high - low) if high > low else 1.0
    return np.linspace(low - margin, high + margin, resolution)
