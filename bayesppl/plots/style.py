"""Colours that colour-blind readers can tell apart, and what the pictures share."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bayesppl.data.names import listed, one_line, short_names
from bayesppl.data.table import Table
from bayesppl.estimators.shell import CLASSIFIER, require_classifier
from bayesppl.kernels.arrays import Array
from bayesppl.model.rules import ESTIMATES, TABLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Keyword arguments of matplotlib.
Style = dict[str, Any]

# From the schemes of Paul Tol (2021) and Okabe & Ito (2008), in an order in which also those who see no green or
# no red tell the first classes apart best; hatches set further classes apart.
_COLOURS = (
    "#332288",
    "#CC6677",
    "#E69F00",
    "#56B4E9",
    "#882255",
    "#DDCC77",
    "#AA4499",
    "#228833",
    "#CC79A7",
    "#999933",
)
_HATCHES = ("", "///", "...", "xxx")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
_LINES = ("-", "--", "-.", ":")

#: Colour and marker of every plug-in rule, the same in all pictures.
RULE_STYLE: dict[str, Style] = {
    name: {"color": TABLE[name].colour, "marker": TABLE[name].marker} for name in ESTIMATES
}

#: Of the usual type.
LETTERS_PER_INCH = 11
_SMALLEST_TYPE = 5.0

# Inches of a line of a legend of many labels.
_LEGEND_LINE = 0.2

# Of rows, at which densities are drawn beside a grid.
_MOST_VALUES = 1000

# Inches for the names of rows in a figure that is made for them: at least, and at most.
_ROOM_FOR_NAMES = (1.9, 48 / LETTERS_PER_INCH)


def result_of[T](
    twin: Callable[..., T],
    kind: type,
    given: Any,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    parts: Sequence[str] = (),
    *,
    takes_several: bool = False,
) -> T:
    """Return what a function of the package returned before, or call it with these arguments.

    Parameters
    ----------
    twin : callable
        The function whose result is drawn.
    kind : type
        Of its result.
    given, arguments, options
        The result alone, or everything the function is called with.
    parts : sequence of str
        Dimensions and variables of the result that are drawn.
    takes_several : bool
        Whether the function takes several models, as a list or a mapping.

    Raises
    ------
    TypeError, ValueError
        If it is the result of another function, or has nothing to draw.
    """
    found = given
    if not isinstance(given, kind):
        if not (takes_several and isinstance(given, Sequence | Mapping)):
            require_classifier(given, f"what {twin.__name__} returns, or {CLASSIFIER}")
        found = twin(given, *arguments, **options)
    elif arguments or options:
        more = next(iter(options), "a second argument")
        raise TypeError(
            f"a result of {twin.__name__} is drawn as it is; found {more} besides. Pass it to {twin.__name__}"
        )
    require_parts(found, parts, twin.__name__)
    return cast("T", found)


def require_parts(found: Any, parts: Sequence[str], name: str) -> None:
    """Refuse a dataset without these dimensions and variables, or without entries along one of them."""
    absent = [part for part in parts if part not in found or not found[part].ndim]
    if absent:
        raise TypeError(
            f"what {name} returns has {listed(parts)}, and here {absent[0]!r} is not among the dimensions and "
            "variables; pass all of it, or select by lists, as in isel(row=[0])"
        )
    empty = [part for part in parts if not found[part].size]
    if empty:
        raise ValueError(f"what {name} returns has no {empty[0]} to draw; give one at least")


def rows_of(clf: Any, X: Any) -> Table:
    """Read the rows that a picture shows, in the columns of the fit."""
    fitted = require_classifier(clf).fitted_
    table: Table = fitted.columns.align(X)
    if not len(table):
        raise ValueError("X has no rows; give the rows that the picture shows")
    fitted.model.family.bound.encode(table)  # which refuses what it refuses by the rows of the caller
    return table


def given_cells(clf: Any, table: Table) -> dict[Hashable, Any]:
    """Return the cell of every column that is no feature, such as an exposure: one for all rows."""
    found = {}
    for name in table.names:
        if name not in clf.fitted_.model.family.bound.measures:
            found[name], *others = dict.fromkeys(table.column(name).tolist())
            if others:
                raise ValueError(
                    f"column {name!r} is no feature: others are modelled given what it holds, which differs "
                    f"between the rows of X. Give rows of one value, as in X[X[{name!r}] == {found[name]!r}]"
                )
    return found


def bar_style(k: int) -> Style:
    """Return how the bar of a class is filled."""
    return {
        "facecolor": colour(k),
        "hatch": _HATCHES[k // len(_COLOURS) % len(_HATCHES)],
        "edgecolor": "white",
        "linewidth": 0.4,
    }


def colour(k: int) -> str:
    """Return the colour of a class."""
    return _COLOURS[k % len(_COLOURS)]


def marker(k: int) -> str:
    """Return the marker of a class, so that colour is not the only difference."""
    return _MARKERS[(k + k // len(_COLOURS)) % len(_MARKERS)]


def line_style(k: int) -> str:
    """Return the line style of a class, so that colour is not the only difference."""
    return _LINES[k % len(_LINES)]


def axes_or_new(ax: Axes | None, width: float = 5.5, height: float = 4.0) -> Axes:
    """Return the axes given, or those of a new figure."""
    from matplotlib import pyplot as plt
    from matplotlib.axes import Axes

    if isinstance(ax, Axes):
        return ax
    if ax is not None:
        raise TypeError(f"ax must be one matplotlib.axes.Axes, as of plt.subplots(), found {type(ax).__name__}")
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def inches(ax: Axes) -> tuple[float, float]:
    """Return width and height of the room of the axes, before the layout of the figure is known."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches()
    box = ax.get_position()
    return float(width * box.width), float(height * box.height)


def axes_of_rows(
    ax: Axes | None,
    names: Iterable[Any],
    ends: Sequence[str] = (),
    *,
    line: float,
    around: float = 1.2,
    width: float = 3.6,
) -> Axes:
    """Make axes with a row for each name, as :func:`name_rows` writes them.

    Those of a new figure are as high as the rows need, and wide enough for names of up to 48 letters.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, optional
    names, ends
        As for :func:`name_rows`.
    line, around, width : float
        Inches of a row, of what stands above and below all of them, and of what stands to the right of the names.
    """
    names = list(names)
    letters = max((len(one_line(str(name))) for name in names), default=0) + max(map(len, ends), default=0)
    room = float(np.clip(letters / LETTERS_PER_INCH, *_ROOM_FOR_NAMES))
    drawn = axes_or_new(ax, width=width + room, height=around + line * len(names))
    name_rows(drawn, names, ends, room if ax is None else None)
    return drawn


def draw_bars(ax: Axes, values: Array) -> None:
    """Draw a bar for every row, from zero to the right in one colour and to the left in another."""
    ax.barh(range(len(values)), values, 0.75, color=[colour(0) if value > 0 else colour(1) for value in values])
    ax.axvline(0, color="black", linewidth=0.8)


def draw_ranges(ax: Axes, values: Array, lower: Array, upper: Array) -> None:
    """Draw a mark for every row, with its interval."""
    ax.hlines(range(len(values)), lower, upper, color=colour(0), linewidth=2, alpha=0.5)
    ax.plot(values, range(len(values)), "o", color=colour(0))


def tidy(ax: Axes) -> Axes:
    """Take away the lines of the frame that carry no information."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def name_axes(ax: Axes, x: Any = None, y: Any = None) -> None:
    """Name the axes, on as many lines as they need."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    engine = figure.get_layout_engine()
    if engine is not None and len(figure.axes) == 1:
        engine.execute(figure)  # which leaves room for the names of rows
    width, height = inches(ax)
    if x is not None:
        ax.set_xlabel(_wrapped(x, width))
    if y is not None:
        ax.set_ylabel(_wrapped(y, height))


def _wrapped(text: Any, room: float) -> str:
    lines = textwrap.wrap(
        one_line(str(text)), max(12, int(room * LETTERS_PER_INCH)), max_lines=3, placeholder=" …"
    )
    return "\n".join(map(_without_formulas, lines))


def drawn_name(name: Any) -> str:
    """Write a name or label for matplotlib: on one line, and with dollars that mark no formulas."""
    return _without_formulas(one_line(str(name)))


def drawn_names(names: Iterable[Any], longest: int = 24) -> list[str]:
    """:func:`~bayesppl.data.names.short_names` as matplotlib draws them."""
    return [_without_formulas(name) for name in short_names(names, longest)]


def in_legend(label: Any) -> str:
    """Write a label of a mark: matplotlib leaves those that begin with an underscore out of legends."""
    return f" {label}" if str(label).startswith("_") else str(label)


def _without_formulas(text: str) -> str:
    return text.replace("$", "\\$")


def name_rows(ax: Axes, names: Iterable[Any], ends: Sequence[str] = (), room: float | None = None) -> None:
    """Write names along the vertical axis, from the top down, in type that leaves room for the picture.

    ``ends`` follow the names, and are not cut. ``room`` is in inches; up to half the width of the axes by default.
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    width, height = inches(ax)
    room = min(0.5 * width, 30 / LETTERS_PER_INCH) if room is None else room
    most, names = max(8, round(room * LETTERS_PER_INCH)), list(names)
    labels = drawn_names(names, max(8, most - max(map(len, ends), default=0)))
    if ends:
        whole = drawn_names(names, most)
        labels = [
            short + _without_formulas(end) if end else long
            for short, long, end in zip(labels, whole, ends, strict=True)
        ]
    usual = FontProperties(size=rcParams["ytick.labelsize"]).get_size_in_points()
    across = usual * room * LETTERS_PER_INCH / max([1, *map(len, labels)])
    line = 0.8 * height * 72 / max(len(labels), 1)
    ax.set_yticks(range(len(labels)), labels, fontsize=max(_SMALLEST_TYPE, min(usual, across, line)))
    ax.set_ylim(len(labels) - 0.5, -0.5)


def number_axis(ax: Axes, places: Sequence[float], names: Sequence[str]) -> None:
    """Write numbers at places of the horizontal axis, as many as there is room for, and none between them."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter

    most = max(3, int(inches(ax)[0] / 0.8))
    step = -(-len(places) // most)
    first = (len(places) // 2) % step  # the one in the middle is always there
    ax.xaxis.set_major_locator(FixedLocator(list(places[first::step])))
    ax.xaxis.set_major_formatter(FixedFormatter(list(names[first::step])))
    ax.xaxis.set_minor_formatter(NullFormatter())


def legend_beside(ax: Axes, panel: Axes | None = None) -> None:
    """Put a legend to the right of the picture, where it covers nothing, of what is drawn there or in a panel."""
    handles, labels = (ax if panel is None else panel).get_legend_handles_labels()
    n_columns = -(-len(labels) // max(1, int(inches(ax)[1] / _LEGEND_LINE)))
    ax.legend(
        handles,
        drawn_names(labels, 20 if n_columns == 1 else 12),
        ncols=n_columns,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        fontsize="medium" if len(labels) <= 8 else "small",
        borderaxespad=0.2,
    )


def beside_values(grid: Array, values: Array) -> Array:
    """Add values of rows to a grid, a thousand or two at most: densities have steps between points, and atoms."""
    own = np.unique(values[~np.isnan(values)])
    return np.union1d(grid, own[:: 1 + len(own) // _MOST_VALUES])
