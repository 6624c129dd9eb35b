"""The contract of a family with sufficient statistics and a conjugate prior, and what follows from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.special import log_expit

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.errors import ImproperError
from bayesppl.families import closed_forms
from bayesppl.families._bases.columns import ColumnFamily, NumericFamily
from bayesppl.families._bases.leave_one_out import own_class_without
from bayesppl.families.bound import Factor, separate, together
from bayesppl.families.family import ConjugateFamily, Evidence
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class ConjugateColumns(ConjugateFamily, ColumnFamily):
    """A conjugate family whose parameters have one dimension named "feature"."""

    #: The field that declares the prior.
    prior_field: ClassVar[str] = "prior"

    @property
    @abstractmethod
    def factor_dims(self) -> tuple[str, ...]:
        """Dimensions over which the posterior splits into independent factors."""

    def loo_log_predictive(
        self, posterior: Any, statistics: Any, X: Any, members: Membership
    ) -> tuple[Array, Array]:
        # where classes share no parameter, a row taken out changes the density of its own class only
        fitted = closed_forms.log_predictive(self, posterior)(X)
        return fitted, members.replaced(fitted, own_class_without(self, posterior, X, members))

    @property
    @final
    def factors(self) -> tuple[Factor, ...]:
        return (separate if "feature" in self.factor_dims else together)(self.columns)

    @final
    def with_prior(self, prior: Any) -> Self:
        return replace(self, **{self.prior_field: prior})

    def log_increment(self, prior: Conjugate, statistics: Any) -> Array:
        """Log evidence of every independent factor of the prior, but for log h."""
        return prior.log_increment(statistics)

    @final
    def log_evidence(self, prior: Conjugate, statistics: Any) -> dict[str, Evidence]:
        if not prior.is_proper().all():
            raise ImproperError(
                f"the evidence is undefined under the improper prior of the {self.name} family: a density that does "
                "not integrate to one can be scaled at will. Use a proper prior, for example the default one."
            )
        base = np.asarray(statistics.log_base)
        dims = ("class", "feature")[: base.ndim]
        base = base.sum(tuple(axis for axis, dim in enumerate(dims) if dim not in self.factor_dims))
        return {"": Evidence(self.factor_dims, self.log_increment(prior, statistics) + base)}

    def common_prior(self, statistics: Any) -> Any:
        return self.resolve_prior(statistics.pooled())

    @final
    def log_dependence(self, prior: Conjugate, common: Conjugate, statistics: Any) -> dict[str, Evidence]:
        self.log_evidence(prior, statistics)  # refuses a prior under which there is none
        dims = tuple(dim for dim in self.factor_dims if dim != "class")
        return {"": Evidence(dims, np.asarray(self._log_dependence(prior, common, statistics)))}

    def _log_dependence(self, prior: Any, common: Any, statistics: Any) -> Array:
        """Of every unit: the ratio of both evidences, whose base measures are the same."""
        of_classes = self.log_increment(prior, statistics)
        of_all = common.log_increment(statistics.pooled())
        return self._over_classes(of_classes) - self._over_classes(of_all)

    def averaged_predictive(self, posterior: Any, common: Any, log_odds: Mapping[str, Array]) -> LogDensity:
        # overridden where the units are single columns
        of_class = closed_forms.log_predictive(self, posterior)
        of_all = closed_forms.log_predictive(self.with_classes((0,)), common)
        relevant, irrelevant = log_expit(log_odds[""]), log_expit(-log_odds[""])
        return LogDensity(lambda X: np.logaddexp(relevant + of_class(X), irrelevant + of_all(X)))

    def _over_classes(self, values: Array) -> Array:
        return values.sum(self.factor_dims.index("class")) if "class" in self.factor_dims else values


@dataclass(frozen=True, eq=False)
class ConjugateNumeric(ConjugateColumns, NumericFamily):
    """A conjugate family all of whose columns are features that are numbers."""
