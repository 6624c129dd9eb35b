r"""Correlated numbers whose mean depends linearly on given predictors, by class.

.. math:: z \mid d, y = k \sim N(\mu_k + B_k^\top d, \Sigma_k).

The predictive is a multivariate t with :math:`\nu_n - p + 1` degrees of freedom, location :math:`m_n + B_n^\top (d - c_n)` and scale matrix
:math:`h \Psi_n / (\nu_n - p + 1)`, where :math:`h = 1 + 1/\kappa_n + (d - c_n)^\top \Lambda_n^{-1} (d - c_n)` (Bernardo & Smith 1994; Zellner 1971,
section 8.3). Both quadratic forms come from one root of the scale matrix of predictors and numbers together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate.log_density import Evaluate, LogDensity, on_first_use
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import Moments, moments
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families._bases.conjugate_family import ConjugateNumeric
from bayesppl.families._bases.gaussian_full_prior import require_definite_scale
from bayesppl.families._bases.gaussian_prior import choose_prior, require_finite_sums
from bayesppl.families._bases.multivariate_t import by_pattern, log_t_density, t_terms
from bayesppl.families._bases.regression_prior import common_regression_prior, regression_prior
from bayesppl.families._bases.whitening import whitener_of
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.support import REAL_NUMBERS
from bayesppl.kernels.arrays import LOG_2PI, Array, Responsibilities, Theta, diagonal
from bayesppl.kernels.definite import is_positive_definite
from bayesppl.kernels.missing import refuse_gaps


@dataclass(frozen=True, eq=False)
class GaussianRegression(ConjugateNumeric, listed=False):
    """The numbers of a :class:`bayesppl.ConditionalGaussian`; encoded rows are predictors and numbers side by side.

    Parameters
    ----------
    prior : "hierarchical" or MatrixNormalInverseWishart
    tied : bool
        Whether all classes share the effects and one covariance matrix.
    predictors : tuple
        Names of the predictors.
    """

    name: ClassVar[str] = "gaussian_regression"
    support: ClassVar = REAL_NUMBERS
    measure: ClassVar = "density"
    fits_missing: ClassVar[bool] = False

    prior: str | MatrixNormalInverseWishart = "hierarchical"
    tied: bool = True
    predictors: tuple[Hashable, ...] = ()

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        return {
            "mean": ("class", "feature"),
            "effect": (*self.factor_dims, "level", "feature"),
            "covariance": (*self.factor_dims, "feature", "other_feature"),
        }

    @property
    def coords(self) -> dict[str, Any]:
        return {
            "feature": list(self.columns),
            "other_feature": list(self.columns),
            "level": list(self.predictors),
        }

    @property
    def factor_dims(self) -> tuple[str, ...]:
        return () if self.tied else ("class",)

    def label_rows(self, X: Array, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return self.label_features(X[:, len(self.predictors) :], prefix)

    def sufficient_statistics(self, X: Array, responsibilities: Responsibilities) -> Moments:
        refuse_gaps(
            X[:, len(self.predictors) :],
            self.columns,
            "correlated numbers cannot be fitted to incomplete rows in closed form. Drop or impute them, or use bayesppl.MixedNB, "
            "which skips missing cells exactly.",
        )
        return moments(X, responsibilities, matrix=True, tied=self.tied)

    def resolve_prior(self, statistics: Moments) -> MatrixNormalInverseWishart:
        n_predictors = len(self.predictors)
        require_finite_sums(statistics, [*self.predictors, *self.columns])
        shape = (len(statistics.count), len(self.columns))
        found: MatrixNormalInverseWishart = choose_prior(
            self.prior,
            {"hierarchical": lambda: regression_prior(statistics, n_predictors, self.tied, self.columns)},
            lambda declared: declared.sized(shape, n_predictors, self.tied),
            MatrixNormalInverseWishart,
        )
        require_definite_scale(found.update(statistics).numbers, statistics, self.classes, self.columns)
        return found

    def common_prior(self, statistics: Moments) -> MatrixNormalInverseWishart:
        if self.prior == "hierarchical":
            return common_regression_prior(statistics, len(self.predictors), self.tied, self.columns)
        return self.resolve_prior(statistics.pooled())

    def mle(self, statistics: Moments) -> Theta:
        q = len(self.predictors)
        scatter, mean = statistics.scatter, statistics.mean
        # of the effects that fit equally well, those of the smallest squares
        effect = np.linalg.pinv(scatter[..., :q, :q], rcond=1e-10, hermitian=True) @ scatter[..., :q, q:]
        count = statistics.count.sum() if self.tied else statistics.count
        within = scatter[..., q:, q:] - np.swapaxes(scatter[..., :q, q:], -1, -2) @ effect
        covariance = within / np.where(count > 0, count, 1.0)[..., None, None]
        # what is left of the numbers is nothing where levels explain it but for rounding
        total = np.einsum("...ii->...i", scatter[..., q:, q:])
        left = (np.einsum("...ii->...i", within) > 1e-12 * total).all(-1)
        bad = ~(is_positive_definite(covariance) & left) | (statistics.count <= 0)
        if bad.any():
            k = int(np.argmax(bad))
            raise UndefinedEstimateError(
                f"the covariance of class {self.classes[k]!r} ({statistics.count[k]:g} rows, {len(self.columns)} columns of "
                "numbers) is singular given the levels, so that the likelihood has no maximum. Use rule='map', 'mean' or "
                "'predictive' with a proper prior, add rows, or drop columns that are constant or copies of others."
            )
        gap = np.einsum("kq,...qp->kp" if self.tied else "kq,kqp->kp", mean[:, :q], effect)
        return {"mean": mean[:, q:] - gap, "effect": effect, "covariance": covariance}

    def log_predictive(self, posterior: MatrixNormalInverseWishart) -> LogDensity:
        q, joint = len(self.predictors), posterior.joint
        dof = self._dof(posterior)

        def log_t(at: Array) -> Evaluate:
            given, numbers, log_det = self._squares(joint.location[:, at], joint.psi[..., at[:, None], at])

            def log_density(X: Array) -> Array:
                inflation = (posterior.kappa + 1) / posterior.kappa + given(X)
                return log_t_density(numbers(X), *t_terms(dof, len(at) - q, log_det, inflation), inflation)

            return log_density

        return LogDensity(by_pattern(log_t, q + len(self.columns)))

    def loo_log_predictive(
        self, posterior: MatrixNormalInverseWishart, statistics: Any, X: Array, members: Membership
    ) -> tuple[Array, Array]:
        # The scale matrix of predictors and numbers without a row is J − f uuᵀ, with u = x − m of the row's own class and
        # f = wκ/(κ − w), and so is its first block. Determinants and inverses follow by the matrix determinant lemma and
        # Sherman & Morrison (1950); the predictive given the predictors is a ratio of the two.
        joint, p = posterior.joint, len(self.columns)
        q, n_classes = len(self.predictors), len(joint.kappa)
        whitener, log_det = self._whitened(joint.psi)
        whitener = np.broadcast_to(whitener, (n_classes, q + p, q + p))
        fitted = self.log_predictive(posterior)(X)
        without = fitted.copy()
        dofs = self._dof(posterior)
        weights = np.broadcast_to(members.weights, len(X))
        for c in members.classes:
            rows, kappa = np.flatnonzero(members.codes == c), joint.kappa[c]
            w = weights[rows]
            left = kappa - w
            with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left the answer is not finite
                factor = np.where(left > 0, w * kappa / left, np.nan)
                whitened = (X[rows] - joint.location[c]) @ whitener[c].T
                own = _both(whitened, whitened, q)
                shrunk = 1 - factor * own  # of the determinant of the predictors, and of all
                moved = (kappa / left) ** 2 * own / shrunk
                dof = dofs[c] - w
                log_lost = np.log(shrunk[1]) - np.log(shrunk[0])
                without[rows, c] = _of_ratio(
                    moved,
                    np.where(dof > 0, dof, np.nan),
                    p,
                    log_det.flat[c if not self.tied else 0] + log_lost,
                    (left + 1) / left,
                )
                if not self.tied:
                    continue
                for k in range(n_classes):
                    if k != c:
                        other = (X[rows] - joint.location[k]) @ whitener[k].T
                        moved = _both(other, other, q) + factor * _both(whitened, other, q) ** 2 / shrunk
                        inflation = (joint.kappa[k] + 1) / joint.kappa[k]
                        without[rows, k] = _of_ratio(moved, dof, p, log_det + log_lost, inflation)
        return fitted, without

    def log_likelihood(self, theta: Theta) -> LogDensity:
        q, mean = len(self.predictors), theta["mean"]
        effect, covariance = theta["effect"], theta["covariance"]

        def log_normal(at: Array) -> Evaluate:
            of = at[q:] - q
            whitener, log_det = whitener_of(covariance[..., of[:, None], of])
            log_det = log_det[..., None] if self.tied else log_det
            weights = np.concatenate([-whitener @ np.swapaxes(effect[..., of], -1, -2), whitener], axis=-1)
            location = np.concatenate([np.zeros((*mean.shape[:-1], q)), mean[..., of]], axis=-1)
            squares = _squares_of(location, weights[..., None, :, :] if self.tied else weights)
            constant = -0.5 * (len(of) * LOG_2PI + log_det[..., None, :])
            return lambda X: constant - 0.5 * squares(X)

        return LogDensity(on_first_use(lambda: by_pattern(log_normal, q + mean.shape[-1])))

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        """Numbers beside the predictors that ``covariates`` holds as "given"."""
        given = covariates["given"]
        root = np.linalg.cholesky(theta["covariance"])
        noise = rng.standard_normal((len(codes), len(self.columns)))
        per_row = root if self.tied else root[codes]
        mean = theta["mean"][codes] + self._explained(theta["effect"], given, codes)
        return np.hstack([given, mean + np.einsum("...ij,...j->...i", per_row, noise)])

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        q = len(self.predictors)
        effect, covariance = variables["effect"], variables["covariance"]
        per_row = effect if self.tied else effect[codes]
        mean = variables["mean"][codes] + (X[:, :q, None] * per_row).sum(-2)
        spread = covariance if self.tied else covariance[codes]
        pm.MvNormal(f"{prefix}x", mean, spread, observed=X[:, q:], dims=("row", f"{prefix}feature"))

    def observe_statistics(self, variables: dict[str, Any], statistics: Moments, prefix: str = "") -> None:
        variables["observe"](statistics)

    def _dof(self, posterior: MatrixNormalInverseWishart) -> Array:
        return np.broadcast_to(posterior.nu - len(self.columns) + 1, len(posterior.kappa))

    def _explained(self, effect: Array, given: Array, codes: Array) -> Array:
        return given @ effect if self.tied else np.einsum("nq,nqp->np", given, effect[codes])

    def _whitened(self, matrix: Array) -> tuple[Array, Array]:
        """The inverse root of a matrix of predictors and numbers, and the log determinant of the latter given the former."""
        whitener, _ = whitener_of(matrix)
        return whitener, -2 * np.log(diagonal(whitener)[..., len(self.predictors) :]).sum(-1)

    def _squares(self, location: Array, matrix: Array) -> tuple[Evaluate, Evaluate, Array]:
        """Squares of the whitened predictors, of what is left of the numbers, and the log determinant of the latter's matrix."""
        q = len(self.predictors)
        whitener, log_det = self._whitened(matrix)
        whitener = whitener[None] if self.tied else whitener
        given = _squares_of(location[:, :q], whitener[:, :q, :q])
        return lambda X: given(X[:, :q]), _squares_of(location, whitener[:, q:]), log_det


def _squares_of(location: Array, weights: Array) -> Callable[[Array], Array]:
    """|W (x − m)|² of rows x, (..., n_rows, n_classes); a single W serves all classes."""

    def squares(X: Array) -> Array:
        out = np.empty((*location.shape[:-1], len(X)))
        for place in np.ndindex(location.shape[:-1]):
            one = weights[(*place[:-1], place[-1] if weights.shape[-3] > 1 else 0)]
            whitened = (X - location[place]) @ one.T
            out[place] = np.vecdot(whitened, whitened)
        return np.swapaxes(out, -1, -2)

    return squares


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
