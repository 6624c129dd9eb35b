"""Class-conditional densities of one feature, with what is not known about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.data import MatrixTable
from bayesppl.labels import encode_labels
from bayesppl.plots.style import axes_or_new, colour, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesppl.classifier import BayesClassifier


def plot_class_densities(
    clf: BayesClassifier,
    X: Any,
    y: Any,
    *,
    prob: float = 0.94,
    draws: int = 500,
    resolution: int = 300,
    random_state: int | None = 0,
    ax: Axes | None = None,
) -> Axes:
    """Data, predictive density and credible band of the density, for a classifier of one numeric feature.

    Parameters
    ----------
    clf : BayesClassifier
        Fitted to one continuous feature.
    X, y
        Rows to show as histograms.
    prob : float
        Probability of the band, at each point.
    draws, random_state
        Of the posterior.
    resolution : int
        Number of points along the axis.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        The line is the predictive p(x | y, data); the band holds p(x | y, θ).

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
    table = clf._aligned(X)
    if len(table.names) != 1:
        raise ValueError(
            f"class densities are drawn for one feature; the classifier has {len(table.names)}. Fit one to the column"
        )
    values = np.asarray(table.numeric(), dtype=float)[:, 0]
    classes = clf.classes_.tolist()
    _, codes = encode_labels(y, classes)
    low, high = np.nanmin(values), np.nanmax(values)
    margin = 0.15 * (high - low)
    grid = np.linspace(low - margin, high + margin, resolution)
    posterior = clf.posterior_
    family = posterior.model.family
    rows = family.encode(MatrixTable(table.names, grid[:, None]))
    theta = posterior.draws(1, draws, np.random.default_rng(random_state))
    flat = {name: drawn.reshape(-1, *drawn.shape[2:]) for name, drawn in theta.items()}
    drawn = np.exp(family.log_likelihood(flat, rows))
    lower, upper = np.quantile(drawn, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    predictive = np.exp(clf.predict_joint_log_proba(MatrixTable(table.names, grid[:, None]), "predictive"))
    predictive /= posterior.predictive_weights()

    ax = axes_or_new(ax)
    bins = np.histogram_bin_edges(values[~np.isnan(values)], bins=30)
    for k, label in enumerate(classes):
        ax.hist(values[codes == k], bins.tolist(), density=True, color=colour(k), alpha=0.25)
        ax.fill_between(grid, lower[:, k], upper[:, k], color=colour(k), alpha=0.35, linewidth=0)
        ax.plot(
            grid,
            predictive[:, k],
            color=colour(k),
            linewidth=1.8,
            linestyle=("-", "--", "-.", ":")[k % 4],
            label=str(label),
        )
    ax.set(xlabel=str(table.names[0]), ylabel="density in the class", xlim=(grid[0], grid[-1]), ylim=(0, None))
    ax.legend(frameon=False)
    return tidy(ax)
