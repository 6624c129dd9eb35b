"""Gamma beliefs about rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, xlogy

from bayesppl.conjugate.conjugate import CellBelief, replace_unchecked, require_defined, sum_trailing
from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.statistics import Events
from bayesppl.kernels.arrays import Array, Theta, log_rising


@dataclass(frozen=True, eq=False)
class Gamma(CellBelief):
    """Gamma belief about rates (shape–rate form).

    Parameters
    ----------
    shape, rate : float or array broadcast to (n_classes, n_features)
        The mean is shape / rate: ``shape`` prior events seen over a prior exposure of ``rate``.

    Examples
    --------
    After 11 events in 2 rows of a class, Gamma(2, 1) is Gamma(13, 3), of mean 13/3:

    >>> import bayesppl as bp
    >>> clf = bp.PoissonNB(bp.Gamma(2.0, 1.0)).fit([[0], [2], [4], [7]], ["a", "a", "b", "b"])
    >>> round(clf.estimates(["mean"])["rate"].sel({"class": "b"}).item(), 3)
    4.333
    """

    parameter = "rate"
    scalable: ClassVar[tuple[str, ...]] = ("shape", "rate")

    shape: Any = 1.0
    rate: Any = 1.0

    @classmethod
    def overall(cls, statistics: Events) -> Gamma:
        """Make the default prior of rates: one event, seen over the exposure that one event takes over all rows.

        Its mean is the overall rate of each column, all classes together, and it is worth a single event. Since
        the exposure is counted in the units of the data, changing them changes no class probability, as it would
        under a fixed Gamma(1, 1). A column in which nothing ever happened is treated as if one event had.
        """
        events, exposure = statistics.events.sum(0), statistics.exposure.sum(0)
        per_event = exposure / np.where(events > 0, events, 1.0)
        return cls(1.0, np.where(per_event > 0, per_event, 1.0)).sized(statistics.events.shape)

    @staticmethod
    def natural(theta: Mapping[str, Any], lib: Any = np) -> tuple[Any, Any]:
        """Return the logs of the factors that have events and exposure as exponents, in numpy or PyTensor."""
        return lib.log(theta["rate"]), -theta["rate"]

    @staticmethod
    def estimate(statistics: Events) -> tuple[Array, Array]:
        """Return events and exposure; their ratio maximises the likelihood where there is any exposure."""
        return statistics.events, statistics.exposure

    def update(self, statistics: Events) -> Self:
        return replace_unchecked(self, shape=self.shape + statistics.events, rate=self.rate + statistics.exposure)

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
        require_defined(
            self.shape < 1,
            "the density of 'rate' has no mode",
            ": MAP needs shape ≥ 1 after the data. Use a prior with a larger shape, or rule='mean' or "
            "'predictive'.",
        )
        return {"rate": (self.shape - 1) / self.rate}
