"""Rows turned on their side, a tile at a time: a tile stays in cache, and steps along its rows are long."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from bayesppl.kernels.blocks import row_blocks

#: Cells of a tile. Some 400 kilobytes: a tile and the rows it is taken from fit the second-level cache together.
TILE_CELLS = 3 << 14

#: Multiplications of a matrix product that OpenBLAS does at once, without waking other threads. On a busy machine
#: these take much longer to come than the whole product takes. Of products with a vector it wakes them much
#: sooner.
ONE_THREAD = 400_000


def tiles(
    X: np.ndarray, origin: np.ndarray, n_rows: int | None = None, *, ones: bool = False
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield consecutive rows, and x − origin for each as (n_features, n_rows) of float64.

    The memory of a tile is that of the next one too; what takes it may overwrite it, but for the ones.
    """
    n_columns = ones + X.shape[1]
    step = max(1, TILE_CELLS // max(1, n_columns)) if n_rows is None else n_rows
    memory = np.ones((n_columns, min(step, len(X))))
    for rows in row_blocks(len(X), 1, step):
        tile = memory[:, : rows.stop - rows.start]
        np.subtract(X[rows].T, origin[:, None], out=tile[ones:])
        yield rows, tile


def multiply(A: np.ndarray, tile: np.ndarray, out: np.ndarray) -> None:
    """A @ tile, in strips that BLAS does without waking threads; no strip is a vector, if it need not be."""
    n_strips = max(1, min(-(-len(A) * tile.size // ONE_THREAD), len(A) // 2))
    edges = [len(A) * i // n_strips for i in range(n_strips + 1)]
    for start, stop in pairwise(edges):
        if stop - start == 1:
            np.einsum("d,dn->n", A[start], tile, out=out[start])
        else:
            np.matmul(A[start:stop], tile, out=out[start:stop])
