"""Beliefs about means of normal distributions whose variances, or covariance matrices, are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayesppl.conjugate.conjugate import CellBelief, Conjugate, broadcast, replace_unchecked, sum_trailing
from bayesppl.conjugate.covariance_graphs import by_covariance
from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.moments import Moments
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta, log_determinants
from bayesppl.kernels.definite import is_positive_definite, whitener_of


@dataclass(frozen=True, eq=False)
class NormalMeans(CellBelief):
    r"""Belief about means of independent features of known variance: :math:`\mu \sim N(m, 1/\lambda)`.

    The posterior has the precision :math:`\lambda + n/\sigma^2` (Bernardo & Smith 1994, appendix A.2).

    Parameters
    ----------
    location, precision : float or array broadcast to (n_classes, n_features)
        m and λ.
    variance : float or array broadcast to (n_classes, n_features)
        σ², of the rows.
    """

    parameter = "mean"
    scalable: ClassVar[tuple[str, ...]] = ("precision",)

    location: Any = 0.0
    precision: Any = 1.0
    variance: Any = 1.0

    def update(self, statistics: Moments) -> Self:
        weight = statistics.count / self.variance
        precision = self.precision + weight
        location = self.location + weight / precision * (statistics.mean - self.location)
        return replace_unchecked(self, location=location, precision=precision)

    def log_normalizer(self) -> Array:
        return np.asarray(0.5 * (LOG_2PI - np.log(self.precision)))

    def log_increment(self, statistics: Moments) -> Array:
        """Compute what rows add, with the part that does not depend on the means but on the variance."""
        n = statistics.count
        own = self.precision * self.variance
        squares = statistics.scatter + own * n / (own + n) * (statistics.mean - self.location) ** 2
        return np.asarray(-0.5 * (n * np.log(self.variance) + np.log1p(n / own) + squares / self.variance))

    def log_prob(self, theta: Theta) -> Array:
        squares = self.precision * (theta["mean"] - self.location) ** 2
        return sum_trailing(-0.5 * squares - self.log_normalizer(), self.location.ndim)

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        noise = rng.standard_normal((size, *self.location.shape))
        return {"mean": self.location + noise / np.sqrt(self.precision)}

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        import pymc as pm

        return {"mean": pm.Normal(**named(dims, prefix, "mean"), mu=self.location, tau=self.precision)}

    def mean(self) -> Theta:
        return {"mean": np.asarray(self.location)}


@dataclass(frozen=True, eq=False)
class NormalMeanVectors(Conjugate):
    r"""Belief about mean vectors of rows of known covariance: :math:`\mu_k \sim N(m_k, \Lambda_k^{-1})`.

    The posterior has the precision :math:`\Lambda_k + n_k\Sigma_k^{-1}` (Gelman et al. 2013, "Bayesian Data
    Analysis", section 3.5).

    Parameters
    ----------
    location : (n_classes, n_features)
        m.
    precision : (n_classes, n_features, n_features)
        Λ.
    covariance : (n_classes, n_features, n_features)
        Σ, of the rows.
    """

    parameter = "mean"
    scalable: ClassVar[tuple[str, ...]] = ("precision",)

    location: Any
    precision: Any
    covariance: Any

    def sized(self, shape: tuple[int, ...]) -> Self:
        """Broadcast the hyperparameters to ``shape``."""
        shapes = {"location": shape, "precision": (*shape, shape[1]), "covariance": (*shape, shape[1])}
        return replace_unchecked(
            self, **{name: broadcast(self, name, getattr(self, name), own) for name, own in shapes.items()}
        )

    def is_proper(self) -> Array:
        return is_positive_definite(self.precision)

    def update(self, statistics: Moments) -> Self:
        precision, moved = self._after(statistics)
        return replace_unchecked(self, location=self.location + moved, precision=precision)

    def log_normalizer(self) -> Array:
        return np.asarray(0.5 * (self.location.shape[1] * LOG_2PI - log_determinants(self.precision)))

    def log_increment(self, statistics: Moments) -> Array:
        """Compute what rows add, with the part that does not depend on the means but on the covariance."""
        precision, moved = self._after(statistics)
        # gap' (Σ/n + Λ⁻¹)⁻¹ gap, without an inverse of the count
        squares = np.einsum("ki,kij,kj->k", statistics.mean - self.location, self.precision, moved)
        squares += np.trace(np.linalg.solve(self.covariance, statistics.scatter), axis1=-2, axis2=-1)
        of_rows = statistics.count * log_determinants(self.covariance)
        gained = log_determinants(precision) - log_determinants(self.precision)
        return np.asarray(-0.5 * (of_rows + gained + squares))

    def log_prob(self, theta: Theta) -> Array:
        gap = theta["mean"] - self.location
        squares = np.einsum("...ki,kij,...kj->...k", gap, self.precision, gap)
        return sum_trailing(-0.5 * squares - self.log_normalizer(), 1)

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        noise = rng.standard_normal((size, *self.location.shape))
        whitener, _ = whitener_of(self.precision)
        return {"mean": self.location + np.einsum("kij,ski->skj", whitener, noise)}

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        import pymc as pm

        mean = pm.MvNormal(**named(dims, prefix, "mean"), mu=self.location, cov=np.linalg.inv(self.precision))
        return {"mean": mean, "spread": by_covariance(self.covariance)}

    def mean(self) -> Theta:
        return {"mean": np.asarray(self.location)}

    def _after(self, statistics: Moments) -> tuple[Array, Array]:
        """Compute the precision after these rows, and how far they move the location."""
        weight = statistics.count[:, None, None] * np.linalg.inv(self.covariance)
        precision = self.precision + weight
        gap = (statistics.mean - self.location)[..., None]
        return precision, np.linalg.solve(precision, weight @ gap)[..., 0]
