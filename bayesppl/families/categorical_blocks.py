r"""Categories in several joint tables; the evidence decides which columns share one.

A table of :math:`L_1 \times \dots \times L_D` cells has a Dirichlet prior with the mass of its widest column,
:math:`\alpha \max_d L_d` in all, so that a column alone has α for every level and a larger table no heavier prior
(the priors of Heckerman, Geiger & Chickering 1995 have the same mass for every table). The Bayes factor between
one table and two is then free of how many cells stay empty, nearly.

The pair of blocks that gains most is the best of many. It pays for the choice with the logarithm of their number:
a Bayes factor that is one on average exceeds P with a probability of at most 1/P, so that of P pairs of
independent blocks at most one is expected to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from math import log, prod
from typing import ClassVar, Self

import numpy as np

from bayesppl.conjugate.membership import Membership
from bayesppl.data.labels import one_hot
from bayesppl.data.table import Table
from bayesppl.families import closed_forms
from bayesppl.families.categorical import TableFamily

#: Places of columns.
Block = tuple[int, ...]

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
    _observed_as: ClassVar[str] = "{k}_x"

    def _choose_groups(self, table: Table, members: Membership | None) -> tuple[tuple[int, ...], ...]:
        """Find the tables of the highest evidence by merging pairs of blocks."""
        members = members or Membership.alike(len(table))
        X = self.bound.encode(table)
        complete = np.flatnonzero((X >= 0).all(1))
        rows, counted = X[complete], members[complete]
        responsibilities = one_hot(counted.codes, len(self.classes), counted.weights)

        def log_evidence(block: Block) -> float:
            alone = self._of_block(block)
            statistics = alone.rows(rows[:, list(block)]).sum_rows(responsibilities)
            prior = alone.resolve_prior(statistics)
            if not prior.has_closed_form:
                raise ValueError(
                    "table='evidence' needs a probability with a closed form, such as bayesppl.Dirichlet(1), to "
                    "compare tables by; found one that is declared in PyMC. Use table='independent' or 'joint' "
                    "with it"
                )
            return closed_forms.total_log_evidence(alone, prior, statistics)

        def allows(block: Block) -> bool:
            return prod(self.bound.tables.shape(block)) <= _MOST_CELLS

        return merged_blocks(len(self.columns), log_evidence, allows)

    def _of_block(self, block: Block) -> Self:
        """Return the family of the columns of one block, which share a table."""
        return replace(
            self,
            columns=tuple(self.columns[j] for j in block),
            outcomes=tuple(self.outcomes[j] for j in block),
            groups=(tuple(range(len(block))),),
        )


def merged_blocks(
    n_columns: int, log_evidence: Callable[[Block], float], allows: Callable[[Block], bool]
) -> tuple[Block, ...]:
    """Merge the pair of blocks that gains most until no gain exceeds the cost of the choice.

    Parameters
    ----------
    n_columns : int
        Each of them is a block at first.
    log_evidence : callable
        Of a block of columns that depend on each other; that of several blocks is the sum.
    allows : callable
        Whether a block may be tried.
    """
    found: dict[Block, float] = {(j,): log_evidence((j,)) for j in range(n_columns)}
    gains: dict[tuple[Block, Block], float] = {}

    def gain(one: Block, two: Block) -> float:
        """Return the gain of log evidence by one block in place of two."""
        if (one, two) not in gains:
            both = tuple(sorted(one + two))
            gains[one, two] = log_evidence(both) - found[one] - found[two] if allows(both) else 0.0
        return gains[one, two]

    while True:
        pairs = [(gain(one, two), one, two) for one, two in combinations(sorted(found), 2)]
        best, one, two = max(pairs, default=(0.0, (), ()))
        if best <= log(max(1, len(pairs))):
            return tuple(sorted(found))
        found[tuple(sorted(one + two))] = best + found.pop(one) + found.pop(two)
