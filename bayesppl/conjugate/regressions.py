r"""Closed forms of regressions under a matrix-normal-inverse-Wishart pair.

The predictive is a multivariate t with :math:`\nu_n - p + 1` degrees of freedom, location
:math:`m_n + B_n^\top (d - c_n)` and scale matrix :math:`h \Psi_n / (\nu_n - p + 1)`, where
:math:`h = 1 + 1/\kappa_n + (d - c_n)^\top \Lambda_n^{-1} (d - c_n)` (Bernardo & Smith 1994; Zellner 1971, section
8.3). Both quadratic forms come from one root of the scale matrix J of predictors and numbers together.

Without a row, J is :math:`J - f u u^\top`, with :math:`u = x - m` of the row's own class and
:math:`f = w\kappa/(\kappa - w)`, and so is its first block. Determinants and inverses follow by the matrix
determinant lemma and Sherman & Morrison (1950); the predictive given the predictors is a ratio of the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesppl.conjugate.correlated_normals import by_pattern, log_t_density, t_terms, whitener_of
from bayesppl.conjugate.log_density import Evaluate, LogDensity
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import NumberRows
from bayesppl.kernels.arrays import Array, diagonal


def log_predictive(posterior: MatrixNormalInverseWishart) -> LogDensity:
    """log p(z | d, y = k, data) of rows, numbers of which may be missing."""
    q, joint = posterior.centre.shape[1], posterior.joint
    dof = _dof(posterior)

    def log_t(at: Array) -> Evaluate:
        whitener, log_det = _whitened(joint.psi[..., at[:, None], at], q)
        whitener = whitener[None] if posterior.is_tied else whitener
        of_given = squares_of(joint.location[:, :q], whitener[:, :q, :q])
        of_numbers = squares_of(joint.location[:, at], whitener[:, q:])

        def log_density(X: Array) -> Array:
            inflation = (posterior.kappa + 1) / posterior.kappa + of_given(X[:, :q])
            return log_t_density(of_numbers(X), *t_terms(dof, len(at) - q, log_det, inflation), inflation)

        return log_density

    by_gaps = by_pattern(log_t, joint.location.shape[1])
    return LogDensity(lambda rows: by_gaps(rows.X))


def leave_one_out(
    posterior: MatrixNormalInverseWishart, statistics: Any, rows: NumberRows, members: Membership
) -> tuple[Array, Array]:
    """See :func:`bayesppl.conjugate.closed_forms.leave_one_out`."""
    X, joint = rows.X, posterior.joint
    q, p = posterior.effect.shape[-2:]
    n_classes = len(joint.kappa)
    whitener, log_det = _whitened(joint.psi, q)
    whitener = np.broadcast_to(whitener, (n_classes, q + p, q + p))
    log_det = np.broadcast_to(log_det, n_classes)
    fitted = log_predictive(posterior)(rows)
    without = fitted.copy()
    dofs, weights = _dof(posterior), np.broadcast_to(members.weights, len(X))
    for c in members.classes:
        of_class, kappa = np.flatnonzero(members.codes == c), joint.kappa[c]
        w = weights[of_class]
        left, dof = kappa - w, dofs[c] - w
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left the answer is not finite
            factor = np.where(left > 0, w * kappa / left, np.nan)
            whitened = (X[of_class] - joint.location[c]) @ whitener[c].T
            own = _both(whitened, whitened, q)
            shrunk = 1 - factor * own  # of the determinant of the predictors, and of all
            log_dets = log_det[:, None] + (np.log(shrunk[1]) - np.log(shrunk[0]))
            moved = (kappa / left) ** 2 * own / shrunk
            own_dof = np.where(dof > 0, dof, np.nan)
            without[of_class, c] = _of_ratio(moved, own_dof, p, log_dets[c], (left + 1) / left)
            for k in range(n_classes) if posterior.is_tied else ():
                if k != c:
                    other = (X[of_class] - joint.location[k]) @ whitener[k].T
                    moved = _both(other, other, q) + factor * _both(whitened, other, q) ** 2 / shrunk
                    inflation = (joint.kappa[k] + 1) / joint.kappa[k]
                    without[of_class, k] = _of_ratio(moved, dof, p, log_dets[k], inflation)
    return fitted, without


def squares_of(location: Array, weights: Array) -> Evaluate:
    """|W (x − m)|² of rows x, (..., n_rows, n_classes); a single W serves all classes."""

    def squares(X: Array) -> Array:
        out = np.empty((*location.shape[:-1], len(X)))
        for place in np.ndindex(location.shape[:-1]):
            one = weights[(*place[:-1], place[-1] if weights.shape[-3] > 1 else 0)]
            whitened = (X - location[place]) @ one.T
            out[place] = np.vecdot(whitened, whitened)
        return np.swapaxes(out, -1, -2)

    return squares


def _dof(posterior: MatrixNormalInverseWishart) -> Array:
    return np.broadcast_to(posterior.nu - posterior.effect.shape[-1] + 1, len(posterior.kappa))


def _whitened(matrix: Array, n_predictors: int) -> tuple[Array, Array]:
    """Return the inverse root of a joint matrix, and a log determinant given the predictors."""
    whitener, _ = whitener_of(matrix)
    return whitener, -2 * np.log(diagonal(whitener)[..., n_predictors:]).sum(-1)


def _both(one: Array, two: Array, n_predictors: int) -> Array:
    """Scalar products of whitened rows: over the predictors, and over all columns: (2, n_rows)."""
    products = one * two
    given = products[:, :n_predictors].sum(1)
    return np.stack([given, given + products[:, n_predictors:].sum(1)])


def _of_ratio(squares: Array, dof: Array, dimension: int, log_det: Array, inflation: Array) -> Array:
    """Log density of numbers given predictors, from the squares of predictors and of both together."""
    given, together = squares
    inflated = inflation + given
    return log_t_density(together - given, *t_terms(dof, dimension, log_det, inflated), inflated)
