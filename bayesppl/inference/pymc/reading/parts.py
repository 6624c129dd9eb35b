"""Parts of a model that are independent given the labels: known in closed form, or by draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.statistics import Statistics
from bayesppl.data.read_table import as_table
from bayesppl.data.table import Table
from bayesppl.families import ConjugateFamily, closed_forms
from bayesppl.families.block_rows import BlockRows
from bayesppl.inference.pymc.reading.by_rows import ByRows
from bayesppl.kernels.arrays import Array, Theta, select_draws
from bayesppl.model.drawn_factors import DrawnFactor
from bayesppl.model.posterior import DrawsReport


@dataclass(frozen=True, eq=False)
class SolvedPart:
    """A part of a model with features in closed form: its family and its posterior."""

    family: Any
    belief: Conjugate


@dataclass(frozen=True, eq=False)
class DrawnPart(ABC):
    """Draws of one part of a model.

    Attributes
    ----------
    family : ByRows or None
        None of class weights that are sampled by themselves.
    samples : Theta
        Axes (chain, draw) lead; classes are in ascending order.
    weights : array, optional
        Class weights at each draw, (chain, draw, class), where the part determines them too.
    points : (n_chains, n_draws, n_coordinates), optional
        Where the sampler was, from which everything else follows; None of draws of the user's.
    without : callable, optional
        From the place of a row of the fit to the part learned from all others, sampled anew.
    """

    family: ByRows | None
    samples: Theta
    weights: Array | None
    report: DrawsReport
    points: Array | None = field(default=None, kw_only=True)
    without: Callable[[int], DrawnPart] | None = field(default=None, kw_only=True)

    @abstractmethod
    def log_densities(self, chain: int, draws: slice, X: Any) -> Array:
        """Compute the log density of rows at some draws of a chain: (n_draws, n_rows, n_classes)."""

    @abstractmethod
    def left_out(self, chain: int, X: Any, members: Membership) -> tuple[Array, Array]:
        """Compute the log density of rows of the fit at draws of a chain, given all data and given all others."""

    @final
    def as_factor(self, X: Any) -> DrawnFactor:
        """Return the part as a factor of the joint density of the rows of the fit."""
        n_chains, n_draws = next(iter(self.samples.values())).shape[:2]

        def densities(rows: Any, members: Membership) -> tuple[Array, Array]:
            found = [self.left_out(chain, rows, members) for chain in range(n_chains)]
            fitted, without = zip(*found, strict=True)
            return np.concatenate(fitted), np.concatenate(without)

        weights = None if self.weights is None else self.weights.reshape(n_chains * n_draws, -1)
        again = self.without
        anew = None if again is None else lambda row: again(row).as_factor(X)
        return DrawnFactor(X, densities, (n_chains, n_draws), weights, anew)


@final
@dataclass(frozen=True, eq=False)
class SampledPart(DrawnPart):
    """Draws of all variables of a part."""

    def log_densities(self, chain: int, draws: slice, X: Any) -> Array:
        theta = select_draws(self.samples, (chain, draws))
        weights = np.ones((1, 1)) if self.weights is None else self.weights[chain, draws]
        log_density = 0.0 if self.family is None else self.family.log_likelihood(theta)(X)
        found = log_density + np.log(weights)[:, None, :]
        return np.broadcast_to(found, (len(found), len(X), found.shape[-1]))

    def left_out(self, chain: int, X: Any, members: Membership) -> tuple[Array, Array]:
        found = self.log_densities(chain, slice(None), X)
        return found, found


def in_class_order(family: ByRows, samples: Theta, report: DrawsReport) -> tuple[Theta, DrawsReport]:
    """Put the classes in draws of variables of the model, and in the report on them, in ascending order."""
    diagnosis = replace(report.diagnosis, measures=family.from_model(report.diagnosis.measures))
    return family.from_model(samples), replace(report, diagnosis=diagnosis)


@final
@dataclass(frozen=True, eq=False)
class CollapsedPart(DrawnPart):
    """Draws of one part of a model whose parameters have a closed form given the other variables.

    Attributes
    ----------
    own : ConjugateFamily
        Bound to the columns of the part.
    columns : sequence
        Names of these columns.
    beliefs : sequence of sequences of Conjugate
        Posterior beliefs about the parameters, by chain and draw of the other variables.
    statistics : Statistics
        Of the rows of the fit.
    """

    own: ConjugateFamily
    columns: Sequence[Hashable]
    beliefs: Sequence[Sequence[Conjugate]]
    statistics: Statistics

    def log_densities(self, chain: int, draws: slice, X: Any) -> Array:
        rows = self.own.bound.encode(own_table(X, self.columns))
        return np.stack(
            [closed_forms.log_predictive(self.own, belief)(rows) for belief in self.beliefs[chain][draws]]
        )

    def left_out(self, chain: int, X: Any, members: Membership) -> tuple[Array, Array]:
        rows, beliefs = self.own.bound.encode(own_table(X, self.columns)), self.beliefs[chain]
        found = [closed_forms.leave_one_out(self.own, b, self.statistics, rows, members) for b in beliefs]
        fitted, without = zip(*found, strict=True)
        return np.stack(fitted), np.stack(without)


def own_table(X: BlockRows, columns: Sequence[Hashable]) -> Table:
    """Return the rows of a part as its own family reads them."""
    return as_table(np.column_stack(list(X.parts.values()))).renamed(columns)
