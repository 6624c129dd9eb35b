r"""Correlated Gaussian features: quadratic (full) and linear (tied) discriminant analysis.

.. math:: x \mid y = k \sim N(\mu_k, \Sigma_k), \qquad
   (\mu_k, \Sigma_k) \sim \mathrm{NormalInverseWishart}(m, \kappa, \nu, \Psi).

The predictive is a multivariate t with :math:`\nu_n - D + 1` degrees of freedom, location :math:`m_n` and scale
matrix :math:`\Psi_n(\kappa_n + 1)/(\kappa_n(\nu_n - D + 1))` (Murphy 2007; Geisser 1964 for the vague
limit). Where the covariance is tied, :math:`\nu_n` and :math:`\Psi_n` gather the rows of all classes.

In PyMC the covariance is declared through the Bartlett factor A of its inverse,
:math:`\Sigma^{-1} = L^{-\top} A A^\top L^{-1}` with :math:`\Psi = L L^\top`, and the mean in the coordinates of L.
This targets exactly the conjugate posterior, for any real ν, without linear algebra in the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate import Conjugate, NormalInverseWishart
from bayesppl.conjugate.log_density import Evaluate, LogDensity, on_first_use
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import Moments, moments
from bayesppl.data.table import Table
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families._bases.conjugate_family import ConjugateNumeric
from bayesppl.families._bases.covariance_evidence import chained_log_evidence
from bayesppl.families._bases.covariance_prior import (
    common_hierarchical_prior,
    hierarchical_prior,
    lent_share,
)
from bayesppl.families._bases.covariance_prior_loo import of_other_classes
from bayesppl.families._bases.gaussian_declared import MeanAndCholesky
from bayesppl.families._bases.gaussian_full_prior import (
    fraley_raftery_prior,
    regularised_prior,
    require_definite,
)
from bayesppl.families._bases.gaussian_prior import choose_prior, require_finite_sums, require_proper
from bayesppl.families._bases.multivariate_t import by_pattern, log_t_density, t_terms
from bayesppl.families._bases.whitening import distances_to, whitener_of, without_common_square
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.support import LARGEST, REAL_NUMBERS
from bayesppl.kernels.arrays import LOG_2PI, Array, Responsibilities, Theta
from bayesppl.kernels.definite import is_positive_definite
from bayesppl.kernels.missing import refuse_gaps


@dataclass(frozen=True, eq=False)
class FullGaussian(ConjugateNumeric):
    """Correlated Gaussian features. Made by :func:`bayesppl.Gaussian`.

    Parameters
    ----------
    prior : str or NormalInverseWishart
        See :func:`bayesppl.Gaussian`.
    tied : bool
        Whether all classes share one covariance matrix.
    """

    name: ClassVar[str] = "gaussian_full"
    support: ClassVar = REAL_NUMBERS
    measure: ClassVar = "density"
    fits_missing: ClassVar[bool] = False

    prior: str | NormalInverseWishart | MeanAndCholesky = "hierarchical"
    tied: bool = False

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        return {"mean": ("class", "feature"), "covariance": (*self.factor_dims, "feature", "other_feature")}

    @property
    def coords(self) -> dict[str, Any]:
        return {"feature": list(self.columns), "other_feature": list(self.columns)}

    @property
    def factor_dims(self) -> tuple[str, ...]:
        return () if self.tied else ("class",)

    def sufficient_statistics(self, X: Array, responsibilities: Responsibilities) -> Moments:
        refuse_gaps(
            X,
            self.columns,
            "a full or tied covariance cannot be fitted to incomplete rows in closed form. Drop or impute them, or use "
            "covariance='diag', which skips missing cells exactly.",
        )
        return moments(X, responsibilities, matrix=True, tied=self.tied)

    def read_statistics(self, table: Table, responsibilities: Responsibilities) -> Moments:
        with np.errstate(over="ignore", invalid="ignore"):
            statistics = moments(self.numbers(table), responsibilities, matrix=True, tied=self.tied)
            if statistics.is_within(LARGEST, responsibilities):
                return statistics
            # refuses the cell that is wrong, if one is and not the sums alone
            return self.sufficient_statistics(self.encode(table), responsibilities)

    def resolve_prior(self, statistics: Moments) -> NormalInverseWishart | MeanAndCholesky:
        require_finite_sums(statistics, self.columns)
        shape = statistics.mean.shape
        return choose_prior(
            self.prior,
            {
                "hierarchical": lambda: self._definite(
                    hierarchical_prior(statistics, self.tied, self.columns), statistics
                ),
                "fraley-raftery": lambda: fraley_raftery_prior(statistics, self.classes, self.columns),
                "regularised": lambda: self._definite(regularised_prior(statistics, self.columns), statistics),
                "jeffreys": lambda: self._improper(statistics, (shape[1] + 1) / 2),
                "flat": lambda: self._improper(statistics, power=0),
                "unbiased": lambda: self._improper(statistics, -(shape[0] if self.tied else 1) / 2),
            },
            lambda declared: self._definite(declared.sized(shape, self.tied), statistics),
            NormalInverseWishart,
        )

    def tunable(self, prior: Any) -> Mapping[str, tuple[float, float]]:
        # chosen by the evidence already, which is one of priors that hold fewer rows than this one: no factor changes it
        return {} if self._is_lent else prior.tunable

    def common_prior(self, statistics: Moments) -> Any:
        if self.prior == "hierarchical":
            return common_hierarchical_prior(statistics, self.tied, self.columns)
        return super().common_prior(statistics)

    def log_increment(self, prior: Conjugate, statistics: Moments) -> Array:
        # the prior of a class holds the rows of the others, each of which would be counted K times
        return chained_log_evidence(statistics, self.columns) if self._is_lent else prior.log_increment(statistics)

    def mle(self, statistics: Moments) -> Theta:
        count = statistics.count.sum() if self.tied else statistics.count
        covariance = statistics.scatter / np.where(count > 0, count, 1.0)[..., None, None]
        bad = ~is_positive_definite(covariance) | (statistics.count <= 0)
        if bad.any():
            k = int(np.argmax(bad))
            raise UndefinedEstimateError(
                f"the covariance of class {self.classes[k]!r} ({statistics.count[k]:g} rows, {len(self.columns)} columns) is "
                "singular, so the likelihood has no maximum. Use rule='map', 'mean' or 'predictive' with a proper prior, "
                "add rows, or drop columns that are constant or copies of others."
            )
        return {"mean": statistics.mean, "covariance": covariance}

    def log_predictive(self, posterior: NormalInverseWishart) -> LogDensity:
        n_classes, n_features = posterior.location.shape
        dof = np.broadcast_to(posterior.nu - n_features + 1, n_classes)
        inflation = (posterior.kappa + 1) / posterior.kappa

        def log_t(at: Array) -> Evaluate:
            whitener, log_det = whitener_of(self._per_class(posterior.psi, at))
            distances = distances_to(posterior.location[:, at], whitener)
            constant, exponent = t_terms(dof, len(at), log_det, inflation)

            return lambda values: log_t_density(distances(values), constant, exponent, inflation)

        return LogDensity(by_pattern(log_t, n_features))

    def loo_log_predictive(
        self, posterior: NormalInverseWishart, statistics: Moments, X: Array, members: Membership
    ) -> tuple[Array, Array]:
        # Ψ without row x is Ψ − f uuᵀ, with u = x − m of the row's own class and f = wκ/(κ − w). Determinant and
        # inverse follow by the matrix determinant lemma and Sherman & Morrison (1950).
        n_classes, n_features = posterior.location.shape
        whitener, log_det = whitener_of(self._per_class(posterior.psi, np.arange(n_features)))
        distances = distances_to(posterior.location, whitener)
        dof = np.broadcast_to(posterior.nu - n_features + 1, n_classes)
        inflation = (posterior.kappa + 1) / posterior.kappa
        squares = distances(X)
        fitted = log_t_density(squares.copy(order="K"), *t_terms(dof, n_features, log_det, inflation), inflation)
        classes, w, of_rows = members.groups
        kappa, dof = posterior.kappa[classes], dof[classes] - w
        left, own_squares = kappa - w, members.own(squares)
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left the answer is not finite
            ratio = np.where((left > 0) & (dof > 0), kappa / left, np.nan)
            factor = (w * ratio)[of_rows]
            lost = factor * own_squares
            log_shrunk = np.log1p(-lost)  # log |Ψ without the row| − log |Ψ|
            constant, exponent = t_terms(
                dof, n_features, np.broadcast_to(log_det, n_classes)[classes], (left + 1) / left
            )
            own = constant[of_rows] - (exponent + 0.5)[of_rows] * log_shrunk
            if (w != 1).any():  # a row of weight one adds to Ψ, seen from without it, all that it took
                kept = ratio * (kappa / (left + 1) - w)
                own += exponent[of_rows] * np.log1p(kept[of_rows] * own_squares)
            if self._is_lent:

                def log_t(moved: Array, log_shrunk: Array, fewer: Array) -> Array:
                    constant, exponent = t_terms(
                        (posterior.nu - n_features + 1)[:, None] - fewer,
                        n_features,
                        log_det[:, None] + log_shrunk,
                        inflation[:, None],
                    )
                    return log_t_density(moved, constant, exponent, inflation[:, None])

                share = lent_share(statistics, self.columns)
                squares = of_other_classes(posterior, whitener, statistics, share, X, members, squares, log_t)
                return fitted, members.replaced(squares, own)
            if not self.tied:
                return fitted, members.replaced(fitted, own)
            apart = distances(posterior.location)
            factor /= 1 - lost
            for k in range(n_classes):
                constant, exponent = t_terms(dof, n_features, log_det, inflation[k])
                # uᵀΨ⁻¹v for the deviations u, v from two classes: their squares, and that of their difference, are known
                cross = 0.5 * (own_squares + squares[:, k] - apart[k].take(members.codes))
                squares[:, k] += factor * cross**2
                log_t_density(squares[:, k], constant[of_rows], exponent[of_rows], inflation[k])
                squares[:, k] -= 0.5 * log_shrunk
        return fitted, members.replaced(squares, own)

    def log_likelihood(self, theta: Theta) -> LogDensity:
        def moments_at(at: Array) -> tuple[Array, Array]:
            return theta["mean"][..., at], self._per_class(theta["covariance"], at)

        def log_normal(at: Array) -> Evaluate:
            mean, covariance = moments_at(at)
            whitener, log_det = whitener_of(covariance)
            distances = distances_to(mean, whitener)
            constant = -0.5 * (len(at) * LOG_2PI + log_det[..., None, :])

            def log_density(values: Array) -> Array:
                out = distances(values)
                out *= -0.5
                out += constant
                return out

            return log_density

        def linear(at: Array) -> Evaluate:
            return without_common_square(*moments_at(at)) or log_normal(at)

        n_features = theta["mean"].shape[-1]
        whole = on_first_use(lambda: by_pattern(log_normal, n_features))
        return LogDensity(whole, on_first_use(lambda: by_pattern(linear, n_features)) if self.tied else None)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        mean, root = theta["mean"], np.linalg.cholesky(theta["covariance"])
        noise = rng.standard_normal((len(codes), mean.shape[1]))
        per_row = root if self.tied else root[codes]
        return mean[codes] + np.einsum("...ij,...j->...i", per_row, noise)

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        covariance = variables["covariance"]
        per_row = covariance if self.tied else covariance[codes]
        pm.MvNormal(f"{prefix}x", variables["mean"][codes], per_row, observed=X, dims=("row", f"{prefix}feature"))

    def observe_statistics(self, variables: dict[str, Any], statistics: Moments, prefix: str = "") -> None:
        variables["observe"](statistics)

    @property
    def _is_lent(self) -> bool:
        """Whether the prior of each class is made of the rows of the others."""
        return self.prior == "hierarchical" and not self.tied

    def _per_class(self, matrix: Array, at: Array) -> Array:
        chosen = matrix[..., at[:, None], at]
        return chosen[..., None, :, :] if self.tied else chosen

    def _definite(self, prior: NormalInverseWishart, statistics: Moments) -> NormalInverseWishart:
        return require_definite(prior, statistics, self.classes, self.columns)

    def _improper(self, statistics: Moments, power: float) -> NormalInverseWishart:
        prior = NormalInverseWishart.improper(statistics.mean.shape, self.tied, power)
        needed = len(self.columns) - prior.nu.max()
        per = "in all" if self.tied else "in each class"
        return require_proper(prior, statistics, self.classes, needed, per)
