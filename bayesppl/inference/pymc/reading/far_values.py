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
TARGETS, STEPS, SOLVED = 20, 300, 1e-6

#: The shortest stride towards the values that are looked for, a share of the way.
LEAST = 1e-3

#: Newton's steps within a stride.
TRIES = 10

#: How far entries of a Cholesky factor must get, in units of the diagonal: all to correlations of .9, one to .995.
RATIO, FURTHER = 2.0, 10.0


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
    return not _finds(coordinates, [entries, slopes], points, goal, reach)


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
    goal = _of_root(unit @ (signs[..., None] * other * signs[..., None, :]), np)
    logs, ratios = np.split(goal, [other.shape[-1]], axis=-1)
    # every other target has other variances, those of columns and of all together, and the rest other correlations
    half = LOGS / 4
    logs[::2] += rng.uniform(-half, half, logs[::2].shape) + rng.uniform(-half, half, logs[::2, ..., :1].shape)
    is_far = np.argsort(rng.random(ratios.shape), axis=-1) == 0
    ratios[1::2] += (rng.uniform(-1, 1, ratios.shape) * np.where(is_far, FURTHER, RATIO))[1::2]
    reach = np.ptp(_of_root(unit @ roots, np), axis=0)
    return _of_root(pt.constant(unit) @ pt.linalg.cholesky(graph), pt), goal, reach


def _finds(
    coordinates: Coordinates, graphs: Sequence[Any], points: Sequence[Array], goal: Array, reach: Array
) -> bool:
    """Whether Newton's method finds the variables of all goals, led there in strides where it diverges."""
    ends = np.cumsum([points[place][0].size for place in coordinates.moving])[:-1]
    first, rates = coordinates.evaluate(graphs, points)
    values, reached, points = first, list(points), list(points)
    # how much of the way is done, the length of the next stride, and how many steps it has taken
    done, stride, tries = np.zeros(TARGETS), np.ones(TARGETS), np.zeros(TARGETS)
    for _ in range(STEPS):
        gap = _gap(values, first, goal, done + stride) / reach
        is_there = (np.abs(gap) < SOLVED).all(1)
        is_lost = ~is_there & (~np.isfinite(rates).all((1, 2)) | (tries == TRIES))
        done = np.where(is_there, done + stride, done)
        stride = np.select([is_there, is_lost], [2 * stride, stride / 4], stride)
        tries = np.where(is_there | is_lost, 0, tries + 1)
        for place in coordinates.moving:
            reached[place] = np.where(_along(is_there, points[place]), points[place], reached[place])
            points[place] = np.where(_along(is_lost, points[place]), reached[place], points[place])
        left = done < 1
        if not left.any() or stride.min() < LEAST:
            return not left.any()
        points, reached = [v[left] for v in points], [v[left] for v in reached]
        state = values, rates, first, goal, done, stride, tries
        values, rates, first, goal, done, stride, tries = (v[left] for v in state)
        moves = ~is_lost[left]
        gap = _gap(values, first, goal, done + stride) / reach
        steps = np.zeros((len(gap), coordinates.size))
        steps[moves] = _solutions(rates[moves] / reach[:, None], gap[moves])
        for place, own in zip(coordinates.moving, np.split(steps, ends, axis=1), strict=True):
            points[place] = points[place] - coordinates.step(place, own)
        try:
            with np.errstate(all="ignore"):
                values, rates = coordinates.evaluate(graphs, points)
        except np.linalg.LinAlgError:  # of one of them: all strides are shortened
            values, rates = np.full_like(values, np.nan), np.full_like(rates, np.nan)
    return False


def _gap(values: Array, first: Array, goal: Array, share: Array) -> Array:
    """Return what is left to a share of the way from the first values to the goal."""
    return np.asarray(values - first - np.minimum(1, share)[:, None] * (goal - first))


def _along(values: Array, entries: Array) -> Array:
    """Give a value of each point the axes of entries at the points."""
    return values.reshape(-1, *[1] * (entries.ndim - 1))


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
