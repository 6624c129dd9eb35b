"""The maximum of a smooth function of few numbers, to more digits than its values have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, root

from bayesppl.kernels.arrays import Array

# Half the width that slopes are taken over: wide enough to see little of the rounding of values. The third
# derivative that this leaves out moves a maximum by less than matters, and alike however the same data are
# written.
_HALF_WIDTH = 1e-2

# A slope that is as good as none.
_LEVEL = 1e-3


class Maximum(NamedTuple):
    """Where a search ended, and why."""

    at: Array
    converged: bool
    message: str


def maximise(
    function: Callable[[Array], float],
    start: Array,
    free: Sequence[int],
    bounds: Sequence[tuple[float, float]],
    max_steps: int,
    callback: Callable[[Array], None],
) -> Maximum:
    """Climb by L-BFGS-B (Byrd et al. 1995), then solve for a slope of zero (Powell's hybrid method).

    Values are level to rounding within about 1e-7 of a maximum, so that a climb ends at any place there; the slope
    is not.

    Parameters
    ----------
    function : function of (n_parameters,)
    start : (n_parameters,)
    free : sequence of int
        The parameters that may move.
    bounds : sequence of (low, high)
    max_steps : int
    callback : function of (n_parameters,)
        Called with every step.
    """
    low, high = np.asarray(bounds).T
    unit = np.eye(len(start))[free]

    def moved(point: Array, places: Sequence[int] | Array, values: Array) -> Array:
        out = point.copy()
        out[places] = values
        return np.clip(out, low, high)

    def slopes(point: Array) -> Array:
        ends = [(np.minimum(point + h, high), np.maximum(point - h, low)) for h in _HALF_WIDTH * unit]
        return np.asarray([(function(up) - function(down)) / (up - down).sum() for up, down in ends])

    # the first step is as long as the slope is steep
    scale = max(1.0, float(abs(slopes(start)).max()))
    climb = minimize(
        lambda values: -function(moved(start, free, values)) / scale,
        start[free],
        jac=lambda values: -slopes(moved(start, free, values)) / scale,
        method="L-BFGS-B",
        bounds=[bounds[i] for i in free],
        options={"maxiter": max_steps, "ftol": 1e-12, "gtol": _LEVEL / scale},
        callback=lambda values: callback(moved(start, free, values)),
    )
    at = moved(start, free, climb.x)
    if climb.status == 1:
        return Maximum(at, False, str(climb.message))
    inside = ((low < at) & (at < high))[free]
    if inside.any():
        places = np.asarray(free)[inside]
        level = root(
            lambda values: slopes(moved(at, places, values))[inside],
            at[places],
            options={"eps": _HALF_WIDTH**3, "xtol": 1e-10, "factor": 1.0},
        )
        found = moved(at, places, level.x)
        if function(found) > function(at) - _LEVEL:  # else the slope is zero at another, lower place
            at = found
            callback(at)
    converged = bool((abs(slopes(at)[inside]) < _LEVEL).all())
    return Maximum(at, converged, "the slope is zero" if converged else "the slope does not become zero")
