"""Rows times vectors of weights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from bayesppl.kernels.ranges import row_blocks

# vectors multiplied at once: of more, a block of rows that BLAS multiplies without waking threads would be short
_ABREAST = 64

# below so many rows, steps are not worth their calls
_FEWEST_ROWS = 32


def row_products(
    X: np.ndarray, weights: np.ndarray, origin: np.ndarray | None = None, of_squares: np.ndarray | None = None
) -> np.ndarray:
    """Compute Σ_d weights_kd z_d + of_squares_kd z_d² for every row and vector, z = x − origin.

    Parameters
    ----------
    X : (n_rows, n_columns)
        Of any type; numbers that are not float64 are converted a block at a time.
    weights : (n_vectors, n_columns)
    origin : (n_columns,), optional
    of_squares : (n_vectors, n_columns), optional

    Returns
    -------
    (n_rows, n_vectors), in the order of columns
        NaN where a cell is missing.
    """
    out = np.empty((len(weights), len(X)))
    n_columns = max(1, X.shape[1])
    with np.errstate(over="ignore"):  # beyond the largest number, as the row is in truth
        for vectors in row_blocks(len(weights), 1, _ABREAST):
            n_products = n_columns * (vectors.stop - vectors.start)
            step = max(_FEWEST_ROWS, min(TILE_CELLS // n_columns, ONE_THREAD // n_products))
            first = np.ascontiguousarray(weights[vectors].T)
            second = None if of_squares is None else np.ascontiguousarray(of_squares[vectors].T)
            squares = np.empty((0 if second is None else min(step, len(X)), X.shape[1]))
            for rows, block in _shifted(X, origin, step):
                part = _times(block, first)
                if second is not None:
                    part += _times(np.multiply(block, block, out=squares[: len(block)]), second)
                out[vectors, rows] = part.T
    return out.T


def _times(block: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Compute block @ vectors; of a product with a single vector BLAS would wake threads much sooner."""
    return np.vecdot(block, vectors[:, 0])[:, None] if vectors.shape[1] == 1 else block @ vectors


def _shifted(X: np.ndarray, origin: np.ndarray | None, step: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield consecutive rows and, for each, x − origin in float64."""
    memory = np.empty((min(step, len(X)), X.shape[1]))
    origins = None if origin is None else np.tile(origin, (len(memory), 1))  # numpy subtracts long rows faster
    for rows in row_blocks(len(X), 1, step):
        block, part = X[rows], memory[: rows.stop - rows.start]
        if origins is not None:
            np.subtract(block, origins[: len(part)], out=part)
        elif X.dtype != np.float64:
            np.copyto(part, block)
        else:
            part = block
        yield rows, part


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
    """Compute A @ tile, in strips that BLAS does without waking threads; no strip is a vector if avoidable."""
    n_strips = max(1, min(-(-len(A) * tile.size // ONE_THREAD), len(A) // 2))
    edges = [len(A) * i // n_strips for i in range(n_strips + 1)]
    for start, stop in pairwise(edges):
        if stop - start == 1:
            np.einsum("d,dn->n", A[start], tile, out=out[start])
        else:
            np.matmul(A[start:stop], tile, out=out[start:stop])
