r"""Closed forms of correlated normal columns under a normal-inverse-Wishart pair.

The predictive is a multivariate t with :math:`\nu_n - D + 1` degrees of freedom, location :math:`m_n` and scale
matrix :math:`\Psi_n(\kappa_n + 1)/(\kappa_n(\nu_n - D + 1))` (Murphy 2007; Geisser 1964 for the vague limit).
Where the covariance is tied, :math:`\nu_n` and :math:`\Psi_n` gather the rows of all classes.

Without a row of weight w, :math:`\Psi` is :math:`\Psi - f u u^\top`, with :math:`u = x - m` of the row's own class
and :math:`f = w\kappa/(\kappa - w)`. Determinant and inverse follow by the matrix determinant lemma and Sherman &
Morrison (1950). Where the prior of each class is made of the rows of the others, the row leaves these priors too:
of a row of class c, the prior of another class k holds the share r of what it adds to the scatter of c, so that
with :math:`u = x - \bar x_c` and :math:`g = r\, w n_c / (n_c - w)` its scale matrix is :math:`\Psi - g u u^\top`,
and the degrees of freedom are fewer by r w. Were the row left where it is, its scatter would make it look like one
of every class but its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from bayesppl.conjugate.log_density import Evaluate, LogDensity, on_first_use
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import Moments, NumberRows
from bayesppl.conjugate.normal_inverse_wishart import NormalInverseWishart
from bayesppl.conjugate.normal_means import NormalMeanVectors
from bayesppl.kernels.arrays import LOG_2PI, Array, log_rising
from bayesppl.kernels.definite import whitener_of
from bayesppl.kernels.mahalanobis import NEAR, squared_distances
from bayesppl.kernels.missing import by_gaps
from bayesppl.kernels.products import row_products

# below so many cells, a call for each draw takes longer than the products
_FEW_CELLS = 500


def log_predictive(posterior: NormalInverseWishart) -> LogDensity:
    """Return log p(x | y = k, data) as a function of rows, whose cells may be missing."""
    n_classes, n_features = posterior.location.shape
    dof = np.broadcast_to(posterior.nu - n_features + 1, n_classes)
    inflation = (posterior.kappa + 1) / posterior.kappa

    def log_t(dimension: int, log_det: Array) -> Evaluate:
        constant, exponent = t_terms(dof, dimension, log_det, inflation)
        return lambda squares: log_t_density(squares, constant, exponent, inflation)

    by_gaps = by_pattern(by_distances(posterior.location, posterior.psi, posterior.is_tied, log_t), n_features)
    return LogDensity(lambda rows: by_gaps(rows.X))


def log_normal_predictive(posterior: NormalMeanVectors) -> LogDensity:
    """Return log p(x | y = k, data) where covariances are known: normal, of that plus the mean's covariance."""
    covariance = posterior.covariance + np.linalg.inv(posterior.precision)
    return log_density_of_vectors(posterior.location, covariance, False).of(lambda rows: rows.X)


def log_density_of_vectors(mean: Array, covariance: Array, tied: bool) -> LogDensity:
    """Return log p(x | y = k, θ) for these means and covariances, as a function of rows; draw axes may lead.

    Parameters
    ----------
    mean : (..., n_classes, n_features)
    covariance : (..., n_features, n_features) where ``tied``, else broadcast to (..., n_classes, n_features,
        n_features)
    """

    def log_normal(dimension: int, log_det: Array) -> Evaluate:
        constant = -0.5 * (dimension * LOG_2PI + log_det[..., None, :])

        def log_density(squares: Array) -> Array:
            squares *= -0.5
            squares += constant
            return squares

        return log_density

    def linear(at: Array) -> Evaluate:
        return without_common_square(mean[..., at], of_columns(covariance, at, tied)) or marginal(at)

    marginal, n_features = by_distances(mean, covariance, tied, log_normal), mean.shape[-1]
    whole = on_first_use(lambda: by_pattern(marginal, n_features))
    return LogDensity(whole, on_first_use(lambda: by_pattern(linear, n_features)) if tied else None)


def leave_one_out(
    posterior: NormalInverseWishart, statistics: Moments, rows: NumberRows, members: Membership
) -> tuple[Array, Array]:
    """Leave rows out; see :func:`bayesppl.conjugate.pair_forms.leave_one_out`."""
    X = rows.X
    n_classes, n_features = posterior.location.shape
    whitener, log_det = whitener_of(of_columns(posterior.psi, np.arange(n_features), posterior.is_tied))
    distances = distances_to(posterior.location, whitener)
    dof = np.broadcast_to(posterior.nu - n_features + 1, n_classes)
    inflation = (posterior.kappa + 1) / posterior.kappa
    squares = distances(X)
    fitted = log_t_density(squares.copy(order="K"), *t_terms(dof, n_features, log_det, inflation), inflation)
    classes, w, of_rows = members.groups
    left, left_dof = posterior.kappa[classes] - w, dof[classes] - w
    with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left the answer is not finite
        log_shrunk, factor, own = taken_out(squares, posterior.kappa, members)
        left_dof[left_dof <= 0] = np.nan
        of_classes = np.broadcast_to(log_det, n_classes)[classes]
        constant, exponent = t_terms(left_dof, n_features, of_classes, (left + 1) / left)
        log_t_density(own, constant[of_rows], exponent[of_rows], ((left + 1) / left)[of_rows])
        own -= 0.5 * log_shrunk
        without = fitted
        if posterior.hierarchy is not None and posterior.hierarchy.is_lent:
            without = _of_other_classes(posterior, whitener, log_det, statistics, X, members, squares)
        elif posterior.is_tied:
            constant, exponent = t_terms(left_dof[:, None], n_features, log_det, inflation)
            without = moved_squares(squares, distances(posterior.location), factor, members)
            exponent, log_shrunk = exponent[:, 0][of_rows], 0.5 * log_shrunk
            for k in range(n_classes):
                log_t_density(without[:, k], constant[:, k][of_rows], exponent, inflation[k])
                without[:, k] -= log_shrunk
    return fitted, members.replaced(without, own)


def taken_out(squares: Array, kappa: Array, members: Membership) -> tuple[Array, Array, Array]:
    """Take each row out of the scale matrix Ψ that it added to; not finite where nothing is left of its class.

    Parameters
    ----------
    squares : (n_rows, n_classes)
        Squared distances of the rows to the classes, in the metric of Ψ.
    kappa : (n_classes,)

    Returns
    -------
    log_shrunk, factor, own : (n_rows,)
        What is added to log |Ψ|; the multiple of Ψ⁻¹u uᵀΨ⁻¹ that is added to Ψ⁻¹, with u the deviation of the row
        from the mean of its class; and the squared distance to its class afterwards.
    """
    classes, w, of_rows = members.groups
    left = kappa[classes] - w
    ratio, own = np.where(left > 0, kappa[classes] / left, np.nan), members.own(squares)
    return without_own(own, ratio[of_rows], (w * ratio)[of_rows])


def without_own(own: Array, ratio: Array, factor: Array) -> tuple[Array, Array, Array]:
    """Compute what :func:`taken_out` returns from the rows' own squares, κ / (κ − w), and w times that."""
    lost = factor * own
    return np.log1p(-lost), factor / (1 - lost), ratio**2 * own / (1 - lost)


def moved_squares(squares: Array, apart: Array, factor: Array, members: Membership) -> Array:
    """Compute squared distances to classes that share Ψ, (n_rows, n_classes), once the row is taken out of it.

    Parameters
    ----------
    squares : (n_rows, n_classes)
        Those before.
    apart : (n_classes, n_classes)
        Of the classes to each other.
    factor : (n_rows,)
        See :func:`taken_out`.
    """
    # uᵀΨ⁻¹v for the deviations u, v from two classes: their squares, and that of their difference, are known
    cross = squares - apart.take(members.codes, axis=1).T
    cross += members.own(squares)[:, None]
    cross *= cross
    cross *= 0.25 * factor[:, None]
    cross += squares
    return np.asarray(cross)


def of_columns(matrix: Array, at: Array, tied: bool) -> Array:
    """Select some columns of covariances, and add an axis of classes where they are tied."""
    chosen = matrix[..., at[:, None], at]
    return chosen[..., None, :, :] if tied else chosen


def t_terms(dof: Any, dimension: Any, log_det: Any, inflation: Any) -> tuple[Array, Array]:
    """Compute c and e of the log density c + e log(1 + uᵀΨ⁻¹u / inflation) of a multivariate t.

    Its scale matrix is Ψ · inflation / dof, and ``log_det`` is log |Ψ|.
    """
    constant = log_rising(dof / 2, np.asarray(dimension / 2)) - 0.5 * dimension * np.log(np.pi * inflation)
    return np.asarray(constant - 0.5 * log_det), np.asarray(-0.5 * (dof + dimension))


def log_t_density(squares: Array, constant: Array, exponent: Array, inflation: Array) -> Array:
    """Compute a multivariate t's log density by the terms of :func:`t_terms`; overwrite ``squares``, uᵀΨ⁻¹u."""
    squares /= inflation
    np.log1p(squares, out=squares)
    squares *= exponent
    squares += constant
    return squares


def by_distances(
    location: Array, matrix: Array, tied: bool, density: Callable[[int, Array], Evaluate]
) -> Callable[[Array], Evaluate]:
    """Return the marginal density of some columns by the squared distances of rows in the metric of a matrix.

    Parameters
    ----------
    location : (..., n_classes, n_features)
    matrix : (..., n_features, n_features) where ``tied``, else broadcast to (..., n_classes, n_features,
        n_features)
    density : callable
        From the number of columns and the log determinants, (..., n_classes), to a function of squared distances,
        (..., n_rows, n_classes), which it may overwrite.
    """
    if not tied:
        matrix = np.broadcast_to(matrix, (*location.shape, location.shape[-1]))

    def marginal(at: Array) -> Evaluate:
        whitener, log_det = whitener_of(of_columns(matrix, at, tied))
        distances, of_squares = distances_to(location[..., at], whitener), density(len(at), log_det)
        return lambda X: of_squares(distances(X))

    return marginal


def by_pattern(marginal: Callable[[Array], Evaluate], n_features: int) -> Evaluate:
    """Return the density of rows with gaps: rows that miss the same columns share one marginal."""
    complete = marginal(np.arange(n_features))

    def log_density(X: Array) -> Array:
        out = complete(X)
        with np.errstate(over="ignore", invalid="ignore"):
            odd = np.flatnonzero(~np.isfinite(out[(0,) * (out.ndim - 2)].sum(-1)))
        if not len(odd):
            return out
        for places, missing in by_gaps(np.isnan(X[odd])):
            rows, at = odd[places], np.delete(np.arange(n_features), missing)
            out[..., rows, :] = marginal(at)(X[np.ix_(rows, at)]) if len(at) else 0.0
        return out

    return log_density


def _of_other_classes(
    posterior: NormalInverseWishart,
    whitener: Array,
    log_det: Array,
    statistics: Moments,
    X: Array,
    members: Membership,
    squares: Array,
) -> Array:
    """Return log p(x_i | y = k, all rows but i) of every class but the row's own: (n_rows, n_classes).

    Parameters
    ----------
    whitener : (n_classes, n_features, n_features)
        Inverse of the Cholesky factor of every Ψ.
    log_det : (n_classes,)
        log |Ψ|.
    squares : (n_rows, n_classes)
        Squared distances of the rows to the classes, in the metric of Ψ.
    """
    out, share, n_features = np.empty_like(squares), posterior.hierarchy.shares, X.shape[1]
    dof, inflation = posterior.nu[:, None] - n_features + 1, ((posterior.kappa + 1) / posterior.kappa)[:, None]
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
            terms = t_terms(dof - fewer, n_features, log_det[:, None] + np.log1p(-lost), inflation)
            out.T[:, rows] = log_t_density(of_class, *terms, inflation)
    return out


def _products(location: Array, whitener: Array, centre: Array, X: Array, squares: Array) -> tuple[Array, Array]:
    """Return uᵀΨ⁻¹u and uᵀΨ⁻¹v with u = x − ``centre``, v = x − ``location``: (n_classes, n_rows) each.

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


def distances_to(location: Array, whitener: Array) -> Evaluate:
    """Return the squared Mahalanobis distances, (..., n_rows, n_classes), as a function of rows."""

    def make(draw: tuple[int, ...]) -> Callable[[Array, Array], None]:
        return squared_distances(location[draw], whitener[draw])

    of_draw = cache(make) if location.ndim == 2 else make  # many draws would keep a copy of their matrices each

    def distances(values: Array) -> Array:
        if location.ndim > 2 and values.size < _FEW_CELLS:
            rotated = whitener @ np.swapaxes(values - location[..., None, :], -1, -2)
            return np.swapaxes(np.einsum("...dn,...dn->...n", rotated, rotated), -1, -2)
        squares = np.empty((*location.shape[:-1], len(values)))
        for draw in np.ndindex(location.shape[:-2]):
            of_draw(draw)(values, squares[draw])
        return np.swapaxes(squares, -1, -2)

    return distances


def without_common_square(location: Array, matrix: Array) -> Evaluate | None:
    """Return log densities of normals with a common covariance, without the square of x that they share.

    None where a class lies so far from the others that the linear form would lose digits to the square.
    """
    whitener, _ = whitener_of(matrix)
    centre = location.mean(-2, keepdims=True)
    offsets = (location - centre) @ np.swapaxes(whitener, -1, -2)[..., 0, :, :]
    if not np.abs(offsets).max() < NEAR:
        return None
    slopes = (offsets @ whitener[..., 0, :, :]).reshape(-1, location.shape[-1])
    origin = centre.reshape(-1, location.shape[-1]).mean(0)
    # every draw has a centre of its own
    constant = -0.5 * (offsets**2).sum(-1)
    constant -= (slopes.reshape(location.shape) * (centre - origin)).sum(-1)

    def scores(X: Array) -> Array:
        out = row_products(X, slopes, origin).T.reshape(*location.shape[:-1], len(X))
        out += constant[..., None]
        return np.moveaxis(out, -1, -2)

    return scores
