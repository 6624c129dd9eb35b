"""Which variable each parameter of a family stands for, and how the density of one becomes that of the other.

Where every parameter is computed from one variable entry by entry, given those before it, the Jacobian is a
product.
Otherwise it is taken whole, all coordinates against all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.replace import vectorize_graph

from bayesppl.inference.pymc.reading.labels import Label
from bayesppl.inference.pymc.reading.naturals import Event
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.rows import same_values
from bayesppl.kernels.arrays import Array

Relation = Literal["same", "inverse", "entrywise"]

#: Largest Jacobian that is taken whole.
LARGEST = 400


@dataclass(frozen=True, eq=False)
class Match:
    """A parameter of a family that stands for one free variable.

    Attributes
    ----------
    parameter : str
    place : int
        Of the free variable.
    relation : {"same", "inverse", "entrywise"}
        The variable itself; its matrix inverse; or a function of each entry of its unconstrained coordinates,
        given the
        variables matched before.
    part : tuple
        Index of the entries of the parameter, where several variables make it up.
    transposed : bool
        Whether the variable has the features first.
    order : (n_classes,), optional
        Places of the variable's classes among those of the parameter, where they differ.
    """

    parameter: str
    place: int
    relation: Relation
    part: tuple[Any, ...] = ()
    transposed: bool = False
    order: Array | None = None

    def of(self, values: Any, lead: int = 0) -> Any:
        """The entries of a parameter, after ``lead`` axes, in the order of the variable."""
        before = (slice(None),) * lead
        ordered = values if self.order is None else values[(*before, self.order)]
        chosen = ordered[before + self.part] if self.part else ordered
        return chosen.swapaxes(-1, -2) if self.transposed else chosen

    @property
    def is_whole(self) -> bool:
        return not self.part and not self.transposed and self.order is None


#: How a parameter may be made up of variables: of one per class, per column, or per entry; or of one with
#: features first.
_SCHEMES: tuple[Callable[[tuple[int, ...]], Iterator[tuple[Any, ...]]], ...] = (
    lambda shape: ((k,) for k in range(shape[0])),
    lambda shape: ((slice(None), j) for j in range(shape[1])),
    lambda shape: np.ndindex(*shape[:2]),
)


def match(
    coordinates: Coordinates,
    theta: Mapping[str, Any],
    events: Mapping[str, Event],
    label: Label,
    rng: np.random.Generator,
) -> list[Match] | None:
    """Match parameters with variables one to one, so that each depends on one variable more; or return None."""
    points = coordinates.draw(2, rng)
    known = dict(zip(theta, coordinates.evaluate(list(theta.values()), points), strict=True))
    own = coordinates.evaluate(list(coordinates.constrained.values()), points)
    state = _State(coordinates, theta, events, label, points, known, own)
    for scheme in (None, *_SCHEMES):
        found = _match(state, scheme)
        if found is not None:
            return found
    return None


@dataclass(frozen=True, eq=False)
class _State:
    """What is known of parameters and variables at a few points."""

    coordinates: Coordinates
    theta: Mapping[str, Any]
    events: Mapping[str, Event]
    label: Label
    points: Sequence[Array]
    known: Mapping[str, Array]
    own: Sequence[Array]

    @cached_property
    def changed(self) -> dict[str, Array]:
        """Which entries of the parameters change with each variable: (n_variables, ...)."""
        other = self.coordinates.draw(len(self.points[0]), np.random.default_rng(1))
        found = []
        for place in range(len(self.points)):
            moved = [other[i] if i == place else values for i, values in enumerate(self.points)]
            values = self.coordinates.evaluate(list(self.theta.values()), moved)
            found.append([(now != self.known[name]).any(0) for name, now in zip(self.theta, values, strict=True)])
        return {
            name: np.asarray(column) for name, column in zip(self.theta, zip(*found, strict=True), strict=True)
        }

    def above(self, name: str, part: tuple[Any, ...]) -> set[int]:
        """The variables that some entries of a parameter change with."""
        changed = self.changed[name][(slice(None), *part)]
        return set(np.flatnonzero(changed.reshape(len(changed), -1).any(1)).tolist())

    def orders(self, name: str, part: tuple[Any, ...]) -> list[Array | None]:
        """Orders that the classes of a variable may have: those of the parameter, and those of the model."""
        has_classes = self.known[name].shape[1:2] == self.label.order.shape and (
            not part or part[0] == slice(None)
        )
        return [None, *([np.argsort(self.label.order)] if has_classes and not self.label.is_sorted else [])]


def _match(state: _State, scheme: Any) -> list[Match] | None:
    matches: list[Match] = []
    free = set(state.coordinates.moving)
    left: list[tuple[str, tuple[Any, ...]]] = [(name, ()) for name in state.theta]
    is_split = scheme is None
    while left:
        ready = next((key for key in left if len(state.above(*key) & free) == 1), None)
        if ready is None:
            if is_split:
                return None
            is_split = True
            split = []
            for name, _ in left:
                shape = state.known[name].shape[1:]
                if (len(shape) < 2 and scheme is not _SCHEMES[0]) or not shape:
                    return None
                split += [(name, tuple(part)) for part in scheme(shape)]
            left = split
            continue
        left.remove(ready)
        [place] = state.above(*ready) & free
        same = [Match(ready[0], place, "same", ready[1], order=order) for order in state.orders(*ready)]
        found = next((related for related in (_related(state, one) for one in same) if related is not None), None)
        if found is None:
            return None
        free.remove(place)
        matches.append(found)
    return None if free else matches


def _related(state: _State, same: Match) -> Match | None:
    """Relate a parameter, or a part of one, to a variable; None if neither this nor another relation holds."""
    event, place = state.events[same.parameter], same.place
    graph, values = same.of(state.theta[same.parameter]), same.of(state.known[same.parameter], 1)
    own = state.own[place]
    if event == "simplex" and values.shape[-1] == 2 and values.size == 2 * own.size:
        for level in (1, 0):  # two classes, or levels, by the probability of one of them
            if same_values(values[..., level].reshape(own.shape), own, 1e-13):
                return replace(same, part=(*same.part, ..., level))
        return None
    if values.size != own.size:
        if event != "scalar" or values.size != state.points[place].size:
            return None
    elif same_values(values.reshape(own.shape), own, 1e-13):
        return same
    elif values.ndim == 3 and same_values(values.swapaxes(1, 2).reshape(own.shape), own, 1e-13):
        return replace(same, transposed=True) if event == "scalar" else None
    if event == "matrix":
        square = own.ndim >= 3 and own.shape[-1] == own.shape[-2]
        if square and same_values(np.linalg.inv(values).reshape(own.shape), own, 1e-8):
            return replace(same, relation="inverse")
        return None
    if event != "scalar":
        return None
    value = state.coordinates.values[place]
    weights = np.random.default_rng(len(state.points)).uniform(0.5, 1.5, values.shape[1:])
    slope, weighted = state.coordinates.evaluate(
        [_slope(graph, value, None), _slope(graph, value, weights)], state.points
    )
    if not (slope != 0).all():
        return None
    for transposed in (False, True):
        turned = weights.T if transposed else weights
        if same_values(slope * turned.reshape(slope.shape[1:]), weighted, 1e-11):
            return replace(same, relation="entrywise", transposed=transposed)
    return None


def _slope(graph: Any, value: Any, weights: Array | None) -> Any:
    """Gradient of the sum of the entries of ``graph``: its derivatives, where it is computed entry by entry."""
    total = graph.sum() if weights is None else (graph * weights).sum()
    return pytensor.grad(total, value, disconnected_inputs="ignore")


def log_volumes(coordinates: Coordinates, theta: Mapping[str, Any], matches: Sequence[Match]) -> list[Any]:
    """Compute log |∂ parameters / ∂ coordinates of the prior| for each match, of the shape of its entries."""
    graphs = []
    for found in matches:
        graph = theta[found.parameter]
        if found.relation == "entrywise":
            graphs.append(pt.log(pt.abs(_slope(graph, coordinates.values[found.place], None))))
        else:  # dΣ = |Σ|^(D+1) dΛ for a symmetric matrix and its inverse
            graphs.append((graph.shape[-1] + 1) * pt.linalg.slogdet(found.of(graph))[1])
    return graphs


def log_volume(coordinates: Coordinates, theta: Mapping[str, Any], events: Mapping[str, Event]) -> Any | None:
    """Compute log |∂ parameters / ∂ coordinates|, a scalar graph; None where it is not square, or large."""
    flat = pt.concatenate([_independent(theta[name], events[name]).ravel() for name in theta])
    [one] = coordinates.evaluate([flat], [start[None] for start in coordinates.start])
    size = one.shape[1]
    if size != coordinates.size or size > LARGEST:
        return None
    cotangent = pt.vector("cotangent", shape=(size,))
    moving = [coordinates.values[place] for place in coordinates.moving]
    gradients = pytensor.grad(
        (flat * cotangent).sum(), moving, disconnected_inputs="ignore", consider_constant=[cotangent]
    )
    row = pt.concatenate([pt.as_tensor(g).ravel() for g in gradients])
    jacobian = vectorize_graph(row, {cotangent: pt.constant(np.eye(size))})
    return pt.linalg.slogdet(jacobian)[1]


def _independent(graph: Any, event: Event) -> Any:
    """Entries from which the others follow."""
    if isinstance(event, tuple):
        return graph[..., list(event)]
    if event == "simplex":
        return graph[..., :-1]
    if event == "matrix":
        rows, columns = np.tril_indices(int(graph.type.shape[-1]))
        return graph[..., rows, columns]
    return graph


#: Terms, arrays or graphs, and their shapes, whose draw axis leads.
Terms = list[tuple[Any, tuple[int, ...]]]


def assemble(
    matches: Sequence[Match],
    sizes: Mapping[str, tuple[int, ...]],
    terms: Terms,
    concatenate: Callable[..., Any],
) -> Terms | None:
    """One term for each parameter, or for each variable that is all of one.

    Parameters
    ----------
    matches : sequence of Match
        One for each term.
    sizes : mapping of str to tuple of int
        Shapes of the parameters, without draws.
    concatenate : callable
        Of NumPy for arrays, of PyTensor for graphs.

    Returns
    -------
    list, optional
        None where the variables do not make up their parameter.
    """
    whole = [term for found, term in zip(matches, terms, strict=True) if found.is_whole]
    parts: dict[str, list[tuple[Match, Any, tuple[int, ...]]]] = {}
    for found, (term, shape) in zip(matches, terms, strict=True):
        if not found.is_whole:
            parts.setdefault(found.parameter, []).append((found, term, shape))
    for name, group in parts.items():
        n_draws, full = group[0][2][0], sizes[name]
        if sum(found.of(np.empty(full)).size for found, _, _ in group) != np.prod(full):
            return None
        n_terms = sum(int(np.prod(shape[1:])) for _, _, shape in group)
        # the density of a vector or a matrix has one term for all its entries
        kept = next((full[:n] for n in range(len(full), -1, -1) if np.prod(full[:n]) == n_terms), None)
        if kept is None or any(len(found.part) > len(kept) for found, _, _ in group):
            return None
        if not kept:  # one term for one variable, however its classes are ordered
            whole.append((group[0][1].reshape((n_draws,)), (n_draws,)))
            continue
        places = np.arange(n_terms).reshape(kept)
        order = np.concatenate([found.of(places).ravel() for found, _, _ in group])
        flat = concatenate([term.reshape((n_draws, -1)) for _, term, _ in group], axis=1)
        whole.append((flat[:, np.argsort(order)].reshape((n_draws, *kept)), (n_draws, *kept)))
    return whole
