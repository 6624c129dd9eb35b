"""Encoded rows of a table whose columns are divided into blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
