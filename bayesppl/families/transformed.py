r"""Families whose rows are those of another family once they are transformed.

.. math:: p(x \mid \theta) = h(x)\, q(t(x) \mid \theta),

where q is the density of the other family and h(x), such as the Jacobian of t, holds no parameter. Prior,
posterior and estimates are those of the other family; so is the evidence, for the statistics hold
:math:`\sum \log h(x)`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, ClassVar, Self, final

import numpy as np

from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.rows import Rows, RowsWithBase
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily
from bayesppl.kernels.arrays import Array, Theta


class Transformed(ConjugateFamily):
    """A family of single columns that another family models after a transformation."""

    #: Whether h(x) differs from one.
    has_base: ClassVar[bool] = True

    @property
    @abstractmethod
    def inner(self) -> Any:
        """The family of the transformed rows, bound."""

    @abstractmethod
    def with_inner(self, inner: Any) -> Self:
        """Return this bound family with another inner one."""

    @abstractmethod
    def transform(self, X: Array) -> Any:
        """Return rows as the inner family encodes them, from (n_rows, n_columns) numbers."""

    @abstractmethod
    def restore(self, rows: Any) -> Array:
        """Return the numbers (n_rows, n_columns) that ``transform`` takes to these rows."""

    @abstractmethod
    def log_base(self, X: Array) -> Array:
        """log h(x) of every cell, zero where it is missing: (n_rows, n_columns)."""

    @abstractmethod
    def log_base_of(self, statistics: Any) -> float:
        """Sum of log h(x) over all rows, from their statistics."""

    @property
    @final
    def columns(self) -> tuple[Hashable, ...]:
        return tuple(self.inner.bound.measures)

    @final
    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        return self.with_inner(self.inner.with_classes(classes))

    @final
    def rows(self, X: Array) -> Rows:
        rows: Rows = self.inner.rows(self.transform(X))
        return RowsWithBase(rows, partial(self.log_base, X)) if self.has_base else rows

    @final
    def resolve_prior(self, statistics: Any) -> Any:
        return self.inner.resolve_prior(statistics)

    @final
    def mle(self, statistics: Any) -> Theta:
        found: Theta = self.inner.mle(statistics)
        return found

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        return self.of_transformed(self.inner.log_likelihood(theta))

    @final
    def of_transformed(self, density: LogDensity) -> LogDensity:
        """The density of the numbers, from that of the transformed rows."""

        def log_density(X: Array) -> Array:
            out = density(self.transform(X))
            return out + self.log_base(X).sum(1, keepdims=True) if self.has_base else out

        return LogDensity(log_density, lambda X: density.kernel(self.transform(X)))

    @final
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        return self.restore(self.inner.simulate(theta, codes, rng, covariates))

    @final
    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        """The transformed rows are the observed variable; what holds no parameter is a potential."""
        self.inner.observe_rows(variables, self.transform(X), codes, prefix)
        if self.has_base:
            _add_potential(f"{prefix}log_base", self.log_base(X).sum())

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> None:
        self.inner.observe_statistics(variables, statistics, prefix)
        if self.has_base:
            _add_potential(f"{prefix}log_base", self.log_base_of(statistics))


def _add_potential(name: str, log_base: float) -> None:
    import pymc as pm
    import pytensor.tensor as pt

    pm.Potential(name, pt.as_tensor(np.float64(log_base)))
