"""A parameter that is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import xlogy

from bayesppl.conjugate.conjugate import Conjugate
from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.statistics import Counts
from bayesppl.kernels.arrays import Array, Theta


@dataclass(frozen=True, eq=False)
class Fixed(Conjugate):
    """A parameter known exactly; observing rows does not change it."""

    value: Array
    parameter: str = field(default="probability", repr=False)

    def update(self, statistics: Counts) -> Self:
        return self

    def log_normalizer(self) -> Array:
        return np.asarray(0.0)

    def log_increment(self, statistics: Counts) -> Array:
        """The log likelihood itself: nothing is integrated out."""
        return np.asarray(xlogy(statistics.counts, self.value).sum())

    def log_prob(self, theta: Theta) -> Array:
        return np.zeros(theta[self.parameter].shape[: -self.value.ndim])

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        return {self.parameter: np.broadcast_to(self.value, (size, *self.value.shape))}

    def mean(self) -> Theta:
        return {self.parameter: self.value}

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        """The value is data of the current ``pm.Model``."""
        import pymc as pm

        return {self.parameter: pm.Data(**named(dims, prefix, self.parameter), value=self.value)}

    def mle(self, statistics: Counts) -> Theta:
        """The value, whatever was counted."""
        return self.mean()
