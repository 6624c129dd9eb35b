"""A conjugate belief for a prior density, and the way back from its parameters to the user's variables.

The hyperparameters are found by least squares. Nothing is proved here: what is found is proposed, and
:mod:`.proof` compares the densities at other points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.continuous import InterpolatedRV
from pymc.distributions.custom import CustomDistRV
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.distributions.mixture import MixtureRV
from pytensor.tensor.random.basic import TriangularRV

from bayesppl.conjugate import Conjugate
from bayesppl.inference.pymc.graphs import Interpreter, evaluate
from bayesppl.inference.pymc.pieces import has_peaks, has_pieces
from bayesppl.inference.pymc.reading.matches import Match, log_volume, log_volumes, match, slopes
from bayesppl.inference.pymc.reading.naturals import Natural
from bayesppl.inference.pymc.reading.observed import same_values
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.kernels.arrays import Array, Theta

#: Relative size of what least squares may leave unexplained of a log density.
UNEXPLAINED = 1e-7

#: From here on means, in standard deviations of theirs, are far from zero.
FAR = 10.0

#: Largest number of coefficients that are solved for together.
LARGEST = 700


def link(parameter: str, entries: Any) -> Any:
    """Transform a parameter so that it is affine, or nearly so, in an unconstrained variable, given others."""
    if parameter == "mean":
        return entries
    return pt.log(entries) - (0 if parameter in ("variance", "rate") else pt.log1p(-entries))


def off_the_edge(parameter: str, values: Array) -> Array:
    """Move draws that round to an edge of the support, where they have no coordinates, to what lies next to it."""
    if parameter == "probability":
        return np.clip(values, np.finfo(float).tiny, 1 - 1e-15)
    return np.maximum(values, np.finfo(float).tiny) if parameter in ("rate", "variance") else values


#: Largest number of Newton's steps, of five units at most, back to the variables of the user: the logarithm of the
#: smallest number is -745.
STEPS = 160


@dataclass(frozen=True, eq=False)
class PriorDensity:
    """The prior of a block as a density of the parameters of a family.

    Attributes
    ----------
    coordinates : Coordinates
    natural : Natural
        What conjugate priors of these parameters are like.
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
    natural: Natural
    theta: Mapping[str, Any]
    terms: Sequence[Any]
    matches: Sequence[Match] | None
    n_prior: int

    def parameters(self, points: Sequence[Array]) -> Theta:
        """Evaluate the parameters at points."""
        return dict(zip(self.theta, self.coordinates.evaluate(list(self.theta.values()), points), strict=True))

    def evaluate(self, points: Sequence[Array], *, volumes: bool = True) -> tuple[Theta, list[Array]]:
        """Evaluate parameters and terms at points; without those of the volume on request."""
        terms = self.terms if volumes else self.terms[: self.n_prior]
        values = self.coordinates.evaluate([*self.theta.values(), *terms], points)
        n = len(self.theta)
        return dict(zip(self.theta, values[:n], strict=True)), values[n:]

    def by_factor(self, terms: Sequence[Any], concatenate: Callable[..., Any]) -> Any | None:
        """Sum the terms of each factor, arrays or graphs; None where they are no terms of single factors.

        Parameters
        ----------
        terms : sequence of (array or graph, shape)
            With their shapes, whose draw axis leads.
        concatenate : callable
            Of NumPy for arrays, of PyTensor for graphs.
        """
        of_variables: dict[int, Array] = {}
        of_volumes = []
        for found in self.matches or ():
            factors = self.natural.factor_of_entries(len(found.order))[found.order]
            of_variables |= dict(zip(found.places, found.split(factors[None]), strict=True))
            of_volumes += [factors[None]] if found.relation != "same" else []
        in_order = [of_variables[place] for place in sorted(of_variables)]
        owners = {**dict(enumerate(in_order)), **dict(enumerate(of_volumes, self.n_prior))}
        flat, of_terms, n_draws = [], [], terms[0][1][0]
        for i, (term, shape) in enumerate(terms):
            n_terms = int(np.prod(shape[1:]))
            # a potential may have a term for each entry of a variable
            owned = owners.get(i, next((own for own in in_order if own.size == n_terms), None))
            # the density of a vector or a matrix has one term for all its entries
            if owned is None or owned.size % n_terms or np.ptp(owned.reshape(n_terms, -1), axis=1).any():
                return None
            flat.append(term.reshape((n_draws, n_terms)))
            of_terms.append(owned.reshape(n_terms, -1)[:, 0])
        factors = np.concatenate(of_terms)
        if np.ptp(np.bincount(factors)):
            return None
        joined = concatenate(flat, axis=1)[:, np.argsort(factors, kind="stable")]
        return joined.reshape((n_draws, *self.natural.factors, -1)).sum(-1)

    def variables_at(self, theta: Theta, start: Sequence[Array]) -> Theta | None:
        """Find the free variables at draws of a family's parameters; return None where there are none.

        Parameters
        ----------
        start : sequence of arrays
            Unconstrained coordinates, (n_draws, ...), or the same for all draws. Those of variables that stand
            for no parameter stay as they are.
        """
        if self.matches is None:
            return None
        theta = {name: off_the_edge(name, values) for name, values in theta.items()}
        if self.natural.cells is not None:
            first = np.unique(self.natural.cells, return_index=True)[1]
            theta = {name: values.reshape(len(values), -1)[:, first] for name, values in theta.items()}
        coordinates = self.coordinates
        n_draws = len(next(iter(theta.values())))
        points = [
            np.array(np.broadcast_to(v, (n_draws, *one.shape)))
            for v, one in zip(start, coordinates.start, strict=True)
        ]
        own = self.parameters([values[:1] for values in points])
        wanted = {name: theta[name].reshape(-1, *one.shape[1:]) for name, one in own.items()}
        usual = coordinates.theta([values[:1] for values in points])
        direct: Theta = {}
        for found in self.matches:
            target = found.of(wanted[found.parameter], 1)
            if found.relation == "entrywise":
                if not self._solve(found, target, points):
                    return None
                continue
            entries = np.linalg.inv(target) if found.relation == "inverse" else target
            for place, values in zip(found.places, found.split(entries), strict=True):
                variable = coordinates.free[place]
                shaped = values.reshape(n_draws, *usual[variable.name].shape[1:])
                direct[variable.name] = points[place] = shaped
                transform = coordinates.model.rvs_to_transforms[variable]
                if transform is not None:
                    one = variable.type()
                    forward = transform.forward(one, *variable.owner.inputs)
                    [points[place]] = Interpreter([one], (), [forward])([shaped])
        back = self.parameters(points)
        agrees = all(same_values(values, wanted[name], 1e-6) for name, values in back.items())
        return coordinates.theta(points) | direct if agrees else None

    def _solve(self, found: Match, target: Array, points: list[Array]) -> bool:
        """Move points, by Newton's method, to where a parameter has given values; entry by entry."""
        entries = found.of(self.theta[found.parameter])
        graph = link(found.parameter, entries)
        slope = slopes(self.coordinates, graph, found)
        [goal] = evaluate([link(found.parameter, pt.constant(target))])
        for _ in range(STEPS):
            now, rate = self.coordinates.evaluate([graph, slope], points)
            gap = now - goal
            if np.abs(gap).max() <= 1e-12 * max(1.0, np.abs(goal).max()):
                return True
            for place, step in zip(found.places, found.split(gap / rate), strict=True):
                points[place] -= self.coordinates.step(place, step)
        # next to one, probabilities are too few for their log odds
        [own] = self.coordinates.evaluate([entries], points)
        is_next = np.abs(own - target) <= 1e-15 * np.abs(target)
        return bool((is_next | (np.abs(gap) <= 1e-8 * max(1.0, np.abs(goal).max()))).all())


def as_density(
    coordinates: Coordinates, natural: Natural, theta: Mapping[str, Any], rng: np.random.Generator
) -> PriorDensity | str:
    """Return the prior as a density of the parameters, or the reason why it is none."""
    pieces = _of_pieces(coordinates, theta)
    if pieces is not None:
        return f"{pieces}, so that it may be another function where no point of the proof lies"
    found = match(coordinates, theta, natural.events, rng)
    entrywise = {place for m in found or () if m.relation == "entrywise" for place in m.places}
    constrained = coordinates.log_prior(jacobian=found is None)
    free = coordinates.log_prior(jacobian=True) if entrywise else constrained
    terms = [(free if place in entrywise else constrained)[place] for place in coordinates.moving]
    terms += constrained[len(coordinates.free) :]
    if found is None:
        volume = log_volume(coordinates, theta, natural.events)
        if volume is None:
            return "its variables are not, one for one, the parameters of the family in other coordinates"
        volumes = [volume]
    else:
        volumes = log_volumes(coordinates, theta, [m for m in found if m.relation != "same"])
    return PriorDensity(coordinates, natural, theta, [*terms, *volumes], found, len(terms))


def _of_pieces(coordinates: Coordinates, theta: Mapping[str, Any]) -> str | None:
    """Say what is piecewise, or a mixture, whose components may be narrow; None where all is analytic."""
    if has_pieces(coordinates.potentials, coordinates.free):
        return "a potential compares its parameters, or cannot be looked into"
    if has_peaks(coordinates.potentials, coordinates.free):
        return "a potential takes functions of its parameters that may have narrow peaks, such as exponentials"
    constrained = list(coordinates.constrained.values())
    moved = [constrained[place] for place in coordinates.moving]
    for name, graph in theta.items():
        # PyMC takes the sign and the absolute value of a precision, and none of a mean
        if has_pieces([graph], moved, of_halves=name == "mean"):
            return f"the {name} compares its variables, or cannot be looked into"
    for place in coordinates.moving:
        variable = coordinates.free[place]
        if isinstance(variable.owner.op, MixtureRV | TriangularRV | InterpolatedRV):
            return f"the prior of {variable.name!r} is a mixture, or has a kink"
        if isinstance(variable.owner.op, CustomDistRV | SymbolicRandomVariable):
            density = coordinates.checked(jacobian=True)[place]
            if has_pieces([density], [coordinates.values[place] for place in coordinates.moving]):
                return f"the prior density of {variable.name!r} compares values, or checks them"
    return None


def propose(density: PriorDensity, rng: np.random.Generator) -> Conjugate | str:
    """Return the belief whose density this could be, or the reason why there is none."""
    natural = density.natural
    width = natural.statistics(density.parameters(density.coordinates.draw(1, rng))).shape[-1]
    n_factors = int(np.prod(natural.factors))
    if density.matches is not None:
        found = _solve(density, width + min(width, 100) + 8, rng, together=False)
        if not isinstance(found, str) or n_factors * width > LARGEST:
            return found
    if n_factors * width > LARGEST:
        return "its prior has too many parameters to be solved for together"
    return _solve(density, n_factors * width + 20, rng, together=True)


def _solve(density: PriorDensity, n_points: int, rng: np.random.Generator, *, together: bool) -> Conjugate | str:
    """Find the belief by least squares, all its factors together or each by itself."""
    theta, terms = density.evaluate(density.coordinates.draw(n_points, rng))
    natural, centre = density.natural, centre_of_means(theta)
    statistics = natural.statistics(about(theta, centre))
    if together:
        target = np.sum([term.reshape(n_points, -1).sum(1) for term in terms], axis=0)[:, None]
    else:
        total = density.by_factor([(term, term.shape) for term in terms], np.concatenate)
        if total is None:
            return "the prior ties its parameters together"
        target = total.reshape(n_points, -1)
    if not np.isfinite(target).all():
        return "the prior is not conjugate to the likelihood"
    design, orthogonal, triangle = orthogonalised(statistics.reshape(n_points, target.shape[1], -1))
    values = target.T[..., None]
    coefficients = np.linalg.solve(triangle, orthogonal.mT @ values)
    largest = np.maximum(1.0, np.abs(values).max(1, keepdims=True))
    if (np.abs(design @ coefficients - values) > UNEXPLAINED * largest).any():
        return "the prior is not conjugate to the likelihood"
    # what is as small as rounding errors, whatever the unit of the statistics, is none
    parts = coefficients * np.swapaxes(np.abs(design).max(1, keepdims=True), 1, 2)
    coefficients = np.where(np.abs(parts) < 1e-11 * largest, 0.0, coefficients)
    try:
        # a flat prior has no centre, and is refused as improper
        with np.errstate(divide="ignore", invalid="ignore"):
            return natural.prior(coefficients[:, :-1].reshape(statistics.shape[1:]), centre)
    except ValueError as error:
        return f"the prior is not a proper {natural.words}: {error}"


def centre_of_means(theta: Theta) -> Array:
    """Average means that are far from zero, whose squares would leave few digits of the rest; zeros elsewhere."""
    means = theta.get("mean", np.zeros(1))
    return np.where(np.abs(means.mean(0)) > FAR * means.std(0), means.mean(0), 0.0)


def about(theta: Theta, centre: Array) -> Theta:
    """Take means, where there are any, about a centre."""
    return {**theta, "mean": theta["mean"] - centre} if "mean" in theta else theta


def orthogonalised(statistics: Array) -> tuple[Array, Array, Array]:
    """Orthogonalise columns of statistics, (n_points, *factors, n), for least squares.

    Returns
    -------
    columns : (*factors, n_points, n + 1)
        The last is constant.
    orthogonal : (*factors, n_points, n + 1)
    triangle : (*factors, n + 1, n + 1)
        Their product is ``columns``.
    """
    columns = np.concatenate([statistics, np.ones((*statistics.shape[:-1], 1))], axis=-1)
    design = np.moveaxis(columns, 0, -2)
    scale = np.abs(design).max(-2, keepdims=True)
    orthogonal, triangle = np.linalg.qr(design / scale)
    return design, orthogonal, triangle * scale
