"""Gamma beliefs about rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, xlogy

from bayesppl.conjugate.conjugate import (
    FREELY,
    Conjugate,
    broadcast,
    first_index,
    replace_unchecked,
    require_positive,
    scaled,
    sum_trailing,
)
from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.statistics import Events
from bayesppl.errors import UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Theta, log_rising


@dataclass(frozen=True, eq=False)
class Gamma(Conjugate):
    """Gamma belief about rates (shape–rate form).

    Parameters
    ----------
    shape, rate : float or array broadcast to (n_classes, n_features)
        The mean is shape / rate: ``shape`` prior events seen over a prior exposure of ``rate``.
    """

    parameters: ClassVar[tuple[str, ...]] = ("rate",)
    factor_dims: ClassVar[tuple[str, ...]] = ("class", "feature")

    shape: Any = 1.0
    rate: Any = 1.0

    def __post_init__(self) -> None:
        require_positive(self, shape=self.shape, rate=self.rate)

    @classmethod
    def overall(cls, statistics: Events) -> Gamma:
        """The default prior of rates: one event, seen over the exposure that one event takes over all rows.

        Its mean is the overall rate of each column, all classes together, and it is worth a single event. Since
        the exposure is counted in the units of the data, changing them changes no class probability, as it would
        under a fixed Gamma(1, 1). A column in which nothing ever happened is treated as if one event had.
        """
        events, exposure = statistics.events.sum(0), statistics.exposure.sum(0)
        per_event = exposure / np.where(events > 0, events, 1.0)
        return cls(1.0, np.where(per_event > 0, per_event, 1.0)).sized(statistics.events.shape)

    @staticmethod
    def natural(theta: Mapping[str, Any], lib: Any = np) -> tuple[Any, Any]:
        """Logarithms of the factors that events and exposure are exponents of, in numpy or PyTensor."""
        return lib.log(theta["rate"]), -theta["rate"]

    @staticmethod
    def estimate(statistics: Events) -> tuple[Array, Array]:
        """Events and exposure, whose ratio maximises the likelihood where there is any exposure."""
        return statistics.events, statistics.exposure

    def sized(self, shape: tuple[int, ...]) -> Gamma:
        """Broadcast the hyperparameters to ``shape``, refusing values that make no prior."""
        require_positive(self, shape=self.shape, rate=self.rate)
        return Gamma(broadcast(self, "shape", self.shape, shape), broadcast(self, "rate", self.rate, shape))

    def update(self, statistics: Events) -> Self:
        return replace_unchecked(self, shape=self.shape + statistics.events, rate=self.rate + statistics.exposure)

    def select_classes(self, classes: Array) -> Self:
        return replace_unchecked(self, shape=self.shape[classes], rate=self.rate[classes])

    def at(self, k: int, columns: Any) -> Self:
        """The belief of one class about these columns."""
        return replace_unchecked(self, shape=self.shape[k, columns], rate=self.rate[k, columns])

    @property
    def tunable(self) -> dict[str, tuple[float, float]]:
        return {"shape": FREELY, "rate": FREELY}

    def rescaled(self, factors: Mapping[str, float]) -> Self:
        return replace_unchecked(self, **scaled(self, factors, self.tunable))

    def is_proper(self) -> Array:
        return np.asarray((self.shape > 0) & (self.rate > 0))

    def log_normalizer(self) -> Array:
        return np.asarray(gammaln(self.shape) - self.shape * np.log(self.rate))

    def log_increment(self, statistics: Events) -> Array:
        events, exposure = statistics.events, statistics.exposure
        of_exposure = self.shape * np.log1p(exposure / self.rate) + events * np.log(self.rate + exposure)
        return log_rising(self.shape, events) - of_exposure

    def log_prob(self, theta: Theta) -> Array:
        rate = theta["rate"]
        log_density = xlogy(self.shape - 1, rate) - self.rate * rate - self.log_normalizer()
        return sum_trailing(log_density, self.shape.ndim)

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        return {"rate": rng.standard_gamma(self.shape, (size, *self.shape.shape)) / self.rate}

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        import pymc as pm

        return {"rate": pm.Gamma(**named(dims, prefix, "rate"), alpha=self.shape, beta=self.rate)}

    def mean(self) -> Theta:
        return {"rate": self.shape / self.rate}

    def mode(self) -> Theta:
        bad = self.shape < 1
        if bad.any():
            raise UndefinedEstimateError(
                f"the density of 'rate' has no mode ({first_index(bad)}): MAP needs shape ≥ 1 after the data. "
                "Use a prior with a larger shape, or rule='mean' or 'predictive'."
            )
        return {"rate": (self.shape - 1) / self.rate}
