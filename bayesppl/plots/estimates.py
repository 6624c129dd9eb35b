"""Estimates of parameters side by side, every unit on an axis of its own, and what the data added to the prior."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesppl.analysis.parameter_tables import PROB, parameter_summary
from bayesppl.data.arguments import one_of, several
from bayesppl.data.names import meant, short_names, spelled
from bayesppl.errors import ImproperError
from bayesppl.estimators.shell import require_classifier
from bayesppl.evaluation.comparison import Comparison
from bayesppl.plots.style import (
    LETTERS_PER_INCH,
    RULE_STYLE,
    axes_or_new,
    colour,
    drawn_names,
    inches,
    legend_beside,
    name_axes,
    name_rows,
    tidy,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.estimators.classifier import BayesClassifier
    from bayesppl.estimators.declared import DeclaredClassifier

# Dimensions that a picture draws all of.
_NOT_SELECTED = ("estimate", "chain", "draw")

# Panels of one picture.
_MOST_PANELS = 64

# Inches of a line, of what stands above and below the lines of a panel, and of a panel at least.
_LINE, _AROUND, _NARROWEST = 0.28, 0.55, 1.3


class _Group(NamedTuple):
    """Entries of a parameter that share a unit.

    Attributes
    ----------
    features : tuple of str
        What they belong to: a feature, a pair of features, or nothing where all entries share a unit.
    values : xarray.DataArray
        Along "estimate" and the other dimensions.
    """

    features: tuple[str, ...]
    values: xr.DataArray

    @property
    def lines(self) -> list[str]:
        """Name the entries."""
        dims = [dim for dim in self.values.dims if dim != "estimate"]
        labels = [short_names(self.values[dim].values, 30 // max(1, len(dims))) for dim in dims]
        return [", ".join(place) for place in itertools.product(*labels)]


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
    """Draw maximum likelihood, MAP and posterior mean of a parameter beside its credible interval.

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
        Labels to keep, by dimension, such as ``feature="alcohol"``. (For the dimension "class", ``**{"class":
        …}``.)

    Returns
    -------
    matplotlib.axes.Axes
        A line per entry of the parameter; an estimate that does not exist is left out. Every feature, and every
        pair of features once, has a unit and a panel of its own (``ax.child_axes``); probabilities share one.
        Labels that were selected are the title.

    Raises
    ------
    ValueError
        If there is no such parameter, or there are more than 64 panels.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_estimates
    >>> clf = bp.GaussianNB().fit(*load("iris"))
    >>> panels = plot_estimates(clf, "mean").child_axes
    >>> [panel.get_title() for panel in panels]
    ['sepal length (cm)', 'sepal width (cm)', 'petal length (cm)', 'petal width (cm)']
    """
    if isinstance(source, Comparison):
        table = source.parameters
    else:
        table = parameter_summary(require_classifier(source).fitted_, draws, prob, random_state)
    _require_parameter(parameter, table.data_vars)
    groups = _groups(_selected(table[parameter], selection))
    if len(groups) > _MOST_PANELS:
        raise ValueError(
            f"{parameter} has {len(groups)} entries with units of their own, and a picture has {_MOST_PANELS} "
            f"panels at most; select some, as in feature=[{groups[0].features[0]!r}]"
        )
    name = parameter.replace("_", " ")
    fixed = [str(label) for label in selection.values() if np.ndim(label) == 0]  # type: ignore[arg-type]
    if len(groups) == 1:
        ax = axes_or_new(ax, height=1.2 + _LINE * len(groups[0].lines))
        panels, title = [ax], [*fixed, *groups[0].features]
        name_axes(ax, name)
    else:
        ax, panels = _panels(groups, ax)
        title = [name, *fixed]
    for group, panel in zip(groups, panels, strict=True):
        _draw(group.values, f"{table.attrs['prob']:.0%} interval", panel)
        tidy(panel)
    if len(groups) == 1:
        name_rows(ax, groups[0].lines)
    has_headings = any(panel.get_title() for panel in panels)
    ax.set_title(", ".join(drawn_names(title)), pad=22 if has_headings else None)
    legend_beside(ax, panels[0])
    return ax


def plot_prior_posterior(
    clf: DeclaredClassifier,
    parameter: str,
    *,
    draws: int = 4000,
    random_state: int | None = 0,
    ax: Axes | None = None,
    **selection: Hashable,
) -> Axes:
    """Draw what the data added: prior and posterior density of one entry of a parameter.

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
    if not require_classifier(clf).posterior_.prior.is_proper().all():
        raise ImproperError("an improper prior has no density to draw; fit with a proper one")
    tree = clf.to_datatree(None, draws, 1, random_state, ("prior", "posterior"))
    groups = [tree[group].dataset for group in ("prior", "posterior")]
    _require_parameter(parameter, groups[1].data_vars)
    dims = groups[1][parameter].dims[2:]  # after chain and draw
    open_dims = [dim for dim in dims if np.ndim(selection.get(dim, ()))]  # type: ignore[arg-type]
    if open_dims:
        raise ValueError(f"choose one label of {', '.join(map(repr, open_dims))}; one entry is drawn at a time")
    prior, posterior = (_selected(group[parameter], selection).values.ravel() for group in groups)
    if not np.ptp(posterior):
        raise ValueError(f"{parameter!r} is known to be {posterior[0]:g}, so that there is no density to draw")

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
    entry = ", ".join(str(selection[str(dim)]) for dim in dims)
    name_axes(ax, parameter.replace("_", " ") + (f" of {entry}" if entry else ""), "density")
    legend_beside(ax)
    return tidy(ax)


def _require_parameter(name: str, known: Iterable[Hashable]) -> None:
    """Refuse a parameter that a model does not have."""
    names = list(map(str, known))
    if name not in names:
        raise ValueError(
            f"no parameter is called {spelled(name)}{meant(name, names)}; there are {', '.join(names)}"
        )


def _selected(values: xr.DataArray, selection: Mapping[str, Any]) -> xr.DataArray:
    """Keep the entries of these labels, and refuse dimensions and labels that there are not."""
    for dim, labels in selection.items():
        one_of(f"a dimension of {values.name}", dim, [dim for dim in values.dims if dim not in _NOT_SELECTED])
        several(dim, labels, values[dim].values.tolist())
    return values.sel(selection)


def _groups(values: xr.DataArray) -> list[_Group]:
    """Group the entries: probabilities all together, other parameters by feature; a pair of features once."""
    dims = [str(dim) for dim in values.dims if str(dim).endswith("feature")]
    if not dims or str(values.name).endswith("probability"):
        return [_Group((), values)]
    groups: dict[frozenset[str], _Group] = {}
    for place in np.ndindex(*(values.sizes[dim] for dim in dims)):
        features = tuple(str(values[dim].values[i]) for dim, i in zip(dims, place, strict=True))
        groups.setdefault(frozenset(features), _Group(features, values.isel(dict(zip(dims, place, strict=True)))))
    return list(groups.values())


def _panels(groups: Sequence[_Group], ax: Axes | None) -> tuple[Axes, list[Axes]]:
    """Make axes without lines or ticks, and the panels that stand in them, one for every group.

    Those of a single line are strips, each with its name at the left.
    """
    n, n_lines = len(groups), len(groups[0].lines)
    most = 3 if ax is None else max(1, int(inches(axes_or_new(ax))[0] / _NARROWEST))
    across = 1 if n_lines == 1 else min(most, 2 if n == 4 else 3, n)
    down = -(-n // across)
    frame = axes_or_new(ax, width=3.5 + 2.2 * across, height=0.4 + down * (_AROUND + _LINE * n_lines))
    frame.set_axis_off()
    width, height = inches(frame)[0] / across, inches(frame)[1] / down
    share = max(0.4, 1 - _AROUND / height) / down
    small = min(1.0, height / (_AROUND + 0.1 * n_lines))
    features = list(dict.fromkeys(feature for group in groups for feature in group.features))
    longest = max(6, int(width * LETTERS_PER_INCH) // len(groups[0].features) - 2) if n_lines > 1 else 22
    short = dict(zip(features, drawn_names(features, longest), strict=True))
    panels = []
    for i, group in enumerate(groups):
        row, column = divmod(i, across)
        panel = frame.inset_axes((column / across, 1 - row / down - share, 0.92 / across, share))
        if len(group.lines) == 1:
            panel.set_yticks([0], ["\n× ".join(map(short.__getitem__, group.features))], fontsize="small")
            panel.set_ylim(0.5, -0.5)
        else:
            panel.set_title(" × ".join(map(short.__getitem__, group.features)), fontsize=10 * small, pad=3)
            name_rows(panel, group.lines)
            panel.tick_params(labelleft=column == 0)
        panel.tick_params(axis="x", labelsize=8 * small)
        panel.locator_params(axis="x", nbins=max(1, int(width / 0.5)))
        panels.append(panel)
    return frame, panels


def _draw(values: xr.DataArray, interval: str, ax: Axes) -> None:
    """Draw interval and point estimates of every entry, one below the other."""
    shown = values.transpose("estimate", ...)
    lower, upper = (shown.sel(estimate=bound).values.ravel() for bound in ("lower", "upper"))
    at = np.arange(len(lower))
    ax.hlines(at, lower, upper, color=colour(4), linewidth=5, label=interval)
    for k, (rule, style) in enumerate(RULE_STYLE.items()):
        estimate = shown.sel(estimate=rule).values.ravel()
        if not np.isnan(estimate).all():
            ax.plot(estimate, at + 0.12 * (k - 1), linestyle="none", markersize=6, label=rule, **style)
