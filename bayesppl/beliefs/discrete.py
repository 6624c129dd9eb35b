"""Beliefs about probabilities and rates: Beta, Gamma, Dirichlet, and a parameter that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import betaln, gammaln, xlog1py, xlogy

from bayesppl.beliefs.conjugate import (
    FREELY,
    Conjugate,
    broadcast,
    first_index,
    replace_unchecked,
    require_positive,
    scaled,
    sum_trailing,
)
from bayesppl.beliefs.declared_priors import Dims, is_declaration, named
from bayesppl.beliefs.side_by_side import collect, dirichlets
from bayesppl.beliefs.statistics import Counts, Events, Successes
from bayesppl.errors import UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Theta, log_beta_increment, log_rising


@dataclass(frozen=True, eq=False)
class Beta(Conjugate):
    """Beta belief about success probabilities.

    Parameters
    ----------
    alpha, beta : float or array broadcast to (n_classes, n_features)
        Prior numbers of successes and failures. ``Beta(1, 1)`` is uniform, ``Beta(0.5, 0.5)`` is Jeffreys'.
    """

    alpha: Any = 1.0
    beta: Any = 1.0

    def __post_init__(self) -> None:
        require_positive(self, alpha=self.alpha, beta=self.beta)

    @property
    def parameters(self) -> tuple[str, ...]:
        return ("probability",)

    def sized(self, shape: tuple[int, ...]) -> Beta:
        """Broadcast the hyperparameters to ``shape``, refusing values that make no prior."""
        require_positive(self, alpha=self.alpha, beta=self.beta)
        return Beta(broadcast(self, "alpha", self.alpha, shape), broadcast(self, "beta", self.beta, shape))

    def update(self, statistics: Successes) -> Self:
        return replace_unchecked(
            self, alpha=self.alpha + statistics.successes, beta=self.beta + statistics.failures
        )

    def take(self, classes: Array) -> Self:
        return replace_unchecked(self, alpha=self.alpha[classes], beta=self.beta[classes])

    def at(self, k: int, columns: Any) -> Self:
        """The belief of one class about these columns."""
        return replace_unchecked(self, alpha=self.alpha[k, columns], beta=self.beta[k, columns])

    @property
    def tunable(self) -> dict[str, tuple[float, float]]:
        return {"alpha": FREELY, "beta": FREELY}

    def rescaled(self, factors: Mapping[str, float]) -> Self:
        return replace_unchecked(self, **scaled(self, factors, self.tunable))

    def is_proper(self) -> Array:
        return np.asarray((self.alpha > 0) & (self.beta > 0))

    def log_normalizer(self) -> Array:
        return np.asarray(betaln(self.alpha, self.beta))

    def log_increment(self, statistics: Successes) -> Array:
        return log_beta_increment(self.alpha, self.beta, statistics.successes, statistics.failures)

    def log_prob(self, theta: Theta) -> Array:
        p = theta["probability"]
        log_density = xlogy(self.alpha - 1, p) + xlog1py(self.beta - 1, -p) - self.log_normalizer()
        return sum_trailing(log_density, self.alpha.ndim)

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        return {"probability": rng.beta(self.alpha, self.beta, (size, *self.alpha.shape))}

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        import pymc as pm

        return {"probability": pm.Beta(**named(dims, prefix, "probability"), alpha=self.alpha, beta=self.beta)}

    def mean(self) -> Theta:
        return {"probability": self.alpha / (self.alpha + self.beta)}

    def mode(self) -> Theta:
        successes, failures = self.alpha - 1, self.beta - 1
        bad = (successes < 0) | (failures < 0) | (successes + failures <= 0)
        if bad.any():
            raise UndefinedEstimateError(
                f"the density of 'probability' has no single mode ({first_index(bad)}): MAP needs alpha ≥ 1 and beta ≥ 1, "
                "not both 1, after the data. Use a prior with alpha, beta > 1, or rule='mean' or 'predictive'."
            )
        # never above one, as (α − 1)/(α + β − 2) can be in floating-point numbers
        return {"probability": successes / (successes + failures)}


@dataclass(frozen=True, eq=False)
class Gamma(Conjugate):
    """Gamma belief about rates (shape–rate form).

    Parameters
    ----------
    shape, rate : float or array broadcast to (n_classes, n_features)
        The mean is shape / rate: ``shape`` prior events seen over a prior exposure of ``rate``.
    """

    shape: Any = 1.0
    rate: Any = 1.0

    def __post_init__(self) -> None:
        require_positive(self, shape=self.shape, rate=self.rate)

    @property
    def parameters(self) -> tuple[str, ...]:
        return ("rate",)

    def sized(self, shape: tuple[int, ...]) -> Gamma:
        """Broadcast the hyperparameters to ``shape``, refusing values that make no prior."""
        require_positive(self, shape=self.shape, rate=self.rate)
        return Gamma(broadcast(self, "shape", self.shape, shape), broadcast(self, "rate", self.rate, shape))

    def update(self, statistics: Events) -> Self:
        return replace_unchecked(self, shape=self.shape + statistics.events, rate=self.rate + statistics.exposure)

    def take(self, classes: Array) -> Self:
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


@dataclass(frozen=True, eq=False)
class Dirichlet(Conjugate):
    """Dirichlet belief about the probabilities of outcomes.

    Parameters
    ----------
    concentration : float or array broadcast to (..., n_outcomes), PyMC distribution or callable
        Prior counts. 1 is uniform on the simplex, 0.5 is Jeffreys'. A declared prior of the concentration makes it one
        more parameter to learn, and the fit is sampled; see :mod:`bayesppl.beliefs.simplices`.
    sizes : tuple of int, optional
        The last axis may hold several independent simplices side by side; ``sizes`` are their lengths.
    parameter : str
        Name of the probabilities in a ``Theta``.
    """

    concentration: Any = 1.0
    sizes: tuple[int, ...] = field(default=(), repr=False)
    parameter: str = field(default="probability", repr=False)

    def __post_init__(self) -> None:
        if not is_declaration(self.concentration):  # one that is learned is checked where it is declared
            require_positive(self, concentration=self.concentration)

    @property
    def parameters(self) -> tuple[str, ...]:
        return (self.parameter,)

    def sized(
        self, shape: tuple[int, ...], sizes: tuple[int, ...] = (), parameter: str = "probability"
    ) -> Dirichlet:
        """Broadcast the hyperparameters to ``shape``, refusing values that make no prior."""
        require_positive(self, concentration=self.concentration)
        concentration = broadcast(self, "concentration", self.concentration, shape)
        return Dirichlet(concentration, sizes, parameter)

    def update(self, statistics: Counts) -> Self:
        return replace_unchecked(self, concentration=self.concentration + statistics.counts)

    def take(self, classes: Array) -> Self:
        return replace_unchecked(self, concentration=self.concentration[classes])

    @property
    def tunable(self) -> dict[str, tuple[float, float]]:
        return {"concentration": FREELY}

    def rescaled(self, factors: Mapping[str, float]) -> Self:
        return replace_unchecked(self, **scaled(self, factors, self.tunable))

    def is_proper(self) -> Array:
        return np.logical_and.reduceat(self.concentration > 0, self._starts, axis=-1)

    def log_normalizer(self) -> Array:
        terms = self._sum(gammaln(self.concentration)) - gammaln(self._sum(self.concentration))
        return np.asarray(terms if self.sizes else terms[..., 0])

    def log_increment(self, statistics: Counts) -> Array:
        counts, alpha = statistics.counts, self.concentration
        terms = self._sum(log_rising(alpha, counts)) - log_rising(self._sum(alpha), self._sum(counts))
        return np.asarray(terms if self.sizes else terms[..., 0])

    def log_prob(self, theta: Theta) -> Array:
        p = theta[self.parameter]
        log_density = np.where(p < 0, -np.inf, xlogy(self.concentration - 1, p))
        return sum_trailing(log_density, self.concentration.ndim) - self.log_normalizer().sum()

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        alpha = self.concentration
        # Gamma(α) = Gamma(α + 1) · U^(1/α), taken in logarithms: no draw underflows to 0/0 for tiny α.
        log_gamma = np.log(rng.standard_gamma(alpha + 1, (size, *alpha.shape)))
        log_gamma -= rng.standard_exponential((size, *alpha.shape)) / alpha
        largest = np.maximum.reduceat(log_gamma, self._starts, axis=-1)
        weights = np.exp(log_gamma - self._spread(largest))
        return {self.parameter: weights / self._spread(self._sum(weights))}

    def mean(self) -> Theta:
        return {self.parameter: self.concentration / self._spread(self._sum(self.concentration))}

    def mode(self) -> Theta:
        excess = self.concentration - 1
        total = self._spread(self._sum(excess))
        bad = (excess < 0) | (total <= 0)
        if bad.any():
            raise UndefinedEstimateError(
                f"the density of {self.parameter!r} has no single mode ({first_index(bad)}): MAP needs every "
                "concentration ≥ 1, and one above it, after the data. Use a prior with concentration > 1, "
                "or rule='mean' or 'predictive'."
            )
        return {self.parameter: excess / total}

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        variable = dirichlets(self.concentration, self.sizes, **named(dims, prefix, self.parameter))
        return {self.parameter: variable}

    def recover(self, draws: Mapping[str, Array], prefix: str = "") -> Theta:
        name = prefix + self.parameter
        return {self.parameter: collect(draws, self.sizes, name) if self.sizes else draws[name]}

    def mle(self, statistics: Counts) -> Theta:
        """Observed frequencies; raises UndefinedEstimateError where nothing was counted."""
        total = self._spread(self._sum(statistics.counts))
        if (total <= 0).any():
            raise UndefinedEstimateError(
                f"nothing was counted for {self.parameter!r} ({first_index(total <= 0)}), so its maximum likelihood "
                "estimate does not exist. Use rule='mean' or 'predictive'."
            )
        return {self.parameter: statistics.counts / total}

    @property
    def _lengths(self) -> tuple[int, ...]:
        return self.sizes or (self.concentration.shape[-1],)

    @property
    def _starts(self) -> Array:
        return np.cumsum((0, *self._lengths[:-1]))

    def _sum(self, values: Array) -> Array:
        return np.add.reduceat(values, self._starts, axis=-1)

    def _spread(self, values: Array) -> Array:
        return np.repeat(values, self._lengths, axis=-1)


@dataclass(frozen=True, eq=False)
class Fixed(Conjugate):
    """A parameter known exactly; observing rows teaches nothing about it."""

    value: Array
    parameter: str = field(default="probability", repr=False)

    @property
    def parameters(self) -> tuple[str, ...]:
        return (self.parameter,)

    def update(self, statistics: Counts) -> Self:
        return self

    def take(self, classes: Array) -> Self:
        return replace_unchecked(self, value=self.value[classes])

    @property
    def tunable(self) -> dict[str, tuple[float, float]]:
        return {}

    def rescaled(self, factors: Mapping[str, float]) -> Self:
        return self

    def is_proper(self) -> Array:
        return np.asarray(True)

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

    def mode(self) -> Theta:
        return self.mean()

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        """The value is data of the current ``pm.Model``."""
        import pymc as pm

        return {self.parameter: pm.Data(**named(dims, prefix, self.parameter), value=self.value)}

    def mle(self, statistics: Counts) -> Theta:
        """The value, whatever was counted."""
        return self.mean()
