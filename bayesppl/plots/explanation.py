"""Which columns support a class, and how much."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.parameters import PROB, tails
from bayesppl.data.names import short_names
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.kernels.arrays import Array
from bayesppl.plots.style import axes_of_rows, draw_bars, name_axes, result_of, tidy

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def plot_explanation(
    explanation: xr.Dataset | BayesClassifier,
    *arguments: Any,
    label: Hashable | None = None,
    most: int = 15,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw the weight of evidence of every column: to the right for a class, to the left against it.

    Parameters
    ----------
    explanation : xarray.Dataset or BayesClassifier
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
        odds.

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

    found = result_of(BayesClassifier.explain, xr.Dataset, explanation, arguments, options)
    if label is None:
        label = found["class"].values[int(np.argmax(found["log_odds"].mean("row").values))]
    found = found.sel({"class": label})
    weight, lower, upper = _weights(found)
    names = [str(name) for name in found["feature"].values]
    cells = found["cell"].values[0] if found.sizes["row"] == 1 else [""] * len(names)
    order = np.argsort(-np.abs(weight), kind="stable")
    shown, hidden = order[:most], order[most:]
    bars = [(names[d], _end(cells[d]), weight[d]) for d in shown]
    if len(hidden):
        bars.append((f"{len(hidden)} other columns", "", weight[hidden].sum()))
    bars.append(("class prior", "", float(found["prior"])))

    ax = axes_of_rows(ax, [name for name, *_ in bars], [end for _, end, _ in bars], line=0.28, around=1.3)
    draw_bars(ax, np.array([value for *_, value in bars]))
    if lower is not None and upper is not None:
        ax.hlines(range(len(shown)), lower[shown], upper[shown], color="black", linewidth=1.2)
    what = (
        "weight of evidence"
        if found.sizes["row"] == 1
        else f"average weight of evidence of {found.sizes['row']} rows"
    )
    name_axes(ax, f"{what} for {label} against {found.attrs['against']}, in nats")
    total = float(found["log_odds"].mean("row"))
    ax.set_title(f"log odds {total:+.3g}", fontsize="medium")
    return tidy(ax)


def _end(cell: str) -> str:
    """What the cell of a row holds, after the name of its column."""
    return f" = {short_names([cell], 12)[0]}" if cell else ""


def _weights(found: xr.Dataset) -> tuple[Array, Array | None, Array | None]:
    """Weight of every column, and the ends of its interval where there is one."""
    weight = found["weight"]
    if found.sizes["row"] > 1:
        lower, upper = np.quantile(weight, tails(found.attrs.get("prob", PROB)), axis=0)
        return weight.mean("row").values, lower, upper
    if "lower" in found:
        return weight.values[0], found["lower"].values[0], found["upper"].values[0]
    return weight.values[0], None, None
