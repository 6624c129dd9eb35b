"""Beliefs about means of normal distributions whose variances are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayesppl.conjugate.conjugate import CellBelief, replace_unchecked, sum_trailing
from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.moments import Moments
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta


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
        """With what the rows contribute whatever the means are, which depends on their variance."""
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
