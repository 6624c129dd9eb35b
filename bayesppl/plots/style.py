"""Colours that colour-blind readers can tell apart, and what the pictures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The "muted" qualitative scheme of Paul Tol (2021), with his pale grey; hatches set further classes apart.
_COLOURS = (
    "#332288",
    "#DDCC77",
    "#44AA99",
    "#CC6677",
    "#88CCEE",
    "#882255",
    "#117733",
    "#999933",
    "#AA4499",
    "#DDDDDD",
)
_HATCHES = ("", "///", "...", "xxx")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")


def bar_style(k: int) -> dict[str, Any]:
    """How the bar of a class is filled."""
    return {
        "facecolor": colour(k),
        "hatch": _HATCHES[k // len(_COLOURS) % len(_HATCHES)],
        "edgecolor": "white",
        "linewidth": 0.4,
    }


def colour(k: int) -> str:
    """Colour of a class."""
    return _COLOURS[k % len(_COLOURS)]


def marker(k: int) -> str:
    """Marker of a class, so that colour is not the only difference."""
    return _MARKERS[k % len(_MARKERS)]


def axes_or_new(ax: Axes | None, width: float = 5.5, height: float = 4.0) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def tidy(ax: Axes) -> Axes:
    """Take away the lines of the frame that say nothing."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
