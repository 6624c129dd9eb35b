"""Rows times a few vectors of weights."""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.tiles import ONE_THREAD, TILE_CELLS, multiply

# below so many rows, steps are not worth their calls
_FEWEST_ROWS = 32


def row_products(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """X @ weightsᵀ: (n_rows, n_vectors) in float64, whatever the dtype of ``X``.

    Parameters
    ----------
    X : (n_rows, n_columns)
        Numbers that are not float64 are converted a block at a time, for BLAS multiplies numbers of one type only.
    weights : (n_vectors, n_columns)
    """
    n_columns = max(1, X.shape[1])
    out = np.empty((len(weights), len(X)))
    step = max(_FEWEST_ROWS, min(TILE_CELLS // n_columns, ONE_THREAD // (n_columns * len(weights))))
    memory = None if X.dtype == np.float64 else np.empty((min(step, len(X)), X.shape[1]))
    for rows in row_blocks(len(X), 1, step):
        block = X[rows]
        if memory is not None:
            np.copyto(memory[: len(block)], block)
            block = memory[: len(block)]
        multiply(weights, block.T, out[:, rows])
    return out.T
