"""Weighted sums of bits, eight columns at a time: their 256 combinations are looked up in a table."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.lookups import sums_at

_COMBINATIONS = 256

# groups of eight columns in a block of rows: their places in the table take up to a megabyte
_BLOCK_GROUPS = 1 << 18


def bit_sums(weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Σ_j x_ij weights_j for rows of bytes that are 0 or 1, as a function of the rows.

    Parameters
    ----------
    weights : (n_columns,)

    Returns
    -------
    function of (n_rows, n_columns) to (n_rows,)
    """
    n_groups = -(-len(weights) // 8)

    @cache  # not before there are rows
    def table() -> np.ndarray:
        padded = np.zeros(8 * n_groups)
        padded[: len(weights)] = weights
        bits = np.unpackbits(np.arange(_COMBINATIONS, dtype=np.uint8)[:, None], axis=1)
        return (padded.reshape(n_groups, 8) @ bits.T).ravel()

    def sums(X: np.ndarray) -> np.ndarray:
        out = np.empty(len(X))
        step = min(len(X), max(1, _BLOCK_GROUPS // max(1, n_groups)))
        groups = np.arange(0, len(table()), _COMBINATIONS, dtype=np.int32)
        places = np.empty((step, n_groups), dtype=np.int32)
        for rows in row_blocks(len(X), 1, step):
            found = places[: rows.stop - rows.start]
            np.add(np.packbits(X[rows], axis=1), groups, out=found)
            out[rows] = sums_at(found, table())
        return out

    return sums
