"""Which columns support a class, and how much: bars for a row, or for the average of some rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.parameter_tables import PROB, tails
from bayesppl.data.arguments import one_of, whole
from bayesppl.data.names import short_names, spelled
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.kernels.arrays import Array
from bayesppl.plots.style import (
    axes_of_rows,
    draw_bars,
    name_axes,
    result_of,
    tidy,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from bayesppl.estimators.auto import AutoClassifier


#: Letters of the name of a class below the picture, where three lines must hold two of them.
_LONGEST_CLASS = 18

# What a class is compared with that is no class itself.
_NO_CLASS = "all other classes", "the other class"


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
    classes = found["class"].values.tolist()
    one_of("label", label, classes)
    found, total = found.sel({"class": label}), float(averages.sel({"class": label}))
    weight, lower, upper = _weights(found)
    names = [str(name) for name in found["feature"].values]
    cells = found["cell"].values[0] if found.sizes["row"] == 1 else [""] * len(names)
    order = np.argsort(-np.abs(weight), kind="stable")
    shown, hidden = order[:most], order[most:]
    values = [f" = {short_names([cells[d]], 12)[0]}" if cells[d] else "" for d in shown]
    bars = [(names[d], value + infinity(weight[d]), weight[d]) for d, value in zip(shown, values, strict=True)]
    if len(hidden):
        with np.errstate(invalid="ignore"):
            others = weight[hidden].sum()
        bars.append((f"{len(hidden)} other columns", infinity(others), others))
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
    name_axes(ax, f"{what} for {against_each_other(label, found.attrs['against'], classes)}, in nats{line}")
    ax.set_title(f"log odds {total:+.3g}", fontsize="medium")
    return tidy(ax)


def explain(clf: BayesClassifier | AutoClassifier, *arguments: Any, **options: Any) -> xr.Dataset:
    """Explain rows by the method of a classifier."""
    return clf.explain(*arguments, **options)


def against_each_other(label: Hashable, other: Hashable, classes: Sequence[Hashable]) -> str:
    """Write which class is compared with what, in names that are short and differ from those of other classes."""
    given = [*classes, *({other} - {*classes, *_NO_CLASS})]
    short = dict(zip(given, short_names(given, _LONGEST_CLASS), strict=True))
    return f"{short[label]} against {short.get(other, other)}"


def infinity(weight: float) -> str:
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
