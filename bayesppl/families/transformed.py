r"""Families whose rows are those of another family once they are transformed.

.. math:: p(x \mid \theta) = h(x)\, q(t(x) \mid \theta),

where q is the density of the other family and h(x), such as the Jacobian of t, holds no parameter. Prior,
posterior and estimates are those of the other family; so is the evidence, for the statistics hold
:math:`\sum \log h(x)`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, cast, final

import numpy as np

from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.moments import LogMoments
from bayesppl.conjugate.row_statistics import RowStatistics, RowsWithBase
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily, Family
from bayesppl.kernels.arrays import Array, Theta


@dataclass(frozen=True, eq=False)
class Wrapping(Family):
    """A family whose parameters are those of another one, its ``inner`` family, and the prior too."""

    #: The other family; None before it is bound, where it is not declared.
    inner: Any = field(default=None, kw_only=True, repr=False)

    @final
    def resolve_prior(self, statistics: Any) -> Any:
        return self.inner.resolve_prior(statistics)

    @final
    def mle(self, statistics: Any) -> Theta:
        return cast(Theta, self.inner.mle(statistics))


class Transformed(Wrapping, ConjugateFamily):
    """A family of single columns that another family models after a transformation."""

    #: Whether h(x) differs from one.
    has_base: ClassVar[bool] = True

    @abstractmethod
    def transform(self, X: Array) -> Any:
        """Return rows as the inner family encodes them, from (n_rows, n_columns) numbers."""

    @abstractmethod
    def restore(self, rows: Any, rng: np.random.Generator) -> Array:
        """Return numbers (n_rows, n_columns) that ``transform`` takes to these rows, drawn where they are many."""

    @abstractmethod
    def log_base(self, X: Array, rows: Any) -> Array:
        """Return log h(x) of every cell, zero where it is missing: (n_rows, n_columns).

        Parameters
        ----------
        X : (n_rows, n_columns)
            Numbers.
        rows
            What ``transform`` made of them.
        """

    @property
    @final
    def columns(self) -> tuple[Hashable, ...]:
        return tuple(self.inner.bound.measures)

    @final
    def rows(self, X: Array) -> RowStatistics:
        transformed = self.transform(X)
        rows = cast(RowStatistics, self.inner.rows(transformed))
        return RowsWithBase(rows, partial(self.log_base, X, transformed)) if self.has_base else rows

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        density = self.inner.log_likelihood(theta)

        def log_density(X: Array) -> Array:
            rows = self.transform(X)
            out = density(rows)
            return out + self.log_base(X, rows).sum(1, keepdims=True) if self.has_base else out

        return LogDensity(log_density, density.of(self.transform).kernel)

    @final
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        return self.restore(self.inner.simulate(theta, codes, rng, covariates), rng)

    @final
    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        """Declare the transformed rows as observed; what holds no parameter is a potential."""
        rows = self.transform(X)
        self.inner.observe_rows(variables, rows, codes, prefix)
        if self.has_base:
            _add_potential(f"{prefix}log_base", self.log_base(X, rows).sum())

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> None:
        self.inner.observe_statistics(variables, statistics, prefix)
        if isinstance(statistics, LogMoments):  # of other statistics what the inner family observes holds log h
            _add_potential(f"{prefix}log_base", statistics.log_jacobian.sum())


def _add_potential(name: str, log_base: float) -> None:
    import pymc as pm
    import pytensor.tensor as pt

    pm.Potential(name, pt.as_tensor(np.float64(log_base)))
