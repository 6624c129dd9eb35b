"""Families of blocks of columns that are independent given the class, each with a family of its own.

Likelihood, posterior, predictive and evidence are products over the blocks: a family of blocks is a family.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.pair_forms import sum_of_parts
from bayesppl.conjugate.row_statistics import JointRows
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.names import spelled
from bayesppl.data.table import Table
from bayesppl.errors import NotConjugateError
from bayesppl.families.block_rows import BlockRows
from bayesppl.families.bound import BoundColumns, Described, Dims, Factor, of_block
from bayesppl.families.choosing.block_columns import divided
from bayesppl.families.choosing.column_choice import ColumnChoice, skip_impossible
from bayesppl.families.covariates import NO_COVARIATES, Covariates, covariates_of
from bayesppl.families.family import ConjugateFamily, Family
from bayesppl.families.mixture import Mixture
from bayesppl.families.support import ANYTHING, Support
from bayesppl.kernels.arrays import Array, Theta


@final
@dataclass(frozen=True, eq=False)
class BlockColumns(BoundColumns):
    """Columns divided into blocks; the labels of their parameters have the name of the block as a prefix.

    Parameters
    ----------
    columns : mapping of str to tuple
        Names of the columns of every block.
    blocks : mapping of str to BoundColumns
    read : callable, optional
        Changes the table of a block, given its name, before it is encoded.
    """

    columns: Mapping[str, tuple[Hashable, ...]]
    blocks: Mapping[str, Any]
    read: Callable[[Table, str], Table] | None = None

    @cached_property
    def described(self) -> dict[Hashable, Described]:
        return {column: each for block in self.blocks.values() for column, each in block.described.items()}

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        return tuple(factor for name, block in self.blocks.items() for factor in of_block(name, block.factors))

    @cached_property
    def dims(self) -> Dims:
        return {
            f"{name}_{parameter}": prefixed(dims, f"{name}_")
            for name, block in self.blocks.items()
            for parameter, dims in block.dims.items()
        }

    @cached_property
    def coords(self) -> dict[str, list[Hashable]]:
        return {
            f"{name}_{dim}": labels for name, block in self.blocks.items() for dim, labels in block.coords.items()
        }

    @cached_property
    def covariate_supports(self) -> dict[str, Support]:
        return {
            f"{name}_{covariate}": support
            for name, block in self.blocks.items()
            for covariate, support in block.covariate_supports.items()
        }

    def encode(self, table: Table) -> BlockRows:
        if self.read is None:
            return BlockRows({name: block.encode(table) for name, block in self.blocks.items()})
        parts = {name: self.read(table.select(columns), name) for name, columns in self.columns.items()}
        return BlockRows({name: self.blocks[name].encode(part) for name, part in parts.items()})

    def decode(self, X: BlockRows) -> dict[Hashable, Array]:
        found: dict[Hashable, Array] = {}
        for name, block in self.blocks.items():
            for column, values in block.decode(X.parts[name]).items():
                if column in found and not np.array_equal(found[column], values, equal_nan=True):
                    raise ValueError(f"column {column!r} is given to several blocks: pass the same values to all")
                found[column] = values
        return found

    def are_possible(self, X: BlockRows) -> Array:
        return np.all([block.are_possible(X.parts[name]) for name, block in self.blocks.items()], axis=0)

    def with_seen(self, X: BlockRows, others: BlockRows, *, apart: bool = False) -> BlockRows:
        pairs = ((name, block, X.parts[name], others.parts[name]) for name, block in self.blocks.items())
        return BlockRows({name: block.with_seen(own, other, apart=apart) for name, block, own, other in pairs})

    def label_rows(self, X: BlockRows, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return {
            label: values
            for name, block in self.blocks.items()
            for label, values in block.label_rows(X.parts[name], f"{prefix}{name}_").items()
        }

    def covariates(self, X: BlockRows) -> Covariates:
        return {
            f"{name}_{covariate}": values
            for name, block in self.blocks.items()
            for covariate, values in block.covariates(X.parts[name]).items()
        }

    def marginal_rows(self, X: BlockRows, factors: Sequence[int]) -> BlockRows:
        parts, first = {}, 0
        for name, block in self.blocks.items():
            last = first + len(block.factors)
            within = [factor - first for factor in factors if first <= factor < last]
            parts[name] = block.marginal_rows(X.parts[name], within)
            first = last
        return BlockRows(parts)


def prefixed(dims: Sequence[str], prefix: str) -> tuple[str, ...]:
    """Prefix the dimension names of a block; the class axis is common to all blocks."""
    return tuple(dim if dim == "class" else prefix + dim for dim in dims)


#: Columns and family of each block: see :func:`bayesppl.families.choosing.block_columns.selected`; names, once
#: bound.
Blocks = Mapping[str, tuple[Any, Family]]


@dataclass(frozen=True, eq=False)
class CompositeFamily(ConjugateFamily):
    """A family of blocks of columns that are independent given the class, each with a family of its own."""

    support: ClassVar[Support] = ANYTHING

    blocks: Blocks | None = None

    #: How the blocks were chosen, where they were chosen by evidence.
    choice: ColumnChoice | None = field(default=None, kw_only=True, repr=False)

    @property
    @final
    def parts(self) -> dict[str, Family]:
        return {block: family for block, (_, family) in (self.blocks or {}).items()}

    @cached_property
    def bound(self) -> BlockColumns:
        blocks = (self.blocks or {}).items()
        return BlockColumns(
            {block: tuple(columns) for block, (columns, _) in blocks},
            {block: family.bound for block, (_, family) in blocks},
            skip_impossible if self.choice is not None else None,
        )

    @final
    def rows(self, X: BlockRows) -> JointRows:
        return JointRows({block: family.rows(X.parts[block]) for block, family in self.parts.items()})

    @final
    def resolve_prior(self, statistics: JointStatistics) -> Joint:
        parts = {block: family.resolve_prior(statistics.parts[block]) for block, family in self.parts.items()}
        return Joint(parts, {block: f"{block}_" for block in parts})

    @final
    def mle(self, statistics: JointStatistics) -> Theta:
        return {
            f"{block}_{parameter}": value
            for block, family in self.parts.items()
            for parameter, value in family.mle(statistics.parts[block]).items()
        }

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        densities = {
            block: family.log_likelihood(parameters_of(f"{block}_", theta, family))
            for block, family in self.parts.items()
        }
        return sum_of_parts(densities)

    @final
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> BlockRows:
        return BlockRows(
            {
                block: family.simulate(
                    parameters_of(f"{block}_", theta, family),
                    codes,
                    rng,
                    covariates_of(f"{block}_", covariates, family.bound.covariate_supports),
                )
                for block, family in self.parts.items()
            }
        )

    @final
    def observe_rows(self, variables: dict[str, Any], X: BlockRows, codes: Array, prefix: str = "") -> None:
        for block, family in self.parts.items():
            family.observe_rows(variables[block], X.parts[block], codes, f"{prefix}{block}_")

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: JointStatistics, prefix: str = "") -> None:
        for block, family in self.parts.items():
            family.observe_statistics(variables[block], statistics.parts[block], f"{prefix}{block}_")


@final
@dataclass(frozen=True, eq=False)
class GivenBlocks(CompositeFamily, listed=False):
    """Blocks whose families are given, as parts of another family; nobody declares it."""

    name: ClassVar[str] = "blocks"

    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        return replace(self, blocks=bound_blocks(self.blocks or {}, table, classes, members))


def bound_blocks(
    blocks: Blocks, table: Table, classes: Sequence[Hashable], members: Membership | None
) -> dict[str, tuple[tuple[Hashable, ...], Family]]:
    """Bind the family of every block to its columns; refuse labels that two blocks share."""
    for block, (_, family) in blocks.items():
        if isinstance(family, Mixture):
            raise NotConjugateError(
                f"block {block!r} is a mixture, whose rows have components that all blocks must share: make a "
                "mixture of the blocks, bp.Mixture(bp.Product({...}), components)"
            )
    columns = divided({block: names for block, (names, _) in blocks.items()}, table)
    bound = {
        block: (columns[block], family.bind(table.select(columns[block]), classes, members))
        for block, (_, family) in blocks.items()
    }
    owner = {column: block for block, (_, family) in bound.items() for column in family.bound.described}
    for block, (names, _) in bound.items():  # what is given, such as an exposure, may be given to several
        for name in names:
            if owner.get(name, block) != block:
                raise ValueError(
                    f"column {spelled(name)} is in block {spelled(block)} and again in block "
                    f"{spelled(owner[name])}; a column belongs to one block"
                )
    _check_names({block: family.bound for block, (_, family) in bound.items()})
    return bound


def _check_names(blocks: Mapping[str, BoundColumns]) -> None:
    """Refuse blocks whose parameters or dimensions could be taken for those of another block."""
    for block, bound in blocks.items():
        prefix = f"{block}_"
        names = [prefix + name for name in (*bound.dims, *bound.coords, *bound.covariate_supports)]
        for other in blocks:
            start = f"{other}_"
            # ambiguous is a name within "p" that begins like "p_b"; those within "p_b" all begin like "p"
            clash = [name for name in names if name == other or name.startswith(start)]
            if other.startswith(prefix) and clash:
                raise ValueError(
                    f"block {block!r} has a parameter, dimension or covariate named {clash[0]!r}, which could "
                    f"belong to block {other!r}; rename one of the two blocks"
                )


def parameters_of(prefix: str, theta: Theta | None, family: Family) -> Any:
    """Select the parameters of a block, under the names of its family; return None where none are known."""
    return theta and {parameter: theta[prefix + parameter] for parameter in family.bound.dims}
