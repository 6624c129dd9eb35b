"""Beliefs about means and variances of independent normal features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln

from bayesppl.conjugate.conjugate import (
    Conjugate,
    broadcast,
    log_constant,
    replace_unchecked,
    require_defined,
    require_finite,
    require_positive,
    sum_trailing,
)
from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.moments import Moments
from bayesppl.data.arguments import one_of
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta, log_rising

# The smallest draw of a gamma distribution, whose inverse is a number too
_LEAST = 1e-250


@dataclass(frozen=True, eq=False)
class NormalInverseGamma(Conjugate):
    r"""Belief about means and variances of independent features.

    :math:`\sigma^2 \sim \mathrm{InverseGamma}(a, b)` and :math:`\mu \mid \sigma^2 \sim N(m, \sigma^2/\kappa)`.

    Parameters
    ----------
    location : float or array broadcast to (n_classes, n_features)
        m, the prior mean of the means.
    kappa : float or array broadcast to (n_classes, n_features)
        κ, how many rows the prior location is worth.
    a, b : float or array broadcast to the shape of the variances
        Shape and scale of the inverse gamma; its mean is b / (a − 1).
    shared : tuple of int
        Axes of (class, feature) over which one variance is shared: ``()`` a variance per class and feature,
        ``(-2,)`` one per feature (tied), ``(-1,)`` one per class (spherical). A family sets it by its covariance.

    Examples
    --------
    A location of 0 that is worth two rows, beside two rows of mean 4: the posterior mean is 2.

    >>> import bayesppl as bp
    >>> prior = bp.NormalInverseGamma(location=0.0, kappa=2.0, a=2.0, b=1.0)
    >>> clf = bp.GaussianNB(prior).fit([[3.0], [5.0], [-1.0], [1.0]], ["a", "a", "b", "b"])
    >>> clf.estimates(["mean"])["mean"].sel({"class": "a"}).item()
    2.0
    """

    parameters: ClassVar[tuple[str, ...]] = ("mean", "variance")
    scalable: ClassVar[tuple[str, ...]] = ("kappa", "a", "b")

    location: Any = 0.0
    kappa: Any = 1.0
    a: Any = 1.0
    b: Any = 1.0
    shared: tuple[int, ...] = ()

    #: How κ was found, where the rows chose it: see :mod:`bayesppl.families.common_mean`.
    hierarchy: Any = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        require_finite(self, location=self.location)
        require_positive(self, kappa=self.kappa, a=self.a, b=self.b)
        one_of("NormalInverseGamma: shared", self.shared, ((), (-2,), (-1,), (-2, -1)))

    @property
    def factor_dims(self) -> tuple[str, ...]:
        """The dimensions over which the belief splits into independent factors."""
        return tuple(dim for dim, axis in (("class", -2), ("feature", -1)) if axis not in self.shared)

    def sized(self, shape: tuple[int, ...], shared: tuple[int, ...] = ()) -> NormalInverseGamma:
        """Broadcast the hyperparameters to ``shape``, refusing values that make no prior."""
        if self.shared not in ((), shared):
            raise ValueError(
                f"NormalInverseGamma: the family shares variances over {shared}, found shared={self.shared}; "
                "leave it out, and choose by its covariance, as in bayesppl.Gaussian('tied_diag', prior)"
            )
        require_positive(self, kappa=self.kappa, a=self.a, b=self.b)
        factors = np.zeros(shape).sum(shared).shape
        return replace_unchecked(
            self,
            location=broadcast(self, "location", self.location, shape),
            kappa=broadcast(self, "kappa", self.kappa, shape),
            a=broadcast(self, "a", self.a, factors),
            b=broadcast(self, "b", self.b, factors),
            shared=shared,
            hierarchy=None,
        )

    @classmethod
    def improper(cls, shape: tuple[int, ...], shared: tuple[int, ...], power: float) -> NormalInverseGamma:
        """Make the density (σ²)^−power: 1 is Jeffreys', 0 is flat, −m/2 has an unbiased mode."""
        zero = np.zeros(shape)
        factors = zero.sum(shared)
        means_per_variance = zero.size / factors.size
        a = factors + power - 1 - means_per_variance / 2
        return replace_unchecked(cls(), location=zero, kappa=zero, a=a, b=factors, shared=shared)

    def update(self, statistics: Moments) -> Self:
        after = self._merged(statistics)
        return replace_unchecked(
            self,
            location=after.mean,
            kappa=after.count,
            a=self.a + statistics.count.sum(self.shared) / 2,
            b=self.b + after.scatter.sum(self.shared) / 2,
        )

    @property
    def shared_by_classes(self) -> tuple[str, ...]:
        return ("a", "b") if -2 in self.shared else ()

    def select_classes(self, classes: Array) -> Self:
        kept = tuple(axis for axis in self.shared if axis != -2)
        return replace_unchecked(super().select_classes(classes), shared=kept)

    def is_proper(self) -> Array:
        return np.asarray((self.a > 0) & (self.b > 0) & (self.kappa > 0).all(self.shared))

    def log_normalizer(self) -> Array:
        of_means = 0.5 * (LOG_2PI - np.log(self.kappa))
        return np.asarray(gammaln(self.a) - self.a * np.log(self.b) + of_means.sum(self.shared))

    def log_increment(self, statistics: Moments) -> Array:
        half = statistics.count.sum(self.shared) / 2
        squares = self._merged(statistics).scatter.sum(self.shared) / 2
        of_means = -0.5 * np.log1p(statistics.count / self.kappa)
        of_variance = -self.a * np.log1p(squares / self.b) - half * np.log(self.b + squares)
        return np.asarray(log_rising(self.a, half) + of_variance + of_means.sum(self.shared))

    def log_prob(self, theta: Theta) -> Array:
        variance = theta["variance"]
        of_means = -0.5 * (
            np.log(self.spread(variance))
            + self.kappa * (theta["mean"] - self.location) ** 2 / self.spread(variance)
        )
        of_variance = -(self.a + 1) * np.log(variance) - self.b / variance - log_constant(self)
        return sum_trailing(of_means, 2) + sum_trailing(of_variance, self.a.ndim)

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        # of a small shape some precisions are smaller than any number whose inverse is held
        precision = np.maximum(rng.standard_gamma(self.a, (size, *self.a.shape)), _LEAST)
        variance = self.b / precision
        noise = rng.standard_normal((size, *self.location.shape))
        return {
            "mean": self.location + np.sqrt(self.spread(variance) / self.kappa) * noise,
            "variance": variance,
        }

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        import pymc as pm
        import pytensor.tensor as pt

        self._require_proper()
        variance = pm.InverseGamma(**named(dims, prefix, "variance"), alpha=self.a, beta=self.b)
        per_cell = pt.expand_dims(variance, self.shared) if self.shared else variance
        mean = pm.Normal(**named(dims, prefix, "mean"), mu=self.location, sigma=(per_cell / self.kappa) ** 0.5)
        return {"mean": mean, "variance": variance}

    def mean(self) -> Theta:
        infinite = self.a <= 1
        require_defined(
            infinite,
            "the posterior mean of 'variance' is infinite",
            f": it needs a > 1 after the data, found {self.a.flat[infinite.argmax()]:g}. Add rows, use a prior "
            "with a larger a, or rule='predictive'.",
        )
        return {"mean": np.asarray(self.location), "variance": self.b / (self.a - 1)}

    def mode(self) -> Theta:
        exponent = self.a + 1 + self.location.size / self.a.size / 2
        require_defined(
            (exponent <= 0) | (self.b <= 0),
            "the density of 'variance' has no mode",
            ": with this prior the rows must differ in every column of every class. Use a proper prior, or add "
            "rows.",
        )
        return {"mean": np.asarray(self.location), "variance": self.b / exponent}

    def spread(self, variance: Array) -> Array:
        """Broadcast variances against (..., n_classes, n_features)."""
        return np.expand_dims(variance, self.shared)

    def _merged(self, statistics: Moments) -> Moments:
        """Add the rows that the prior is worth: all are at its location, and their squares add to 2b."""
        return Moments(self.kappa, self.location, np.zeros(self.kappa.shape)).merged(statistics)
