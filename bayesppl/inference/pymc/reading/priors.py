"""A conjugate belief for a prior density: hyperparameters by least squares.

Nothing is proved here: what is found is proposed, and :mod:`.proof` compares the densities at other points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.inference.pymc.reading.assemble import Terms, assemble
from bayesppl.inference.pymc.reading.jacobian import Match, log_volume, log_volumes, match
from bayesppl.inference.pymc.reading.labels import Label
from bayesppl.inference.pymc.reading.naturals import Natural
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.kernels.arrays import Array, Theta

#: Relative size of what least squares may leave unexplained of a log density.
UNEXPLAINED = 1e-7

#: Largest number of coefficients that are solved for together.
LARGEST = 700


@dataclass(frozen=True, eq=False)
class Density:
    """The prior of a block as a density of the parameters of a family.

    Attributes
    ----------
    theta : mapping of str to graph
        Parameters of the family, of the unconstrained variables.
    terms : sequence of graphs
        Whose total is the log density; those of the prior come first, those of the volume of the map after them.
    matches : list of Match, optional
        Where parameters stand for variables one to one.
    n_prior : int
        Number of terms of the prior.
    """

    coordinates: Coordinates
    theta: Mapping[str, Any]
    terms: Sequence[Any]
    matches: Sequence[Match] | None
    n_prior: int = 0

    def evaluate(self, points: Sequence[Array], *, volumes: bool = True) -> tuple[Theta, list[Array]]:
        """Parameters and terms at points; without those of the volume on request."""
        terms = self.terms if volumes else self.terms[: self.n_prior]
        values = self.coordinates.evaluate([*self.theta.values(), *terms], points)
        n = len(self.theta)
        return dict(zip(self.theta, values[:n], strict=True)), values[n:]


def as_density(
    coordinates: Coordinates,
    natural: Natural,
    theta: Mapping[str, Any],
    label: Label,
    rng: np.random.Generator,
) -> Density | str:
    """The prior as a density of the parameters, or the reason why it is none."""
    found = match(coordinates, theta, natural.events, label, rng)
    if found is not None:
        entrywise = {m.place for m in found if m.relation == "entrywise"}
        constrained = coordinates.log_prior(jacobian=False)
        free = coordinates.log_prior(jacobian=True) if entrywise else constrained
        terms = [
            free[place] if place in entrywise else constrained[place] for place in range(len(coordinates.free))
        ]
        terms += [_of_classes(potential, label) for potential in constrained[len(coordinates.free) :]]
        volumes = [-volume for volume in log_volumes(coordinates, theta, found)]
        return Density(coordinates, theta, [*terms, *volumes], found, len(terms))
    volume = log_volume(coordinates, theta, natural.events)
    if volume is None:
        return "its variables are not the parameters of the family in other coordinates"
    terms = coordinates.log_prior(jacobian=True)
    return Density(coordinates, theta, [*terms, -volume], found, len(terms))


def _of_classes(potential: Any, label: Label) -> Any:
    """The terms of a potential, those of the classes in our order; its sum is the same, whatever they are."""
    has_classes = potential.type.shape[:1] == label.order.shape
    return potential[label.order] if has_classes and not label.is_sorted else potential


def propose(density: Density, natural: Natural, rng: np.random.Generator) -> Conjugate | str:
    """The belief whose density this could be, or the reason why there is none."""
    width = natural.statistics(density.evaluate(density.coordinates.draw(1, rng))[0]).shape[-1]
    n_factors = int(np.prod(natural.factors))
    if density.matches is not None:
        found = _solve(density, natural, 2 * width + 8, rng, together=False)
        if not isinstance(found, str) or n_factors * width > LARGEST:
            return found
    if n_factors * width > LARGEST:
        return "its prior has too many parameters to be solved for together"
    return _solve(density, natural, n_factors * width + 20, rng, together=True)


def _solve(
    density: Density, natural: Natural, n_points: int, rng: np.random.Generator, *, together: bool
) -> Conjugate | str:
    theta, terms = density.evaluate(density.coordinates.draw(n_points, rng))
    statistics = natural.statistics(theta)
    if together:
        total = np.sum([term.reshape(n_points, -1).sum(1) for term in terms], axis=0)
        coefficients = _least_squares(statistics.reshape(n_points, -1), total)
        if coefficients is None:
            return "the prior is not conjugate to the likelihood"
        solved = coefficients.reshape(statistics.shape[1:])
    else:
        assembled = _assembled(density, theta, terms)
        own = [natural.by_factor(term, shape) for term, shape in assembled or ()]
        if assembled is None or any(factor is None for factor in own):
            return "the prior ties its parameters together"
        total = np.sum([np.zeros((n_points, *natural.factors)), *own], axis=0)
        target = total.reshape(n_points, -1)
        flat = statistics.reshape(n_points, target.shape[1], statistics.shape[-1])
        rows = [_least_squares(flat[:, j], target[:, j]) for j in range(target.shape[1])]
        if any(row is None for row in rows):
            return "the prior is not conjugate to the likelihood"
        solved = np.asarray(rows).reshape(statistics.shape[1:])
    try:
        # a flat prior has no centre, and is refused as improper
        with np.errstate(divide="ignore", invalid="ignore"):
            return natural.belief(solved)
    except ValueError as error:
        return f"the prior is not a proper {natural.words}: {error}"


def _assembled(density: Density, theta: Theta, terms: Sequence[Array]) -> Terms | None:
    """Terms in the order of the parameters' entries, without what is zero; None where variables do not make up their parameter."""
    matches, n_points = density.matches or (), len(next(iter(theta.values())))
    full = [np.broadcast_to(term, (n_points, *term.shape[1:])) for term in terms]
    by_place = sorted(matches, key=lambda found: found.place)
    moved = [found for found in matches if found.relation != "same"]
    volumes = [full[density.n_prior + i] for i, found in enumerate(matches) if found.relation != "same"]
    sizes = {name: values.shape[1:] for name, values in theta.items()}
    potentials = full[len(by_place) : density.n_prior]
    of_variables = assemble(
        by_place, sizes, [(term, term.shape) for term in full[: len(by_place)]], np.concatenate
    )
    of_volumes = assemble(moved, sizes, [(term, term.shape) for term in volumes], np.concatenate)
    if of_variables is None or of_volumes is None:
        return None
    return [(term, term.shape) for term in potentials] + [
        (term, shape) for term, shape in of_variables + of_volumes if len(shape) > 1 or term.any()
    ]


def _least_squares(columns: Array, target: Array) -> Array | None:
    """Coefficients of columns and a constant that explain the target, without the constant; None if they do not."""
    if not np.isfinite(target).all():
        return None
    design = np.column_stack([columns, np.ones(len(target))])
    scale = np.abs(design).max(0)
    found = np.linalg.lstsq(design / scale, target, rcond=None)[0]
    residual = np.abs(design / scale @ found - target).max()
    if residual > UNEXPLAINED * max(1.0, np.abs(target).max()):
        return None
    return np.asarray((found / scale)[:-1])
