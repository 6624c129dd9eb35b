r"""Parts that are conjugate given other variables: the parameters are integrated out, and the others sampled.

With :math:`\eta` the variables that no parameter :math:`\theta` of the family is computed from, such as a concentration that is
learned,

.. math:: \log p(\eta, \theta) = r(\eta) + c(\eta) + \sum_j h_j(\eta)\, t_j(\theta),

linear in the statistics of :mod:`.naturals` at every :math:`\eta`. The user's own density at a few fixed :math:`\theta` is then a
linear system for :math:`c` and :math:`h`, which is solved once; so both are graphs of :math:`\eta`, made of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import ancestors

from bayesppl.beliefs import Conjugate
from bayesppl.inference.pymc.reading import proof
from bayesppl.inference.pymc.reading.inverse import variables_at
from bayesppl.inference.pymc.reading.jacobian import log_volumes
from bayesppl.inference.pymc.reading.marginals import LOG_NORMALIZERS
from bayesppl.inference.pymc.reading.naturals import Natural
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.priors import Density
from bayesppl.inference.pymc.reading.proposals import Proposal
from bayesppl.kernels.arrays import Array, Theta

#: The prior of parameters with others given, proved conjugate, or the reason why it is not.
Prove = Callable[[Coordinates], tuple[Conjugate, Density] | str]

#: Values of the other variables at which the prior of the parameters is proved conjugate.
GIVEN = 3

#: Fresh points at which the whole density is compared, at each distance from the start.
POINTS = 7


@dataclass(frozen=True, eq=False)
class Collapsed:
    """A part whose parameters are conjugate given other variables.

    Attributes
    ----------
    proposal : Proposal
    density : Density
        Parameters as graphs of all unconstrained variables, matched with some of them.
    places : tuple of int
        Of the variables that are sampled.
    coefficients : graph
        Of these variables: h, (*factors, n_statistics).
    constant : graph
        r + c.
    belief : Conjugate
        The prior of the parameters where the others are at the start.
    """

    proposal: Proposal
    density: Density
    places: tuple[int, ...]
    coefficients: Any
    constant: Any
    belief: Conjugate

    @property
    def coordinates(self) -> Coordinates:
        return self.density.coordinates

    @property
    def natural(self) -> Natural:
        return self.proposal.natural

    @property
    def names(self) -> str:
        """The variables that are sampled."""
        return ", ".join(str(self.coordinates.free[place].name) for place in self.places)

    def log_density(self, statistics: Any) -> Any:
        """Log posterior density of the other variables, given sums of the rows; a scalar graph."""
        return (
            self.constant + LOG_NORMALIZERS[type(self.natural)](self.natural, self.coefficients, statistics).sum()
        )

    def beliefs(self, points: Sequence[Array]) -> list[Conjugate]:
        """The priors of the parameters at draws of the other variables.

        Raises
        ------
        ValueError
            If one of them is not proper.
        """
        [coefficients] = self.coordinates.evaluate([self.coefficients], points)
        return [self.natural.belief(values) for values in coefficients]


def collapse(
    coordinates: Coordinates, proposal: Proposal, prove: Prove, rng: np.random.Generator
) -> Collapsed | None:
    """A part as one that is conjugate given some of its variables; None where that is not proved."""
    if coordinates.potentials or type(proposal.natural) not in LOG_NORMALIZERS:
        return None
    graphs = dict(zip(proposal.theta, coordinates.of(list(proposal.theta.values())), strict=True))
    above = set(ancestors(list(graphs.values())))
    local = [place for place, value in enumerate(coordinates.values) if value in above]
    places = tuple(place for place in range(len(coordinates.values)) if place not in local)
    if not local or not places:
        return None
    proved = []
    for _ in range(GIVEN):
        found = prove(_given(coordinates, local, places, coordinates.draw(1, rng)))
        if isinstance(found, str) or not found[1].is_by_factor:
            return None
        proved.append(found)
    belief, conditional = proved[-1]
    matches = [replace(match, place=local[match.place]) for match in conditional.matches or ()]
    density = Density(coordinates, graphs, [], matches)
    return _solved(proposal, density, local, places, belief, rng)


def _given(
    coordinates: Coordinates, local: Sequence[int], places: Sequence[int], points: Sequence[Array]
) -> Coordinates:
    """The coordinates of some variables, with the others at a point."""
    return Coordinates(
        coordinates.model,
        [coordinates.free[place] for place in local],
        coordinates.inputs,
        (),
        [coordinates.start[place] for place in local],
        {coordinates.free[place]: points[place][0] for place in places},
    )


def _solved(
    proposal: Proposal,
    density: Density,
    local: Sequence[int],
    places: tuple[int, ...],
    belief: Conjugate,
    rng: np.random.Generator,
) -> Collapsed | None:
    coordinates, natural = density.coordinates, proposal.natural
    assert density.matches is not None
    entrywise = {found.place for found in density.matches if found.relation == "entrywise"}
    constrained, free = (coordinates.log_prior(jacobian=jacobian) for jacobian in (False, True))
    terms = [free[place] if place in entrywise else constrained[place] for place in local]
    terms += [-volume for volume in log_volumes(coordinates, density.theta, density.matches)]
    rest = pt.add(*(free[place].sum() for place in places), pt.zeros(()))

    width = natural.statistics(coordinates_at(density, coordinates.draw(1, rng))).shape[-1]
    points = coordinates.draw(3 * width + 6, rng)
    shapes = [values.shape for values in coordinates.evaluate(terms, points)]
    fixed = {coordinates.values[place]: pt.constant(points[place]) for place in local}
    by_factor = []
    for term, shape in zip(_over(terms, fixed, shapes), shapes, strict=True):
        own = natural.by_factor(term, shape)
        if own is None and shape[1:]:
            return None
        by_factor.append(own if own is not None else pt.zeros(()))
    solution = _linear(natural.statistics(coordinates_at(density, points)), pt.add(*by_factor))
    coefficients, constant = solution[..., :-1], rest + solution[..., -1].sum()
    found = Collapsed(proposal, density, places, coefficients, constant, belief)
    unknown = set(ancestors([coefficients, constant])) & set(fixed)
    return None if unknown or not _is_proved(found, [*terms, rest], rng) else found


def coordinates_at(density: Density, points: Sequence[Array]) -> Theta:
    """Parameters at points."""
    values = density.coordinates.evaluate(list(density.theta.values()), points)
    return dict(zip(density.theta, values, strict=True))


def _over(terms: Sequence[Any], fixed: dict[Any, Any], shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Terms at fixed points of some variables, whose axis leads."""
    batched = vectorize_graph(list(terms), fixed)
    return [
        pt.broadcast_to(new, shape) if new.ndim < len(shape) else pt.specify_shape(new, shape)
        for new, shape in zip(batched, shapes, strict=True)
    ]


def _linear(statistics: Array, totals: Any) -> Any:
    """Coefficients of statistics, (n_points, *factors, n), and a constant behind them, as graphs of totals (n_points, *factors)."""
    design = np.moveaxis(np.concatenate([statistics, np.ones((*statistics.shape[:-1], 1))], axis=-1), 0, -2)
    scale = np.abs(design).max(-2, keepdims=True)
    solver = np.linalg.pinv(design / scale) / np.swapaxes(scale, -1, -2)  # (*factors, n + 1, n_points)
    last = totals.transpose(*range(1, totals.ndim), 0)
    return (pt.constant(solver) * last[..., None, :]).sum(-1)


def _is_proved(found: Collapsed, terms: Sequence[Any], rng: np.random.Generator) -> bool:
    """Whether the whole density is what the coefficients say, at points not used before."""
    coordinates, natural = found.coordinates, found.natural
    for spread, tolerance in proof.SPREADS.items():
        points = coordinates.draw(POINTS, rng, spread)
        *values, coefficients, constant = coordinates.evaluate(
            [*terms, found.coefficients, found.constant], points
        )
        theta = coordinates_at(found.density, points)
        theirs = np.sum([term.reshape(POINTS, -1).sum(1) for term in values], axis=0)
        parts = (coefficients * natural.statistics(theta)).reshape(POINTS, -1)
        scale = np.maximum(1.0, np.abs(parts).sum(1) + np.abs(constant))
        if not (np.abs(theirs - constant - parts.sum(1)) <= tolerance * scale).all():
            return False
        try:
            beliefs = found.beliefs(points)
        except ValueError:
            return False
        drawn = {name: np.concatenate([b.draw(1, rng)[name] for b in beliefs]) for name in beliefs[0].parameters}
        if spread <= 1 and variables_at(found.density, natural, drawn, points) is None:
            return False
    return True
