r"""Closed forms of independent normal columns under a normal-inverse-gamma pair.

The predictive of a cell is a Student t with :math:`2a_n` degrees of freedom, location :math:`m_n` and squared
scale :math:`b_n(\kappa_n + 1)/(a_n\kappa_n)` (Murphy 2007). Columns that share a variance are predicted together,
by a multivariate t, for they are not independent once the variance is integrated out.

Leaving a row of weight w out, at distance δ from the location of its class, takes the share r of 2b, and of a the
half of w for each of the m cells that share the variance. Seen from a class k without it, it adds the share q in
turn:

.. math:: r = \sum \frac{w\kappa\delta^2}{2b\kappa'}, \qquad q = \sum \frac{\kappa_k\delta_k^2}
   {2b(\kappa_k + 1)}, \qquad
   \kappa' = \kappa - w, \quad a' = a - \tfrac12 mw,

with :math:`\kappa'` for :math:`\kappa_k` and :math:`(\kappa/\kappa')\,\delta` for :math:`\delta_k` in its own
class, where q is r if w is one. The predictive is a Student t,

.. math:: \log p = \log \frac{\Gamma(a' + m/2)}{\Gamma(a')} - \tfrac12 \sum \log\frac
   {2\pi b(\kappa_k + 1)}{\kappa_k}
   + a' \log(1 - r) - (a' + \tfrac12 m) \log(1 + q - r).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_expit

from bayesppl.conjugate.learned_columns import log_densities_without
from bayesppl.conjugate.log_density import LogDensity, mixture
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import NumberRows
from bayesppl.conjugate.normal_inverse_gamma import NormalInverseGamma
from bayesppl.conjugate.normal_means import NormalMeans
from bayesppl.conjugate.row_statistics import about_class, forget, log_evidence_of, per_row
from bayesppl.conjugate.sparse_means import SparseMeans
from bayesppl.kernels.arrays import LOG_2PI, Array, log_rising
from bayesppl.kernels.mahalanobis import weighted_squares
from bayesppl.kernels.missing import observed_mask, split_missing
from bayesppl.kernels.ranges import row_blocks
from bayesppl.kernels.student import (
    less_own_log1p_squares,
    own_log1p_squares,
    own_log1p_sum,
    weighted_log1p_squares,
)

#: Of heavier rows the powers of the formula above are so high that their difference loses digits.
_HEAVY = 1e4


def log_predictive(posterior: NormalInverseGamma) -> LogDensity:
    """Return log p(x | y = k, data) as a function of rows, whose cells may be missing."""
    half_dof, spread = _half_dof_and_spread(posterior)
    scale = np.sqrt(spread)
    constant = -0.5 * np.log(np.pi * spread)
    if -1 in posterior.shared:
        half = half_dof[:, 0]

        def log_joint_t(rows: NumberRows) -> Array:
            X = rows.X
            out, odd = weighted_squares(X, posterior.location, scale)  # = z²/dof, z standardised
            np.log1p(out, out=out)
            n_present: Any = X.shape[1]
            if len(odd):
                n_present = np.full((len(X), 1), float(X.shape[1]))
                n_present[odd, 0] -= np.isnan(X[odd]).sum(1)
            out *= -(half + 0.5 * n_present)
            out += log_rising(half, n_present / 2)
            return _add_cells(out, constant, X, odd)

        return LogDensity(log_joint_t)
    constant += log_rising(half_dof, np.asarray(0.5))

    def log_t(rows: NumberRows) -> Array:
        out, odd = weighted_log1p_squares(rows.X, posterior.location, scale, -(half_dof + 0.5))
        return _add_cells(out, constant, rows.X, odd)

    return LogDensity(log_t)


def log_normal_predictive(posterior: NormalMeans) -> LogDensity:
    """Return log p(x | y = k, data) where variances are known: normal, of that plus the mean's variance."""
    variance = posterior.variance + 1 / posterior.precision
    return log_normal_density(posterior.location, variance).of(lambda rows: rows.X)


def inclusion_averaged(posterior: NormalInverseGamma, common: NormalInverseGamma, log_odds: Array) -> LogDensity:
    """Average the predictive over which columns (or all, of one variance) depend on the class."""
    if -1 in posterior.shared:
        return mixture(log_predictive, posterior, common, log_odds)
    relevant, irrelevant = log_expit(log_odds), log_expit(-log_odds)
    of_classes, [of_all] = _log_t_of_cells(posterior), _log_t_of_cells(common)

    def log_average(rows: NumberRows) -> Array:
        out = np.empty((len(rows), len(of_classes)))
        for block in row_blocks(*rows.X.shape):
            cells, present = split_missing(rows.X[block])
            constant = irrelevant + of_all(cells)
            for k, of_class in enumerate(of_classes):
                mixed = np.logaddexp(relevant + of_class(cells), constant)
                out[block, k] = mixed.sum(1, where=True if present is None else present)
        return out

    return LogDensity(log_average)


def leave_one_out(
    posterior: NormalInverseGamma, statistics: Any, rows: NumberRows, members: Membership
) -> tuple[Array, Array] | None:
    """Leave rows out; see :func:`bayesppl.conjugate.pair_forms.leave_one_out`. None where its formula serves."""
    if posterior.hierarchy is not None:
        return log_predictive(posterior)(rows), log_densities_without(posterior, statistics, rows.X, members)
    present, weights = observed_mask(rows.X), members.few_weights
    if weights is None or weights.max(initial=0.0) > _HEAVY or (posterior.shared and present is not None):
        return None
    fitted = log_predictive(posterior)(rows)
    return fitted, _leave_out(posterior, rows.X, present, members, fitted)


def log_normal_density(mean: Array, variance: Array) -> LogDensity:
    """Return log p(x | y = k, θ) for these means and variances, as a function of rows; draw axes may lead.

    Parameters
    ----------
    mean : (..., n_classes, n_features)
    variance : broadcast to the shape of ``mean``
    """
    sd = np.sqrt(np.broadcast_to(variance, mean.shape))
    constant = -0.5 * LOG_2PI - np.log(sd)
    # the classes of every draw, side by side
    flat_mean, flat_sd = mean.reshape(-1, mean.shape[-1]), sd.reshape(-1, mean.shape[-1])

    def log_normal(X: Array) -> Array:
        squares, odd = weighted_squares(X, flat_mean, flat_sd)
        out = np.moveaxis(squares.T.reshape(*mean.shape[:-1], len(X)), -1, -2)
        out *= -0.5
        return _add_cells(out, constant, X, odd)

    return LogDensity(log_normal)


def _add_cells(out: Array, constant: Array, X: Array, odd: Array) -> Array:
    """Add what a present cell contributes whatever its value, (..., n_classes, n_features), to log densities.

    Only the rows in ``odd`` can lack cells.
    """
    without = out[..., odd, :]
    out += constant.sum(-1)[..., None, :]
    if len(odd):
        out[..., odd, :] = without + ~np.isnan(X[odd]) @ np.swapaxes(constant, -1, -2)
    return out


def _half_dof_and_spread(posterior: NormalInverseGamma) -> tuple[Array, Array]:
    """Return half the degrees of freedom, and these times the squared scale, of the predictive of every cell."""
    shape = posterior.kappa.shape
    half_dof, b = (np.broadcast_to(posterior.spread(values), shape) for values in (posterior.a, posterior.b))
    return half_dof, 2 * b * ((posterior.kappa + 1) / posterior.kappa)


def _log_t_of_cells(posterior: NormalInverseGamma) -> list[Callable[[Array], Array]]:
    """Return log predictive densities of every cell, one for each class: functions of (n_rows, n_features)."""
    half_dof, spread = _half_dof_and_spread(posterior)
    constant = log_rising(half_dof, np.asarray(0.5)) - 0.5 * np.log(np.pi * spread)

    def of_class(k: int, X: Array) -> Array:
        squares = (X - posterior.location[k]) ** 2 / spread[k]
        return np.asarray(constant[k] - (half_dof[k] + 0.5) * np.log1p(squares))

    return [partial(of_class, k) for k in range(len(constant))]


def log_sparse_predictive(posterior: SparseMeans) -> LogDensity:
    """Return log p(x | y = k, data), averaged over which columns depend on the class."""
    return sparse_averaged(posterior, posterior, posterior.log_odds)


def sparse_averaged(posterior: SparseMeans, common: SparseMeans, log_odds: Array) -> LogDensity:
    """Average over which columns depend on the class, by these log odds in place of those that were learned."""
    return inclusion_averaged(posterior.inner, posterior.common, log_odds)


def leave_one_out_sparse(
    posterior: SparseMeans, statistics: Any, rows: NumberRows, members: Membership
) -> tuple[Array, Array]:
    """Leave rows out; see :func:`bayesppl.conjugate.pair_forms.leave_one_out`."""
    out = np.empty((len(rows), len(posterior.inner.kappa)))
    for block, row in rows.blocks():
        remaining = forget(posterior, row, members[block])
        varies, alike = log_expit(remaining.log_odds), log_expit(-remaining.log_odds)
        alike += log_evidence_of(remaining.common, row)
        for k in range(out.shape[1]):
            inner = about_class(k, posterior.inner, remaining.inner, members.codes[block])
            out[block, k] = per_row(np.logaddexp(varies + log_evidence_of(inner, row), alike))
    return log_sparse_predictive(posterior)(rows), out


def _leave_out(
    posterior: NormalInverseGamma, X: Array, present: Array | None, members: Membership, fitted: Array
) -> Array:
    """Compute log p(x_i | y = k, all data but row i) of rows of few weights: (n_rows, n_classes)."""
    groups = members.groups
    together, log1p = (X.shape[1], own_log1p_sum) if -1 in posterior.shared else (1, own_log1p_squares)
    w, half = groups.weights[:, None], np.asarray(together / 2)

    def of_groups(values: Array) -> Array:
        return np.broadcast_to(values, posterior.kappa.shape)[groups.classes]

    location, kappa = of_groups(posterior.location), of_groups(posterior.kappa)
    left, a = kappa - w, of_groups(posterior.spread(posterior.a)) - w * half
    total = 2 * of_groups(posterior.spread(posterior.b))
    with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left the answer is not finite
        taken = w * kappa / left / total
        even = (a == a[:, :1]).all()
        rising = np.broadcast_to(log_rising(a[:, :1] if even else a, half) / together, a.shape)
        common = log1p(X, groups.of_rows, location, -taken, a)
        if -2 in posterior.shared:
            fitted = _of_all_classes(posterior, X, groups.of_rows, location, taken, a)
            fitted += (common + rising.sum(1)[groups.of_rows])[:, None]
        constant = rising - 0.5 * np.log(np.pi * total * (left + 1) / left)
        constant = np.where((left > 0) & (a > 0), constant, np.nan)
        own = common + constant.sum(1)[groups.of_rows]
        if present is not None:  # of a column that a class lacks altogether, nothing is left without a row
            odd = np.flatnonzero(~present.all(1))
            own[odd] = common[odd] + np.where(present[odd], constant[groups.of_rows[odd]], 0.0).sum(1)
        if (w != 1).any():
            added = (kappa / left) ** 2 * left / (left + 1) / total
            own -= log1p(X, groups.of_rows, location, added - taken, a + half)
    return members.replaced(fitted, own)


def _of_all_classes(
    posterior: NormalInverseGamma, X: Array, of_rows: Array, location: Array, taken: Array, a: Array
) -> Array:
    """Return what differs between classes that share their variances: (n_rows, n_classes)."""
    added = posterior.kappa / (posterior.kappa + 1) / (2 * posterior.spread(posterior.b))
    out = less_own_log1p_squares(X, of_rows, posterior.location, added, location, taken, -(a + 0.5))
    out += (0.5 * np.log(added / np.pi)).sum(1)
    return out
