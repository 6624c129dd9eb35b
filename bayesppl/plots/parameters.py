"""What the data added to the prior."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from bayesppl.errors import ImproperError
from bayesppl.plots.style import (
    axes_or_new,
    colour,
    legend_beside,
    name_axes,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesppl.estimators.classifier import BayesClassifier


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
        As for :func:`~bayesppl.plots.plot_estimates`.
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
    require_parameter(parameter, dims)
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


def require_parameter(name: str, known: Iterable[Hashable]) -> None:
    """Refuse a parameter that a model does not have."""
    names = list(map(str, known))
    if name not in names:
        raise ValueError(f"no parameter is called {name!r}; there are {', '.join(names)}")
