"""Class probabilities under every rule, row by row."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.evaluation.comparison import Comparison, compare
from bayesppl.kernels.arrays import Array
from bayesppl.model.rules import REFERENCE
from bayesppl.plots.style import bar_style, drawn_names, result_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesppl.estimators.classifier import BayesClassifier


def plot_probabilities(
    probabilities: xr.DataArray | Comparison | BayesClassifier,
    *arguments: Any,
    most_rows: int = 20,
    undefined: Mapping[str, str] | None = None,
    **options: Any,
) -> Figure:
    """Class probabilities under every rule, side by side, for the rows on which the rules differ most.

    Parameters
    ----------
    probabilities : bayesppl.Comparison, xarray.DataArray or BayesClassifier
        What :func:`bayesppl.compare` returns, or its ``probabilities`` (rule, row, class) with the true labels as
        the coordinate ``label``; or, with what follows, all that :func:`bayesppl.compare` is called with.
    most_rows : int
        Number of rows shown: those with the largest total variation distance between ``predictive`` and another
        rule, in the order of their labels.
    undefined : mapping of str to str
        Why a rule has no probabilities, written into its panel; by default that of the comparison.

    Returns
    -------
    matplotlib.figure.Figure
        One bar per row, divided among the classes; a cross marks a wrong decision.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_probabilities
    >>> X, y = load("wine")
    >>> figure = plot_probabilities(bp.GaussianNB(), X[::9], y[::9], X[1::9], y[1::9], random_state=0)
    >>> [panel.get_title() for panel in figure.axes]
    ['mle', 'map', 'mean', 'predictive']
    """
    import xarray as xr
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch

    if isinstance(probabilities, xr.DataArray):
        found = probabilities
    else:
        comparison = result_of(compare, Comparison, probabilities, arguments, options)
        undefined = comparison.undefined if undefined is None else undefined
        found = comparison.probabilities
    undefined = undefined or {}
    classes = found["class"].values.tolist()
    rules = found["rule"].values.tolist()
    shown = _rows_that_differ(found, most_rows)
    n_shown = shown.sizes["row"]
    bar_height = 0.21
    size = (2.6 + 2.2 * len(rules), 1.9 + bar_height * max(n_shown, 6))
    figure, grid = plt.subplots(1, len(rules), sharey=True, squeeze=False, figsize=size, layout="constrained")
    panels = grid[0]
    for rule, panel in zip(rules, panels, strict=True):
        panel.set_title(rule)
        _draw_bars(panel, shown.sel(rule=rule), classes, undefined.get(rule))
    labels = drawn_names(shown["label"].values)
    names = [f"{label}, row {row}" for label, row in zip(labels, shown["row"].values, strict=True)]
    panels[0].set_yticks(range(n_shown), names)
    panels[0].set_ylim(n_shown - 0.5, -0.5)
    figure.supylabel("true label of a held-out row", fontsize="medium")
    figure.supxlabel("probability of each class", fontsize="medium")
    figure.suptitle(
        f"The {n_shown} of {found.sizes['row']} held-out rows on which the rules differ most  (× wrong class)"
    )
    keys = [Patch(label=label, **bar_style(k)) for k, label in enumerate(drawn_names(classes))]
    figure.legend(handles=keys, title="class", loc="outside right upper", frameon=False)
    return figure


def _rows_that_differ(probabilities: xr.DataArray, most: int) -> xr.DataArray:
    """The rows with the largest distance from the reference rule, grouped by label."""
    away = abs(probabilities - probabilities.sel(rule=REFERENCE))
    distance = 0.5 * away.sum("class").max("rule").values
    chosen = np.sort(np.argsort(-distance, kind="stable")[:most])
    shown = probabilities.isel(row=chosen)
    position = {label: k for k, label in enumerate(probabilities["class"].values.tolist())}
    codes = [position[label] for label in shown["label"].values.tolist()]
    return shown.isel(row=np.argsort(codes, kind="stable"))


def _draw_bars(panel: Axes, shown: xr.DataArray, classes: list[Any], reason: str | None) -> None:
    values: Array = shown.values
    panel.set_xlim(0, 1.08)
    panel.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    panel.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)
    if np.isnan(values).any():
        text = textwrap.fill(f"undefined: {reason}" if reason else "undefined", 26)
        panel.text(0.5, 0.97, text, transform=panel.transAxes, ha="center", va="top", fontsize=8)
        return
    left = np.zeros(len(values))
    for k in range(len(classes)):
        panel.barh(range(len(values)), values[:, k], left=left, height=0.82, **bar_style(k))
        left += values[:, k]
    wrong = np.asarray(classes)[values.argmax(1)] != shown["label"].values
    # clipped, for an artist without points that is not clipped makes the layout collapse
    panel.plot(np.full(wrong.sum(), 1.045), np.flatnonzero(wrong), "x", color="black", markersize=5)
