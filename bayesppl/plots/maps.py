"""Parameters of pixels, as pictures."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from bayesppl.data.arguments import whole
from bayesppl.data.names import listed, meant, spelled
from bayesppl.estimators.shell import require_classifier
from bayesppl.kernels.arrays import Array
from bayesppl.model.rules import ESTIMATES, TABLE, RuleName
from bayesppl.plots.style import Style, axes_or_new, drawn_names, inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesppl.estimators.classifier import BayesClassifier

# Room between two pictures beside each other, in shares of their width, and points of type for their names.
_GAP = 0.15
_TYPE = 9.0


def plot_parameter_maps(
    clf: BayesClassifier,
    parameter: str,
    shape: tuple[int, int] | None = None,
    *,
    rule: RuleName = "mean",
    columns: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a parameter of pixels, one picture per class: means, variances, probabilities.

    Parameters
    ----------
    clf : BayesClassifier
        Fitted to the pixels of images, row after row.
    parameter : str
        With one number per class and feature, such as ``"mean"``, ``"variance"`` or ``"probability"``; of
        ``"covariance"``, the variances on its diagonal.
    shape : (height, width), optional
        Of the images; square by default.
    rule : {"mean", "map", "mle"}
        The estimate shown.
    columns : int, optional
        Pictures side by side; five by default.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        All classes share the scale of the colour bar. Dark is little.

    Raises
    ------
    ValueError
        If the parameter has other dimensions, the number of features is not height times width, or the rule is no
        estimate.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> from bayesppl.plots import plot_parameter_maps
    >>> ax = plot_parameter_maps(bp.GaussianNB().fit(*load("digits")), "variance", (8, 8))
    >>> len(ax.texts)
    10
    """
    if rule not in ESTIMATES:
        raise ValueError(f"rule must name an estimate, one of {listed(ESTIMATES)}; found {spelled(rule)}")
    values = _of_pixels(clf, parameter, rule)
    sizes = (isqrt(values.shape[1]),) * 2 if shape is None else tuple(np.ravel(shape).tolist())
    if len(sizes) != 2 or np.prod(sizes) != values.shape[1]:
        what = "no square" if shape is None else f"not {' times '.join(map(str, sizes))}"
        raise ValueError(f"{values.shape[1]} features are {what}; give the shape (height, width) of the images")
    height, width = (whole("each number of shape", size, 1) for size in sizes)
    classes = clf.classes_.tolist()
    columns = min(len(classes), 5 if columns is None else whole("columns", columns, 1))
    lines = -(-len(classes) // columns)
    # no lower than the name of its scale is long
    ax = axes_or_new(ax, 1.2 * columns + 1.0, max(2.2, (1.2 * height / width + 0.3) * lines + 0.4))
    step = width * (1 + _GAP)
    room_x, room_y = (72 * size for size in inches(ax))
    point = max(columns * step / room_x, lines * height / (room_y - 1.6 * _TYPE * lines))  # in pixels
    names = drawn_names(classes, max(6, int(1.7 * step / point / _TYPE)))
    line = height + 1.6 * _TYPE * point
    limits: Style = {"vmin": float(np.nanmin(values)), "vmax": float(np.nanmax(values)), "cmap": "cividis"}
    for k, name in enumerate(names):
        top, left = (k // columns) * line, (k % columns) * step
        extent = (left, left + width, top + height, top)
        image = ax.imshow(values[k].reshape(height, width), extent=extent, interpolation="nearest", **limits)
        ax.text(left + width / 2, top - 2 * point, name, ha="center", va="bottom", fontsize=_TYPE)
    ax.set(xlim=(0, columns * step - _GAP * width), ylim=((lines - 1) * line + height, height - line))
    ax.set_aspect("equal")
    ax.set_axis_off()
    what = "variance" if parameter == "covariance" else parameter.replace("_", " ")
    image.figure.colorbar(image, ax=ax, label=f"{what} ({TABLE[rule].words})", shrink=0.8)
    return ax


def _of_pixels(clf: BayesClassifier, parameter: str, rule: RuleName) -> Array:
    """Find the estimate of a parameter of every pixel: (n_classes, n_features)."""
    posterior = require_classifier(clf).posterior_
    dims = posterior.model.dims
    wanted = sorted(name for name, own in dims.items() if own[:2] == ("class", "feature"))
    if parameter not in wanted:
        raise ValueError(
            f"{spelled(parameter)} is not a parameter with a number per class and feature"
            f"{meant(parameter, wanted)}; there are {', '.join(map(repr, wanted)) or 'none'}"
        )
    values = posterior.theta(rule)[parameter]
    return values if values.ndim == 2 else np.einsum("kdd->kd", values)
