r"""Scores of class probabilities on rows whose label is known.

Every function takes log p(y = k | x), ``(n_rows, n_classes)``, and the codes of the true labels, ``(n_rows,)``.
Accuracy and the two proper scores (Gneiting & Raftery 2007) are averages over rows, so two classifiers are
compared row by row. The expected calibration error is not; its comparison resamples rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from bayesppl.kernels.arrays import Array
from bayesppl.kernels.ranges import row_ranges

#: Bins of the expected calibration error, as many as Guo et al. (2017) use.
BINS = 15

# Cells of the resampling counts held at once.
_BLOCK_CELLS = 1 << 22


def hits(log_proba: Array, codes: Array) -> Array:
    """Return 1 where the most probable class is the true one, else 0; of equally probable ones the first counts.

    Examples
    --------
    >>> import numpy as np
    >>> hits(np.log([[0.8, 0.2], [0.5, 0.5]]), np.array([0, 1])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(log_proba.argmax(-1) == codes, dtype=np.float64)


def log_scores(log_proba: Array, codes: Array) -> Array:
    """Return log p of the true label, natural logarithm; -inf where it was held impossible. Higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> log_scores(np.log([[0.8, 0.2], [0.5, 0.5]]), np.array([0, 1])).round(3).tolist()
    [-0.223, -0.693]
    """
    return np.asarray(log_proba[np.arange(len(codes)), codes])


def weighted_average(scores: Array, weights: Array) -> tuple[float, float]:
    """Average the scores of rows of positive weight, with a standard error; nan of one, or of an impossible one.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_average(np.array([1.0, 3.0, 8.0]), np.array([1.0, 1.0, 0.0]))
    (2.0, 1.0)
    """
    counted = weights > 0
    share, scores = weights[counted] / weights.sum(), scores[counted]
    # of equal scores the average is one of them, to the last bit
    first = scores[0] if len(scores) and np.isfinite(scores[0]) else 0.0
    # sums and not scalar products, for which BLAS would wake its threads
    mean = float(first + (share * (scores - first)).sum())
    n_rows = len(scores)
    if n_rows < 2 or not np.isfinite(mean):
        return mean, float("nan")
    return mean, float(np.sqrt(((share * (scores - mean)) ** 2).sum() * n_rows / (n_rows - 1)))


def brier_scores(log_proba: Array, codes: Array) -> Array:
    r"""Square the distance to the true label, :math:`\sum_k (p_k - [y = k])^2`, from 0 to 2. Lower is better.

    This is the score of Brier (1950), summed over the classes; some authors halve it for two classes.

    Examples
    --------
    >>> import numpy as np
    >>> brier_scores(np.log([[0.8, 0.2], [0.5, 0.5]]), np.array([0, 1])).round(3).tolist()
    [0.08, 0.5]
    """
    distance = np.exp(log_proba)
    distance[np.arange(len(codes)), codes] -= 1
    return np.asarray((distance**2).sum(-1))


def calibration_gaps(log_proba: Array, codes: Array, bins: int = BINS) -> csr_array:
    """Subtract the confidence of every row from its hit, in the column of its confidence bin: (n_rows, bins).

    There is one entry per row.

    The confidence is the probability of the most probable class; bin m holds confidences in ((m - 1)/bins,
    m/bins].
    """
    confidence = np.exp(log_proba.max(-1))
    column = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    n_rows = len(codes)
    gaps = hits(log_proba, codes) - confidence
    return csr_array((gaps, column, np.arange(n_rows + 1)), shape=(n_rows, bins))


def expected_calibration_error(log_proba: Array, codes: Array, bins: int = BINS) -> float:
    r"""Average the distance of confidence and accuracy, top label, bins of equal width. Lower is better.

    .. math:: \mathrm{ECE} = \sum_m \frac{|B_m|}{n} \, |\mathrm{accuracy}(B_m) - \mathrm{confidence}(B_m)|

    (Guo et al. 2017). It is biased upwards in small samples: noise in a bin counts as miscalibration.

    Parameters
    ----------
    log_proba : (n_rows, n_classes)
    codes : (n_rows,)
    bins : int

    Examples
    --------
    >>> import numpy as np
    >>> expected_calibration_error(np.log([[0.75, 0.25], [0.75, 0.25]]), np.array([0, 1]))
    0.25
    """
    return float(_calibration_error(np.ones((1, len(codes))), calibration_gaps(log_proba, codes, bins))[0])


def paired_difference(values: Array, reference: Array) -> tuple[float, float]:
    """Compute the mean difference of two scores of the same rows, and its standard error.

    Parameters
    ----------
    values, reference : (n_rows,)

    Returns
    -------
    difference, standard_error : float
        Where a row scores -inf under ``values`` the difference is -inf, and its standard error does not exist
        (nan).
    """
    with np.errstate(invalid="ignore"):
        difference = values - reference
        if len(difference) < 2 or not np.isfinite(difference).all():
            return float(difference.mean()), float("nan")
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))


def standard_error_of_sum(values: Array) -> float:
    """Estimate the standard error of a sum over rows; nan for one row, or where a score is -inf."""
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    return float(np.sqrt(len(values) * values.var(ddof=1)))


def bootstrap_calibration_errors(
    gaps: Sequence[csr_array], rng: np.random.Generator, replicates: int = 1000
) -> Array:
    """Compute calibration errors of several classifiers on the same resampled rows.

    See Efron & Tibshirani (1993), chapter 6.

    Parameters
    ----------
    gaps : sequence of (n_rows, bins)
        From :func:`calibration_gaps`, one per classifier, for the same rows.
    rng : numpy.random.Generator
    replicates : int

    Returns
    -------
    (replicates, n_classifiers)
    """
    n_rows = gaps[0].shape[0]
    out = np.empty((replicates, len(gaps)))
    for some in row_ranges(replicates, n_rows, _BLOCK_CELLS):
        size = some.stop - some.start
        chosen = rng.integers(0, n_rows, (size, n_rows)) + n_rows * np.arange(size)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=size * n_rows).reshape(size, n_rows).astype(np.float64)
        out[some] = np.stack([_calibration_error(counts, g) for g in gaps], axis=1)
    return out


def _calibration_error(counts: Array, gaps: csr_array) -> Array:
    """Compute the calibration error of rows that occur ``counts`` times, one set of counts per line."""
    return np.asarray(np.abs(counts @ gaps).sum(1) / gaps.shape[0])
