"""The density of one row of an observed variable, as a graph of its class, its values and the free variables.

The user's random variable is cloned: the label becomes an input of any length, the free variables become inputs, and
so do other observed variables and data of the length of the rows. The log density is what PyMC then makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pymc as pm
import pytensor
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.type import RandomType

from bayesppl.inference.pymc.reading.graphs import (
    function,
    leaves_above,
    substitute,
)
from bayesppl.inference.pymc.reading.interpreter import Interpreter
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.posterior import CHUNK_CELLS

#: What PyTensor raises where shapes do not fit, and PyMC where they hide a distribution from it.
UNFIT = (ValueError, IndexError, TypeError, AssertionError, AttributeError, NotImplementedError)


@dataclass(frozen=True, eq=False)
class Observed:
    """An observed variable whose rows are those of the label.

    Attributes
    ----------
    variable : random variable
    clone : random variable
        Its likeness, computed from the inputs below.
    codes, values : inputs
        Classes of rows, (n_rows,), and what was observed in them, (n_rows, ...).
    parameters : mapping of free variable to input
    given : mapping of str to input
        Other observed variables and ``pm.Data`` of the length of the rows, by name: known for every row.
    observed : array
        The values the model holds.
    held : mapping of str to array
        Those of ``given``.
    length : int, optional
        How many rows the graph takes at once, where its shapes are fixed; any number otherwise.
    """

    variable: Any
    clone: Any
    codes: Any
    values: Any
    parameters: Mapping[Any, Any]
    given: Mapping[str, Any]
    observed: Array
    held: Mapping[str, Array]
    depends_on_label: bool
    length: int | None = None

    @property
    def name(self) -> str:
        return str(self.variable.name)

    @cached_property
    def density(self) -> Any:
        """Log density of every entry that has one of its own: (n_rows, ...)."""
        return pm.logp(self.clone, self.values, warn_rvs=False)

    @cached_property
    def _rows(self) -> Any:
        entries = self.density
        return entries.sum(tuple(range(1, entries.ndim)))

    @cached_property
    def _of_draws(self) -> Interpreter:
        """Log density of every row, for draws of the free variables."""
        return self._over_draws(self._rows)

    def _over_draws(self, graph: Any) -> Interpreter:
        return Interpreter(
            list(self.parameters.values()), [self.codes, self.values, *self.given.values()], [graph]
        )

    @cached_property
    def _drawing(self) -> tuple[Any, list[Any]]:
        """New rows, for one draw of the free variables, and the generators they come from, which are not those of the model."""
        leaves = [leaf for leaf in leaves_above([self.clone]) if isinstance(leaf.type, RandomType)]
        generators = {leaf: pytensor.shared(np.random.default_rng(0)) for leaf in leaves}
        call = function([*self.parameters.values(), self.codes], substitute([self.clone], generators))
        return call, list(generators.values())

    @property
    def can_simulate(self) -> bool:
        """Whether a new row needs nothing but its class: no covariates, and no total."""
        return not self.given and self.values not in ancestors([self.clone])

    def simulate(self, theta: Theta, codes: Array, rng: np.random.Generator) -> Array:
        """New rows of these classes, (n_rows, ...), under one draw of the free variables."""
        call, generators = self._drawing
        portion, pieces = self.length or len(codes), []
        for start in range(0, len(codes), portion):
            for generator, own in zip(generators, rng.spawn(len(generators)), strict=True):
                generator.set_value(own)
            part = codes[start : start + portion]
            pieces.append(call(*(theta[name] for name in self._names), np.resize(part, portion))[0][: len(part)])
        return np.concatenate(pieces)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but compiled functions, which are made anew."""
        compiled = ("_of_draws", "_drawing")
        return {name: value for name, value in vars(self).items() if name not in compiled}

    def entries(self, theta: Theta, codes: Array, values: Array) -> Array:
        """Log density of every entry that has one of its own, where nothing is given per row: (n_draws, n_rows, ...)."""
        return self._evaluated(self._over_draws(self.density), theta, [codes, values])

    def _evaluated(self, graph: Interpreter, theta: Theta, rows: Sequence[Array]) -> Array:
        n_draws = next((len(v) for v in theta.values()), 1)
        [found] = graph([theta[name] for name in self._names], rows)
        return found if graph.depends_on_points(0) else np.broadcast_to(found, (n_draws, *found.shape))

    @property
    def _names(self) -> list[str]:
        return [str(variable.name) for variable in self.parameters]

    def log_density(self, theta: Theta, codes: Array, values: Array, given: Mapping[str, Array]) -> Array:
        """Log density of rows given their classes: (n_draws, n_rows), for draws of the free variables by name."""
        width = max(1, int(np.prod(values.shape[1:])))
        n_draws = next((len(v) for v in theta.values()), 1)
        portion = self.length or max(1, CHUNK_CELLS // max(1, width * n_draws))
        pieces = []
        for start in range(0, max(1, len(values)), portion):
            rows = [a[start : start + portion] for a in (codes, values, *(given[name] for name in self.given))]
            n_rows = len(rows[0])
            if self.length:  # rows of the fit fill up what is missing
                held = (
                    np.zeros(portion, dtype=np.int64),
                    self.observed,
                    *(self.held[name] for name in self.given),
                )
                rows = [np.concatenate([a, fill[n_rows:]]) for a, fill in zip(rows, held, strict=True)]
            pieces.append(self._evaluated(self._of_draws, theta, rows)[:, :n_rows])
        return np.concatenate(pieces, axis=1)


def same_values(one: Array, other: Array, tolerance: float = 1e-9) -> bool:
    """Whether two arrays are equal up to rounding; infinities must be the same."""
    with np.errstate(invalid="ignore"):
        gap = np.abs(one - other)
    scale = np.maximum(1.0, np.maximum(np.abs(one), np.abs(other)))
    return bool(((one == other) | (gap <= tolerance * scale)).all())
