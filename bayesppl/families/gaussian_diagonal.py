r"""Independent Gaussian features: Gaussian Naive Bayes and its tied and spherical forms.

.. math:: x_d \mid y = k \sim N(\mu_{kd}, \sigma^2_{kd}), \qquad
   (\mu_{kd}, \sigma^2_{kd}) \sim \mathrm{NormalInverseGamma}(m, \kappa, a, b).

Their closed forms stand in :mod:`bayesppl.conjugate.independent_normals`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from bayesppl.conjugate import NormalInverseGamma
from bayesppl.conjugate.conjugate import choose_prior
from bayesppl.conjugate.gaussian_declared import MeanAndSd
from bayesppl.conjugate.independent_normals import log_normal_density
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.moments import Moments, NumberRows
from bayesppl.conjugate.normal_means import NormalMeans
from bayesppl.conjugate.shared_cells import SharedCells, pooled, shares_columns
from bayesppl.conjugate.sparse_means import SparseMeans
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families.bound import NumberColumns
from bayesppl.families.column_prior import columnwise_prior, hierarchical_columns
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily, OfColumns
from bayesppl.families.moment_priors import (
    column_scales,
    column_variances,
    common_scale,
    parts_of_variance,
    require_proper,
)
from bayesppl.families.support import require_finite_sums
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta, as_observed
from bayesppl.kernels.missing import present_cells

_AXES = {"class": -2, "feature": -1}


@dataclass(frozen=True, eq=False)
class IndependentNormals(OfColumns, ConjugateFamily):
    """Independent normal features, whose variances are learned or known."""

    @abstractmethod
    def variances(self, parameters: Mapping[str, Any]) -> Any:
        """Return the variance of every cell, which broadcasts to the means, from arrays or graphs."""

    @final
    def rows(self, X: Array) -> NumberRows:
        return NumberRows(X, is_matrix=False, is_tied=False)

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        return log_normal_density(theta["mean"], self.variances(theta))

    @final
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        sd = np.broadcast_to(np.sqrt(self.variances(theta)), theta["mean"].shape)
        return rng.normal(theta["mean"][codes], sd[codes])

    @final
    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm
        import pytensor.tensor as pt

        mean = variables["mean"]
        sd = pt.broadcast_to(pt.sqrt(self.variances(variables)), mean.shape)
        index, at, dims = present_cells(X, codes, prefix)
        pm.Normal(f"{prefix}x", mean[index], sd[index], observed=as_observed(X[at]), dims=dims)

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Moments, prefix: str = "") -> None:
        import pymc as pm

        terms = normal_terms(self, variables, statistics.count, statistics.mean, statistics.scatter)
        pm.Potential(f"{prefix}x", terms.sum())


def normal_terms(
    family: IndependentNormals, variables: dict[str, Any], n: Array, mean: Array, scatter: Array
) -> Any:
    """Return log p(x | y = k) of n cells with this mean and sum of squares about it, as a graph."""
    import pytensor.tensor as pt

    variance = family.variances(variables)
    squares = scatter + n * (mean - variables["mean"]) ** 2
    return -0.5 * (n * (LOG_2PI + pt.log(variance)) + squares / variance)


@dataclass(frozen=True, eq=False)
class DiagonalGaussian(IndependentNormals):
    """Independent Gaussian features. Made by :func:`bayesppl.Gaussian`.

    Parameters
    ----------
    prior : str or NormalInverseGamma
        See :func:`bayesppl.Gaussian`.
    shared : tuple of {"class", "feature"}
        Dimensions over which one variance is shared.
    """

    name: ClassVar[str] = "gaussian"

    prior: str | NormalInverseGamma | MeanAndSd | SharedCells = "hierarchical"
    shared: tuple[str, ...] = ()

    @cached_property
    def bound(self) -> NumberColumns:
        of_variances = tuple(dim for dim in _AXES if dim not in self.shared)
        # columns that share a parameter depend on each other
        is_separate = "feature" not in self.shared and not shares_columns(self.prior)
        return NumberColumns(self, {"mean": ("class", "feature"), "variance": of_variances}, is_separate)

    @property
    def _axes(self) -> tuple[int, ...]:
        return tuple(_AXES[dim] for dim in self.shared)

    def resolve_prior(self, statistics: Moments) -> NormalInverseGamma | MeanAndSd:
        require_finite_sums(statistics.scatter, self.columns, "sum of squares")
        shape, given = statistics.mean.shape, (statistics, self.columns, self._axes)
        of_columns = {
            "hierarchical": lambda: hierarchical_columns(*given),
            "columnwise": lambda: columnwise_prior(*given),
        }
        return choose_prior(
            self.prior,
            {
                # a variance that the columns share belongs to no single column
                **({} if "feature" in self.shared else of_columns),
                **({"sparse": lambda: self._sparse(statistics)} if self.shared == ("class",) else {}),
                "fraley-raftery": lambda: self._fraley_raftery(statistics),
                "jeffreys": lambda: self._improper(statistics, power=1),
                "flat": lambda: self._improper(statistics, power=0),
                "unbiased": lambda: self._improper(statistics, -np.prod([shape[axis] for axis in self._axes]) / 2),
            },
            lambda declared: declared.sized(shape, self._axes),
            NormalInverseGamma,
        )

    def mle(self, statistics: Moments) -> Theta:
        statistics = pooled(self.prior, statistics)
        count = statistics.count.sum(self._axes)
        variance = np.divide(statistics.scatter.sum(self._axes), count, out=np.zeros_like(count), where=count > 0)
        self._require_values(statistics.count, "mean")
        if (variance <= 0).any():
            constant = np.broadcast_to(np.expand_dims(variance <= 0, self._axes), statistics.mean.shape)
            k, d = np.argwhere(constant)[0]
            raise UndefinedEstimateError(
                f"column {self.columns[d]!r} is constant within class {self.classes[k]!r}, so the "
                "likelihood has no maximum: a variance of zero makes it infinite. Use rule='map', 'mean' or "
                "'predictive' with a proper prior, or drop the column."
            )
        return {"mean": statistics.mean, "variance": variance}

    def variances(self, parameters: Mapping[str, Any]) -> Any:
        shared = (None if dim in self.shared else slice(None) for dim in _AXES)
        return parameters["variance"][(..., *shared)]

    def _improper(self, statistics: Moments, power: float) -> NormalInverseGamma:
        prior = NormalInverseGamma.improper(statistics.mean.shape, self._axes, power)
        cells_per_row = statistics.mean.shape[1] if "feature" in self.shared else 1
        needed = np.floor(-2 * prior.a.max() / cells_per_row) + 1
        return require_proper(prior, statistics, self.classes, self.columns, needed, "class" in self.shared)

    def _fraley_raftery(self, statistics: Moments) -> NormalInverseGamma:
        """Return the prior of Fraley & Raftery (2007): ν = D + 2, and the squares of a scale over K^(2/D)."""
        total, shape = statistics.pooled(), statistics.mean.shape
        varies, n_seen = column_variances(total) > 0, statistics.n_seen
        if "feature" in self.shared:
            varies, n_seen = varies.any(keepdims=True), n_seen.max(keepdims=True)
        b = common_scale(total, self.columns) ** 2 / parts_of_variance(varies, n_seen, shape[1]) / 2
        return NormalInverseGamma(total.mean, 0.01, (shape[1] + 2) / 2, b).sized(shape, self._axes)

    def _sparse(self, statistics: Moments) -> SparseMeans:
        """Return the prior of sparse means, with variances that are worth three rows.

        A column of noise is then as likely to depend on the class as not.
        """
        total = statistics.pooled()
        b = 2 * np.square(column_scales(total, self.columns))
        weak = NormalInverseGamma(total.mean, 1.0, 1.5, b).sized(statistics.mean.shape, self._axes)
        return SparseMeans.by_evidence(weak, statistics)


@dataclass(frozen=True, eq=False)
class KnownVariances(IndependentNormals, listed=False):
    """Independent Gaussian features of known variance, found in models written in PyMC.

    The predictive is normal, of variance σ² + 1/λₙ (Murphy 2007, section 2).

    Parameters
    ----------
    prior : NormalMeans or SharedCells
    """

    name: ClassVar[str] = "gaussian of known variance"

    prior: NormalMeans | SharedCells

    @cached_property
    def bound(self) -> NumberColumns:
        return NumberColumns(self, {"mean": ("class", "feature")}, not shares_columns(self.prior))

    def resolve_prior(self, statistics: Moments) -> NormalMeans | SharedCells:
        return self.prior.sized(statistics.mean.shape)

    def mle(self, statistics: Moments) -> Theta:
        return {"mean": pooled(self.prior, statistics).mean}

    def variances(self, parameters: Mapping[str, Any]) -> Array:
        prior = self.prior
        known = prior.inner.variance[0][prior.cells] if isinstance(prior, SharedCells) else prior.variance
        return np.asarray(known, dtype=np.float64)
