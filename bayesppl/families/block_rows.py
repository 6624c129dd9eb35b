"""A table whose columns are divided into blocks: the columns of all of them, and encoded rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from bayesppl.data.table import Table
from bayesppl.families.bound import BoundColumns, Dims, Factor, Measure, of_block
from bayesppl.families.covariates import Covariates
from bayesppl.families.support import Support
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Encoded rows of several blocks; indexed like an array of rows."""

    parts: Mapping[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, number of encoded columns of all blocks)."""
        shapes = [part.shape for part in self.parts.values()]
        return shapes[0][0], sum(shape[1] for shape in shapes)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> BlockRows:
        return BlockRows({block: part[rows] for block, part in self.parts.items()})


@final
@dataclass(frozen=True, eq=False)
class BlockColumns(BoundColumns):
    """Columns that are divided into blocks, whose names the labels of their parameters carry as a prefix.

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

    def tables(self, table: Table) -> Iterator[Table]:
        """Yield the columns of every block."""
        return (table.select(columns) for columns in self.columns.values())

    @property
    def measures(self) -> dict[Hashable, Measure]:
        return {column: measure for block in self.blocks.values() for column, measure in block.measures.items()}

    @property
    def family_names(self) -> dict[Hashable, str]:
        return {column: name for block in self.blocks.values() for column, name in block.family_names.items()}

    @property
    def levels_of_columns(self) -> dict[Hashable, tuple[Hashable, ...]]:
        return {
            column: levels for block in self.blocks.values() for column, levels in block.levels_of_columns.items()
        }

    @property
    def factors(self) -> tuple[Factor, ...]:
        return tuple(factor for name, block in self.blocks.items() for factor in of_block(name, block.factors))

    @property
    def dims(self) -> Dims:
        return {
            f"{name}_{parameter}": prefixed(dims, f"{name}_")
            for name, block in self.blocks.items()
            for parameter, dims in block.dims.items()
        }

    @property
    def coords(self) -> dict[str, list[Hashable]]:
        return {
            f"{name}_{dim}": labels for name, block in self.blocks.items() for dim, labels in block.coords.items()
        }

    @property
    def covariate_supports(self) -> dict[str, Support]:
        return {
            f"{name}_{covariate}": support
            for name, block in self.blocks.items()
            for covariate, support in block.covariate_supports.items()
        }

    def encode(self, table: Table) -> BlockRows:
        parts = {}
        for (name, block), part in zip(self.blocks.items(), self.tables(table), strict=True):
            parts[name] = block.encode(part if self.read is None else self.read(part, name))
        return BlockRows(parts)

    def decode(self, X: BlockRows) -> dict[Hashable, Array]:
        return {
            column: values
            for name, block in self.blocks.items()
            for column, values in block.decode(X.parts[name]).items()
        }

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
    """Dimension names of a block; the class axis is common to all blocks."""
    return tuple(dim if dim == "class" else prefix + dim for dim in dims)
