r"""Leave-one-out where the prior of each class is made of the rows of the others: the row leaves these priors too.

Of a row of class c, the prior of another class k holds the share r of what it adds to the scatter of c: with
:math:`u = x - \bar x_c` and :math:`g = r\, w n_c / (n_c - w)` the scale matrix without it is :math:`\Psi - g u u^\top`, and the
degrees of freedom are fewer by r w. Determinant and inverse follow by the matrix determinant lemma and Sherman & Morrison
(1950). Were the row left where it is, its scatter would make it look like one of every class but its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayesppl.conjugate import NormalInverseWishart
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import Moments
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.mahalanobis import squared_distances
from bayesppl.kernels.products import row_products
from bayesppl.kernels.squares import NEAR


def of_other_classes(
    posterior: NormalInverseWishart,
    whitener: Array,
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
    whitener : (n_classes, n_features, n_features)
        Inverse of the Cholesky factor of every Ψ.
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
    out = np.empty_like(squares)
    for c in members.classes:
        rows = np.flatnonzero(members.codes == c)
        weights = members.weights[rows[:1] if members.has_common_weight else rows]
        count, left = statistics.count[c], statistics.count[c] - weights
        # the only row of a class has no deviations
        gone = np.divide(weights * count, left, out=np.zeros(len(weights)), where=left > 0)
        factor = share[:, None] * gone
        fewer = share[:, None] * (np.maximum(count - 1, 0.0) - np.maximum(left - 1, 0.0))
        of_class = squares.T.take(rows, axis=1)
        own, cross = _products(posterior.location, whitener, statistics.mean[c], X.take(rows, axis=0), of_class)
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left the answer is not finite
            lost = factor * own
            of_class += factor * cross**2 / (1 - lost)
            out.T[:, rows] = log_t(of_class, np.log1p(-lost), fewer)
    return out


def _products(location: Array, whitener: Array, centre: Array, X: Array, squares: Array) -> tuple[Array, Array]:
    """uᵀΨ⁻¹u and uᵀΨ⁻¹v of every class, with u = x − ``centre`` and v = x − ``location``: (n_classes, n_rows) each.

    Of these three products ``squares``, vᵀΨ⁻¹v, is known, and uᵀΨ⁻¹(v − u) is linear in x.
    """
    gaps = np.einsum("kij,kj->ki", whitener, location - centre)
    apart = np.einsum("ki,ki->k", gaps, gaps)[:, None]
    linear = row_products(X, np.einsum("ki,kij->kj", gaps, whitener), centre).T
    if apart.max() < NEAR**2:
        cross = squares + linear - apart
        return cross + linear, cross
    own = np.empty_like(squares)  # of classes that lie far apart the difference would have lost digits
    squared_distances(np.broadcast_to(centre, location.shape), whitener)(X, own)
    return own, own - linear
