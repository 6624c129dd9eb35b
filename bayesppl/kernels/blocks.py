"""How many rows to work on at once."""

from __future__ import annotations

from collections.abc import Iterator

#: Cells of a block: half a megabyte of float64 stays in the second-level cache, temporaries of whole arrays do
#: not.
BLOCK_CELLS = 1 << 16


def row_blocks(n_rows: int, n_columns: int, cells: int = BLOCK_CELLS) -> Iterator[slice]:
    """Consecutive slices of about ``cells`` cells that cover all rows."""
    step = max(1, cells // max(1, n_columns))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))
