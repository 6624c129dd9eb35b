"""From values of a family's parameters back to the user's variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor
from scipy.special import logit

from bayesppl.inference.pymc.reading.graphs import Interpreter
from bayesppl.inference.pymc.reading.matches import Match
from bayesppl.inference.pymc.reading.priors import PriorDensity
from bayesppl.inference.pymc.reading.rows import same_values
from bayesppl.kernels.arrays import Array, Theta

#: Coordinates in which a parameter is nearly linear in unconstrained ones, and their derivative.
_LINKS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "variance": (np.log, lambda x: 1 / x),
    "rate": (np.log, lambda x: 1 / x),
    "probability": (logit, lambda x: 1 / (x * (1 - x))),
    "mean": (lambda x: x, np.ones_like),
}

_STEPS = 60


def variables_at(density: PriorDensity, theta: Theta, start: Sequence[Array]) -> Theta | None:
    """Free variables at draws of a family's parameters; None where they cannot be found.

    Parameters
    ----------
    start : sequence of arrays
        Unconstrained coordinates, (n_draws, ...). Those of variables that stand for no parameter stay as they are.
    """
    if density.matches is None:
        return None
    coordinates = density.coordinates
    points = [np.array(values) for values in start]
    own = coordinates.evaluate(list(density.theta.values()), [values[:1] for values in points])
    wanted = {name: theta[name].reshape(-1, *one.shape[1:]) for name, one in zip(density.theta, own, strict=True)}
    n_draws = len(points[0])
    direct: Theta = {}
    for found in density.matches:
        variable, target = coordinates.free[found.place], found.of(wanted[found.parameter], 1)
        if found.relation == "entrywise":
            if not _solve(density, found, target, points):
                return None
        else:
            values = np.linalg.inv(target) if found.relation == "inverse" else target
            values = values.reshape(n_draws, *_shape(coordinates, found.place))
            direct[variable.name] = values
            points[found.place] = _forward(coordinates.model, variable, values)
    draws = coordinates.theta(points) | direct
    back = density.coordinates.evaluate(list(density.theta.values()), points)
    agrees = all(same_values(b, wanted[name], 1e-6) for name, b in zip(density.theta, back, strict=True))
    return draws if agrees else None


def _shape(coordinates: Any, place: int) -> tuple[int, ...]:
    [values] = coordinates.evaluate(
        [coordinates.constrained[coordinates.free[place]]], [start[None] for start in coordinates.start]
    )
    return tuple(values.shape[1:])


def _forward(model: Any, variable: Any, values: Array) -> Array:
    transform = model.rvs_to_transforms[variable]
    if transform is None:
        return values
    one = variable.type()
    [found] = Interpreter([one], (), [transform.forward(one, *variable.owner.inputs)])([values])
    return found


def _solve(density: PriorDensity, found: Match, target: Array, points: list[Array]) -> bool:
    """Find, by Newton's method, coordinates at which a parameter has given values, entry by entry; in place."""
    graph, value = found.of(density.theta[found.parameter]), density.coordinates.values[found.place]
    slope = pytensor.grad(graph.sum(), value)
    link, derivative = _LINKS[found.parameter]
    goal = link(target)
    for _ in range(_STEPS):
        now, rate = density.coordinates.evaluate([graph, slope], points)
        gap = link(now) - goal
        if np.abs(gap).max() <= 1e-12 * max(1.0, np.abs(goal).max()):
            return True
        step = (gap / derivative(now)).reshape(rate.shape) / rate
        points[found.place] -= np.clip(step, -5, 5)
    return bool(np.abs(gap).max() <= 1e-8 * max(1.0, np.abs(goal).max()))
