"""Blocks of columns that depend on each other within a class, proposed by the evidence.

Numbers are correlated Gaussians or independent ones, categories share a table or not: the two blocks whose union
gains the most evidence, summed over classes, become one, until no pair gains. Columns with missing cells stay
alone, for a larger block cannot be fitted to them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import Moments, moments
from bayesppl.data.labels import one_hot
from bayesppl.data.table import Table
from bayesppl.families.categorical import JointCategorical
from bayesppl.families.categorical_blocks import Block, CategoricalBlocks, merged_blocks
from bayesppl.families.choosing.infer_families import Integers, families_by_dtype
from bayesppl.families.covariance_prior import log_evidence_of_correlation
from bayesppl.families.family import Family
from bayesppl.families.gaussian import Gaussian

Blocks = dict[str, tuple[tuple[Hashable, ...], Family]]


def propose_blocks(
    table: Table, classes: Sequence[Hashable], members: Membership, integers: Integers | None
) -> Blocks:
    """Blocks of the columns that go together, and those of the others by dtype.

    Parameters
    ----------
    table : Table
    classes : sequence
    members : Membership
        Class and weight of every row.
    integers : {"gaussian", "poisson", "categorical"} or mapping of columns to these, optional
    """
    out: Blocks = {}
    for kind, (names, family) in families_by_dtype(table, integers).items():
        together: Blocks = {}
        if kind in _TOGETHER:
            complete = table.select(_complete(table.select(names), family, classes))
            together = _TOGETHER[kind](complete, classes, members) if len(complete.names) > 1 else {}
        taken = {name for columns, _ in together.values() for name in columns}
        alone = tuple(name for name in names if name not in taken)
        out |= together | ({kind: (alone, family)} if alone else {})
    return out


def _complete(table: Table, family: Family, classes: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """The columns without missing cells."""
    X = family.bind(table, classes).bound.encode(table)
    gaps = (np.isnan(X) if X.dtype.kind == "f" else X < 0).any(0)
    return tuple(name for name, gap in zip(table.names, gaps, strict=True) if not gap)


def _of_categories(table: Table, classes: Sequence[Hashable], members: Membership) -> Blocks:
    found = CategoricalBlocks().bind(table, classes, members)
    out: Blocks = {}
    for block in found.groups:
        if len(block) > 1:
            sizes = [len(found.outcomes[j]) for j in block]
            family = JointCategorical(Dirichlet(max(sizes) / prod(sizes)))
            out[f"categories_{len(out) + 1}"] = tuple(table.names[j] for j in block), family
    return out


def _of_numbers(table: Table, classes: Sequence[Hashable], members: Membership) -> Blocks:
    X = Gaussian("full").bind(table, classes).bound.encode(table)
    statistics = moments(X, one_hot(members.codes, len(classes), members.weights), matrix=True, tied=False)

    def log_evidence(block: Block) -> float:
        at = np.asarray(block)
        return log_evidence_of_correlation(
            Moments(statistics.count, statistics.mean[:, at], statistics.scatter[:, at[:, None], at])
        )

    found = (
        block for block in merged_blocks(len(table.names), log_evidence, lambda block: True) if len(block) > 1
    )
    return {
        f"numbers_{k}": (tuple(table.names[j] for j in block), Gaussian("full"))
        for k, block in enumerate(found, 1)
    }


_TOGETHER: dict[str, Callable[[Table, Sequence[Hashable], Membership], Blocks]] = {
    "categorical": _of_categories,
    "gaussian": _of_numbers,
}
