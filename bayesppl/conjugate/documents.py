"""Documents drawn word by word, at the cost of their words and not of the vocabulary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from bayesppl.conjugate.dirichlet import Dirichlet
from bayesppl.conjugate.words import rising_totals
from bayesppl.kernels.arrays import Array, log_factorial


def nested_documents(posterior: Dirichlet) -> Callable[[int, Array, np.random.Generator], Array]:
    """Return a function that draws a document and evaluates the log predictive of its first n words, for many n.

    Documents that end after n words are distributed as documents of n words, given their total, and depend on
    each other. The words are exchangeable: each is predicted by those before it, and one pass serves all totals.

    Parameters
    ----------
    posterior : Dirichlet
        (n_classes, n_words)

    Returns
    -------
    function of (code, totals, rng)
        The class of the document and the values of n; to (n_totals, n_classes).
    """
    alpha, by_word = posterior.concentration, np.ascontiguousarray(posterior.concentration.T)

    def log_predictives(code: int, totals: Array, rng: np.random.Generator) -> Array:
        [probability] = posterior.select_classes(np.array([code])).draw(1, rng)["probability"]
        words = rng.choice(len(by_word), totals.max(), p=probability[0])
        _, counts = np.unique(words, return_counts=True)
        earlier = np.empty(len(words))
        earlier[np.argsort(words, kind="stable")] = np.arange(len(words)) - np.repeat(
            counts.cumsum() - counts, counts
        )
        sums = np.zeros((len(words) + 1, len(alpha)))
        np.cumsum(np.log((by_word[words] + earlier[:, None]) / (earlier[:, None] + 1)), axis=0, out=sums[1:])
        return sums[totals] + log_factorial(totals)[:, None] - rising_totals(alpha.sum(1), totals)

    return log_predictives


def sparse_multinomial(
    totals: Array, probability: Array, codes: Array, rng: np.random.Generator, concentration: float = np.inf
) -> csr_array:
    """Draw counts of rows by inversion of the distribution function of the words.

    The cost is that of the words drawn and of one pass over the probabilities of every class that occurs, not that
    of a count for every cell.

    Parameters
    ----------
    totals : (n_rows,)
    probability : (n_classes, n_columns)
    codes : (n_rows,)
    rng : numpy.random.Generator
    concentration : float
        Of the probabilities of every row about those of its class. A word is then one of those before it in its
        row with probability n / (concentration + n), if there are n (Blackwell & MacQueen 1973).

    Returns
    -------
    csr_array (n_rows, n_columns)
    """
    row = np.repeat(np.arange(len(codes)), totals)
    words = np.empty(len(row), dtype=np.intp)
    for k in np.unique(codes):
        of_class = codes[row] == k
        words[of_class] = rng.choice(len(probability[k]), np.count_nonzero(of_class), p=probability[k])
    if concentration < np.inf:
        words = words[_origins(totals, concentration, rng)]
    counts = csr_array((np.ones(len(row), dtype=np.int64), (row, words)), shape=(len(codes), probability.shape[1]))
    counts.sum_duplicates()
    return counts


def _origins(totals: Array, concentration: float, rng: np.random.Generator) -> Array:
    """Find the first of the words that each word repeats, itself where it is new: (n_words,) places."""
    places = np.arange(totals.sum())
    before = places - np.repeat(totals.cumsum() - totals, totals)
    is_new = rng.random(len(places)) * (concentration + before) >= before
    repeated = places - before + (rng.random(len(places)) * before).astype(np.intp)
    origin = np.where(is_new, places, repeated)
    while not is_new[origin].all():
        origin = origin[origin]
    return origin
