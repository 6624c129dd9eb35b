"""Estimates of parameters side by side, and what the data added to the prior."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesppl.answers.intervals import PROB
from bayesppl.answers.parameters import parameter_summary
from bayesppl.errors import ImproperError
from bayesppl.evaluation.comparison import Comparison
from bayesppl.kernels.arrays import Array
from bayesppl.plots.style import (
    RULE_STYLE,
    axes_or_new,
    colour,
    legend_beside,
    name_axes,
    name_rows,
    short_names,
    tidy,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.estimators.classifier import BayesClassifier


def plot_estimates(
    source: BayesClassifier | Comparison,
    parameter: str,
    *,
    prob: float = PROB,
    draws: int = 4000,
    random_state: int | None = 0,
    ax: Axes | None = None,
    **selection: Hashable | Sequence[Hashable],
) -> Axes:
    """Maximum likelihood, MAP and posterior mean of a parameter beside its credible interval.

    Parameters
    ----------
    source : BayesClassifier or Comparison
        A comparison brings its intervals with it; the next three are then not used.
    parameter : str
        Such as ``"mean"`` or ``"probability"``.
    prob, draws, random_state
        Of the equal-tailed intervals, as for :func:`bayesppl.compare`.
    ax : matplotlib.axes.Axes, optional
    **selection
        Labels to keep, by dimension, such as ``feature="alcohol"``. (For the dimension "class", ``**{"class": …}``.)

    Returns
    -------
    matplotlib.axes.Axes
        A line per entry of the parameter, a pair of features once; an estimate that does not exist is left out. Labels that
        were selected are the title.

    Raises
    ------
    ValueError
        If there is no such parameter.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_estimates
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], ["a", "a", "b", "b"])
    >>> [text.get_text() for text in plot_estimates(clf, "mean").get_yticklabels()]
    ['a, x0', 'b, x0']
    """
    if isinstance(source, Comparison):
        table = source.parameters
    else:
        table = parameter_summary(source.fitted_, draws, prob, random_state)
    _require(parameter, table.data_vars)
    values = table[parameter].sel(selection)
    dims = [str(dim) for dim in values.dims if dim != "estimate"]
    once = _once(values, dims)
    names = [name for name, kept in zip(_entries(values, dims), once, strict=True) if kept]
    shown = values.transpose("estimate", *dims)
    at = np.arange(len(names))
    ax = axes_or_new(ax, height=1.2 + 0.28 * len(names))
    lower, upper = (shown.sel(estimate=bound).values.ravel()[once] for bound in ("lower", "upper"))
    ax.hlines(at, lower, upper, color=colour(4), linewidth=5, label=f"{table.attrs['prob']:.0%} interval")
    for k, (rule, style) in enumerate(RULE_STYLE.items()):
        estimate = shown.sel(estimate=rule).values.ravel()[once]
        if not np.isnan(estimate).all():
            ax.plot(estimate, at + 0.12 * (k - 1), linestyle="none", markersize=6, label=rule, **style)
    name_rows(ax, names)
    name_axes(ax, parameter.replace("_", " "))
    fixed = [str(label) for label in selection.values() if np.ndim(label) == 0]  # type: ignore[arg-type]
    if fixed:
        ax.set_title(", ".join(short_names(fixed)))
    legend_beside(ax)
    return tidy(ax)


def _once(values: xr.DataArray, dims: Sequence[str]) -> Array:
    """Which entries, in order, are not the mirror image of an earlier one."""
    kept = np.ones([values.sizes[dim] for dim in dims], dtype=bool)
    for other in (dim for dim in dims if dim.endswith("other_feature")):
        pair = dims.index(other.replace("other_feature", "feature")), dims.index(other)
        if values.sizes[dims[pair[0]]] == values.sizes[other]:
            i, j = (np.indices(kept.shape)[axis] for axis in pair)
            kept &= i <= j
    return kept.ravel()


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

    ``arviz.plot_prior_posterior(clf.to_datatree(groups=["prior", "posterior"]))`` draws all entries at once.

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
    ValueError
        If there is no such parameter, or the selection leaves more than one entry of it.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_prior_posterior
    >>> clf = bp.BernoulliNB().fit([[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> plot_prior_posterior(clf, "probability", feature="x0", **{"class": "a"}).get_xlabel()
    'probability of a, x0'
    """
    dims = clf.posterior_.model.dims
    _require(parameter, dims)
    open_dims = [dim for dim in dims[parameter] if dim not in selection]
    if open_dims:
        raise ValueError(f"choose one label of {', '.join(map(repr, open_dims))}; one entry is drawn at a time")
    if not clf.posterior_.prior.is_proper().all():
        raise ImproperError("an improper prior has no density to draw; fit with a proper one")
    tree = clf.to_datatree(draws, 1, random_state, ("prior", "posterior"))
    prior, posterior = (
        tree[group].dataset[parameter].sel(selection).values.ravel() for group in ("prior", "posterior")
    )

    ax = axes_or_new(ax)
    low, high = np.quantile(posterior, [0.001, 0.999])
    reach = 1.5 * (high - low)
    inside = prior[(prior >= low - reach) & (prior <= high + reach)]
    bins = np.linspace(min([low, *inside]), max([high, *inside]), 61)
    for name, values, k in (("prior", prior, 1), ("posterior", posterior, 0)):
        weight = np.full(len(values), 1 / (len(values) * (bins[1] - bins[0])))
        ax.hist(
            values, bins.tolist(), weights=weight, histtype="stepfilled", alpha=0.55, color=colour(k), label=name
        )
    entry = ", ".join(str(selection[dim]) for dim in dims[parameter])
    name_axes(ax, f"{parameter.replace('_', ' ')} of {entry}", "density")
    legend_beside(ax)
    return tidy(ax)


def _require(parameter: str, known: Iterable[Hashable]) -> None:
    names = list(map(str, known))
    if parameter not in names:
        raise ValueError(f"no parameter is called {parameter!r}; there are {', '.join(names)}")


def _entries(values: xr.DataArray, dims: Sequence[str]) -> list[str]:
    """Names of all entries, in the order of the dims."""
    labels = [short_names(values[dim].values, 30 // len(dims)) for dim in dims]
    return [
        ", ".join(axis[i] for axis, i in zip(labels, index, strict=True))
        for index in np.ndindex(*(len(axis) for axis in labels))
    ]
