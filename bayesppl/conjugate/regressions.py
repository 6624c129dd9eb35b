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

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesppl.conjugate.correlated_normals import (
    by_pattern,
    log_t_density,
    moved_squares,
    t_terms,
    taken_out,
)
from bayesppl.conjugate.log_density import Evaluate, LogDensity
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import NumberRows
from bayesppl.conjugate.normal_inverse_wishart import NormalInverseWishart
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.definite import whitener_of


def log_predictive(posterior: MatrixNormalInverseWishart) -> LogDensity:
    """Return log p(z | d, y = k, data) as a function of rows, whose numbers may be missing."""
    q, joint, dof = posterior.centre.shape[1], posterior.joint, _dof(posterior)

    def log_t(at: Array) -> Evaluate:
        squares, log_det = _squares(joint, at, q)
        inflation = (posterior.kappa + 1) / posterior.kappa
        return lambda X: _log_t_of_ratio(squares(X), dof, len(at) - q, log_det, inflation)

    by_gaps = by_pattern(log_t, joint.location.shape[1])
    return LogDensity(lambda rows: by_gaps(rows.X))


def leave_one_out(
    posterior: MatrixNormalInverseWishart, statistics: Any, rows: NumberRows, members: Membership
) -> tuple[Array, Array]:
    """Leave rows out; see :func:`bayesppl.conjugate.pair_forms.leave_one_out`."""
    joint, dof, (q, p) = posterior.joint, _dof(posterior), posterior.effect.shape[-2:]
    squares_of_rows, log_det = _squares(joint, np.arange(q + p), q)
    squares, inflation = squares_of_rows(rows.X), (joint.kappa + 1) / joint.kappa
    fitted = _log_t_of_ratio(squares, dof, p, log_det, inflation)
    weights = np.broadcast_to(members.weights, len(rows))
    left, left_dof = joint.kappa[members.codes] - weights, dof[members.codes] - weights
    with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left the answer is not finite
        left_dof[left_dof <= 0] = np.nan
        log_shrunks, factors, own_squares = zip(
            *(taken_out(each, joint.kappa, members) for each in squares), strict=True
        )
        # of the numbers given the predictors
        log_shrunk = log_shrunks[1] - log_shrunks[0]
        own_det = np.broadcast_to(log_det, len(dof))[members.codes] + log_shrunk
        own = _log_t_of_ratio(own_squares, left_dof, p, own_det, (left + 1) / left)
        if not posterior.is_tied:
            return fitted, members.replaced(fitted, own)
        apart = squares_of_rows(joint.location)
        moved = [moved_squares(*each, members) for each in zip(squares, apart, factors, strict=True)]
        without = _log_t_of_ratio(moved, left_dof[:, None], p, log_det + log_shrunk[:, None], inflation)
    return fitted, members.replaced(without, own)


def squares_of(location: Array, weights: Array) -> Evaluate:
    """Return |W (x − m)|², (..., n_rows, n_classes), as a function of rows x; a single W serves all classes."""

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


def _squares(joint: NormalInverseWishart, at: Array, n_predictors: int) -> tuple[Evaluate, Array]:
    """Return squared distances of rows over the predictors and over all columns, and the log |Ψ| of the numbers.

    The distances are (2, n_rows, n_classes); of the columns only those ``at`` these places are there.
    """
    whitener, _ = whitener_of(joint.psi[..., at[:, None], at])
    log_det = -2 * np.log(np.linalg.diagonal(whitener)[..., n_predictors:]).sum(-1)
    whitener = whitener[None] if joint.is_tied else whitener
    of_given = squares_of(joint.location[:, at[:n_predictors]], whitener[:, :n_predictors, :n_predictors])
    of_numbers = squares_of(joint.location[:, at], whitener[:, n_predictors:])

    def squares(X: Array) -> Array:
        given = of_given(X[:, :n_predictors])
        return np.stack([given, given + of_numbers(X)])

    return squares, log_det


def _log_t_of_ratio(
    squares: Sequence[Array] | Array, dof: Array, dimension: int, log_det: Array, inflation: Array
) -> Array:
    """Compute the log density of numbers given predictors, from the squares of predictors and of both together."""
    given, together = squares
    inflated = inflation + given
    return log_t_density(together - given, *t_terms(dof, dimension, log_det, inflated), inflated)
