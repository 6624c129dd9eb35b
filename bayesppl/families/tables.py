"""Families of columns that hold levels: independent tables of their combinations, each with a Dirichlet prior."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self, final, get_args

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.outcomes import Outcomes
from bayesppl.conjugate.simplices import SimplexPrior, simplex_prior
from bayesppl.conjugate.statistics import Counts
from bayesppl.data.table import Table
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily, Takes
from bayesppl.families.find_levels import Levels, declared_levels, levels_that_occur, unseen_beside
from bayesppl.families.levels import LevelColumns, Unseen
from bayesppl.kernels.arrays import Array, Responsibilities, Theta

#: More cells than this cannot be estimated from any table that fits in memory.
MOST_CELLS = 10_000_000


@dataclass(frozen=True, eq=False)
class TableFamily(ConjugateFamily):
    """Columns of levels, some of which may share a table; encoded rows are codes, -1 where a cell is missing."""

    takes: ClassVar[Takes] = "levels"
    allows_sparse: ClassVar[bool] = True
    has_fixed_margins: ClassVar[bool] = True

    #: Whether all columns share one table, so that nothing has a dimension of tables.
    is_joint: ClassVar[bool] = False

    probability: Dirichlet | Any = Dirichlet()
    levels: Levels | None = None
    unseen: Unseen = "missing"

    columns: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)
    classes: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)
    #: Levels of every column once bound, in the order of ``columns``, and the columns of each table, by place.
    outcomes: tuple[tuple[Hashable, ...], ...] = field(default=(), kw_only=True, repr=False)
    groups: tuple[tuple[int, ...], ...] = field(default=(), kw_only=True, repr=False)

    @abstractmethod
    def names_of_tables(self) -> Sequence[str]:
        """Names of what is observed of each table, in PyMC."""

    @final
    @cached_property
    def bound(self) -> LevelColumns:
        unseen = self.unseen if self.levels is None else None
        return LevelColumns(self.name, self.columns, self.outcomes, unseen, self.groups, self.is_joint)

    def bind_labelled(self, table: Table, classes: Sequence[Hashable], codes: Array, weights: Array) -> Self:
        if self.unseen not in get_args(Unseen):
            raise ValueError(
                f"unseen must be one of {', '.join(map(repr, get_args(Unseen)))}, found {self.unseen!r}"
            )
        if self.levels is None:
            outcomes = tuple((*levels, unseen_beside(levels)) for levels in levels_that_occur(table))
        else:
            declared = declared_levels(self.levels, table.names)
            outcomes = tuple(declared[name] for name in table.names)
        places = tuple(range(len(table.names)))
        groups = self.groups
        if sum(map(len, groups)) != len(places):
            groups = (places,) if self.is_joint else tuple((j,) for j in places)
        for group in groups:
            n_cells = prod(len(outcomes[j]) for j in group)
            if len(group) > 1 and n_cells > MOST_CELLS:
                raise ValueError(
                    f"the joint table of {len(group)} columns has {n_cells:,} cells per class, more than the "
                    f"{MOST_CELLS:,} allowed; use bayesppl.Categorical, or several smaller tables in a "
                    "bayesppl.Product"
                )
        return replace(self, columns=table.names, classes=tuple(classes), outcomes=outcomes, groups=groups)

    @final
    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        return replace(self, classes=tuple(classes))

    @final
    def with_prior(self, prior: Any) -> Self:
        return replace(self, probability=prior)

    @final
    def rows(self, X: Array) -> Outcomes:
        return Outcomes(X, self.bound.tables)

    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior:
        return simplex_prior(
            self.probability, statistics.counts.shape, () if self.is_joint else self.bound.tables.sizes
        )

    @final
    def mle(self, statistics: Counts) -> Theta:
        return self.resolve_prior(statistics).mle(statistics)

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        density = Outcomes.log_likelihood(theta["probability"], self.bound.tables.sizes)
        return LogDensity(lambda X: density(self.rows(X)))

    @final
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        tables, drawn = self.bound.tables, np.empty((len(codes), len(self.columns)), dtype=np.intp)
        for group, cells in tables.cells():
            of_table = draw_outcomes(theta["probability"][:, cells], codes, rng)
            drawn[:, list(group)] = np.stack(np.unravel_index(of_table, tables.shape(group)), axis=1)
        return drawn

    @final
    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        rows = self.rows(X)
        tables = zip(self.names_of_tables(), rows.codes.T, rows.tables.cells(), strict=True)
        for name, observed, (_, cells) in tables:
            present = np.flatnonzero(observed >= 0)
            p = variables["probability"][:, cells][codes[present]]
            dims = "row" if len(present) == len(codes) else None
            pm.Categorical(f"{prefix}{name}", p=p, observed=observed[present].astype(np.int64), dims=dims)

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Counts, prefix: str = "") -> None:
        Dirichlet.observe(f"{prefix}x", variables["probability"], statistics)

    @final
    def read_statistics(self, table: Table, responsibilities: Responsibilities) -> Counts:
        # here only rows of weight zero can hold unseen levels
        return self.rows(self.bound.codes(table)).sum_rows(responsibilities)


def draw_outcomes(probability: Array, codes: Array, rng: np.random.Generator) -> Array:
    """Draw one outcome for each class code: (n_rows,), from probabilities (n_classes, n_outcomes)."""
    edges, heights = np.cumsum(probability, axis=1)[:, :-1], rng.random(len(codes))
    out = np.empty(len(codes), dtype=np.intp)
    for k, steps in enumerate(edges):
        own = codes == k
        out[own] = np.searchsorted(steps, heights[own], side="right")
    return out
