"""Beta beliefs about the probabilities of successes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

from bayesppl.conjugate.association import log_association
from bayesppl.conjugate.conjugate import CellBelief, replace_unchecked, require_defined, sum_trailing
from bayesppl.conjugate.declared_priors import Dims, named
from bayesppl.conjugate.statistics import Successes
from bayesppl.kernels.arrays import Array, Theta, log_beta_increment


@dataclass(frozen=True, eq=False)
class Beta(CellBelief):
    """Beta belief about success probabilities.

    Parameters
    ----------
    alpha, beta : float or array broadcast to (n_classes, n_features)
        Prior numbers of successes and failures. ``Beta(1, 1)`` is uniform, ``Beta(0.5, 0.5)`` is Jeffreys'.

    Examples
    --------
    After 2 ones out of 2 rows of a class, Beta(2, 1) is Beta(4, 1), of mean 4/5:

    >>> import bayesppl as bp
    >>> clf = bp.BernoulliNB(bp.Beta(2.0, 1.0)).fit([[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> clf.estimates(["mean"])["probability"].sel({"class": "a"}).item()
    0.8
    """

    parameter = "probability"
    scalable: ClassVar[tuple[str, ...]] = ("alpha", "beta")

    alpha: Any = 1.0
    beta: Any = 1.0

    @classmethod
    def overall(cls, statistics: Successes) -> Beta:
        """Make a prior of one success or one failure, whichever is rarer, at the odds of the column over all rows.

        It is flat where both are as frequent. A column without one of them is treated as if there had been one, or
        as many as of the other where these are less than one.
        """
        s, f = statistics.successes.sum(0), statistics.failures.sum(0)
        least = np.minimum(np.maximum(s, f), 1.0)
        odds = np.divide(
            np.where(s > 0, s, least), np.where(f > 0, f, least), out=np.ones_like(s), where=least > 0
        )
        return cls(np.maximum(odds, 1.0), np.maximum(1 / odds, 1.0)).sized(statistics.successes.shape)

    @staticmethod
    def natural(theta: Mapping[str, Any], lib: Any = np) -> tuple[Any, Any]:
        """Return the logs of the factors that have successes and failures as exponents, in numpy or PyTensor."""
        return lib.log(theta["probability"]), lib.log1p(-theta["probability"])

    @staticmethod
    def estimate(statistics: Successes) -> tuple[Array, Array]:
        """Return successes and trials; their ratio maximises the likelihood where there are any trials."""
        return statistics.successes, statistics.successes + statistics.failures

    def log_association(self, statistics: Successes) -> Array:
        """Compute the log Bayes factor of the table of successes and failures of every feature: (n_features,)."""
        concentration = np.stack([self.alpha, self.beta], axis=-1)
        counts = np.stack([statistics.successes, statistics.failures], axis=-1)
        n_classes, n_features = self.alpha.shape
        return log_association(
            concentration.reshape(n_classes, -1), counts.reshape(n_classes, -1), 2 * np.arange(n_features)
        )

    def update(self, statistics: Successes) -> Self:
        return replace_unchecked(
            self, alpha=self.alpha + statistics.successes, beta=self.beta + statistics.failures
        )

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
        require_defined(
            bad,
            "the density of 'probability' has no single mode",
            ": MAP needs alpha ≥ 1 and beta ≥ 1, not both 1, after the data. Use a prior with alpha, beta > 1; in "
            "place of rule='map', 'mean' or 'predictive'; in place of inference='em', 'gibbs'.",
        )
        # never above one, as (α − 1)/(α + β − 2) can be in floating-point numbers
        return {"probability": successes / (successes + failures)}
