r"""Means of independent normal columns, averaged over which of these depend on the class.

For every column j, with prior odds that all columns share, either each class has a mean of its own around a
location m, or all of them have one mean:

.. math:: \mu_{kj} \sim N(m_j, \sigma_j^2/\kappa) \quad\text{or}\quad
   \mu_{1j} = \dots = \mu_{Kj} \sim N(m_j, \sigma_j^2/(K\kappa)), \qquad
   \sigma_j^2 \sim \mathrm{InverseGamma}(a, b_j),

the second as the average of K means of the first kind. Both are conjugate, the odds of a column are multiplied by
its Bayes factor, and the predictive mixes two Student t by them: no column is chosen. A row that leaves takes its
own part of the Bayes factor of every column with it, so that leave-one-out is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from scipy.special import expit, log_expit

from bayesppl.conjugate.conjugate import Conjugate, replace_unchecked
from bayesppl.conjugate.moments import Moments
from bayesppl.conjugate.normal_inverse_gamma import NormalInverseGamma
from bayesppl.errors import UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Theta

# Rows that the location of the means of a column is worth, and log odds that a column depends on the class. Were
# means to differ by much less than a standard deviation, many columns of noise would be taken for a signal.
_KAPPAS = (1.0, 3.0, 10.0)
_LOG_ODDS = np.linspace(-12, 6, 37)


@dataclass(frozen=True, eq=False)
class SparseMeans(Conjugate):
    """Belief about means that differ between the classes in some columns, whose variances the classes share.

    Parameters
    ----------
    inner : NormalInverseGamma
        Of columns that depend on the class: (n_classes, n_features).
    common : NormalInverseGamma
        Of columns that do not: (1, n_features).
    log_odds : (n_features,)
        That a column depends on the class.
    are_apart : bool
        Whether the classes stand side by side and share nothing.
    """

    factor_dims: ClassVar[tuple[str, ...]] = ("feature",)

    inner: NormalInverseGamma = field()
    common: NormalInverseGamma
    log_odds: Array
    are_apart: bool = False

    @classmethod
    def by_evidence(cls, weak: NormalInverseGamma, statistics: Moments) -> Self:
        """Choose κ and the odds of all columns by evidence, for what ``weak`` says of locations and variances."""
        of_all, found = statistics.pooled(), []
        for kappa in _KAPPAS:
            inner = replace_unchecked(weak, kappa=np.full_like(weak.kappa, kappa))
            common = replace_unchecked(weak, location=weak.location[:1], kappa=statistics.n_seen * inner.kappa[:1])
            # the location is made of the same rows, so that only the Bayes factors of columns compare
            gained = inner.log_increment(statistics) - common.log_increment(of_all)
            for odds in _LOG_ODDS:
                prior = cls(inner, common, np.full(len(gained), odds))
                found.append((np.logaddexp(log_expit(odds) + gained, log_expit(-odds)).sum(), prior))
        return max(found, key=lambda pair: pair[0])[1]

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.inner.parameters

    @property
    def shared_by_classes(self) -> tuple[str, ...]:
        return () if self.are_apart else ("common", "log_odds")

    def is_proper(self) -> Array:
        return self.inner.is_proper()

    def select_classes(self, classes: Array) -> Self:
        common = self.common.select_classes(np.zeros(len(classes), dtype=np.intp))
        return replace_unchecked(self, inner=self.inner.select_classes(classes), common=common, are_apart=True)

    def update(self, statistics: Moments) -> Self:
        inner, common = self.inner.update(statistics), self.common.update(self._of_all(statistics))
        log_odds = self.log_odds + self.log_bayes_factor(statistics)
        return replace_unchecked(self, inner=inner, common=common, log_odds=log_odds)

    def log_bayes_factor(self, statistics: Moments) -> Array:
        """Compute the log Bayes factor of "the column depends on the class": (n_features,)."""
        own, alike = self._increments(statistics)
        return own - alike

    def log_increment(self, statistics: Moments) -> Array:
        own, alike = self._increments(statistics)
        return np.logaddexp(log_expit(self.log_odds) + own, log_expit(-self.log_odds) + alike)

    def log_prob(self, theta: Theta) -> Array:
        return self._refuse("density", "prior='hierarchical' where labels are missing or in doubt")

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        own, alike = self.inner.draw(size, rng), self.common.draw(size, rng)
        depends = rng.random((size, len(self.log_odds))) < expit(self.log_odds)
        return {
            "mean": np.where(depends[:, None], own["mean"], alike["mean"]),
            "variance": np.where(depends, own["variance"], alike["variance"]),
        }

    def declare(self, dims: Any, prefix: str = "") -> NoReturn:
        self._refuse("model in PyMC, whose samplers move along densities", "inference='closed_form'")

    def mean(self) -> Theta:
        share, own, alike = expit(self.log_odds), self.inner.mean(), self.common.mean()
        return {name: share * own[name] + (1 - share) * alike[name] for name in own}

    def mode(self) -> Theta:
        return self._refuse("mode", "rule='predictive' or 'mean', or prior='hierarchical'")

    def _of_all(self, statistics: Moments) -> Moments:
        return statistics if self.are_apart else statistics.pooled()

    def _increments(self, statistics: Moments) -> tuple[Array, Array]:
        """Compute what rows add to log normalisers where a column depends on the class, and where it does not."""
        alike = self.common.log_increment(self._of_all(statistics))
        return self.inner.log_increment(statistics), alike

    def _refuse(self, what: str, remedy: str = "") -> NoReturn:
        advice = remedy and f". Use {remedy}"
        raise UndefinedEstimateError(
            f"means under prior='sparse' are equal with some probability, so that they have no {what}{advice}"
        )
