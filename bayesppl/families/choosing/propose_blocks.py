"""Blocks of columns that depend on each other within a class, proposed by the evidence.

Numbers are correlated Gaussians or independent ones, categories share a table or not: the two blocks whose union
gains the most evidence, summed over classes, become one, until no pair gains. Columns with missing cells stay
alone, for a larger block cannot be fitted to them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.moments import Moments, moments
from bayesppl.data.labels import one_hot
from bayesppl.data.table import Table
from bayesppl.families.categorical_blocks import CategoricalBlocks
from bayesppl.families.choosing.infer_families import Integers, families_by_dtype
from bayesppl.families.choosing.merge_blocks import Block, merged_blocks
from bayesppl.families.covariance_evidence import log_evidence_of_correlation
from bayesppl.families.family import Family
from bayesppl.families.gaussian import Gaussian
from bayesppl.families.joint_categorical import JointCategorical
from bayesppl.kernels.arrays import Array

Blocks = dict[str, tuple[tuple[Hashable, ...], Family]]


def propose_blocks(
    table: Table, classes: Sequence[Hashable], codes: Array, weights: Array, integers: Integers | None
) -> Blocks:
    """Blocks of the columns that go together, and those of the others by dtype.

    Parameters
    ----------
    table : Table
    classes : sequence
    codes, weights : (n_rows,)
        Class and weight of every row.
    integers : {"gaussian", "poisson", "categorical"} or mapping of columns to these, optional
    """
    out: Blocks = {}
    for kind, (names, family) in families_by_dtype(table, integers).items():
        together: Blocks = {}
        if kind == "categorical":
            together = _of_categories(
                table.select(_complete(table, names, family, classes)), classes, codes, weights
            )
        elif kind == "gaussian":
            together = _of_numbers(table.select(_complete(table, names, family, classes)), classes, codes, weights)
        taken = {name for columns, _ in together.values() for name in columns}
        alone = tuple(name for name in names if name not in taken)
        out |= together | ({kind: (alone, family)} if alone else {})
    return out


def _complete(
    table: Table, names: tuple[Hashable, ...], family: Family, classes: Sequence[Hashable]
) -> tuple[Hashable, ...]:
    """The columns without missing cells."""
    X = family.bind(table.select(names), classes).bound.encode(table.select(names))
    gaps = (np.isnan(X) if X.dtype.kind == "f" else X < 0).any(0)
    return tuple(name for name, gap in zip(names, gaps, strict=True) if not gap)


def _of_categories(table: Table, classes: Sequence[Hashable], codes: Array, weights: Array) -> Blocks:
    if len(table.names) < 2:
        return {}
    found = CategoricalBlocks().bind_labelled(table, classes, codes, weights)
    out: Blocks = {}
    for block in found.groups:
        if len(block) > 1:
            sizes = [len(found.outcomes[j]) for j in block]
            family = JointCategorical(Dirichlet(max(sizes) / prod(sizes)))
            out[f"categories_{len(out) + 1}"] = tuple(table.names[j] for j in block), family
    return out


def _of_numbers(table: Table, classes: Sequence[Hashable], codes: Array, weights: Array) -> Blocks:
    if len(table.names) < 2:
        return {}
    X = Gaussian("full").bind(table, classes).bound.encode(table)
    statistics = moments(X, one_hot(codes, len(classes), weights), matrix=True, tied=False)

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
