"""Points at which densities are compared: unconstrained coordinates of free variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.initial_point import make_initial_point_expression
from pymc.logprob.basic import transformed_conditional_logp
from pymc.logprob.rewriting import logprob_rewrites_db
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

from bayesppl.inference.pymc.reading.graphs import (
    evaluate,
    in_64_bits,
    substitute,
    without_checks,
)
from bayesppl.inference.pymc.reading.interpreter import Interpreter
from bayesppl.kernels.arrays import Array, Theta

#: Points taken at once.
AT_ONCE = 1000


def _of_densities() -> Any:
    """PyMC's rewrites of distributions before it takes their densities, but for one.

    It gives normal vectors of a known precision a density that is meant for a single vector, so that several raise an error, or,
    where they are as many as they have entries, get another density.
    """
    return logprob_rewrites_db.query(
        RewriteDatabaseQuery(include=["basic"], exclude=["mv_normal_to_precision_mv_normal"])
    )


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Free variables of a part of a model, their unconstrained coordinates, and the maps between the two.

    Attributes
    ----------
    model : pm.Model
    free : sequence of free variables
    inputs : mapping of free variable to input
        What stands for the free variables in graphs of rows and parameters.
    potentials : sequence of graphs
        That belong to the prior.
    known_start : sequence of arrays, optional
        A point inside the support of the prior; found where it is not given.
    known : mapping of free variable to array
        Other free variables and their unconstrained values, given which those of ``free`` are looked at.
    """

    model: Any
    free: Sequence[Any]
    inputs: Mapping[Any, Any]
    potentials: Sequence[Any] = ()
    known_start: Sequence[Array] | None = None
    known: Mapping[Any, Array] = field(default_factory=dict)

    @cached_property
    def values(self) -> list[Any]:
        """The unconstrained variables, of known shape."""
        return [
            pt.tensor(name=v.name, dtype=v.dtype, shape=s.shape)
            for v, s in zip(self._own, self.start, strict=True)
        ]

    @property
    def _own(self) -> list[Any]:
        return [self.model.rvs_to_values[variable] for variable in self.free]

    @cached_property
    def start(self) -> list[Array]:
        """A point inside the support of the prior."""
        if self.known_start is not None:
            return list(self.known_start)
        expressions = make_initial_point_expression(
            free_rvs=self.model.free_RVs,
            rvs_to_transforms=self.model.rvs_to_transforms,
            initval_strategies={variable: self._initial(variable) for variable in self.model.free_RVs},
            return_transformed=True,
        )
        at = dict(zip(self.model.free_RVs, expressions, strict=True))
        return [np.asarray(v, dtype=np.float64) for v in evaluate([at[variable] for variable in self.free])]

    def _initial(self, variable: Any) -> Any:
        """The user's initial value; the origin of unconstrained space where PyMC would draw one."""
        chosen = self.model.rvs_to_initial_values.get(variable)
        shape = self.model.rvs_to_values[variable].type.shape
        if chosen is not None or not isinstance(variable.owner.op, SymbolicRandomVariable) or None in shape:
            return chosen
        transform = self.model.rvs_to_transforms[variable]
        origin = pt.zeros(shape)
        [value] = evaluate([origin if transform is None else transform.backward(origin, *variable.owner.inputs)])
        return value

    def start_of(self, free: Sequence[Any]) -> list[Array]:
        """The start of some of the free variables."""
        return [self.start[self.free.index(variable)] for variable in free]

    @property
    def size(self) -> int:
        """Number of unconstrained coordinates."""
        return sum(values.size for values in self.start)

    @cached_property
    def constrained(self) -> dict[Any, Any]:
        """The free variables, as graphs of the unconstrained ones."""
        return self._constrained(list(self.free))

    @cached_property
    def _constrained_known(self) -> dict[Any, Any]:
        return self._constrained(list(self.known))

    def _constrained(self, variables: list[Any]) -> dict[Any, Any]:
        if not variables:
            return {}
        graphs = self.model.replace_rvs_by_values(variables)
        return dict(zip(variables, self._in_coordinates(graphs), strict=True))

    def of(self, graphs: Sequence[Any]) -> list[Any]:
        """Graphs of the inputs as graphs of the unconstrained variables."""
        found = {**self.constrained, **self._constrained_known}
        return substitute(graphs, {self.inputs[variable]: graph for variable, graph in found.items()})

    def log_prior(self, *, jacobian: bool) -> list[Any]:
        """Log densities of the free variables, one graph each, followed by those of the potentials."""
        variables = [*self.free, *self.known]
        precise = substitute(variables, in_64_bits(variables))
        densities = transformed_conditional_logp(
            tuple(precise[: len(self.free)]),
            rvs_to_values={new: self.model.rvs_to_values[v] for v, new in zip(variables, precise, strict=True)},
            rvs_to_transforms={
                new: self.model.rvs_to_transforms[v] for v, new in zip(variables, precise, strict=True)
            },
            jacobian=jacobian,
            ir_rewriter=_of_densities(),
        )
        potentials = self.model.replace_rvs_by_values(list(self.potentials)) if self.potentials else []
        return without_checks(self._in_coordinates([*densities, *potentials]))

    def _in_coordinates(self, graphs: Sequence[Any]) -> list[Any]:
        known = {self.model.rvs_to_values[v]: pt.constant(values) for v, values in self.known.items()}
        return substitute(
            graphs, {**dict(zip(self._own, self.values, strict=True)), **known, **in_64_bits(graphs)}
        )

    def draw(self, size: int, rng: np.random.Generator, spread: float = 0.7) -> list[Array]:
        """Random points about the start: arrays (size, ...)."""
        return [values + spread * rng.uniform(-1, 1, (size, *values.shape)) for values in self.start]

    def evaluate(self, graphs: Sequence[Any], points: Sequence[Array]) -> list[Array]:
        """Values of graphs of the unconstrained variables at points: arrays (size, ...)."""
        n_points = len(points[0]) if self.values else 1
        key = tuple(graphs)
        if key not in self._functions:
            self._functions[key] = Interpreter(self.values, (), graphs)
        pieces = [
            self._functions[key]([values[start : start + AT_ONCE] for values in points])
            for start in range(0, n_points, AT_ONCE)
        ]
        return [
            np.concatenate(parts)
            if self._functions[key].depends_on_points(place)
            else np.broadcast_to(parts[0], (n_points, *parts[0].shape))
            for place, parts in enumerate(zip(*pieces, strict=True))
        ]

    @cached_property
    def _functions(self) -> dict[tuple[Any, ...], Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Everything but compiled functions, which are made anew."""
        return {name: value for name, value in vars(self).items() if name != "_functions"}

    def theta(self, points: Sequence[Array]) -> Theta:
        """The free variables at points, by name."""
        found = self.evaluate(list(self.constrained.values()), points)
        return {str(v.name): values for v, values in zip(self.free, found, strict=True)}
