r"""Categories in several joint tables, which columns share one being a choice of the evidence.

A table of :math:`L_1 \times \dots \times L_D` cells has a Dirichlet prior with the mass of its widest column,
:math:`\alpha \max_d L_d` in all, so that a column alone has α for every level and a larger table no heavier prior
(the priors of Heckerman, Geiger & Chickering 1995 have the same mass for every table). The Bayes factor between
one table and two is then free of how many cells stay empty, nearly.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, Self

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.simplices import SimplexPrior, simplex_prior
from bayesppl.conjugate.statistics import Counts
from bayesppl.data.labels import one_hot
from bayesppl.data.table import Table
from bayesppl.families import closed_forms
from bayesppl.families.choosing.merge_blocks import Block, merged_blocks
from bayesppl.families.tables import TableFamily
from bayesppl.kernels.arrays import Array

# A table of more cells is not tried
_MOST_CELLS = 10_000


@dataclass(frozen=True, eq=False)
class CategoricalBlocks(TableFamily, listed=False):
    """Independent tables of categories, each of one column or of several.

    Parameters
    ----------
    probability, levels, unseen
        See :class:`bayesppl.Categorical`; a number is the concentration of the levels of a column alone.
    """

    name: ClassVar[str] = "categorical_blocks"

    def names_of_tables(self) -> Sequence[str]:
        return [f"{k}_x" for k in range(len(self.groups))]

    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior:
        tables, declared = self.bound.tables, self.probability
        if isinstance(declared, Dirichlet) and np.ndim(declared.concentration) == 0:
            widest = [max(tables.shape(group)) for group in tables.groups]
            shares = np.repeat(np.divide(widest, tables.sizes), tables.sizes)
            declared = replace(declared, concentration=declared.concentration * shares)
        return simplex_prior(declared, statistics.counts.shape, tables.sizes)

    def bind_labelled(self, table: Table, classes: Sequence[Hashable], codes: Array, weights: Array) -> Self:
        """Bind to the tables of the highest evidence that pairwise merging finds, unless bound to some before."""
        bound = super().bind_labelled(table, classes, codes, weights)
        if self.groups:
            return bound
        X = bound.bound.encode(table)
        complete = np.flatnonzero((X >= 0).all(1))
        rows, responsibilities = X[complete], one_hot(codes[complete], len(classes), weights[complete])

        def log_evidence(block: Block) -> float:
            alone = bound._of(block)
            statistics = alone.rows(rows[:, list(block)]).sum_rows(responsibilities)
            prior = alone.resolve_prior(statistics)
            if not prior.has_closed_form:
                raise ValueError(
                    "table='evidence' needs a probability with a closed form, such as bayesppl.Dirichlet(1), to "
                    "compare tables by; found one that is declared in PyMC. Use table='independent' or 'joint' "
                    "with it"
                )
            return float(closed_forms.log_evidence(alone, prior, statistics)[""].values.sum())

        def allows(block: Block) -> bool:
            return prod(bound.bound.tables.shape(block)) <= _MOST_CELLS

        return replace(bound, groups=merged_blocks(len(bound.columns), log_evidence, allows))

    def _of(self, block: Block) -> Self:
        """Some of the columns, in one table."""
        return replace(
            self,
            columns=tuple(self.columns[j] for j in block),
            outcomes=tuple(self.outcomes[j] for j in block),
            groups=(tuple(range(len(block))),),
        )
