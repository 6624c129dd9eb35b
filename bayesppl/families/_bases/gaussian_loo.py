r"""Independent Gaussian features of which one row is taken out.

A row of weight w at distance δ from the location of its class takes the share r of 2b, and of a the half of w for each of
the m cells that share the variance. Seen from a class k without it, it adds the share q in turn:

.. math:: r = \sum \frac{w\kappa\delta^2}{2b\kappa'}, \qquad q = \sum \frac{\kappa_k\delta_k^2}{2b(\kappa_k + 1)}, \qquad
   \kappa' = \kappa - w, \quad a' = a - \tfrac12 mw,

with :math:`\kappa'` for :math:`\kappa_k` and :math:`(\kappa/\kappa')\,\delta` for :math:`\delta_k` in its own class, where q is r if w
is one. The predictive is a Student t,

.. math:: \log p = \log \frac{\Gamma(a' + m/2)}{\Gamma(a')} - \tfrac12 \sum \log\frac{2\pi b(\kappa_k + 1)}{\kappa_k}
   + a' \log(1 - r) - (a' + \tfrac12 m) \log(1 + q - r).
"""

from __future__ import annotations

import numpy as np

from bayesppl.conjugate import NormalInverseGamma
from bayesppl.conjugate.membership import Membership
from bayesppl.kernels.arrays import Array, log_rising
from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.loo_student import less_own_log1p_squares, own_log1p_squares, own_log1p_sum


def without_rows(
    posterior: NormalInverseGamma, X: Array, present: Array | None, members: Membership, fitted: Array
) -> Array:
    """log p(x_i | y = k, all data but row i): (n_rows, n_classes).

    Parameters
    ----------
    posterior : NormalInverseGamma
        Of all rows.
    X : (n_rows, n_features)
    present : (n_rows, n_features), optional
        Where cells are present; None where all are, as they must be where variances are shared.
    fitted : (n_rows, n_classes)
        log p(x_i | y = k, all data).
    """
    if members.few_weights is not None:
        return _without(posterior, X, present, members, fitted)
    # every row leaves a belief of its own behind
    out = np.empty_like(fitted)
    for rows in row_blocks(*X.shape):
        some = None if present is None else present[rows]
        out[rows] = _without(posterior, X[rows], some, members[rows], fitted[rows])
    return out


def _without(
    posterior: NormalInverseGamma, X: Array, present: Array | None, members: Membership, fitted: Array
) -> Array:
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
        if (w != 1).any():
            added = (kappa / left) ** 2 * left / (left + 1) / total
            own -= log1p(X, groups.of_rows, location, added - taken, a + half)
    if present is not None:
        odd = np.flatnonzero(~present.all(1))
        own[odd] -= np.where(present[odd], 0.0, constant[groups.of_rows[odd]]).sum(1)
    return members.replaced(fitted, own)


def _of_all_classes(
    posterior: NormalInverseGamma, X: Array, of_rows: Array, location: Array, taken: Array, a: Array
) -> Array:
    """What differs between classes that share their variances: (n_rows, n_classes)."""
    added = posterior.kappa / (posterior.kappa + 1) / (2 * posterior.spread(posterior.b))
    out = less_own_log1p_squares(X, of_rows, posterior.location, added, location, taken, -(a + 0.5))
    out += (0.5 * np.log(added / np.pi)).sum(1)
    return out
