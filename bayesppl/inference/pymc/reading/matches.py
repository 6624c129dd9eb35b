"""Which variables each parameter of a family stands for, and how the density of one becomes that of the other.

Where every entry of a parameter is computed from one entry of a variable, given the variables before it, the
Jacobian is a product. Otherwise it is taken whole, all coordinates against all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.replace import vectorize_graph

from bayesppl.inference.pymc.graphs import Interpreter
from bayesppl.inference.pymc.reading.naturals import Event
from bayesppl.inference.pymc.reading.observed import same_values
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.kernels.arrays import Array

Relation = Literal["same", "inverse", "entrywise"]

#: Largest Jacobian that is taken whole.
LARGEST = 400

#: Relative difference up to which entries are those of a variable: matrices that were inverted lose digits.
_PRECISE, _INVERTED, _DERIVED = 1e-13, 1e-8, 1e-11


@dataclass(frozen=True, eq=False)
class Match:
    """A parameter of a family that stands for free variables: one, or several that make it up.

    Attributes
    ----------
    parameter : str
    entry : {"scalar", "pair", "simplex", "matrix"}
        What its entries are: numbers, the second of two probabilities that sum to one, cells of simplices, or
        matrices.
    places : tuple of int
        Of the free variables.
    sizes : tuple of int
        How many entries each of them has.
    relation : {"same", "inverse", "entrywise"}
        Whether the entries are those of the variables; their matrix inverses; or each a function of one
        unconstrained coordinate, given the variables matched before.
    order : (n_entries,)
        Places of the entries of the variables, one variable after the other, among those of the parameter.
    """

    parameter: str
    entry: str
    places: tuple[int, ...]
    sizes: tuple[int, ...]
    relation: Relation
    order: Array

    def of(self, values: Any, lead: int = 0) -> Any:
        """Return the entries of a parameter, after ``lead`` axes, in the order of the variables."""
        return _entries(values, self.entry, lead)[(slice(None),) * lead + (self.order,)]

    def split(self, entries: Any) -> list[Any]:
        """Split entries at points, (n_points, n_entries, ...), into those of each variable."""
        return [
            entries[:, last - size : last] for size, last in zip(self.sizes, np.cumsum(self.sizes), strict=True)
        ]


def _shape(values: Any) -> tuple[int, ...]:
    """Return the shape of an array, or of a graph."""
    return tuple(values.shape if isinstance(values, np.ndarray) else values.type.shape)


def _entries(values: Any, entry: str, lead: int = 0) -> Any:
    """Put the entries of a parameter on one axis, before the axes of each and after ``lead`` others."""
    chosen = values[..., 1] if entry == "pair" else values
    shape = _shape(chosen)
    return chosen.reshape((*shape[:lead], -1, *(shape[-2:] if entry == "matrix" else ())))


def match(
    coordinates: Coordinates, theta: Mapping[str, Any], events: Mapping[str, Event], rng: np.random.Generator
) -> list[Match] | None:
    """Match parameters with variables, so that each depends on its own and those before; or return None."""
    points = coordinates.draw(2, rng)
    known = dict(zip(theta, coordinates.evaluate(list(theta.values()), points), strict=True))
    above = {name: coordinates.above(graph) for name, graph in theta.items()}
    matches: list[Match] = []
    free, left = set(coordinates.moving), dict(theta)
    while left:
        for name in left:
            places = tuple(sorted(above[name] & free))
            size = independent(known[name][0], events[name]).size
            if sum(coordinates.start[place].size for place in places) == size:
                break
        else:
            return None
        found = _related(coordinates, name, left.pop(name), events[name], known[name], places, points)
        if found is None:
            return None
        free -= set(places)
        matches.append(found)
    return None if free else matches


def _related(
    coordinates: Coordinates,
    name: str,
    graph: Any,
    event: Event,
    values: Array,
    places: tuple[int, ...],
    points: Sequence[Array],
) -> Match | None:
    """Relate the entries of a parameter to those of variables; None if that is not seen."""
    if isinstance(event, tuple):
        return None
    entry = "pair" if event == "simplex" and values.shape[-1] == 2 else event
    if entry in ("scalar", "pair"):
        sizes = tuple(coordinates.start[place].size for place in places)
        weights = np.random.default_rng(len(points)).uniform(0.5, 1.5, sum(sizes))

        def gradient() -> Interpreter:
            cotangent = pt.vector(shape=weights.shape)
            variables = [coordinates.values[place] for place in places]
            slope = _slopes(_entries(graph, entry) * cotangent, variables)
            return Interpreter([*coordinates.values, cotangent], (), [slope])

        of_sums = coordinates.once(("gradient", graph, places), gradient)
        slopes, weighted = (
            of_sums([*points, np.broadcast_to(by, (len(values), len(weights)))])[0]
            for by in (np.ones_like(weights), weights)
        )
        if not (slopes != 0).all():
            return None
        order = _order(weights, (weighted / slopes)[0])
        agrees = same_values(slopes * weights[order], weighted, _DERIVED)
        return Match(name, entry, places, sizes, "entrywise", order) if agrees else None
    all_own = coordinates.evaluate(list(coordinates.constrained.values()), points)
    wanted = _entries(values, entry, 1)
    core = wanted.shape[2:]
    if any(all_own[place].shape[max(1, all_own[place].ndim - len(core)) :] != core for place in places):
        return None
    own = [all_own[place].reshape(len(values), -1, *core) for place in places]
    sizes, joined = tuple(part.shape[1] for part in own), np.concatenate(own, axis=1)
    relations: dict[Relation, tuple[Array, float]] = {"same": (wanted, _PRECISE)}
    if entry == "matrix":
        relations["inverse"] = np.linalg.inv(wanted), _INVERTED
    for relation, (candidates, tolerance) in relations.items():
        if candidates.shape == joined.shape:
            first = (slice(None), *(0,) * len(core))
            order = _order(candidates[0][first], joined[0][first])
            if same_values(candidates[:, order], joined, tolerance):
                return Match(name, entry, places, sizes, relation, order)
    return None


def _order(values: Array, own: Array) -> Array:
    """Find the places of numbers among those that they equal, up to rounding."""
    return np.asarray(np.argsort(values)[np.argsort(np.argsort(own))])


def _slopes(entries: Any, variables: Sequence[Any]) -> Any:
    """Differentiate a sum by all variables, and so each of its terms, where each has its own coordinate."""
    gradients = pytensor.grad(entries.sum(), list(variables), disconnected_inputs="ignore")
    return pt.concatenate([gradient.ravel() for gradient in gradients])


def slopes(coordinates: Coordinates, entries: Any, found: Match) -> Any:
    """Return the derivative of every entry by its own coordinate, in the order of the variables."""
    return _slopes(entries, [coordinates.values[place] for place in found.places])


def log_volumes(coordinates: Coordinates, theta: Mapping[str, Any], matches: Sequence[Match]) -> list[Any]:
    """Compute log |∂ coordinates of the prior / ∂ parameters| for each match, one term for each of its entries."""

    def of_match(found: Match) -> Any:
        entries = found.of(theta[found.parameter])
        if found.relation == "entrywise":
            return -pt.log(pt.abs(slopes(coordinates, entries, found)))
        # dΣ = |Σ|^(D+1) dΛ for a symmetric matrix and its inverse
        return -(entries.shape[-1] + 1) * pt.linalg.slogdet(entries)[1]

    return [
        coordinates.once((theta[found.parameter], found.places, found.order.tobytes()), partial(of_match, found))
        for found in matches
    ]


def log_volume(coordinates: Coordinates, theta: Mapping[str, Any], events: Mapping[str, Event]) -> Any | None:
    """Compute log |∂ coordinates / ∂ parameters|, a scalar graph; None where it is not square, large, or zero."""
    flat = pt.concatenate([independent(theta[name], events[name]).ravel() for name in theta])
    [one] = coordinates.evaluate([flat], [start[None] for start in coordinates.start])
    size = one.shape[1]
    if size != coordinates.size or size > LARGEST:
        return None
    derivatives = jacobian(coordinates, flat, size)
    # parameters that are steps, such as rounded ones, have no slopes
    return -pt.linalg.slogdet(derivatives)[1] if derivatives.ndim == 2 else None


def jacobian(coordinates: Coordinates, entries: Any, size: int) -> Any:
    """Differentiate so many entries of a vector by all coordinates that move: (size, n_coordinates)."""
    cotangent = pt.vector("cotangent", shape=(size,))
    moving = [coordinates.values[place] for place in coordinates.moving]
    return vectorize_graph(_slopes(entries * cotangent, moving), {cotangent: pt.constant(np.eye(size))})


def independent(values: Any, event: Event) -> Any:
    """Return the entries, of a graph or at points, from which the others follow."""
    if isinstance(event, tuple):
        return values[..., list(event)]
    if event == "simplex":
        return values[..., :-1]
    if event == "matrix":
        rows, columns = np.tril_indices(_shape(values)[-1])
        return values[..., rows, columns]
    return values
