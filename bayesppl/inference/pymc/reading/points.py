"""Points at which densities are compared: unconstrained coordinates of free variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import support_point
from pymc.distributions.transforms import CholeskyCovTransform
from pymc.initial_point import make_initial_point_expression
from pymc.logprob.basic import transformed_conditional_logp
from pymc.logprob.rewriting import logprob_rewrites_db
from pytensor.graph.traversal import ancestors

from bayesppl.inference.pymc.graphs import (
    REWRITES,
    Interpreter,
    conditions,
    evaluate,
    in_64_bits,
    substitute,
    within,
    without_checks,
    without_sums_of_numbers,
)
from bayesppl.inference.pymc.reading.requirements import require_no_draws
from bayesppl.kernels.arrays import Array, Theta

#: Steps by which it is seen how wide a prior is.
STEPS = 10.0 ** np.arange(-15, 21)

#: Largest number of pairs of entries up to which each entry is stepped by itself.
MOST_PAIRS = 10_000


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Free variables of a part of a model, their unconstrained coordinates, and the maps between the two.

    Attributes
    ----------
    model : pm.Model
    inputs : mapping of free variable of the model to input
        What stands for the free variables in graphs of rows and parameters.
    free : sequence of free variables
    potentials : sequence of graphs
        That belong to the prior.
    values : sequence of unconstrained variables
        Of known shape.
    start : sequence of arrays
        A point inside the support of the prior.
    moving : sequence of int
        Places of the variables that are looked at; the others stay where they start.
    units : sequence of arrays
        How far the density of a variable without a transform is about the same, what entries of a Cholesky factor
        are measured in; 1 of others.
    """

    model: Any
    inputs: Mapping[Any, Any]
    free: Sequence[Any]
    potentials: Sequence[Any]
    values: Sequence[Any]
    start: Sequence[Array]
    moving: Sequence[int]
    units: Sequence[Array]
    _made: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of_model(cls, model: Any) -> Coordinates:
        """Return the coordinates of all free variables."""
        free = list(model.free_RVs)
        inputs = {variable: variable.type(name=variable.name) for variable in free}
        start = _starts(model)
        own = [model.rvs_to_values[variable] for variable in free]
        values = [pt.tensor(name=v.name, dtype=v.dtype, shape=s.shape) for v, s in zip(own, start, strict=True)]
        units = [np.ones(())] * len(free)
        return cls(model, inputs, free, list(model.potentials), values, start, range(len(free)), units)

    def select(self, free: Sequence[Any], potentials: Sequence[Any]) -> Coordinates:
        """Return the coordinates of some free variables, with points as far apart as their priors are wide."""
        places = [self.free.index(variable) for variable in free]
        values, start = ([own[i] for i in places] for own in (self.values, self.start))
        found = Coordinates(self.model, self.inputs, free, potentials, values, start, range(len(free)), units=())
        return replace(found, units=[found._unit(place) for place in range(len(free))])

    def _unit(self, place: int) -> Array:
        """Find how far apart points of a variable may lie for its density to stay about the same."""
        transform = self.transforms[place]
        if isinstance(transform, CholeskyCovTransform):
            # rows of the root have the units of their diagonal entries, of which the logarithms are coordinates
            row, column = np.tril_indices(int(np.sqrt(2 * self.start[place].shape[-1])))
            return np.where(row == column, 1.0, np.exp(self.start[place])[..., row == column][..., row])
        if transform is not None or not self.start[place].size:  # the correlations of a single column
            return np.ones(())
        densities = self.log_prior(jacobian=False)
        found = self._widths(densities[place], place)
        potentials = densities[len(self.free) :]
        if potentials and (found == STEPS[-1]).all():  # flat, but for a potential
            found = self._widths(pt.add(*(term.sum() for term in potentials), pt.zeros(())), place)
        return np.where(found == STEPS[-1], 1.0, found).reshape(self.start[place].shape)

    def _widths(self, density: Any, place: int) -> Array:
        """Find the largest steps of the entries of a variable by which a log density changes by one or less."""
        here, start = [values[None] for values in self.start], self.start[place]
        [usual] = self.evaluate([density], here)
        if usual.shape[1:] != start.shape[: usual.ndim - 1]:
            density, usual = density.sum(), usual.sum()[None]
        # one term for each entry, or for those of the last axes, which are stepped one after the other
        n_terms = usual.size
        per_term = start.size // n_terms
        moved = np.eye(per_term) if per_term * start.size <= MOST_PAIRS else np.ones((1, per_term))
        moves = np.multiply.outer(STEPS, np.concatenate([moved, -moved]))[:, :, None]
        moves = np.broadcast_to(moves, (*moves.shape[:2], n_terms, per_term))
        points = [np.broadcast_to(values, (moves[..., 0, 0].size, *values.shape[1:])) for values in here]
        points[place] = start + moves.reshape(-1, *start.shape)
        with np.errstate(all="ignore"):
            [found] = self.evaluate([density], points)
            change = np.abs(found.reshape(moves.shape[:3]) - usual.ravel())
        steady = (change.reshape(len(STEPS), 2, -1, n_terms) <= 1).all(1)
        last = np.logical_and.accumulate(steady).sum(0) - 1
        return np.asarray(np.broadcast_to(STEPS[np.maximum(last, 0)].T, (n_terms, per_term)))

    def given(self, moving: Sequence[int], points: Sequence[Array]) -> Coordinates:
        """Return the same coordinates, of which only some move, the others at a point; caches are shared."""
        start = [self.start[i] if i in moving else values[0] for i, values in enumerate(points)]
        return replace(self, start=start, moving=moving)

    @property
    def size(self) -> int:
        """Return the number of unconstrained coordinates that move."""
        return sum(self.start[place].size for place in self.moving)

    def above(self, graph: Any) -> set[int]:
        """Find the places of the variables, moving or not, that a graph of the unconstrained ones depends on."""
        found = set(ancestors([graph]))
        return {place for place, value in enumerate(self.values) if value in found}

    @property
    def constrained(self) -> dict[Any, Any]:
        """Return the free variables, as graphs of the unconstrained ones."""
        return self.once("constrained", self._constrained)

    def _constrained(self) -> dict[Any, Any]:
        graphs = self.model.replace_rvs_by_values(list(self.free)) if self.free else []
        return dict(zip(self.free, self._in_coordinates(graphs), strict=True))

    def once[T](self, key: Any, make: Callable[[], T]) -> T:
        """Make something of the graphs the first time only; it is the same wherever other variables stay."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def of(self, graphs: Sequence[Any]) -> list[Any]:
        """Turn graphs of the inputs into graphs of the unconstrained variables."""
        return substitute(graphs, {self.inputs[variable]: graph for variable, graph in self.constrained.items()})

    def log_prior(self, *, jacobian: bool) -> list[Any]:
        """Return log densities of the free variables, one graph each, followed by those of the potentials.

        Where PyMC checks their parameters, they return a number all the same; see :meth:`support`.
        """
        return self.once(("log prior", jacobian), lambda: without_checks(self.checked(jacobian)))

    def support(self, places: Sequence[int]) -> Any:
        """Return zero where every check of the prior is passed and minus infinity elsewhere, a scalar graph.

        Of checks that depend on the variables at some places alone: a mean may be the shape of a gamma prior.
        """
        checks = conditions(self.checked(jacobian=True))
        return within([check for check in checks if self.above(check) <= {*places}], pt.zeros(()))

    def checked(self, jacobian: bool) -> list[Any]:
        """Return log densities with what PyMC checks before it takes them, as :meth:`log_prior`."""
        return self.once(("checked", jacobian), partial(self._checked_log_prior, jacobian))

    def _checked_log_prior(self, jacobian: bool) -> list[Any]:
        precise = substitute(self.free, in_64_bits(self.free))
        own = list(zip(precise, self.free, strict=True))
        densities = transformed_conditional_logp(
            tuple(precise),
            rvs_to_values={new: self.model.rvs_to_values[variable] for new, variable in own},
            rvs_to_transforms={new: self.model.rvs_to_transforms[variable] for new, variable in own},
            jacobian=jacobian,
            ir_rewriter=logprob_rewrites_db.query(REWRITES),
        )
        potentials = self.model.replace_rvs_by_values(list(self.potentials)) if self.potentials else []
        require_no_draws("the density of what is learned", [*densities, *potentials])
        return self._in_coordinates(without_sums_of_numbers([*densities, *potentials]))

    def _in_coordinates(self, graphs: Sequence[Any]) -> list[Any]:
        own = [self.model.rvs_to_values[variable] for variable in self.free]
        return substitute(graphs, {**dict(zip(own, self.values, strict=True)), **in_64_bits(graphs)})

    def draw(self, size: int, rng: np.random.Generator, spread: float = 0.7, stretch: float = 1.0) -> list[Array]:
        """Draw random points about the start, ``stretch`` times further in variables without a transform.

        Returns
        -------
        list of arrays (size, ...)
        """
        reach = [
            unit * (spread if transform else spread * stretch)
            for transform, unit in zip(self.transforms, self.units, strict=True)
        ]
        return [
            values + reach[place] * rng.uniform(-1, 1, (size, *values.shape))
            if place in self.moving
            else np.broadcast_to(values, (size, *values.shape))
            for place, values in enumerate(self.start)
        ]

    @property
    def transforms(self) -> list[Any]:
        """Return the transforms of the free variables; None where a variable is its own coordinate."""
        return [self.model.rvs_to_transforms[variable] for variable in self.free]

    def step(self, place: int, steps: Array) -> Array:
        """Return Newton's steps of a variable, none too long for exponentials, in its shape: (n_points, ...)."""
        shaped = steps.reshape(len(steps), *self.start[place].shape)
        reach = 5 * self.units[place]
        return shaped if self.transforms[place] is None else np.clip(shaped, -reach, reach)

    def evaluate(self, graphs: Sequence[Any], points: Sequence[Array]) -> list[Array]:
        """Evaluate graphs of the unconstrained variables at points: arrays (size, ...)."""
        return self.once(tuple(graphs), lambda: Interpreter(self.values, (), graphs))(points, (), 1)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but what was made of the graphs, which is made anew."""
        return vars(self) | {"_made": {}}

    def theta(self, points: Sequence[Array]) -> Theta:
        """Evaluate the free variables at points, by name."""
        found = self.evaluate(list(self.constrained.values()), points)
        return {str(v.name): values for v, values in zip(self.free, found, strict=True)}


def _starts(model: Any) -> list[Array]:
    """Return unconstrained coordinates of all free variables at a point inside the support of the prior."""
    expressions = make_initial_point_expression(
        free_rvs=model.free_RVs,
        rvs_to_transforms=model.rvs_to_transforms,
        initval_strategies={variable: _initial(model, variable) for variable in model.free_RVs},
        return_transformed=True,
    )
    return [np.asarray(values, dtype=np.float64) for values in evaluate(expressions)]


def _initial(model: Any, variable: Any) -> Any:
    """Return the user's initial value, or None for that of PyMC; the origin where PyMC would draw one."""
    chosen = model.rvs_to_initial_values.get(variable)
    shape = model.rvs_to_values[variable].type.shape
    if chosen is not None or None in shape or not _is_drawn(variable):
        return chosen
    transform, origin = model.rvs_to_transforms[variable], pt.zeros(shape)
    [value] = evaluate([origin if transform is None else transform.backward(origin, *variable.owner.inputs)])
    return value


def _is_drawn(variable: Any) -> bool:
    """Whether PyMC draws a variable for its initial value, or for the shape of it."""
    try:
        return variable in set(ancestors([support_point(variable)]))
    except NotImplementedError:
        return True
