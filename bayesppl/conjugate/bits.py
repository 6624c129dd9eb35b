"""Rows of zeros and ones: one sum of logarithms for all cells of a row, whether or not any is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from scipy.special import expit

from bayesppl.conjugate.cell_rows import LogFactors, dense_blocks
from bayesppl.conjugate.log_density import Evaluate, LogDensity, on_first_use
from bayesppl.conjugate.membership import Membership, counts_without, weight_by_weight
from bayesppl.conjugate.row_statistics import SingleRows
from bayesppl.conjugate.statistics import Successes, remainder
from bayesppl.kernels.arrays import Array, Responsibilities, dense, dot_log, log_contrast, log_dotter
from bayesppl.kernels.class_sums import class_sums
from bayesppl.kernels.missing import observed_weight, split_missing


@dataclass(frozen=True, eq=False)
class Bits(SingleRows):
    """Rows of zeros and ones, dense (NaN where a cell is missing) or sparse.

    Attributes
    ----------
    X : (n_rows, n_features)
    """

    X: Any

    @final
    def __getitem__(self, rows: Any) -> Bits:
        return Bits(self.X[rows])

    @final
    def blocks(self) -> Iterator[tuple[slice, Successes]]:
        for block in dense_blocks(self.X):
            filled, present = split_missing(dense(self.X[block]).astype(np.float64))
            failures = 1.0 - filled if present is None else present - filled
            yield block, Successes(filled, failures, np.zeros(filled.shape))

    @final
    def sum_rows(self, responsibilities: Responsibilities) -> Successes:
        filled, present = split_missing(self.X)
        successes = class_sums(responsibilities, filled)
        trials = observed_weight(responsibilities, filled, present)
        return Successes(successes, remainder(trials, successes), np.zeros_like(successes))

    @staticmethod
    def log_likelihood(log_factors: LogFactors) -> LogDensity:
        """Return Σ x log p + (1 − x) log(1 − p) over the present cells, as a function of the rows."""
        log_yes, log_no = log_factors
        # Every row starts as "all absent", one constant per class; what is present corrects it. Columns that are
        # certain (probability one) cannot be absent at all, which the constant must not turn into inf - inf.
        certain = np.isneginf(log_no)
        log_absent = np.where(certain, 0.0, log_no)
        constant, n_certain = log_absent.sum(-1)[..., None, :], certain.sum(-1)[..., None, :]
        correct = log_dotter(log_yes - log_absent)
        contrast = on_first_use(lambda: log_contrast(log_yes - log_absent, of_bits=True))
        count_certain = log_dotter(1.0 * certain)

        def log_mass(rows: Bits, correct: Evaluate = correct) -> Array:
            filled, present = split_missing(rows.X)
            out = correct(filled)
            out += constant if present is None else dot_log(present, log_absent)
            if certain.any():
                required = n_certain if present is None else count_certain(present)
                out[count_certain(filled) < required] = -np.inf
            return out

        return LogDensity(log_mass, partial(log_mass, correct=contrast))


def _means(successes: Array, failures: Array) -> Array:
    """Return the probabilities of success and failure, each by itself: one minus the other may round to zero."""
    return np.stack([successes, failures]) / (successes + failures)


def bits_log_predictive(posterior: Any) -> LogDensity:
    """Return the log predictive of bits: the likelihood at the mean, in one product for all cells of a row."""
    return _of_probabilities(_means(posterior.alpha, posterior.beta))


def bits_average(posterior: Any, common: Any, log_odds: Array) -> LogDensity:
    """Return the inclusion-averaged predictive of bits: a mixture of two Bernoulli distributions is one again."""
    of_classes, of_all = (_means(belief.alpha, belief.beta) for belief in (posterior, common))
    return _of_probabilities(expit(log_odds) * of_classes + expit(-log_odds) * of_all)


def bits_leave_one_out(
    posterior: Any, statistics: Any, rows: Bits, members: Membership
) -> tuple[Array, Array] | None:
    """Leave out bits whose rows have few different weights, in one product for all rows of a weight."""
    yes, no = posterior.alpha, posterior.beta

    def without(weight: float) -> LogDensity:
        """Return the density with a failure less where the row failed, and a success less where it succeeded."""
        left = np.stack([counts_without(yes, weight), counts_without(no, weight)])
        with np.errstate(divide="ignore", invalid="ignore"):  # a class without rows has none to lose
            return _of_probabilities(np.concatenate([_means(yes, no), left / (yes + no - weight)], axis=1))

    return None if members.few_weights is None else weight_by_weight(without, rows, members)


def _of_probabilities(probability: Array) -> LogDensity:
    """Return the density of bits with these probabilities of success and failure: (2, n_classes, n_features)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_yes, log_no = np.log(probability)
    return Bits.log_likelihood((log_yes, log_no))
