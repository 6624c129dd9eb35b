"""Priors of probabilities that sum to one: of the classes, of the levels of a column, of the words of a document.

Besides what every parameter takes (see :mod:`bayesppl.beliefs.declared_priors`), a simplex takes a Dirichlet whose concentration is
learned, ``bayesppl.Dirichlet(pm.Gamma.dist(2, 1))``: the number of outcomes need not be known when it is declared, for
levels are often learned from the data and differ from column to column.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from bayesppl.beliefs import Dirichlet
from bayesppl.beliefs.conjugate import require_kind
from bayesppl.beliefs.declared_priors import (
    POSITIVE,
    SIMPLEX,
    Declared,
    declare,
    in_words,
    is_declaration,
    require_free,
)
from bayesppl.beliefs.statistics import Counts
from bayesppl.kernels.arrays import Array, Theta


def simplex_prior(
    declared: Any, shape: tuple[int, ...], sizes: tuple[int, ...] = (), parameter: str = "probability"
) -> Any:
    """The belief about probabilities that a user declared.

    Parameters
    ----------
    declared : Dirichlet, PyMC distribution or callable
    shape : tuple of int
        Of the probabilities; the outcomes are last.
    sizes : tuple of int, optional
        Lengths of the simplices that lie side by side on the last axis.
    parameter : str
    """
    if is_declaration(declared):
        return DeclaredSimplices(sizes, parameter, declared)
    prior = require_kind(declared, Dirichlet, parameter)
    if is_declaration(prior.concentration):
        return LearnedConcentration(sizes, parameter, prior.concentration)
    return prior.sized(shape, sizes, parameter)


@dataclass(frozen=True, eq=False)
class SimplexPrior(Declared):
    """A declared prior of one simplex for each class, of several side by side, or of the class weights."""

    sizes: tuple[int, ...]
    parameter: str

    @abstractmethod
    def _declare(self, name: str, dims: tuple[str, ...], prefix: str) -> Any:
        """Declare the probabilities in the current ``pm.Model``."""

    @property
    @final
    def parameters(self) -> tuple[str, ...]:
        return (self.parameter,)

    @final
    def declared_in(self, family: Any, prefix: str) -> dict[str, Any]:
        return {self.parameter: self._declare(**family.named(self.parameter, prefix), prefix=prefix)}

    @final
    def declare(self, dims: tuple[str, ...]) -> Any:
        """Declare class weights, which belong to no family."""
        return self._declare(self.parameter, dims, "")

    @final
    def mle(self, statistics: Counts) -> Theta:
        """Maximum likelihood knows no prior: observed frequencies."""
        return Dirichlet(1.0).sized(statistics.counts.shape, self.sizes, self.parameter).mle(statistics)

    @final
    def log_volume(self, model: Any, prefix: str) -> Any:
        for name in free_names(self.sizes, prefix + self.parameter):
            require_free(model, name)
        return 0.0


@dataclass(frozen=True, eq=False)
class DeclaredSimplices(SimplexPrior):
    """One distribution, or one function, for all simplices."""

    declaration: Any

    @property
    def declarations(self) -> Mapping[str, Any]:
        return {self.parameter: self.declaration}

    def _declare(self, name: str, dims: tuple[str, ...], prefix: str) -> Any:
        import pymc as pm

        if not self.sizes:
            return declare(self.declaration, name, dims, SIMPLEX)
        if len(set(self.sizes)) > 1:
            raise ValueError(
                f"the columns have {', '.join(map(str, self.sizes))} levels, so that no one distribution fits {name!r}: give "
                "bayesppl.Dirichlet(concentration) with a declared concentration, or a block of a bayesppl.Product "
                "to columns with equally many levels"
            )
        model = pm.modelcontext(None)
        model.add_coord(f"{prefix}level", range(self.sizes[0]))
        [free] = free_names(self.sizes, name)
        simplices = declare(self.declaration, free, ("class", f"{prefix}feature", f"{prefix}level"), SIMPLEX)
        return side_by_side([simplices], self.sizes, name, dims)


@dataclass(frozen=True, eq=False)
class LearnedConcentration(SimplexPrior):
    """Dirichlet distributions whose concentration has a declared prior."""

    concentration: Any

    @property
    def declarations(self) -> Mapping[str, Any]:
        return {self.parameter: f"Dirichlet({in_words(self.concentration)})"}

    def _declare(self, name: str, dims: tuple[str, ...], prefix: str) -> Any:
        import pymc as pm
        import pytensor.tensor as pt

        model = pm.modelcontext(None)
        shape = tuple(len(model.coords[dim]) for dim in dims)
        # the class weights are the one simplex without a class of its own
        own = f"{name}_concentration" if dims == ("class",) else f"{prefix}concentration"
        learned = declare(self.concentration, own, dims, POSITIVE, shared=True)
        probability = dirichlets(pt.broadcast_to(learned, shape), self.sizes, name, dims)
        for free in free_names(self.sizes, name):
            model[free].tag.declared_by_user = True
        return probability


def dirichlets(concentration: Any, sizes: tuple[int, ...], name: str, dims: tuple[str, ...]) -> Any:
    """Declare Dirichlet distributions with this concentration, of the shape of the dims, in the current ``pm.Model``."""
    import pymc as pm

    if not sizes:
        return pm.Dirichlet(name, a=concentration, dims=dims)
    # simplices of equal length are declared together: the graph compiles faster
    drawn = [
        pm.Dirichlet(free, a=concentration[:, cells])
        for free, cells in zip(free_names(sizes, name), _cells_by_size(sizes), strict=True)
    ]
    return side_by_side(drawn, sizes, name, dims)


def side_by_side(simplices: list[Any], sizes: tuple[int, ...], name: str, dims: tuple[str, ...]) -> Any:
    """Declare simplices (class, column, outcome), grouped by size, as one variable with all of them on its last axis."""
    import pymc as pm
    import pytensor.tensor as pt

    flat = [values.reshape((values.shape[0], -1)) for values in simplices]
    return pm.Deterministic(name, pt.concatenate(flat, axis=1)[:, _order(sizes)], dims=dims)


def collect(draws: Mapping[str, Array], sizes: tuple[int, ...], name: str) -> Array:
    """Probabilities on one axis from draws of the variables of :func:`dirichlets`."""
    drawn = [draws[free] for free in free_names(sizes, name)]
    flat = [simplices.reshape(*simplices.shape[:-2], -1) for simplices in drawn]
    return np.concatenate(flat, axis=-1)[..., _order(sizes)]


def free_names(sizes: tuple[int, ...], name: str) -> list[str]:
    """Names of the free variables: one for every size that occurs."""
    return [f"{name}_of_{size}" for size in np.unique(sizes)] if sizes else [name]


def _cells_by_size(sizes: tuple[int, ...]) -> list[Array]:
    """Places of all simplices of one size, (n_simplices, size), from the smallest size to the largest."""
    starts, lengths = np.cumsum((0, *sizes[:-1])), np.asarray(sizes)
    return [starts[lengths == size, None] + np.arange(size) for size in np.unique(lengths)]


def _order(sizes: tuple[int, ...]) -> Array:
    """Where every cell is found among the cells ordered by size."""
    return np.argsort(np.concatenate([cells.ravel() for cells in _cells_by_size(sizes)]))
