"""Estimates of parameters side by side, and what the data added to the prior."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.datatree import dataset
from bayesppl.errors import ImproperError, UndefinedEstimateError
from bayesppl.plots.style import axes_or_new, colour, tidy
from bayesppl.rules import ESTIMATES

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.classifier import BayesClassifier

_MARKERS = {"mle": "x", "map": "v", "mean": "o"}


def plot_estimates(
    clf: BayesClassifier,
    parameter: str,
    *,
    prob: float = 0.94,
    draws: int = 2000,
    random_state: int | None = 0,
    ax: Axes | None = None,
    **selection: Hashable | Sequence[Hashable],
) -> Axes:
    """Maximum likelihood, MAP and posterior mean of a parameter beside its credible interval.

    Parameters
    ----------
    clf : BayesClassifier
    parameter : str
        Such as ``"mean"`` or ``"probability"``.
    prob : float
        Probability of the equal-tailed intervals.
    draws, random_state
        Of the exact posterior.
    ax : matplotlib.axes.Axes, optional
    **selection
        Labels to keep, by dimension, such as ``feature="alcohol"``. (For the dimension "class", ``**{"class": …}``.)

    Returns
    -------
    matplotlib.axes.Axes
        A line per entry of the parameter; an estimate that does not exist is left out.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_estimates
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], ["a", "a", "b", "b"])
    >>> [text.get_text() for text in plot_estimates(clf, "mean").get_yticklabels()]
    ['a, x0', 'b, x0']
    """
    posterior = _draws(clf, parameter, draws, random_state).sel(selection)
    names, values = _entries(posterior)
    lower, upper = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    at = np.arange(len(names))
    ax = axes_or_new(ax, height=1.2 + 0.28 * len(names))
    ax.hlines(at, lower, upper, color=colour(4), linewidth=5, label=f"{prob:.0%} interval")
    for k, rule in enumerate(ESTIMATES):
        try:
            estimate = clf.estimates([rule])[parameter].sel(estimate=rule).sel(selection)
        except UndefinedEstimateError:
            continue
        shown = estimate.values.ravel()
        ax.plot(shown, at + 0.12 * (k - 1), _MARKERS[rule], color=colour((0, 3, 6)[k]), markersize=6, label=rule)
    ax.set_yticks(at, names)
    ax.set(ylim=(len(names) - 0.5, -0.5), xlabel=parameter)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tidy(ax)


def plot_prior_posterior(
    clf: BayesClassifier,
    parameter: str,
    *,
    draws: int = 4000,
    random_state: int | None = 0,
    ax: Axes | None = None,
    **selection: Hashable,
) -> Axes:
    """What the data added: prior and posterior density of one entry of a parameter.

    Parameters
    ----------
    clf, parameter, draws, random_state, ax
        As for :func:`plot_estimates`.
    **selection
        One label for every dimension of the parameter.

    Returns
    -------
    matplotlib.axes.Axes
        Histograms of draws; the horizontal axis is that of the posterior, widened.

    Raises
    ------
    ImproperError
        If the prior is improper, and so has no draws.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_prior_posterior
    >>> clf = bp.BernoulliNB().fit([[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> plot_prior_posterior(clf, "probability", feature="x0", **{"class": "a"}).get_xlabel()
    'probability of a, x0'
    """
    if not clf.posterior_.prior.is_proper().all():
        raise ImproperError("an improper prior has no density to draw; fit with a proper one")
    posterior = _draws(clf, parameter, draws, random_state).sel(selection)
    if posterior.ndim != 1:
        open_dims = [str(dim) for dim in posterior.dims if dim != "draw"]
        raise ValueError(f"choose one label of {', '.join(map(repr, open_dims))}; one entry is drawn at a time")
    theta = clf.posterior_.prior.draw(draws, np.random.default_rng(random_state))
    model = clf.posterior_.model
    prior = dataset(model, {parameter: theta[parameter]}, {"draw": np.arange(draws)})[parameter].sel(selection)

    ax = axes_or_new(ax)
    low, high = np.quantile(posterior, [0.001, 0.999])
    reach = 1.5 * (high - low)
    inside = prior.values[(prior >= low - reach) & (prior <= high + reach)]
    bins = np.linspace(min([low, *inside]), max([high, *inside]), 61)
    for name, values, k in (("prior", prior.values, 3), ("posterior", posterior.values, 0)):
        weight = np.full(len(values), 1 / (len(values) * (bins[1] - bins[0])))
        ax.hist(
            values, bins.tolist(), weights=weight, histtype="stepfilled", alpha=0.55, color=colour(k), label=name
        )
    ax.set(xlabel=f"{parameter} of {', '.join(str(selection[dim]) for dim in model.dims[parameter])}")
    ax.set(ylabel="density")
    ax.legend(frameon=False)
    return tidy(ax)


def _draws(clf: BayesClassifier, parameter: str, draws: int, random_state: int | None) -> xr.DataArray:
    known = clf.posterior_.model.dims
    if parameter not in known:
        raise ValueError(f"no parameter is called {parameter!r}; there are {', '.join(known)}")
    theta = clf.posterior_.draws(1, draws, np.random.default_rng(random_state))[parameter]
    flat = theta.reshape(-1, *theta.shape[2:])
    return dataset(clf.posterior_.model, {parameter: flat}, {"draw": np.arange(len(flat))})[parameter]


def _entries(values: xr.DataArray) -> tuple[list[str], Any]:
    """Names of all entries, and their draws: (n_draws, n_entries)."""
    dims = [dim for dim in values.dims if dim != "draw"]
    shape = [values.sizes[dim] for dim in dims]
    labels = [values[dim].values for dim in dims]
    names = [
        ", ".join(str(axis[i]) for axis, i in zip(labels, index, strict=True)) for index in np.ndindex(*shape)
    ]
    return names, values.transpose("draw", *dims).values.reshape(values.sizes["draw"], -1)
