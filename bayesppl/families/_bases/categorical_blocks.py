r"""Categories in several joint tables, which columns share one being a choice of the evidence.

A table of :math:`L_1 \times \dots \times L_D` cells has a Dirichlet prior with the mass of its widest column, :math:`\alpha \max_d L_d` in all, so
that a column alone has α for every level and a larger table no heavier prior (the priors of Heckerman, Geiger & Chickering 1995 have
the same mass for every table). The Bayes factor between one table and two is then free of how many cells stay empty, nearly.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any, ClassVar, Self, cast

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.simplices import SimplexPrior, simplex_prior
from bayesppl.conjugate.statistics import Counts
from bayesppl.data.labels import one_hot
from bayesppl.data.table import Table
from bayesppl.families._bases.levels import LevelFamily
from bayesppl.families.choosing.merge_blocks import Block, merged_blocks
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.joint_categorical import JointCategorical
from bayesppl.kernels.arrays import Array, Theta

# A table of more cells is not tried
_MOST_CELLS = 10_000


@dataclass(frozen=True, eq=False)
class CategoricalBlocks(LevelFamily, listed=False):
    """Independent tables of categories, each of one column or of several.

    Parameters
    ----------
    probability, levels, unseen
        See :class:`bayesppl.Categorical`; a number is the concentration of the levels of a column alone.
    groups : tuple of tuples of int
        Columns of each table, by place.
    """

    name: ClassVar[str] = "categorical_blocks"

    groups: tuple[Block, ...] = ()

    @property
    def coords(self) -> dict[str, Any]:
        tables = self._each()
        names = [" × ".join(map(str, table.columns)) for table in tables]
        cells = [
            f"{name}={cell}" for name, table in zip(names, tables, strict=True) for cell in table.coords["cell"]
        ]
        return {"cell": cells, "feature": names}

    @property
    def factor_dims(self) -> tuple[str, ...]:
        return ("class", "feature")

    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior:
        sizes = tuple(prod(table._sizes) for table in self._each())
        declared = self.probability
        if isinstance(declared, Dirichlet) and np.ndim(declared.concentration) == 0:
            widest = [max(table._sizes) for table in self._each()]
            shares = np.repeat(np.divide(widest, sizes), sizes)
            declared = replace(declared, concentration=declared.concentration * shares)
        return simplex_prior(declared, statistics.counts.shape, sizes)

    def log_likelihood(self, theta: Theta) -> LogDensity:
        parts = [
            (list(group), table.log_likelihood({"probability": theta["probability"][..., cells]}))
            for group, table, cells in zip(self.groups, self._each(), self._places_of_cells(), strict=True)
        ]
        return _by_table(parts)

    def averaged_predictive(
        self, posterior: Dirichlet, common: Dirichlet, log_odds: Mapping[str, Array]
    ) -> LogDensity:
        parts = [
            (
                list(group),
                table.averaged_predictive(_only(posterior, cells), _only(common, cells), {"": odds}),
            )
            for group, table, cells, odds in zip(
                self.groups, self._each(), self._places_of_cells(), log_odds[""], strict=True
            )
        ]
        return _by_table(parts)

    def label_rows(self, X: Array, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        """The code of the cell of each row in every table."""
        return self.label_features(self._tables(X)[0], prefix)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        drawn = np.empty((len(codes), len(self.columns)), dtype=np.intp)
        for group, table, cells in zip(self.groups, self._each(), self._places_of_cells(), strict=True):
            drawn[:, list(group)] = table.simulate({"probability": theta["probability"][:, cells]}, codes, rng)
        return drawn

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        for k, (group, table, cells) in enumerate(
            zip(self.groups, self._each(), self._places_of_cells(), strict=True)
        ):
            of_table = {"probability": variables["probability"][:, cells]}
            table.observe_rows(of_table, X[:, list(group)], codes, f"{prefix}{k}_")

    def observe_statistics(self, variables: dict[str, Any], statistics: Counts, prefix: str = "") -> None:
        import pymc as pm
        import pytensor.tensor as pt

        pm.Potential(f"{prefix}x", (statistics.counts * pt.log(variables["probability"])).sum())

    def bind_labelled(self, table: Table, classes: Sequence[Hashable], codes: Array, weights: Array) -> Self:
        """Bound to the tables of the highest evidence that pairwise merging finds on these rows, unless bound to some before."""
        bound = self.bind(table, classes)
        if self.groups:
            return bound
        X = bound.encode(table)
        complete = np.flatnonzero((X >= 0).all(1))
        rows, responsibilities = X[complete], one_hot(codes[complete], len(classes), weights[complete])

        def log_evidence(block: Block) -> float:
            alone = bound._of(block)
            statistics = alone.sufficient_statistics(rows[:, list(block)], responsibilities)
            prior = alone.resolve_prior(statistics)
            if not prior.has_closed_form:
                raise ValueError(
                    "table='evidence' needs a probability with a closed form, such as bayesppl.Dirichlet(1), to compare tables by; "
                    "found one that is declared in PyMC. Use table='independent' or 'joint' with it"
                )
            return float(alone.log_evidence(cast(Dirichlet, prior), statistics)[""].values.sum())

        def allows(block: Block) -> bool:
            return prod(bound._sizes[j] for j in block) <= _MOST_CELLS

        return replace(bound, groups=merged_blocks(len(bound.columns), log_evidence, allows))

    def _of(self, block: Block) -> Self:
        """Some of the columns, in one table."""
        return replace(
            self,
            columns=tuple(self.columns[j] for j in block),
            outcomes=tuple(self.outcomes[j] for j in block),
            groups=(tuple(range(len(block))),),
        )

    def _each(self) -> list[JointCategorical]:
        """Each table as a family by itself."""
        return [
            JointCategorical(
                columns=tuple(self.columns[j] for j in group),
                classes=self.classes,
                outcomes=tuple(self.outcomes[j] for j in group),
            )
            for group in self.groups
        ]

    def _places_of_cells(self) -> list[slice]:
        edges = np.cumsum([0, *(prod(table._sizes) for table in self._each())])
        return [slice(start, stop) for start, stop in pairwise(edges.tolist())]

    def _tables(self, X: Array) -> tuple[Array, tuple[int, ...]]:
        found = [table._tables(X[:, list(group)]) for group, table in zip(self.groups, self._each(), strict=True)]
        sizes: Sequence[tuple[int, ...]] = [size for _, size in found]
        return np.hstack([codes for codes, _ in found]), tuple(size for [size] in sizes)


def _by_table(parts: Sequence[tuple[list[int], LogDensity]]) -> LogDensity:
    """The log density of independent tables, from the columns of each and its own."""
    return LogDensity(lambda X: np.sum([density(X[:, group]) for group, density in parts], axis=0))


def _only(belief: Dirichlet, cells: slice) -> Dirichlet:
    """The belief about one table."""
    return Dirichlet(belief.concentration[:, cells])
