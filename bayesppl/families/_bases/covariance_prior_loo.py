r"""Leave-one-out where the prior of each class is made of the rows of the others: the row leaves these priors too.

Of a row of class c, the prior of another class k holds the share r of what it adds to the scatter of c: with
:math:`u = x - \bar x_c` and :math:`g = r\, w n_c / (n_c - w)` the scale matrix without it is :math:`\Psi - g u u^\top`, and the
degrees of freedom are fewer by r w. Determinant and inverse follow by the matrix determinant lemma and Sherman & Morrison
(1950). Were the row left where it is, its scatter would make it look like one of every class but its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayesppl.beliefs import NormalInverseWishart
from bayesppl.beliefs.moments import Moments
from bayesppl.families._bases.membership import Membership
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.mahalanobis import squared_distances


def of_other_classes(
    posterior: NormalInverseWishart,
    statistics: Moments,
    share: Array,
    X: Array,
    members: Membership,
    squares: Array,
    log_t: Callable[[Array, Array, Array], Array],
) -> Array:
    """log p(x_i | y = k, all rows but i) of every class k but that of row i, whose column is of no use: (n_rows, n_classes).

    Parameters
    ----------
    posterior : NormalInverseWishart
        Of all rows.
    statistics : Moments
        Of all rows.
    share : (n_classes,)
        The share of the rows of other classes that each prior holds.
    X : (n_rows, n_features)
    members : Membership
    squares : (n_rows, n_classes)
        Squared distances of the rows to the classes, in the metric of Ψ.
    log_t : callable
        Log density of a multivariate t: of squares, of what its log determinant changes by, and of what its degrees of freedom
        lose, each (n_classes, n_rows).
    """
    whitener = np.linalg.inv(np.linalg.cholesky(posterior.psi))
    out = np.empty_like(squares)
    for c in np.unique(members.codes):
        rows = np.flatnonzero(members.codes == c)
        weights = members.weights[rows[:1] if members.has_common_weight else rows]
        count, left = statistics.count[c], statistics.count[c] - weights
        distances = squared_distances(np.broadcast_to(statistics.mean[c], posterior.location.shape), whitener)
        own, apart = np.empty((len(share), len(rows))), np.empty((len(share), len(share)))
        distances(X[rows], own)
        distances(posterior.location, apart)
        of_class = squares[rows].T
        # the only row of a class has no deviations
        gone = np.divide(weights * count, left, out=np.zeros(len(weights)), where=left > 0)
        factor = share[:, None] * gone
        fewer = share[:, None] * (np.maximum(count - 1, 0.0) - np.maximum(left - 1, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left the answer is not finite
            log_shrunk = np.log1p(-factor * own)
            # uᵀΨ⁻¹v for the deviations u, v from two classes: their squares, and that of their difference, are known
            cross = 0.5 * (own + of_class - np.diagonal(apart)[:, None])
            out[rows] = log_t(of_class + factor * cross**2 / np.exp(log_shrunk), log_shrunk, fewer).T
    return out
