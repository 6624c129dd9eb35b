r"""Calibration from exact leave-one-out: how far the densities of a model can be trusted, learned from rows left out.

A model that is wrong about p(x | y), as Naive Bayes is where columns depend on each other, multiplies evidence that it
has seen already, and is too sure. A tempered predictive,

.. math:: p_T(y = k \mid x, D) \propto \pi_k\, p(x \mid y = k, D)^{1/T},

takes each density to the power 1/T. T is the one that predicts the labels of left-out rows best: the maximum of
:math:`\sum_i w_i \log p_T(y_i \mid x_i, D_{-i})` less a weak penalty on log T. All it needs is one exact leave-one-out.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from bayesppl.kernels.arrays import Array
from bayesppl.model.normalisation import normalise

#: Standard deviation of log T under the penalty, a normal density around T = 1: T within 7 of 1 either way, mostly.
PENALTY_SD = 1.0

# log T lies within these bounds; the penalty alone keeps it far from them
_BOUNDS = (-20.0, 20.0)


def temper(log_density: Array, log_weights: Array, codes: Array, row_weights: Array) -> float:
    """The temperature that predicts left-out labels best.

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
        T, the maximum of the score less the penalty (log T)² / 2. Without rows that tell classes apart it is 1.

    Examples
    --------
    >>> import numpy as np
    >>> log_odds = np.array([[4.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 4.0]] * 25)
    >>> codes = np.array([0, 0, 1, 1] * 24 + [1, 1, 0, 0])  # 96 of 100 rows as the model holds likely
    >>> round(temper(log_odds, np.log([0.5, 0.5]), codes, np.ones(100)), 2)
    1.25
    """
    scored = Scores.of(log_density, log_weights, codes, row_weights)

    def slope(log_t: float) -> float:
        return scored.slope(np.exp(-log_t)) - log_t / PENALTY_SD**2

    return float(np.exp(brentq(slope, *_BOUNDS, xtol=1e-10, rtol=1e-12)))


class Scores:
    """The score of left-out labels and its derivatives by log T."""

    def __init__(self, density: Array, weights: Array, codes: Array, row_weights: Array) -> None:
        self._density, self._weights, self._row_weights = density, weights, row_weights
        self._codes = codes
        self._own = density[np.arange(len(codes)), codes]

    @classmethod
    def of(cls, log_density: Array, log_weights: Array, codes: Array, row_weights: Array) -> Scores:
        """Of the rows that any temperature can score: those of positive weight which their own class does not exclude."""
        weights = np.broadcast_to(log_weights, log_density.shape)
        own = np.arange(len(codes)), codes
        possible = (row_weights > 0) & np.isfinite(log_density[own]) & np.isfinite(weights[own])
        return cls(log_density[possible], weights[possible], codes[possible], row_weights[possible])

    def log_scores(self, power: float) -> Array:
        """log p_T(y_i | x_i) of every row, with ``power`` 1/T: (n_rows,)."""
        return self._log_proba(power)[np.arange(len(self._codes)), self._codes]

    def gradients(self, power: float) -> Array:
        """Derivative of every row's score by log T: (n_rows,)."""
        return -power * (self._own - self._expected(power))

    def slope(self, power: float) -> float:
        """Derivative of the total score by log T."""
        return float((self._row_weights * self.gradients(power)).sum())

    def _expected(self, power: float) -> Array:
        """Average log density over the classes: (n_rows,)."""
        proba = np.exp(self._log_proba(power))
        return np.where(proba > 0, proba * np.where(proba > 0, self._density, 0.0), 0.0).sum(1)

    def _log_proba(self, power: float) -> Array:
        return normalise(power * self._density + self._weights, np.ones(self._weights.shape[1]), log=True)[0]
