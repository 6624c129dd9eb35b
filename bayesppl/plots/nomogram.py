"""The nomogram: what every value of every column weighs, the whole model on one page."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit

from bayesppl.data.arguments import one_of
from bayesppl.data.columns import missing
from bayesppl.data.names import spelled
from bayesppl.data.table import MatrixTable, Table
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.kernels.arrays import Array
from bayesppl.plots.evidence_bars import against_each_other, infinity
from bayesppl.plots.style import (
    LETTERS_PER_INCH,
    axes_or_new,
    beside_values,
    colour,
    drawn_name,
    given_cells,
    inches,
    name_axes,
    name_rows,
    rows_of,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesppl.model.rules import RuleName

_POINTS, _MOST_LEVELS = 101, 12

# Inches of a strip, at least and at most, and of all strips where they need not be higher.
_STRIP, _HIGHEST = (0.33, 0.75), 8.0

_PROBABILITIES = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)


def plot_nomogram(
    clf: BayesClassifier,
    X: Any,
    label: Hashable,
    against: Hashable | None = None,
    *,
    rule: RuleName | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the nomogram of a naive Bayes classifier: the weight of evidence of every value of every column.

    Add the weights of the values of a row and read the probability of the class off the lowest line (Možina et al.
    2004). Levels of infinite weight stand at the edge, and are named so. Numbers run upwards within their strip,
    so that a weight that rises and falls again stays readable.

    Parameters
    ----------
    clf : BayesClassifier
        Its columns are independent given the class.
    X : table or (n_rows, n_features) array-like
        Rows that show the range of every column.
    label : label
        The class spoken for.
    against : label, optional
        The class it is compared with; needed where there are more than two.
    rule : optional
        As for ``predict_proba``.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the weight of a column depends on other columns, so that no sum of single weights is the log odds.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_nomogram
    >>> X, y = [[0.0, 3.0], [1.0, 4.0], [4.0, 3.1], [5.5, 3.9]], ["a", "a", "b", "b"]
    >>> ax = plot_nomogram(bp.GaussianNB().fit(X, y), X, "b")
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x0', 'x1', 'probability of b']
    """
    table, classes = rows_of(clf, X), clf.classes_.tolist()
    one_of("label", label, [name for name in classes if name != against])
    if against is None and len(classes) > 2:
        raise ValueError(
            f"against must name the class that {spelled(label)} is compared with, one of "
            f"{[name for name in classes if name != label]}: against several classes together the weight of a "
            "column depends on the others"
        )
    at = [name for name in classes if name != against].index(label)  # of the classes that are explained
    some = clf.explain(table.take(slice(0, 20)), against, rule=rule).isel({"class": at})
    features, prior = some["feature"].values.tolist(), float(some["prior"])
    if not np.isfinite(prior):
        raise ValueError(
            "one of the two classes has the weight zero, so that no row belongs to it: compare others"
        )
    if some.attrs["shares"] != "independent":
        raise ValueError(
            "a nomogram adds up weights of single columns, and here they depend on each other: use clf.explain "
            "for one row, or a naive Bayes classifier, by rule='mean' where its parameters are known by draws"
        )
    given = given_cells(clf, table)
    strips = [_strip(clf, table, given, name, at, against, rule) for name in features]
    strip = float(np.clip(_HIGHEST / (len(features) + 1), *_STRIP))
    ax = axes_or_new(ax, width=7.0, height=1.6 + strip * (len(features) + 1))
    ax.axvline(0, color="0.75", linewidth=0.8, zorder=0)
    ends = logit(np.array([_PROBABILITIES[0], _PROBABILITIES[-1]])) - prior
    reach = np.concatenate([ends, *(weights[np.isfinite(weights)] for _, weights, _ in strips)])
    margin = 0.08 * np.ptp(reach)
    ax.set_xlim(reach.min() - margin, reach.max() + margin)
    edges = reach.min() - margin / 2, reach.max() + margin / 2  # where infinite weights are drawn
    for j, (values, weights, is_number) in enumerate(strips):
        inside = np.clip(weights, *edges)
        if is_number:
            _draw_numbers(ax, j, values, inside)
        else:
            levels = [drawn_name(value) + infinity(w) for value, w in zip(values, weights, strict=True)]
            _draw_levels(ax, j, np.array(levels, dtype=object), inside)
    _draw_probabilities(ax, len(features), prior)
    name_rows(ax, [*features, f"probability of {label}"])
    compared = against_each_other(label, "the other class" if against is None else against, classes)
    name_axes(ax, f"weight of evidence for {compared}, in nats; lowest line: sum of weights")
    return tidy(ax)


def _strip(
    clf: BayesClassifier,
    table: Table,
    given: Mapping[Hashable, Any],
    name: Hashable,
    at: int,
    against: Any,
    rule: Any,
) -> tuple[Array, Array, bool]:
    """Find values of a column, what each of them weighs, and whether they are numbers."""
    column, measure = table.column(name), clf.fitted_.model.family.bound.measures[name]
    is_number = column.dtype.kind in "fiu" and "density" in measure
    present = column[~missing(column)]
    if not len(present):
        raise ValueError(f"column {name!r} of X has no values; give rows that show its range")
    if is_number:
        values = beside_values(np.linspace(present.min(), present.max(), _POINTS), present)
    else:
        values = np.array(sorted(set(present.tolist()), key=lambda value: (str(type(value)), value)), dtype=object)
        if len(values) > _MOST_LEVELS:
            values = values[np.linspace(0, len(values) - 1, _MOST_LEVELS).round().astype(int)]
    nothing = 0 if measure.endswith("mass given the row total") else np.nan  # a word that is not there
    cells = np.full((len(values), len(table.names)), nothing, dtype=object)
    for other, cell in given.items():
        cells[:, table.names.index(other)] = cell
    cells[:, table.names.index(name)] = values
    found = clf.explain(MatrixTable(table.names, cells, is_named=True), against, rule=rule)
    return values, found["weight"].isel({"class": at}).sel(feature=name).values, is_number


def _draw_numbers(ax: Axes, j: int, values: Array, weights: Array) -> None:
    from matplotlib.ticker import MaxNLocator

    low, high = values[0], values[-1]
    height = 0.3 - 0.6 * (values - low) / ((high - low) or 1.0)
    ax.plot(weights, j + height, color=colour(0), linewidth=1.6)
    ticks = [tick for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high] or [low]
    at, y = np.interp(ticks, values, weights), j + np.interp(ticks, values, height)
    ax.plot(at, y, "o", color=colour(0), markersize=3.5)
    for tick, x, place in _apart(ax, ticks, at, y):
        ax.annotate(f"{tick:.4g}", (x, place), (0, 4), textcoords="offset points", fontsize=7, ha="right")


def _apart(
    ax: Axes, labels: Sequence[Any], at: Sequence[float] | Array, *rest: Sequence[float] | Array
) -> Iterator[tuple[Any, ...]]:
    """Yield labels with their places, without those that would stand on the one before."""
    low, high = ax.get_xlim()
    room = (high - low) / inches(ax)[0] / LETTERS_PER_INCH
    last = -np.inf
    for label, x, *more in sorted(zip(labels, at, *rest, strict=True), key=lambda place: place[1]):
        if x - last >= room * max(3, 1 + len(f"{label:.4g}" if isinstance(label, float) else str(label))):
            last = x
            yield label, x, *more


def _draw_levels(ax: Axes, j: int, names: Array, weights: Array) -> None:
    finite = np.isfinite(weights)  # a level that neither class can have weighs nothing
    ax.plot(weights[finite], np.full(finite.sum(), j), "-o", color=colour(0), linewidth=1.2, markersize=4)
    order = np.argsort(weights[finite], kind="stable")
    for side, above in ((order[::2], -6), (order[1::2], 6)):
        for name, x in _apart(ax, names[finite][side].tolist(), weights[finite][side]):
            ax.annotate(
                name,
                (x, j),
                (0, above),
                textcoords="offset points",
                fontsize=7,
                ha="center",
                va="bottom" if above > 0 else "top",
            )


def _draw_probabilities(ax: Axes, j: int, prior: float) -> None:
    """Draw the line from the sum of weights to the probability, as far as the picture reaches."""
    at = logit(np.array(_PROBABILITIES)) - prior
    ax.plot(at, np.full(len(at), j), "-|", color="black", linewidth=1.2, markersize=8)
    for p, x in _apart(ax, _PROBABILITIES, at):
        ax.annotate(f"{p:g}", (x, j), (0, 6), textcoords="offset points", fontsize=7, ha="center")
