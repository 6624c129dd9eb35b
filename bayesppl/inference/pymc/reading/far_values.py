"""Whether variables are found for values of parameters that are far from each other, by Newton's method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt

from bayesppl.inference.pymc.reading.matches import jacobian
from bayesppl.inference.pymc.reading.naturals import Event
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.prior_density import PriorDensity, link
from bayesppl.kernels.arrays import Array

#: How many times further than at ordinary points a mean must get, and a logarithm or log odds from its middle.
TIMES, LOGS = 100.0, 12.0

#: Values of parameters whose variables are looked for, in so many steps, and how close to them is found.
TARGETS, STEPS, SOLVED = 20, 60, 1e-6

#: Over how many steps the targets move out to their places: at once, or slowly where Newton's method diverges.
RAMPS = 1, 15, 30

#: How far an entry of a Cholesky factor must get, in units of the diagonal: to correlations of .9.
RATIO = 2.0


def is_mean_bound(density: PriorDensity, rng: np.random.Generator) -> bool:
    """Whether some means far away, beside usual variances or matrices, are those of no variables."""
    points = density.coordinates.draw(TARGETS, rng)
    theta = density.parameters(points)
    means = theta["mean"]
    reach = TIMES * np.ptp(means, axis=0)
    theta["mean"] = np.median(means, axis=0) + reach * rng.uniform(-1, 1, means.shape)
    with np.errstate(all="ignore"):
        return density.variables_at(density.natural.for_family(theta), points) is None


def are_bound(density: PriorDensity, events: Mapping[str, Event], rng: np.random.Generator) -> bool:
    """Whether some values of parameters, far from each other, are those of no variables."""
    coordinates = density.coordinates
    points = coordinates.draw(TARGETS, rng)
    theta = density.parameters(points)
    graphs, goals, reaches = [], [], []
    for name, event in events.items():
        if event == "matrix":
            graph, goal, reach = _matrices(density.theta[name], theta[name], rng)
        else:
            graph = _unbounded(density.theta[name], name, event)
            [usual] = coordinates.evaluate([graph], points)
            spread = np.ptp(usual, axis=0)  # the unit of means; logarithms have none
            reach = TIMES * spread if name == "mean" else np.full(spread.shape, LOGS)
            goal = np.median(usual, axis=0) + reach * rng.uniform(-1, 1, usual.shape)
        graphs.append(graph)
        goals.append(goal.reshape(TARGETS, -1))
        reaches.append(reach.ravel())
    goal, reach = np.concatenate(goals, axis=1), np.concatenate(reaches)
    entries = pt.concatenate([graph.ravel() for graph in graphs])
    slopes = jacobian(coordinates, entries, len(reach))
    return not any(_finds(coordinates, [entries, slopes], points, goal, reach, ramp) for ramp in RAMPS)


def _matrices(graph: Any, usual: Array, rng: np.random.Generator) -> tuple[Any, Array, Array]:
    """Choose covariance matrices to look for; return the entries of roots, a graph, their goals and their units.

    They are those of other points, another for each class, far larger or smaller or of further correlations, and
    with columns multiplied by −1, of opposite correlations.
    """
    roots = np.linalg.cholesky(usual)
    # in units in which they are about the identity, so that no correlation of the usual ones is in the way
    unit = np.linalg.inv(np.median(roots, axis=0))
    other = np.stack([rng.permutation(of_class) for of_class in np.moveaxis(roots, 1, 0)], axis=1)
    signs = rng.choice([-1.0, 1.0], other.shape[:-1])
    is_rescaled = np.arange(TARGETS).reshape(-1, *[1] * (other.ndim - 1)) % 2 == 0
    logs = np.where(is_rescaled, np.linspace(-LOGS, LOGS, TARGETS).reshape(is_rescaled.shape), 0)
    goal = _of_root(np.exp(logs / 2) * unit @ (signs[..., None] * other * signs[..., None, :]), np)
    ratios = goal[..., other.shape[-1] :]
    ratios += np.where(is_rescaled[..., 0], 0, rng.uniform(-RATIO, RATIO, ratios.shape))
    reach = np.ptp(_of_root(unit @ roots, np), axis=0)
    return _of_root(pt.constant(unit) @ pt.linalg.cholesky(graph), pt), goal, reach


def _finds(
    coordinates: Coordinates, graphs: Sequence[Any], points: Sequence[Array], goal: Array, reach: Array, ramp: int
) -> bool:
    """Whether Newton's method finds the variables of all goals, which move out to their places over some steps."""
    points, first = list(points), None
    ends = np.cumsum([points[place][0].size for place in coordinates.moving])[:-1]
    for step in range(STEPS):
        try:
            with np.errstate(all="ignore"):
                now, rates = coordinates.evaluate(graphs, points)
        except np.linalg.LinAlgError:
            return False
        if first is None:
            first = now
        share = min(1.0, (step + 1) / ramp)
        gap = (now - first - share * (goal - first)) / reach
        if share == 1 and (np.abs(gap) < SOLVED).all():
            return True
        if not np.isfinite(rates).all():
            return False
        steps = _solutions(rates / reach[:, None], gap)
        for place, own in zip(coordinates.moving, np.split(steps, ends, axis=1), strict=True):
            points[place] = points[place] - coordinates.step(place, own)
    return False


def _solutions(slopes: Array, gaps: Array) -> Array:
    """Solve linear equations, one set for each point; of many solutions the shortest."""
    if slopes.shape[-1] == slopes.shape[-2]:  # in a tenth of the time
        try:
            return np.linalg.solve(slopes, gaps[..., None])[..., 0]
        except np.linalg.LinAlgError:
            pass
    return np.asarray((np.linalg.pinv(slopes) @ gaps[..., None])[..., 0])


def _of_root(root: Any, module: Any) -> Any:
    """Map Cholesky factors, arrays or graphs, to all real numbers: logs of the diagonal, ratios to it in rows."""
    rows, columns = np.tril_indices((root if module is np else root.type).shape[-1], -1)
    diagonal = module.diagonal(root, axis1=-2, axis2=-1)
    return module.concatenate([module.log(diagonal), root[..., rows, columns] / diagonal[..., rows]], axis=-1)


def _unbounded(values: Any, name: str, event: Event) -> Any:
    """Map a parameter to all real numbers, cells of simplices by their log odds to the last of each."""
    if event == "scalar":
        return link(name, values)
    n_cells = values.type.shape[-1]
    kept = list(event) if isinstance(event, tuple) else list(range(n_cells - 1))
    last = [min(set(range(cell, n_cells)).difference(kept)) for cell in kept]
    return pt.log(values[..., kept]) - pt.log(values[..., last])
