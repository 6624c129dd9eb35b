"""How often every small count occurs in the rows of each class."""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.compiled import histogram as engine

#: Counts from here on share the last bin.
MANY = 256


def count_histogram(counts: np.ndarray, starts: np.ndarray, owners: np.ndarray, n_classes: int) -> np.ndarray:
    """Number of counts of each size, by the class of their row.

    Parameters
    ----------
    counts : (n_entries,)
        Whole numbers, not negative: those of one row after the other.
    starts : (n_rows + 1,)
        Where the counts of each row begin.
    owners : (n_rows,)
        Class of each row.

    Returns
    -------
    (n_classes, MANY + 1)
    """
    compiled = engine.loop(2 * len(counts))
    if compiled is not None:
        found = np.zeros((n_classes, MANY + 1), dtype=np.int64)
        compiled(counts, starts, owners, found)
        return found
    total = np.zeros(n_classes * (MANY + 1), dtype=np.int64)
    for rows in row_blocks(len(owners), -(-len(counts) // max(1, len(owners)))):
        entries = slice(starts[rows.start], starts[rows.stop])
        bins = np.minimum(counts[entries].astype(np.intp), MANY)
        bins += np.repeat(owners[rows].astype(np.intp) * (MANY + 1), np.diff(starts[rows.start : rows.stop + 1]))
        total += np.bincount(bins, minlength=len(total))
    return total.reshape(n_classes, MANY + 1)
