"""Rows times a few vectors of weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.tiles import ONE_THREAD, TILE_CELLS, multiply, tiles

# up to so many vectors rows are multiplied as they lie, which BLAS does fastest for few columns; for more vectors than
# these it pays to turn the rows on their side first
_FEW = 24

# below so many rows, steps are not worth their calls
_FEWEST_ROWS = 32


def row_products(
    X: np.ndarray, weights: np.ndarray, origin: np.ndarray | None = None, of_squares: np.ndarray | None = None
) -> np.ndarray:
    """Σ_d weights_kd z_d + of_squares_kd z_d² for every row and vector, z = x − origin.

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
    with np.errstate(over="ignore"):  # beyond the largest number, as the row is in truth
        (_few_vectors if len(weights) <= _FEW else _many_vectors)(X, weights, origin, of_squares, out)
    return out.T


def _few_vectors(
    X: np.ndarray,
    weights: np.ndarray,
    origin: np.ndarray | None,
    of_squares: np.ndarray | None,
    out: np.ndarray,
) -> None:
    n_columns = max(1, X.shape[1])
    step = max(_FEWEST_ROWS, min(TILE_CELLS // n_columns, ONE_THREAD // (n_columns * max(1, len(weights)))))
    first = np.ascontiguousarray(weights.T)
    second = None if of_squares is None else np.ascontiguousarray(of_squares.T)
    squares = np.empty((0 if second is None else min(step, len(X)), X.shape[1]))
    for rows, block in _shifted(X, origin, step):
        part = _times(block, first)
        if second is not None:
            part += _times(np.multiply(block, block, out=squares[: len(block)]), second)
        out[:, rows] = part.T


def _times(block: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """block @ vectors; of a product with a single vector BLAS would wake threads much sooner."""
    return np.vecdot(block, vectors[:, 0])[:, None] if vectors.shape[1] == 1 else block @ vectors


def _shifted(X: np.ndarray, origin: np.ndarray | None, step: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Consecutive rows and, for each, x − origin in float64."""
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


def _many_vectors(
    X: np.ndarray,
    weights: np.ndarray,
    origin: np.ndarray | None,
    of_squares: np.ndarray | None,
    out: np.ndarray,
) -> None:
    for rows, tile in tiles(X, np.zeros(X.shape[1]) if origin is None else origin):
        part = out[:, rows]
        multiply(weights, tile, part)
        if of_squares is not None:
            np.multiply(tile, tile, out=tile)
            squares = np.empty(part.shape)
            multiply(of_squares, tile, squares)
            part += squares
