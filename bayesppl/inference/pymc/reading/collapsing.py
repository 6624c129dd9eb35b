r"""Parts that are conjugate given other variables: the parameters are integrated out, and the others sampled.

With :math:`\theta` the parameters of the family, or its means alone, and :math:`\eta` the other variables, such
as a concentration that is learned,

.. math:: \log p(\eta, \theta) = r(\eta) + c(\eta) + \sum_j h_j(\eta)\, t_j(\theta),

linear in the statistics of :mod:`.naturals` at every :math:`\eta`. The user's own density at a few fixed
:math:`\theta` is then a linear system for :math:`c` and :math:`h`, which is solved once; so :math:`h` is a graph
of :math:`\eta`, made of the user's. Given :math:`\eta`, that is the density of a conjugate prior, which
integrates to one: :math:`c` follows from :math:`h`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import ancestors

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.shared_cells import SharedCells
from bayesppl.inference.pymc.graphs import canonical, substitute, without_products, without_shapes
from bayesppl.inference.pymc.reading import proof
from bayesppl.inference.pymc.reading.coverage import log_prob
from bayesppl.inference.pymc.reading.matches import independent
from bayesppl.inference.pymc.reading.naturals import Event, Natural
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.prior_density import (
    PriorDensity,
    about,
    centre_of_means,
    link,
    orthogonalised,
)
from bayesppl.inference.pymc.reading.proposal import Proposal
from bayesppl.kernels.arrays import Array, select_draws

#: Values of the other variables at which the prior of the parameters is proved conjugate.
GIVEN = 3

#: Fresh points at which the whole density is compared, at each distance from the start.
POINTS = 7

#: Distances and tolerances: far out, coefficients of a prior that is nearly flat have few digits left beside its
#: constant.
SPREADS = {**proof.SPREADS, 6.0: 1e-4}


@dataclass(frozen=True, eq=False)
class Collapsed:
    """A part whose parameters are conjugate given other variables.

    Attributes
    ----------
    proposal : Proposal
    density : PriorDensity
        Parameters as graphs of all unconstrained variables, matched with some of them.
    places : tuple of int
        Of the variables that are sampled.
    coefficients : graph
        Of these variables: h, (*factors, n_statistics), of means about ``centre``.
    centre : graph
        Of these variables: an array of the shape of the means.
    rest : graph
        r.
    belief : Conjugate
        The prior of the parameters at one point of the others.
    known : mapping of str to graph
        Of these variables: further parameters of the rows.
    """

    proposal: Proposal
    density: PriorDensity
    places: tuple[int, ...]
    coefficients: Any
    centre: Any
    rest: Any
    belief: Conjugate
    known: Mapping[str, Any]

    @property
    def coordinates(self) -> Coordinates:
        return self.density.coordinates

    @property
    def names(self) -> str:
        """Return the names of the variables that are sampled."""
        return ", ".join(str(self.coordinates.free[place].name) for place in self.places)

    def log_density(self, statistics: Any) -> Any:
        """Return the log posterior density of the other variables, given sums of the rows; a scalar graph."""
        natural = replace(self.proposal.natural, **self.known)
        if natural.cells is not None:
            statistics = SharedCells(self.belief.inner, natural.cells).gathered(statistics)
        if "mean" in natural.events:
            statistics = replace(statistics, mean=statistics.mean - self.centre)
        # no matrix here has the length of the rows
        rest = self.rest + self.coordinates.support(self.places)
        return without_products([rest + natural.log_increment(self.coefficients, statistics).sum()])[0]

    def beliefs(self, points: Sequence[Array]) -> list[Conjugate]:
        """Return the priors of the parameters at draws of the other variables.

        Raises
        ------
        ValueError
            If one of them is not proper.
        """
        return [self.belief_of(*values) for values in zip(*self.hyperparameters(points), strict=True)]

    def hyperparameters(self, points: Sequence[Array]) -> list[Array]:
        """Evaluate what the prior of the parameters depends on at draws of the other variables."""
        return self.coordinates.evaluate([self.coefficients, self.centre, *self.known.values()], points)

    def belief_of(self, coefficients: Array, centre: Array, *known: Array) -> Conjugate:
        """Return the prior of the parameters at one draw of the other variables, as :meth:`beliefs`."""
        further: dict[str, Any] = dict(zip(self.known, known, strict=True))
        return replace(self.proposal.natural, **further).prior(coefficients, centre)


def collapse(
    coordinates: Coordinates, proposal: Proposal, graphs: Mapping[str, Any], rng: np.random.Generator
) -> Collapsed | None:
    """Prove that a part is conjugate given some of its variables; return None where that fails.

    Parameters
    ----------
    graphs : mapping of str to graph
        Parameters of the family, of the unconstrained variables.
    """
    if coordinates.potentials:
        return None
    further = without_shapes(coordinates.of(list(proposal.known.values())))
    known = dict(zip(proposal.known, further, strict=True))
    above_known = set(ancestors(list(known.values())))
    local = _local(coordinates, graphs, proposal.natural.events)
    places = tuple(place for place in coordinates.moving if place not in local)
    if not local or not places or any(coordinates.values[place] in above_known for place in local):
        return None
    proved = _given_others(coordinates, proposal.natural, graphs, local, rng)
    return None if proved is None else _solved(proposal, *proved, places, known, rng)


def _local(coordinates: Coordinates, graphs: Mapping[str, Any], events: Mapping[str, Event]) -> list[int]:
    """List which variables may be integrated out: those with as many entries as they change of a parameter."""
    above = {name: coordinates.above(graph) for name, graph in graphs.items()}
    start = [values[None] for values in coordinates.start]
    found: set[int] = set()
    taken: set[int] = set()
    for name in sorted(graphs, key=lambda name: len(above[name])):
        for moving in above[name] - taken:
            other = [values + 0.1 if place == moving else values for place, values in enumerate(start)]
            one, two = (
                independent(coordinates.evaluate([graphs[name]], points)[0], events[name])
                for points in (start, other)
            )
            if (one != two).sum() == coordinates.start[moving].size:
                found.add(moving)
        taken |= above[name]
    return sorted(found)


def _given_others(
    coordinates: Coordinates,
    natural: Natural,
    graphs: Mapping[str, Any],
    local: Sequence[int],
    rng: np.random.Generator,
) -> tuple[Conjugate, PriorDensity] | None:
    """Return the prior given the other variables, at one point of these; None if it is not conjugate at some."""
    proved: list[tuple[Conjugate, PriorDensity]] = []
    for _ in range(GIVEN):
        given = coordinates.given(local, coordinates.draw(1, rng))
        found = proof.prove_prior(natural, graphs, given, rng)
        if isinstance(found, str) or found[1].matches is None:
            return None
        proved.append(found)
    belief, density = proved[-1]
    return belief, replace(density, coordinates=coordinates)


def _solved(
    proposal: Proposal,
    belief: Conjugate,
    density: PriorDensity,
    places: tuple[int, ...],
    known: Mapping[str, Any],
    rng: np.random.Generator,
) -> Collapsed | None:
    coordinates, natural = density.coordinates, proposal.natural
    width = natural.statistics(density.parameters(coordinates.draw(1, rng))).shape[-1]
    points = coordinates.draw(3 * width + 6, rng)
    shapes = [values.shape for values in coordinates.evaluate(density.terms, points)]
    for place in places:
        points[place] = np.broadcast_to(coordinates.start[place], points[place].shape)
    theta = density.parameters(points)
    fixed = _held(density, theta, points, places)
    total = None if fixed is None else _by_factor(density, fixed, shapes)
    if fixed is None or total is None:
        return None
    rest = pt.add(*(coordinates.log_prior(jacobian=True)[place].sum() for place in places), pt.zeros(()))
    centre: Any = centre_of_means(theta)
    coefficients = _least_squares(natural.statistics(about(theta, centre)), total)
    located = natural.location(coefficients)
    if located is not None:
        # where means are at their centres, their precision costs the other coefficients no digits
        location, linear = located
        centre = pt.specify_shape(location + centre, theta["mean"].shape[1:])
        at_centre = _held(
            density, theta | {"mean": pt.repeat(centre[None], len(theta["mean"]), 0)}, points, places
        )
        total = None if at_centre is None else _by_factor(density, at_centre, shapes)
        if total is None:
            return None
        others = _least_squares(natural.statistics(theta)[..., : linear.start], total)
        parts = others, pt.zeros_like(coefficients[..., linear]), coefficients[..., linear.stop :]
        coefficients = pt.concatenate(parts, axis=-1)
    centre = pt.as_tensor(centre)
    found = Collapsed(proposal, density, places, coefficients, centre, rest, belief, known)
    unknown = set(ancestors([coefficients, centre, rest])) & set(fixed)
    return None if unknown or not _is_proved(found, rng) else found


def _by_factor(density: PriorDensity, fixed: dict[Any, Any], shapes: Sequence[tuple[int, ...]]) -> Any | None:
    """Sum the prior density by factor, at points of some variables."""
    over = [
        (pt.broadcast_to(term, shape) if term.ndim < len(shape) else pt.specify_shape(term, shape), shape)
        for term, shape in zip(_at_points(density.terms, fixed), shapes, strict=True)
    ]
    return density.by_factor(over, pt.concatenate)


def _least_squares(statistics: Array, total: Any) -> Any:
    """Solve for the coefficients of statistics, (n_points, *factors, n), in a graph; but for the constant."""
    _, orthogonal, triangle = orthogonalised(statistics)
    solver = pt.constant(np.linalg.solve(triangle, orthogonal.mT)[..., :-1, :])
    return (solver * total.transpose(*range(1, total.ndim), 0)[..., None, :]).sum(-1)


def _held(
    density: PriorDensity, theta: Mapping[str, Any], points: Sequence[Array], places: Sequence[int]
) -> dict[Any, Any] | None:
    """Find what the variables must be for the parameters to stay at ``theta`` while those at ``places`` move.

    None if that is not seen. Where a parameter is computed from both, as in ``centre + spread * z``, it is affine
    in the unconstrained variable, or its logarithm is, or its log odds; whether it is so is not checked here, but
    with the density.
    """
    coordinates = density.coordinates
    moving = {coordinates.values[place] for place in places}
    matches = density.matches or ()
    # entries of a parameter that stand for one variable do not depend on those that others stand for
    start = {
        coordinates.values[place]: pt.constant(coordinates.start[place]) for m in matches for place in m.places
    }
    held: dict[Any, Any] = {}
    for found in matches:
        values, graph = [coordinates.values[place] for place in found.places], density.theta[found.parameter]
        wanted = theta[found.parameter]
        if isinstance(wanted, np.ndarray) and not moving & set(ancestors([graph])):
            held |= {v: pt.constant(points[place]) for v, place in zip(values, found.places, strict=True)}
            continue
        if found.relation == "inverse":
            return None
        entries = link(found.parameter, found.of(graph))
        after = {other: own for other, own in start.items() if other not in held}
        ends = [
            substitute([entries], after | {v: pt.constant(np.full(v.type.shape, x)) for v in values})[0]
            for x in (0.0, 1.0)
        ]
        at_zero, at_one = _at_points(ends, held) if held else ends
        steps = (link(found.parameter, pt.as_tensor(found.of(wanted, 1))) - at_zero) / (at_one - at_zero)
        for value, place, own in zip(values, found.places, found.split(steps), strict=True):
            held[value] = pt.specify_shape(own.reshape(points[place].shape), points[place].shape)
    return held


def _at_points(graphs: Sequence[Any], fixed: dict[Any, Any]) -> Any:
    """Take graphs at points of some variables, whose axis leads.

    A shape that is computed from a variable would be computed, and reshaped to, for every point, which takes ten
    times as long.
    """
    return vectorize_graph(canonical(graphs), fixed)


def _is_proved(found: Collapsed, rng: np.random.Generator) -> bool:
    """Whether the whole density is that of the priors with these coefficients, at points not used before.

    Far out, hyperparameters may lie beyond what floating-point numbers hold; such points prove nothing.
    """
    coordinates, natural, constant = found.coordinates, found.proposal.natural, None
    for spread, tolerance in SPREADS.items():
        points, draws = coordinates.draw(POINTS, rng, spread), []
        theta, values = found.density.evaluate(points)
        coefficients, centre, *_ = hyperparameters = found.hyperparameters(points)
        theirs = np.sum([term.reshape(POINTS, -1).sum(1) for term in values], axis=0)
        parts = (coefficients * natural.statistics(about(theta, centre))).reshape(POINTS, -1)
        scale = np.maximum(1.0, np.abs(parts).sum(1) + np.abs(theirs))
        for i, of_point in enumerate(zip(*hyperparameters, strict=True)):
            try:
                belief = found.belief_of(*of_point)
            except ValueError:
                if spread < max(SPREADS):
                    return False
                continue
            gap = theirs[i] - log_prob(belief, natural, select_draws(theta, [i]))[0]
            constant = gap if constant is None else constant
            if not abs(gap - constant) <= tolerance * scale[i]:
                return False
            draws.append(belief.draw(1, rng))
        if spread <= 1:
            drawn = {name: np.concatenate([one[name] for one in draws]) for name in draws[0]}
            if found.density.variables_at(drawn, points) is None:
                return False
    return True
