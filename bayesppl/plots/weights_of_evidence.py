"""Which columns support a class, and how much: for a row, for some rows, and the whole model on one page."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit

from bayesppl.analysis.parameter_tables import PROB, tails
from bayesppl.data.arguments import one_of, whole
from bayesppl.data.columns import missing
from bayesppl.data.names import short_names, spelled
from bayesppl.data.table import MatrixTable, Table
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.kernels.arrays import Array
from bayesppl.plots.style import (
    LETTERS_PER_INCH,
    axes_of_rows,
    axes_or_new,
    beside_values,
    colour,
    draw_bars,
    drawn_name,
    given_cells,
    inches,
    name_axes,
    name_rows,
    result_of,
    rows_of,
    tidy,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.estimators.auto import AutoClassifier
    from bayesppl.model.rules import RuleName


# Letters of the name of a class below the picture, where three lines must hold two of them.
_LONGEST_CLASS = 18


def plot_explanation(
    explanation: xr.Dataset | BayesClassifier | AutoClassifier,
    *arguments: Any,
    label: Hashable | None = None,
    most: int = 15,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw the weight of evidence of every column: to the right for a class, to the left against it.

    Parameters
    ----------
    explanation : xarray.Dataset, BayesClassifier or AutoClassifier
        What ``clf.explain(X)`` returns; or the classifier and, with what follows, all that
        :func:`~bayesppl.analysis.explanation.explain` is called with. Choose a row by
        ``explanation.isel(row=[0])``.
    label : optional
        The class; by default the one with the largest log odds, on average over the rows.
    most : int
        Number of columns shown: those of largest weight. The others are one bar.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Of one row, its weights, with credible intervals where the explanation has ``draws``. Of several rows,
        averages and intervals that hold the weights of 89% of the rows. Bars and the class prior add up to the log
        odds. Infinite weights reach to the edge, and are named so.

    Raises
    ------
    ValueError
        If infinite weights for and against the class have no average, or no sum.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.plots import plot_explanation
    >>> clf = bp.GaussianNB().fit([[0.0, 3.0], [1.0, 4.0], [4.0, 3.1], [5.5, 3.9]], ["a", "a", "b", "b"])
    >>> ax = plot_explanation(clf, [[0.5, 3.5]])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x0 = 0.5', 'x1 = 3.5', 'class prior']
    """
    import xarray as xr

    whole("most", most, 1)
    parts = "row", "feature", "class", "log_odds"
    found = result_of(explain, xr.Dataset, explanation, arguments, options, parts)
    with np.errstate(invalid="ignore"):  # of infinities of both signs
        averages = found["log_odds"].mean("row")
    if label is None:
        label = found["class"].values[int(np.argmax(averages.fillna(-np.inf).values))]
    one_of("label", label, found["class"].values.tolist())
    found, total = found.sel({"class": label}), float(averages.sel({"class": label}))
    weight, lower, upper = _weights(found)
    names = [str(name) for name in found["feature"].values]
    cells = found["cell"].values[0] if found.sizes["row"] == 1 else [""] * len(names)
    order = np.argsort(-np.abs(weight), kind="stable")
    shown, hidden = order[:most], order[most:]
    values = [f" = {short_names([cells[d]], 12)[0]}" if cells[d] else "" for d in shown]
    bars = [(names[d], value + _infinity(weight[d]), weight[d]) for d, value in zip(shown, values, strict=True)]
    if len(hidden):
        with np.errstate(invalid="ignore"):
            others = weight[hidden].sum()
        bars.append((f"{len(hidden)} other columns", _infinity(others), others))
    bars.append(("class prior", "", float(found["prior"])))
    heights, ends = np.array([value for *_, value in bars]), []
    if np.isnan([*heights, total]).any():
        raise ValueError(
            f"weights are infinite both for and against {spelled(label)}, or a row is impossible under every "
            "class, so that there is no sum; choose other rows, by explanation.isel(row=[...])"
        )

    ax = axes_of_rows(ax, [name for name, *_ in bars], [end for _, end, _ in bars], line=0.28, around=1.3)
    if lower is not None and upper is not None:
        ends = [lower[shown], upper[shown]]
    lengths = np.abs(np.concatenate([heights, *ends]))
    edge = 1.2 * (lengths[np.isfinite(lengths)].max() or 1.0)  # that infinite ones reach
    draw_bars(ax, np.clip(heights, -edge, edge))
    if ends:
        ax.hlines(range(len(shown)), *np.clip(ends, -edge, edge), color="black", linewidth=1.2)
    what = (
        "weight of evidence"
        if found.sizes["row"] == 1
        else f"average weight of evidence of {found.sizes['row']} rows"
    )
    line = "" if lower is None else f"; line: {found.attrs.get('prob', PROB):.0%} "
    line += "" if lower is None else "interval" if found.sizes["row"] == 1 else "of the rows"
    label, against = short_names([label, found.attrs["against"]], _LONGEST_CLASS)
    name_axes(ax, f"{what} for {label} against {against}, in nats{line}")
    ax.set_title(f"log odds {total:+.3g}", fontsize="medium")
    return tidy(ax)


def explain(clf: BayesClassifier | AutoClassifier, *arguments: Any, **options: Any) -> xr.Dataset:
    """Explain rows by the method of a classifier."""
    return clf.explain(*arguments, **options)


def _infinity(weight: float) -> str:
    """Write what no length of a bar shows."""
    return f": {'+' if weight > 0 else '−'}∞" if np.isinf(weight) else ""


def _weights(found: xr.Dataset) -> tuple[Array, Array | None, Array | None]:
    """Find the weight of every column, and the ends of its interval where there is one."""
    weight = found["weight"]
    if found.sizes["row"] > 1:
        method: Any = "linear" if np.isfinite(weight).all() else "inverted_cdf"  # nothing is between infinities
        lower, upper = np.quantile(weight, tails(found.attrs.get("prob", PROB)), axis=0, method=method)
        with np.errstate(invalid="ignore"):
            return weight.mean("row").values, lower, upper
    if "lower" in found:
        return weight.values[0], found["lower"].values[0], found["upper"].values[0]
    return weight.values[0], None, None


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
            levels = [drawn_name(value) + _infinity(w) for value, w in zip(values, weights, strict=True)]
            _draw_levels(ax, j, np.array(levels, dtype=object), inside)
    _draw_probabilities(ax, len(features), prior)
    name_rows(ax, [*features, f"probability of {label}"])
    one, other = short_names([label, "the other class" if against is None else against], _LONGEST_CLASS)
    name_axes(ax, f"weight of evidence for {one} against {other}, in nats; lowest line: sum of weights")
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
    ticks = [tick for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]
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
