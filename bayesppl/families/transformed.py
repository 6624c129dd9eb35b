r"""Families whose rows are those of another family once they are transformed.

.. math:: p(x \mid \theta) = h(x)\, q(t(x) \mid \theta),

where q is the density of the other family and h(x), such as the Jacobian of t, holds no parameter. Prior, posterior and
estimates are those of the other family; so is the evidence, for the statistics hold :math:`\sum \log h(x)`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self, final

import numpy as np

from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.families import closed_forms
from bayesppl.families.bound import Factor, separate, together
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily, Evidence, Family
from bayesppl.kernels.arrays import Array, Responsibilities, Theta
from bayesppl.kernels.missing import only_columns


class Transformed(ConjugateFamily):
    """A family of single columns that another family models after a transformation."""

    @property
    @abstractmethod
    def inner(self) -> Family:
        """The family of the transformed rows, bound."""

    @abstractmethod
    def with_inner(self, inner: Any) -> Self:
        """Return this bound family with another inner one."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Hashable, ...]:
        """The columns, once bound."""

    @abstractmethod
    def transform(self, X: Array) -> Any:
        """Rows as the inner family encodes them, from (n_rows, n_columns) numbers."""

    @abstractmethod
    def restore(self, rows: Any, rng: np.random.Generator) -> Array:
        """Numbers (n_rows, n_columns) that ``transform`` takes to these rows, drawn from h(x) where there are several."""

    @abstractmethod
    def log_base(self, X: Array) -> Array:
        """log h(x) of every cell, zero where it is missing: (n_rows, n_columns)."""

    @abstractmethod
    def log_base_of(self, statistics: Any) -> Any:
        """Sum of log h(x) over all rows, from their statistics."""

    @property
    @final
    def dims(self) -> dict[str, tuple[str, ...]]:
        return self.inner.bound.dims

    @property
    @final
    def coords(self) -> dict[str, list[Hashable]]:
        return {**self.inner.bound.coords, "column": list(self.columns)}

    @property
    @final
    def factors(self) -> tuple[Factor, ...]:
        are_single = all(len(unit.columns) == 1 for unit in self.inner.bound.factors)
        return (separate if are_single else together)(self.columns)

    @final
    def marginal_rows(self, X: Array, units: Sequence[int]) -> Array:
        return X if len(units) == len(self.factors) else only_columns(X, units)

    @final
    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        return self.with_inner(self.inner.with_classes(classes))

    @final
    def decode(self, X: Array) -> dict[Hashable, Array]:
        return dict(zip(self.columns, X.T, strict=True))

    def sufficient_statistics(self, X: Array, responsibilities: Responsibilities) -> Any:
        return closed_forms.sufficient_statistics(self.inner, self.transform(X), responsibilities)

    @final
    def resolve_prior(self, statistics: Any) -> Any:
        return self.inner.resolve_prior(statistics)

    @final
    def tunable(self, prior: Any) -> Mapping[str, tuple[float, float]]:
        return closed_forms.tunable(self.inner, prior)

    @final
    def mle(self, statistics: Any) -> Theta:
        return self.inner.mle(statistics)

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        return self._of_transformed(self.inner.log_likelihood(theta))

    @final
    def log_predictive(self, posterior: Any) -> LogDensity:
        return self._of_transformed(closed_forms.log_predictive(self.inner, posterior))

    @final
    def loo_log_predictive(
        self, posterior: Any, statistics: Any, X: Array, members: Membership
    ) -> tuple[Array, Array]:
        fitted, without = closed_forms.leave_one_out(self.inner, posterior, statistics, self.transform(X), members)
        log_base = self._log_base_of_rows(X)
        return fitted + log_base, without + log_base

    @final
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        return self.restore(self.inner.simulate(theta, codes, rng, covariates), rng)

    @final
    def label_rows(self, X: Array, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return {f"{prefix}x": (("row", f"{prefix}column"), X)}

    @final
    def log_evidence(self, prior: Any, statistics: Any) -> dict[str, Evidence]:
        return closed_forms.log_evidence(self.inner, prior, statistics)

    @final
    def common_prior(self, statistics: Any) -> Any:
        return closed_forms.common_prior(self.inner, statistics)

    @final
    def log_dependence(self, prior: Any, common: Any, statistics: Any) -> dict[str, Evidence]:
        return closed_forms.log_bayes_factor(self.inner, prior, common, statistics)

    @final
    def averaged_predictive(self, posterior: Any, common: Any, log_odds: Mapping[str, Array]) -> LogDensity:
        return self._of_transformed(closed_forms.inclusion_averaged(self.inner, posterior, common, log_odds))

    @final
    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        """The transformed rows are the observed variable; what holds no parameter is a potential."""
        self.inner.observe_rows(variables, self.transform(X), codes, prefix)
        _potential(f"{prefix}log_base", self.log_base(X).sum())

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> None:
        self.inner.observe_statistics(variables, statistics, prefix)
        _potential(f"{prefix}log_base", self.log_base_of(statistics))

    def _of_transformed(self, density: LogDensity) -> LogDensity:
        return LogDensity(
            lambda X: density(self.transform(X)) + self._log_base_of_rows(X),
            lambda X: density.kernel(self.transform(X)),
        )

    def _log_base_of_rows(self, X: Array) -> Array:
        """(n_rows, 1)."""
        return self.log_base(X).sum(1, keepdims=True)


def _potential(name: str, value: Any) -> None:
    import pymc as pm
    import pytensor.tensor as pt

    pm.Potential(name, pt.as_tensor(np.float64(value)))
