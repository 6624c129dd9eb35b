"""Draws of a family's parameters as draws of the user's own variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
from scipy.special import logit

from bayesppl.inference.pymc.reading.graphs import function, over_draws, substitute
from bayesppl.inference.pymc.reading.jacobian import Match
from bayesppl.inference.pymc.reading.parts import Block, Reading
from bayesppl.inference.pymc.reading.priors import Density
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


def user_draws(block: Block, theta: Theta) -> Theta | None:
    """Free variables of a block at draws of its family's parameters; None where they cannot be found.

    Parameters
    ----------
    theta : Theta
        In the shapes of the family; the draw axis leads.
    """
    solved = block.solved
    if solved is None or solved.density is None:
        return {}
    density = solved.density
    if density.matches is None:
        return None
    wanted = solved.natural.of_family(theta)
    n_draws = len(next(iter(wanted.values())))
    coordinates = density.coordinates
    points = [np.broadcast_to(start, (n_draws, *start.shape)).copy() for start in coordinates.start]
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
    inputs, graphs = over_draws([one], [transform.forward(one, *variable.owner.inputs)])
    return np.asarray(function(inputs, graphs)(values)[0])


def _solve(density: Density, found: Match, target: Array, points: list[Array]) -> bool:
    """Unconstrained coordinates at which a parameter has given values, by Newton's method, entry by entry; in place."""
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


def deterministics(reading: Reading, draws: Theta) -> Theta:
    """Deterministic variables that are computed from free variables whose draws are known."""
    free = [v for v in reading.model.free_RVs if v.name in draws]
    others = [v for v in reading.model.free_RVs if v.name not in draws]
    observed = list(reading.model.observed_RVs)
    found: Theta = {}
    for variable in reading.model.deterministics:
        above = _above(variable)
        dims = reading.model.named_vars_to_dims.get(variable.name) or ()
        rows = reading.model.named_vars_to_dims.get(reading.label.name) or ("row",)
        if above & set(others) or above & set(observed) or rows[0] in dims or not above & set(free):
            continue
        [graph] = substitute([variable], {v: reading.inputs[v] for v in free})
        inputs, graphs = over_draws([reading.inputs[v] for v in free], [graph])
        [values] = function(inputs, graphs)(*(draws[v.name] for v in free))
        found[variable.name] = np.asarray(values)
    return found


def _above(variable: Any) -> set[Any]:
    from pytensor.graph.traversal import ancestors

    return set(ancestors([variable]))
