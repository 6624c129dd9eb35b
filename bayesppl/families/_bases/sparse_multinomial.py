"""Multinomial counts of few words out of many, drawn a word at a time."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from bayesppl.kernels.arrays import Array


def sparse_multinomial(totals: Array, probability: Array, codes: Array, rng: np.random.Generator) -> csr_array:
    """Counts of rows, by inversion of the distribution function of the words.

    The cost is that of the words drawn and of one pass over the probabilities of every class that occurs, not that
    of a count for every cell.

    Parameters
    ----------
    totals : (n_rows,)
    probability : (n_classes, n_columns)
    codes : (n_rows,)
    rng : numpy.random.Generator

    Returns
    -------
    csr_array (n_rows, n_columns)
    """
    row = np.repeat(np.arange(len(codes)), totals)
    words = np.empty(len(row), dtype=np.intp)
    for k in np.unique(codes):
        cumulative = np.cumsum(probability[k])
        of_class = codes[row] == k
        # u < 1 stays below the last step, so that no word of probability zero behind it is drawn
        u = rng.random(np.count_nonzero(of_class)) * cumulative[-1]
        last = np.searchsorted(cumulative, cumulative[-1])
        words[of_class] = np.minimum(np.searchsorted(cumulative, u, side="right"), last)
    counts = csr_array((np.ones(len(row), dtype=np.int64), (row, words)), shape=(len(codes), probability.shape[1]))
    counts.sum_duplicates()
    return counts
