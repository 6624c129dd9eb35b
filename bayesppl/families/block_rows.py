"""Encoded rows of several blocks of columns, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Encoded rows of several blocks; indexed like an array of rows."""

    parts: Mapping[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and that of the encoded columns of all blocks."""
        shapes = [part.shape for part in self.parts.values()]
        return shapes[0][0], sum(shape[1] for shape in shapes)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> BlockRows:
        return BlockRows({block: part[rows] for block, part in self.parts.items()})


def stack_rows(parts: Sequence[Any]) -> Any:
    """Stack encoded rows of one family, one lot under the other."""
    first = parts[0]
    if isinstance(first, BlockRows):
        return BlockRows({block: stack_rows([part.parts[block] for part in parts]) for block in first.parts})
    return sp.vstack(parts, format="csr") if any(map(sp.issparse, parts)) else np.concatenate(parts)
