"""The parameter side of families with one probability, or one rate, for every class and feature.

The prior, the estimates and the declaration in PyMC of such a family depend on its parameter alone; how a cell of data
counts as successes and failures, or as events over an exposure, is the other side (:mod:`bayesppl.families._bases.factorised`).
A family of this kind joins one class of each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from bayesppl.conjugate import Beta, Gamma
from bayesppl.conjugate.conjugate import require_kind
from bayesppl.conjugate.declare import Direct
from bayesppl.conjugate.declared_priors import is_declaration
from bayesppl.conjugate.statistics import Events, Successes
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families._bases.association import log_association
from bayesppl.families._bases.conjugate_family import ConjugateColumns
from bayesppl.families._bases.gaussian_prior import choose_prior
from bayesppl.kernels.arrays import Array, Theta

#: Logarithms of the two factors that a cell's two statistics are exponents of.
LogFactors = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class OneParameterFamily(ConjugateColumns):
    """A family of independent features with a single parameter each."""

    @property
    @final
    def coords(self) -> dict[str, Any]:
        return {"feature": list(self.columns)}

    @property
    @final
    def factor_dims(self) -> tuple[str, ...]:
        return ("class", "feature")

    @final
    def _require(self, denominator: Array, parameter: str) -> None:
        if (denominator <= 0).any():
            k, d = np.argwhere(denominator <= 0)[0]
            raise UndefinedEstimateError(
                f"class {self.classes[k]!r} has no observed value in column {self.columns[d]!r}, so the maximum "
                f"likelihood estimate of its {parameter} does not exist; use rule='mean' or 'predictive'"
            )

    def _require_finite(self, sums: Array) -> None:
        if not np.isfinite(sums).all():
            d = np.argwhere(~np.isfinite(sums))[0, 1]
            raise ValueError(
                f"the weighted sum of column {self.columns[d]!r} is larger than any floating-point number. Rescale the column, or "
                "divide the weights by their mean"
            )


@dataclass(frozen=True, eq=False)
class ProbabilityFamily(OneParameterFamily):
    """Successes and failures of independent trials, with a beta prior on the probability of a success."""

    prior_field: ClassVar[str] = "probability"

    probability: Beta | Any = field(default=Beta(), kw_only=True)

    @property
    @final
    def dims(self) -> dict[str, tuple[str, ...]]:
        return {"probability": ("class", "feature")}

    @final
    def resolve_prior(self, statistics: Successes) -> Beta | Direct:
        if is_declaration(self.probability):
            return Direct({"probability": self.probability}, {"probability": "unit"})
        return require_kind(self.probability, Beta, "probability").sized(statistics.successes.shape)

    @final
    def mle(self, statistics: Successes) -> Theta:
        trials = statistics.successes + statistics.failures
        self._require(trials, "probability")
        return {"probability": statistics.successes / trials}

    @final
    def log_factors(self, theta: Theta) -> LogFactors:
        """log p and log(1 − p)."""
        p = theta["probability"]
        with np.errstate(divide="ignore"):
            return np.log(p), np.log1p(-p)

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Successes, prefix: str = "") -> None:
        import pymc as pm
        import pytensor.tensor as pt

        p = variables["probability"]
        log_density = statistics.successes * pt.log(p) + statistics.failures * pt.log1p(-p)
        pm.Potential(f"{prefix}x", (log_density + statistics.log_base).sum())


def log_association_of_successes(prior: Beta, statistics: Successes) -> Array:
    """The log Bayes factor of the table of successes and failures of every feature: (n_features,)."""
    concentration = np.stack([prior.alpha, prior.beta], axis=-1)
    counts = np.stack([statistics.successes, statistics.failures], axis=-1)
    n_classes, n_features = prior.alpha.shape
    return log_association(
        concentration.reshape(n_classes, -1), counts.reshape(n_classes, -1), 2 * np.arange(n_features)
    )


@dataclass(frozen=True, eq=False)
class RateFamily(OneParameterFamily):
    """Events over an exposure, with a gamma prior on their rate."""

    prior_field: ClassVar[str] = "rate"

    rate: str | Gamma | Any = field(default="overall", kw_only=True)

    @property
    @final
    def dims(self) -> dict[str, tuple[str, ...]]:
        return {"rate": ("class", "feature")}

    @final
    def resolve_prior(self, statistics: Events) -> Gamma | Direct:
        if is_declaration(self.rate):
            return Direct({"rate": self.rate}, {"rate": "positive"})
        self._require_finite(statistics.exposure)
        shape = statistics.events.shape
        return choose_prior(
            self.rate,
            {"overall": lambda: overall_rate(statistics).sized(shape)},
            lambda declared: declared.sized(shape),
            Gamma,
            "rate",
        )

    @final
    def mle(self, statistics: Events) -> Theta:
        self._require(statistics.exposure, "rate")
        return {"rate": statistics.events / statistics.exposure}

    @final
    def log_factors(self, theta: Theta) -> LogFactors:
        """log λ and −λ."""
        with np.errstate(divide="ignore"):
            return np.log(theta["rate"]), -theta["rate"]

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Events, prefix: str = "") -> None:
        import pymc as pm
        import pytensor.tensor as pt

        rate = variables["rate"]
        log_density = statistics.events * pt.log(rate) - statistics.exposure * rate
        pm.Potential(f"{prefix}x", (log_density + statistics.log_base).sum())


def overall_rate(statistics: Events) -> Gamma:
    """The default prior of rates: one event, seen over the exposure that one event takes over all rows.

    Its mean is the overall rate of each column, all classes together, and it is worth a single event. Since the
    exposure is counted in the units of the data, changing them changes no class probability, as it would under a
    fixed Gamma(1, 1). A column in which nothing ever happened is treated as if one event had.
    """
    events, exposure = statistics.events.sum(0), statistics.exposure.sum(0)
    per_event = exposure / np.where(events > 0, events, 1.0)
    return Gamma(1.0, np.where(per_event > 0, per_event, 1.0))
