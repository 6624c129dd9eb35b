r"""Leave-one-out of independent normal columns whose prior is made of the rows: a row leaves the prior too.

The location m of the prior is the mean of all rows, and its b a number of rows of the variance within the classes,

.. math:: w = \frac{\sum_k r_k S_k + e}{\sum_k r_k f_k + 1}, \qquad r_k = \frac\nu{\nu + f_k},

of sums of squares with f degrees of freedom and of one row of what is expected, e, a part of the variance of all
rows, or thirty times that within the classes, where this is less (see :mod:`bayesppl.families.column_prior`).
Without a row x of weight v from class c, where the rows weigh N,

.. math:: m' = m - \frac{v (x - m)}{N - v}, \qquad S_c' = S_c - \frac{v n_c (x - \bar x_c)^2}{n_c - v},

:math:`f_c` falls by v, and e is a part of the variance of the other rows. The belief about every class is then
what :meth:`~bayesppl.NormalInverseGamma.update` makes of that prior and of the moments that are left. How many
rows the prior is worth stays as it was found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import Moments, degrees, degrees_within
from bayesppl.conjugate.normal_inverse_gamma import NormalInverseGamma
from bayesppl.conjugate.statistics import LAST_BITS, ROUNDING
from bayesppl.kernels.arrays import Array, log_rising
from bayesppl.kernels.ranges import row_blocks

# variances within the classes: more than that is expected of no class
_FAR = 30.0
_HALF = np.asarray(0.5)


def share_of_rows(degrees: Array, nu: Any) -> Array:
    """Return the share of its rows by which each class counts in the variance within all of them.

    The variance of a class of f degrees of freedom differs from the common one by a squared relative error that is
    proportional to 1/f + 1/ν: of weights f ν/(f + ν) the average is most precise, and no large class rules it.
    """
    return np.asarray(1 / (1 + degrees / nu))


def sums_within(scatter: Array, degrees: Array, nu: Any) -> tuple[Array, Array]:
    """Return the sum of squares within the classes, and the rows it is made of, as each class counts in them."""
    share = share_of_rows(degrees, nu)
    return (share * scatter).sum(0), (share * degrees).sum(0)


def bounded_by_within(expected: Array, squares: Array, degrees: Array) -> Array:
    """Bound the variance that is expected of a class by thirty times that within the classes.

    A class far from all others makes the variance of all rows large, which is no reason to expect as much within a
    class. Numbers that are equal within every class, up to rounding, show no variance, and set no bound.

    Parameters
    ----------
    expected : (..., n_features)
    squares, degrees : (..., n_features)
        Sums of squares within the classes, and their degrees of freedom.
    """
    bound = np.divide(_FAR * squares, degrees, out=np.full_like(squares, np.inf), where=degrees > 0)
    return np.where(squares > ROUNDING * degrees * expected, np.minimum(expected, bound), expected)


def log_densities_without(
    posterior: NormalInverseGamma, statistics: Moments, X: Array, members: Membership
) -> Array:
    """Compute log p(x_i | y = k, all rows but i): (n_rows, n_classes).

    Not finite where no other row has a number in some column of row i, or all have the same.
    """
    n_classes, at = len(posterior.kappa), np.flatnonzero(~np.isnan(X).all(0))
    out, beliefs = np.empty((len(X), n_classes)), _Beliefs(posterior, statistics, at)
    for c in members.classes:
        of_class = np.flatnonzero(members.codes == c)
        for block in row_blocks(len(of_class), n_classes * len(at)):
            rows = of_class[block]
            weights = members.weights[rows[:1] if members.has_common_weight else rows]
            with np.errstate(all="ignore"):  # where nothing is left the answer is not finite
                out[rows] = beliefs.log_densities(X[np.ix_(rows, at)], int(c), weights[:, None])
    return out


class _Beliefs:
    """Beliefs about some columns and the moments of their rows, with the axes (n_classes, 1, n_features)."""

    def __init__(self, posterior: NormalInverseGamma, statistics: Moments, at: Array) -> None:
        total, self.is_tied = statistics.pooled(), -2 in posterior.shared
        self.total_count, self.location = total.count[0, at], total.mean[0, at]
        self.total_squares, self.expected = total.scatter[0, at], posterior.hierarchy.expected[at]
        self.count, self.mean = statistics.count[:, None, at], statistics.mean[:, None, at]
        self.scatter, self.degrees = statistics.scatter[:, None, at], degrees_within(self.count)
        self.within, self.nu = posterior.hierarchy.within[at], posterior.hierarchy.nu[at]
        self.varies = posterior.hierarchy.varies[at]
        self.squares_within, self.rows_within = sums_within(self.scatter, self.degrees, self.nu)
        self.all_squares, self.all_degrees = self.scatter.sum(0), self.degrees.sum(0)
        # the posterior less its rows is the prior
        self.kappa = posterior.kappa[:, None, at] - self.count
        self.half_dof = posterior.spread(posterior.a)[:, None, at]
        self.squares = 2 * posterior.spread(posterior.b)[:, None, at]
        self.between = self.kappa * self.count / (self.kappa + self.count) * (self.mean - self.location) ** 2
        self.squares_of_prior = self.squares - self._of_variances(self.scatter + self.between)
        self.rising = log_rising(self.half_dof, _HALF)

    def log_densities(self, X: Array, c: int, weights: Array) -> Array:
        """Compute the log densities of rows of class c, each without itself: (n_rows, n_classes)."""
        is_own = (np.arange(len(self.count)) == c)[:, None, None]
        left, from_mean = self.count[c] - weights, X - self.mean[c]
        step = np.where(left > 0, weights / left, 0.0) * from_mean
        lost, left_degrees = step * self.count[c] * from_mean, degrees_within(left)
        before, after = (share_of_rows(of_class, self.nu) for of_class in (self.degrees[c], left_degrees))
        squares = self.squares_within - before * self.scatter[c] + after * (self.scatter[c] - lost)
        rows = self.rows_within - before * self.degrees[c] + after * left_degrees
        others = self.all_squares - lost, self.all_degrees - self.degrees[c] + left_degrees
        expected = bounded_by_within(self._expected_without(X, c, weights), *others)
        within = (squares + expected) / (rows + 1)
        location = self.location - weights / (self.total_count - weights) * (X - self.location)
        count, half_dof = self.count - weights * is_own, self.half_dof - weights / 2 * (is_own | self.is_tied)
        kappa = self.kappa + count
        gaps = self.mean - location
        gaps[c] -= step
        moved = self.kappa * count / kappa * gaps**2
        moved -= self.between
        moved[c] -= lost
        spread = self.squares_of_prior * (within / self.within - 1)
        spread += self._of_variances(moved)
        spread += self.squares
        spread = spread * ((kappa + 1) / kappa)
        # from here on, the log densities of cells
        cells = np.multiply(gaps, -count / kappa, out=gaps)
        cells += X - location
        cells *= cells
        cells /= spread
        np.log1p(cells, out=cells)
        cells *= -(half_dof + 0.5)
        cells -= 0.5 * np.log(np.pi * spread)
        cells += self.rising
        shared = 0 if self.is_tied else c
        cells[... if self.is_tied else c] += log_rising(half_dof[shared], _HALF) - self.rising[shared]
        absent = np.isnan(X)
        if absent.any():
            cells[:, absent] = 0.0
        return np.asarray(cells.sum(2).T)

    def _expected_without(self, X: Array, c: int, weights: Array) -> Array:
        """Return the part of the variance of all other rows that is expected of a class: (n_rows, n_features)."""
        left = self.total_count - weights
        n_seen = np.count_nonzero(self.count, axis=0) - ((self.count[c] <= weights) & (self.count[c] > 0))
        squares = self.total_squares - weights * self.total_count / left * (X - self.location) ** 2
        # a row that alone makes the column vary leaves what a large mean leaves of the digits of its square
        rounding = 4 * LAST_BITS * np.abs(self.location) * np.sqrt(weights * self.total_squares)
        rounding = np.minimum(ROUNDING * self.total_squares + rounding, self.total_squares / 2)
        varies = squares > rounding
        expected = np.where(varies, squares / degrees(left) / np.maximum(n_seen, 1), np.nan)
        return np.where(self.varies, expected, self.expected)

    def _of_variances(self, squares: Array) -> Array:
        """Sum the squares of classes that share their variances."""
        return squares.sum(0, keepdims=True) if self.is_tied else squares
