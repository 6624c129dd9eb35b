"""Beliefs about means of normal distributions whose variances are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayesppl.conjugate.conjugate import (
    FREELY,
    Conjugate,
    broadcast,
    replace_unchecked,
    require_finite,
    require_positive,
    scaled,
    sum_trailing,
)
from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.moments import Moments
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta


@dataclass(frozen=True, eq=False)
class NormalMeans(Conjugate):
    r"""Belief about means of independent features of known variance: :math:`\mu \sim N(m, 1/\lambda)`.

    The posterior has the precision :math:`\lambda + n/\sigma^2` (Bernardo & Smith 1994, appendix A.2).

    Parameters
    ----------
    location, precision : float or array broadcast to (n_classes, n_features)
        m and λ.
    variance : float or array broadcast to (n_classes, n_features)
        σ², of the rows.
    """

    factor_dims: ClassVar[tuple[str, ...]] = ("class", "feature")

    location: Any = 0.0
    precision: Any = 1.0
    variance: Any = 1.0

    def __post_init__(self) -> None:
        require_finite(self, location=self.location)
        require_positive(self, precision=self.precision, variance=self.variance)

    @property
    def parameters(self) -> tuple[str, ...]:
        return ("mean",)

    def sized(self, shape: tuple[int, ...]) -> NormalMeans:
        """Broadcast the hyperparameters to ``shape``."""
        names = ("location", "precision", "variance")
        return NormalMeans(*(broadcast(self, name, getattr(self, name), shape) for name in names))

    def update(self, statistics: Moments) -> Self:
        weight = statistics.count / self.variance
        precision = self.precision + weight
        location = self.location + weight / precision * (statistics.mean - self.location)
        return replace_unchecked(self, location=location, precision=precision)

    def select_classes(self, classes: Array) -> Self:
        names = ("location", "precision", "variance")
        return replace_unchecked(self, **{name: getattr(self, name)[classes] for name in names})

    @property
    def tunable(self) -> dict[str, tuple[float, float]]:
        return {"precision": FREELY}

    def rescaled(self, factors: Mapping[str, float]) -> Self:
        return replace_unchecked(self, **scaled(self, factors, self.tunable))

    def is_proper(self) -> Array:
        return np.asarray(self.precision > 0)

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

    def mode(self) -> Theta:
        return self.mean()
