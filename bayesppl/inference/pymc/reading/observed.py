"""The density of one row of an observed variable, as a graph of its class, its values and the free variables.

The user's random variable is cloned: the label becomes an input of any length, the free variables become inputs,
and so do other observed variables and data of the length of the rows. The log density is what PyMC makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pymc as pm
import pytensor
from pytensor.compile.mode import Mode, optdb
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.type import RandomType

from bayesppl.inference.pymc.graphs import Interpreter, leaves_above, substitute, without_errors
from bayesppl.inference.pymc.reading.table_places import BEYOND, TablePlaces
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
        """Return the log density of every entry that has one of its own, a graph: (n_rows, ...)."""
        return without_errors(pm.logp(self.clone, self.values, warn_rvs=False), self._rows)

    @cached_property
    def places(self) -> TablePlaces:
        """Return the places in tables of parameters that are computed from what is given."""
        return TablePlaces.of(self.density, self._rows, self.given, self.parameters)

    @property
    def _rows(self) -> list[Any]:
        return [self.codes, self.values, *self.given.values()]

    @cached_property
    def _of_draws(self) -> Interpreter:
        return Interpreter(list(self.parameters.values()), self._rows, [self.density])

    @cached_property
    def _drawing(self) -> tuple[Any, list[Any]]:
        """Compile new rows given one draw of the free variables; return the function and its generators.

        These are others than those of the model.
        """
        leaves = [leaf for leaf in leaves_above([self.clone]) if isinstance(leaf.type, RandomType)]
        generators = {leaf: pytensor.shared(np.random.default_rng(0)) for leaf in leaves}
        inputs = [*self.parameters.values(), self.codes]
        mode = Mode(linker="py", optimizer=optdb.query("+inline_ofg_expansion"))
        with pytensor.config.change_flags(mode="FAST_COMPILE"):  # for the loops of scans, which compile themselves
            call = pytensor.function(
                inputs, substitute([self.clone], generators), mode=mode, on_unused_input="ignore"
            )
        return call, list(generators.values())

    @property
    def can_simulate(self) -> bool:
        """Whether a new row needs nothing but its class: no covariates, and no total."""
        return not self.given and self.values not in ancestors([self.clone])

    def simulate(self, theta: Theta, codes: Array, rng: np.random.Generator) -> Array:
        """Draw new rows of these classes, (n_rows, ...), under one draw of the free variables."""
        call, generators = self._drawing
        portion, pieces = self.length or len(codes), []
        for start in range(0, len(codes), portion):
            for generator, own in zip(generators, rng.spawn(len(generators)), strict=True):
                generator.set_value(own)
            part = codes[start : start + portion]
            pieces.append(call(*(theta[name] for name in self._names), np.resize(part, portion))[0][: len(part)])
        return np.concatenate(pieces)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but compiled functions, which are made anew."""
        compiled = ("_of_draws", "_drawing")
        return {name: value for name, value in vars(self).items() if name not in compiled}

    def entries(self, theta: Theta, *rows: Array) -> Array:
        """Compute the log density of every entry that has one: (n_draws, n_rows, ...).

        Parameters
        ----------
        *rows : array
            Codes, values, and what is given.
        """
        n_draws = next((len(v) for v in theta.values()), 1)
        return self._of_draws([theta[name] for name in self._names], rows, n_draws)[0]

    @property
    def _names(self) -> list[str]:
        return [str(variable.name) for variable in self.parameters]

    def of_fit(self, theta: Theta, codes: Array, taken: Array) -> Array:
        """Compute the log density of some rows of the fit, which have these codes, in an order of their own."""
        given = {name: rows[taken] for name, rows in self.held.items()}
        return self.log_density(theta, codes[taken], self.observed[taken], given)

    def require_places(self, theta: Theta, codes: Array, values: Array, given: Mapping[str, Array]) -> None:
        """Raise an IndexError where a place, such as the -1 of an unknown group, would be counted from the end.

        It may be as far from the end as in rows of the fit, under the same class.
        """
        given = {name: _filled(rows, self.held[name]) for name, rows in given.items()}
        for name in set(given).difference(self.places.names):
            least, usual = given[name].min(initial=0), self.held[name].min(initial=0)
            if given[name].dtype.kind == "i" and least < usual:
                # within loops and functions, where a place that no table has is an error
                beyond = {**given, name: np.where(given[name] < usual, BEYOND, given[name])}
                try:
                    self.log_marginal(theta, codes, values, beyond)
                except IndexError:
                    raise IndexError(f"{least} would be counted from the end") from None
        rows, held = [_filled(values, self.observed), *given.values()], [self.observed, *self.held.values()]
        for code in np.unique(codes) if self.places.graphs else ():
            found = self.places.least(codes[codes == code], [a[codes == code] for a in rows], self.length)
            if code not in self.places.usual:
                every = np.full(len(self.observed), code)
                self.places.usual[code] = self.places.least(every, held, self.length)
            for least, usual in zip(found, self.places.usual[code], strict=True):
                if least < usual:
                    raise IndexError(f"{least} would be counted from the end")

    def log_density(self, theta: Theta, codes: Array, values: Array, given: Mapping[str, Array]) -> Array:
        """Compute the log density of rows given their classes, (n_draws, n_rows), at draws by name."""
        portions = self._portions(theta, codes, values, given)
        return np.concatenate([found.sum(tuple(range(2, found.ndim))) for found in portions], axis=1)

    def _portions(self, theta: Theta, codes: Array, values: Array, given: Mapping[str, Array]) -> Iterator[Array]:
        """Compute entries of some rows at a time, of as many as the density takes."""
        width = max(1, int(np.prod(values.shape[1:])))
        n_draws = next((len(v) for v in theta.values()), 1)
        portion = self.length or max(1, CHUNK_CELLS // max(1, width * n_draws))
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
            yield self.entries(theta, *rows)[:, :n_rows]

    def log_marginal(self, theta: Theta, codes: Array, values: Array, given: Mapping[str, Array]) -> Array:
        """Compute the log density of rows, (n_draws, n_rows), with missing cells integrated out.

        Raises
        ------
        ValueError
            If a row lacks some of its cells, and its columns are not independent given class and parameters.
        """
        gaps = np.isnan(values)
        if not gaps.any():
            return self.log_density(theta, codes, values, given)
        filled = _filled(values, self.observed)
        given = {name: _filled(rows, self.held[name]) for name, rows in given.items()}  # of rows without all cells
        of_rows, axes = gaps.reshape(len(gaps), -1), tuple(range(2, values.ndim + 1))
        if (of_rows.any(1) == of_rows.all(1)).all():
            return np.where(of_rows.all(1), 0.0, self.log_density(theta, codes, filled, given))
        if not self._has_separate_cells({name: draws[:1] for name, draws in theta.items()}):
            raise ValueError(
                f"given draws of the parameters {self.name!r} has one density for all of its columns, so that no "
                "cell of it can be left out by itself: fill in what is missing, or leave out all of a row. "
                f"explain() weighs such columns together, by blocks={{{self.name!r}: [...]}}"
            )
        entries = np.concatenate(list(self._portions(theta, codes, filled, given)), axis=1)
        return np.where(gaps, 0.0, entries).sum(axes)

    def _has_separate_cells(self, theta: Theta) -> bool:
        """Whether the density of a cell stays the same when the others of its row go to other rows."""
        if self.density.ndim != self.values.ndim or self.values in ancestors([self.clone]):
            return False
        values, rng = self.observed.reshape(len(self.observed), -1), np.random.default_rng(0)
        order = np.stack([rng.permutation(len(values)) for _ in values[0]], axis=1)
        moved = np.take_along_axis(values, order, 0).reshape(self.observed.shape)
        # all rows of one class, and given the same, so that a cell has the same density in any
        codes = np.zeros(len(values), dtype=np.int64)
        alike = [np.broadcast_to(self.held[name][:1], self.held[name].shape) for name in self.given]
        usual, found = (
            self.entries(theta, codes, rows, *alike).reshape(values.shape) for rows in (self.observed, moved)
        )
        return same_values(found, np.take_along_axis(usual, order, 0))


def _filled(rows: Array, others: Array) -> Array:
    return np.where(np.isnan(rows), others[:1], rows).astype(others.dtype)


def same_values(one: Array, other: Array, tolerance: float = 1e-9, least: float = 1.0) -> bool:
    """Whether two arrays are equal up to rounding; infinities must be the same.

    Parameters
    ----------
    least : float
        Size below which numbers are compared as those of this size are. It is 0 for those that have a unit.
    """
    with np.errstate(invalid="ignore"):
        gap = np.abs(one - other)
    scale = np.maximum(least, np.maximum(np.abs(one), np.abs(other)))
    return bool(((one == other) | (np.isfinite(gap) & (gap <= tolerance * scale))).all())
