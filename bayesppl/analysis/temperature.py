r"""Calibration from exact leave-one-out: learn from rows left out how far the densities of a model can be trusted.

A model that is wrong about p(x | y), as Naive Bayes is where columns depend on each other, multiplies evidence
that it has seen already, and is too sure. A tempered predictive,

.. math:: p_T(y = k \mid x, D) \propto \pi_k\, p(x \mid y = k, D)^{1/T},

takes each density to the power 1/T. T is the one that predicts the labels of left-out rows best: the maximum of
:math:`\sum_i w_i \log p_T(y_i \mid x_i, D_{-i})` less a penalty on log T, which is weak above T = 1. All it needs
is one exact leave-one-out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq

from bayesppl.errors import OverconfidentWarning, warn
from bayesppl.kernels.arrays import Array
from bayesppl.model.calibration import Calibration

#: Standard deviation of log T under the penalty, a normal density around T = 1: T is below 7, mostly.
PENALTY_SD = 1.0

#: Standard deviation of a half-normal penalty besides, on powers above 1, which trust a density more than the
#: model does. Where no row left out lies near a boundary, all labels are right, and would ask for any power.
ABOVE_ONE_SD = 0.2

# log T lies within these bounds; the penalty keeps it far from them, unless rows of enormous weight outweigh it
_BOUNDS = (-20.0, 20.0)

# Places where maxima of T below 1 are searched for.
_STEPS = 41

# A predictive is badly overconfident where its log score is below what it expects by this many standard errors,
# and by this much per row: a tenth of a nat is the loss where what is given 0.9 happens in 0.7 of the cases.
_STANDARD_ERRORS, _LOSS = 3.0, 0.1


def temper(log_density: Array, log_weights: Array, codes: Array, row_weights: Array) -> float:
    """Find the temperature that predicts left-out labels best.

    Parameters
    ----------
    log_density : (n_rows, n_classes)
        log p(x_i | y = k, D without row i).
    log_weights : (n_rows, n_classes) or (n_classes,)
        Log class weights, from all rows or from the others.
    codes : (n_rows,)
        Index of the label of each row.
    row_weights : (n_rows,)

    Returns
    -------
    float
        T, the maximum of the score less the penalty (log T)² / 2, and (log T / 0.2)² / 2 more where T is below 1.
        Without rows that distinguish the classes it is 1.

    Examples
    --------
    >>> import numpy as np
    >>> log_odds = np.array([[4.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 4.0]] * 25)
    >>> codes = np.array([0, 0, 1, 1] * 24 + [1, 1, 0, 0])  # 96 of 100 rows as the model holds likely
    >>> round(temper(log_odds, np.log([0.5, 0.5]), codes, np.ones(100)), 2)
    1.25
    """
    return Scores.of(log_density[:, :, None], log_weights, codes, row_weights).temperature()


def _precision(log_t: float) -> float:
    """Return the curvature of the penalty on log T."""
    return PENALTY_SD**-2 + (ABOVE_ONE_SD**-2 if log_t < 0 else 0.0)


def drawn_rows(n_rows: int, most: int) -> Array:
    """Return the places of all rows in order, or of ``most`` of them, drawn at random, where there are more."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def learn(log_density: Array, log_weights: Array, codes: Array, row_weights: Array) -> Calibration:
    """Learn the temperature that predicts left-out labels best, its error and its gain; see :func:`temper`."""
    scored = Scores.of(log_density[:, :, None], log_weights, codes, row_weights)
    found = scored.temperature()
    log_sd = float(np.sqrt(scored.temperature_variance(found)))
    return Calibration(found, log_sd, scored.average(1 / found), scored.average(1.0))


class Confidence(NamedTuple):
    """Average log scores, as probabilities expect them and as attained, and the error of their difference."""

    expected: float
    attained: float
    standard_error: float

    @property
    def is_far_too_high(self) -> bool:
        """Whether the labels are predicted worse than expected, by much and beyond chance."""
        loss = self.expected - self.attained
        return loss > _LOSS and (np.isinf(loss) or loss > _STANDARD_ERRORS * self.standard_error)

    def warn_if_far_too_high(self, model: str, tempered: float) -> None:
        """Warn of a model that expects far more than it attains, and say what it attains with a temperature."""
        if self.is_far_too_high:
            warn(
                f"{model} is badly overconfident: it expects a log score of {self.expected:.3g} of left-out "
                f"labels, and attains {self.attained:.3g}. Columns may depend on each other within the classes, "
                "or have other shapes than the family's. With calibration='temperature' it attains "
                f"{tempered:.3g}, a gain of {tempered - self.attained:.3g} a row; a family that fits better mends "
                "the cause",
                OverconfidentWarning,
            )


def confidence(log_proba: Array, codes: Array, row_weights: Array) -> Confidence:
    """Measure how sure class probabilities are, and how sure they can be.

    Parameters
    ----------
    log_proba : (n_rows, n_classes)
        Of rows that had no part in it, such as rows left out.
    codes, row_weights : (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> sure_of_half = confidence(np.log([[0.9, 0.1]] * 4), np.array([0, 1, 0, 1]), np.ones(4))
    >>> round(sure_of_half.expected, 2), round(sure_of_half.attained, 2)
    (-0.33, -1.2)
    """
    counted = row_weights > 0
    log_proba, weights = log_proba[counted], row_weights[counted] / row_weights.sum()
    finite = np.where(np.isneginf(log_proba), 0.0, log_proba)
    expected = (np.exp(log_proba) * finite).sum(1)
    attained = log_proba[np.arange(len(weights)), codes[counted]]
    variance = (np.exp(log_proba) * (finite - expected[:, None]) ** 2).sum(1)
    excess = attained - expected
    average = float((weights * excess).sum())
    if np.isinf(average):
        return Confidence(float((weights * expected).sum()), average, float("nan"))
    # the spread that the probabilities expect, or that is found, whichever is larger
    error = float(np.sqrt((weights**2 * np.maximum(variance, (excess - average) ** 2)).sum()))
    return Confidence(float((weights * expected).sum()), float((weights * attained).sum()), error)


@dataclass(frozen=True, eq=False)
class Scores:
    """The score of left-out labels as a function of powers of densities, with its derivatives.

    A row has one density, which is taken to the power 1/T, or several, those of its factors, each to a power of
    its own.

    Parameters
    ----------
    contrast : (n_factors, n_classes, n_rows)
        Log densities less those of the row's own class; zero where a class is impossible.
    log_odds : (n_classes, n_rows)
        Of the class against the row's own before anything is seen; -inf where the class is impossible.
    codes, row_weights : (n_rows,)
    """

    contrast: Array
    log_odds: Array
    codes: Array
    row_weights: Array

    @classmethod
    def of(cls, log_density: Array, log_weights: Array, codes: Array, row_weights: Array) -> Scores:
        """Score rows of positive weight, but for those that their own class excludes at any power.

        Parameters
        ----------
        log_density : (n_rows, n_classes, n_factors)
        log_weights : (n_rows, n_classes) or (n_classes,)
        codes, row_weights : (n_rows,)
        """
        log_weights = np.broadcast_to(log_weights, log_density.shape[:2])
        own = np.arange(len(codes)), codes
        own_density, own_weight = log_density[own][:, None], log_weights[own][:, None]
        scored = (row_weights > 0) & np.isfinite(own_density).all((1, 2)) & np.isfinite(own_weight[:, 0])
        contrast, log_weights = log_density[scored], log_weights[scored]
        excluded = np.isneginf(contrast).any(-1) | np.isneginf(log_weights)
        contrast -= own_density[scored]  # a copy already
        contrast[excluded] = 0.0
        log_odds = np.where(excluded, -np.inf, log_weights - own_weight[scored])
        # rows last: steps along rows are long, those along classes short
        in_order = np.ascontiguousarray(contrast.T), np.ascontiguousarray(log_odds.T)
        return cls(*in_order, codes[scored], row_weights[scored])

    def log_scores(self, powers: Array | float) -> Array:
        """Compute log p(y_i | x_i) of every row, with the densities taken to these powers: (n_rows,)."""
        return -self.normalised(powers)[1]

    def average(self, powers: Array | float) -> float:
        """Average the score of the rows by weight; nan where there are none."""
        total = self.row_weights.sum()
        return float((self.row_weights * self.log_scores(powers)).sum() / total) if total else float("nan")

    def gradients(self, powers: Array | float) -> Array:
        """Differentiate every row's score by the log of each power: (n_factors, n_rows)."""
        expected = np.einsum("kn,bkn->bn", self.normalised(powers)[0], self.contrast)
        return np.asarray(-np.atleast_1d(powers)[:, None] * expected)

    def information(self, powers: Array | float) -> Array:
        """Compute the expected information: minus the second derivative of the total score by the log powers.

        Returns
        -------
        (n_factors, n_factors)
        """
        proba, powers = self.normalised(powers)[0], np.atleast_1d(powers)
        away = self.contrast - np.einsum("kn,bkn->bn", proba, self.contrast)[:, None]
        away = away.reshape(len(away), -1) * powers[:, None]
        return np.asarray((away * (self.row_weights * proba).ravel()) @ away.T)

    def covariance(self, powers: Array | float, penalty: Array) -> Array:
        """Estimate the covariance of log powers at a maximum: by the sandwich formula (Godambe 1960; White 1982).

        Parameters
        ----------
        powers : (n_factors,) or float
        penalty : (n_factors, n_factors)
            Its curvature; it counts as one more observation.
        """
        slopes = self.row_weights * self.gradients(powers)
        expected = cho_factor(self.information(powers) + penalty)
        return np.asarray(cho_solve(expected, cho_solve(expected, slopes @ slopes.T + penalty).T))

    def temperature_variance(self, temperature: float) -> float:
        """Estimate the variance of the log of the temperature that was found."""
        return float(self.covariance(1 / temperature, np.array([[_precision(np.log(temperature))]]))[0, 0])

    def temperature(self) -> float:
        """Find the maximum, over the power 1/T of one density, of the score less the penalty."""

        def slope(log_t: float) -> float:
            power = np.exp(-log_t)
            expected = np.einsum("kn,kn->n", self.normalised(power)[0], self.contrast[0])
            return float(power * (self.row_weights * expected).sum()) - log_t * _precision(log_t)

        def height(log_t: float) -> float:
            score = float((self.row_weights * self.log_scores(np.exp(-log_t))).sum())
            return score - 0.5 * log_t**2 * _precision(log_t)

        (lowest, largest), root = _BOUNDS, partial(brentq, slope, xtol=1e-10, rtol=1e-12)
        if slope(largest) > 0:
            return float(np.exp(largest))
        if slope(0.0) >= 0:
            return float(np.exp(root(0.0, largest)))
        # the score is concave in 1/T: of a model that is not sure enough, the slope may have several roots
        grid = np.linspace(lowest, 0.0, _STEPS)
        slopes = np.array([slope(log_t) for log_t in grid])
        maxima = [root(*grid[i : i + 2]) for i in np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))]
        return float(np.exp(max([lowest, *maxima], key=height)))

    def normalised(self, powers: Array | float) -> tuple[Array, Array]:
        """Compute probabilities (n_classes, n_rows), and the log of the sum of the odds against the own class."""
        odds = np.einsum("b,bkn->kn", np.atleast_1d(powers), self.contrast)  # BLAS would wake its threads
        odds += self.log_odds
        largest = odds.max(0)
        odds -= largest
        np.exp(odds, out=odds)
        total = odds.sum(0)
        odds /= total
        return odds, largest + np.log(total)
