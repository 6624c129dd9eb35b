"""Priors of probabilities that sum to one: of the classes, of the levels of a column, of the words of a document.

Besides what every parameter takes (see :mod:`bayesppl.conjugate.declared_priors`), a simplex takes a Dirichlet
whose concentration is learned, ``bayesppl.Dirichlet(pm.Gamma.dist(2, 1))``: the number of outcomes need not be
known when it is declared, for levels are often learned from the data and differ from column to column.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.conjugate import require_kind
from bayesppl.conjugate.declare import declare, require_free
from bayesppl.conjugate.declared_priors import POSITIVE, SIMPLEX, Declared, Dims, in_words, is_declaration, named
from bayesppl.conjugate.dirichlet import dirichlets, free_names, side_by_side
from bayesppl.conjugate.statistics import Counts
from bayesppl.kernels.arrays import Theta


def simplex_prior(
    declared: Any, shape: tuple[int, ...], sizes: tuple[int, ...] = (), parameter: str = "probability"
) -> Any:
    """Return the belief about probabilities that a user declared.

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

    @final
    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        return {self.parameter: self._declare(**named(dims, prefix, self.parameter), prefix=prefix)}

    @final
    def mle(self, statistics: Counts) -> Theta:
        """Return observed frequencies: maximum likelihood uses no prior."""
        return Dirichlet(1.0).sized(statistics.counts.shape, self.sizes, self.parameter).mle(statistics)

    @final
    def log_volume(self, model: Any, prefix: str) -> Any:
        require_free(model, *free_names(self.sizes, prefix + self.parameter))
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
                f"the columns have {', '.join(map(str, self.sizes))} levels, so that no one distribution fits "
                f"{name!r}: give bayesppl.Dirichlet(concentration) with a declared concentration, or a block of a "
                "bayesppl.Product to columns with equally many levels"
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
