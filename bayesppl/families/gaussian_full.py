r"""Correlated Gaussian features: quadratic (full) and linear (tied) discriminant analysis.

.. math:: x \mid y = k \sim N(\mu_k, \Sigma_k), \qquad
   (\mu_k, \Sigma_k) \sim \mathrm{NormalInverseWishart}(m, \kappa, \nu, \Psi).

Their closed forms stand in :mod:`bayesppl.conjugate.correlated_normals`.

In PyMC the covariance is declared through the Bartlett factor A of its inverse,
:math:`\Sigma^{-1} = L^{-\top} A A^\top L^{-1}` with :math:`\Psi = L L^\top`, and the mean in the coordinates of L.
This targets exactly the conjugate posterior, for any real ν, without linear algebra in the graph.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from bayesppl.conjugate import NormalInverseWishart
from bayesppl.conjugate.conjugate import choose_prior
from bayesppl.conjugate.correlated_normals import log_density_of_vectors
from bayesppl.conjugate.covariance_graphs import observe
from bayesppl.conjugate.gaussian_declared import MeanAndCholesky
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.moments import Moments, NumberRows
from bayesppl.conjugate.normal_means import NormalMeanVectors
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families.bound import NumberColumns
from bayesppl.families.covariance_prior import hierarchical_prior
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily, Missing, OfColumns
from bayesppl.families.moment_priors import (
    diagonal_prior,
    fraley_raftery_prior,
    regularised_prior,
    require_definite,
    require_proper,
)
from bayesppl.families.support import require_finite_sums
from bayesppl.kernels.arrays import Array, Theta, as_observed
from bayesppl.kernels.definite import is_positive_definite, root_of


@dataclass(frozen=True, eq=False)
class CorrelatedNormals(OfColumns, ConjugateFamily):
    """Correlated normal columns, whose mean may depend on predictors that stand before them in encoded rows.

    Parameters
    ----------
    prior : str or conjugate prior
    tied : bool
        Whether all classes share one covariance matrix, and the effects of the predictors.
    """

    missing: ClassVar[Missing] = "predicted"
    #: What is said of rows with missing cells.
    _refusal: ClassVar[str]

    prior: Any = "hierarchical"
    tied: bool = False

    @property
    @abstractmethod
    def predictors(self) -> tuple[Hashable, ...]:
        """The names of the predictors."""

    @final
    def covariances(self, parameters: Mapping[str, Any]) -> Any:
        """Return the covariance matrices of the classes, or the one of all, from arrays or graphs."""
        return parameters["covariance"] if "covariance" in self.bound.dims else self.prior.covariance

    @final
    def rows(self, X: Array) -> NumberRows:
        return NumberRows(X, True, self.tied, (*self.predictors, *self.columns), self._refusal)

    @final
    def mle(self, statistics: Moments) -> Theta:
        q, mean, scatter = len(self.predictors), statistics.mean, statistics.scatter
        # of the effects that fit equally well, those of the smallest squares
        effect = np.linalg.pinv(scatter[..., :q, :q], rcond=1e-10, hermitian=True) @ scatter[..., :q, q:]
        count = statistics.n_rows.sum() if self.tied else statistics.n_rows
        within = scatter[..., q:, q:] - np.swapaxes(scatter[..., :q, q:], -1, -2) @ effect
        covariance = within / np.where(count > 0, count, 1.0)[..., None, None]
        # what is left of the numbers is nothing where predictors explain it but for rounding
        left = (np.linalg.diagonal(within) > 1e-12 * np.linalg.diagonal(scatter)[..., q:]).all(-1)
        is_learned = "covariance" in self.bound.dims
        bad = (statistics.count <= 0) | (is_learned & ~(is_positive_definite(covariance) & left))
        if bad.any():
            k = int(np.argmin(statistics.count) if self.tied else np.argmax(bad))
            if statistics.count[k] <= 0:
                raise UndefinedEstimateError(
                    f"class {self.classes[k]!r} has no rows, so the maximum likelihood estimate of its mean does "
                    "not exist; use rule='map', 'mean' or 'predictive'"
                )
            given = " given the levels" if q else ""
            raise UndefinedEstimateError(
                f"the covariance of class {self.classes[k]!r} ({statistics.count[k]:g} rows, {len(self.columns)} "
                f"columns) is singular{given}, so the likelihood has no maximum. Use rule='map', 'mean' or "
                "'predictive' with a proper prior, add rows, or drop columns that are constant or copies of "
                "others."
            )
        gap = np.einsum("kq,...qp->kp" if self.tied else "kq,kqp->kp", mean[:, :q], effect)
        found = {"mean": mean[:, q:] - gap, "effect": effect, "covariance": covariance}
        return {name: found[name] for name in self.bound.dims}

    @final
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        """Draw numbers given the predictors, if there are any, which ``covariates`` holds as "given"."""
        mean, root = theta["mean"][codes], root_of(self.covariances(theta))
        noise = rng.standard_normal(mean.shape)
        if self.predictors:
            effect = theta["effect"] if self.tied else theta["effect"][codes]
            mean = mean + (covariates["given"][:, None] @ effect)[:, 0]
        return mean + np.einsum("...ij,...j->...i", root if self.tied else root[codes], noise)

    @final
    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        q, mean, covariance = len(self.predictors), variables["mean"][codes], self.covariances(variables)
        if q:
            effect = variables["effect"] if self.tied else variables["effect"][codes]
            mean = mean + (X[:, :q, None] * effect).sum(-2)
        spread = covariance if self.tied else covariance[codes]
        pm.MvNormal(f"{prefix}x", mean, spread, observed=as_observed(X[:, q:]), dims=("row", f"{prefix}feature"))

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Moments, prefix: str = "") -> None:
        observe(variables, statistics, len(self.predictors), prefix)


@dataclass(frozen=True, eq=False)
class FullGaussian(CorrelatedNormals):
    """Correlated Gaussian features. Made by :func:`bayesppl.Gaussian`.

    Parameters
    ----------
    prior : str or NormalInverseWishart
        See :func:`bayesppl.Gaussian`.
    tied : bool
        Whether all classes share one covariance matrix.
    """

    name: ClassVar[str] = "gaussian_full"
    _refusal: ClassVar[str] = (
        "a full or tied covariance cannot be fitted to incomplete rows in closed form. Use inference='gibbs' or "
        "'em', which complete them (labels too, with unlabelled='learn') under conjugate priors in a fit of all "
        "rows at once, or bayesppl.GaussianNB, which skips missing cells exactly; or drop or impute them."
    )
    predictors = ()

    prior: str | NormalInverseWishart | MeanAndCholesky = "hierarchical"

    @cached_property
    def bound(self) -> NumberColumns:
        of_classes = () if self.tied else ("class",)
        dims = {"mean": ("class", "feature"), "covariance": (*of_classes, "feature", "other_feature")}
        return NumberColumns(self, dims, is_separate=False)

    def resolve_prior(self, statistics: Moments) -> NormalInverseWishart | MeanAndCholesky:
        require_finite_sums(statistics.scatter, self.columns, "sum of squares")
        shape = statistics.mean.shape
        return choose_prior(
            self.prior,
            {
                "hierarchical": lambda: self._definite(
                    hierarchical_prior(statistics, self.tied, self.columns), statistics
                ),
                "fraley-raftery": lambda: fraley_raftery_prior(statistics, self.classes, self.columns),
                "regularised": lambda: self._definite(regularised_prior(statistics, self.columns), statistics),
                "diagonal": lambda: self._definite(diagonal_prior(statistics, self.columns, 1.0), statistics),
                "jeffreys": lambda: self._improper(statistics, (shape[1] + 1) / 2),
                "flat": lambda: self._improper(statistics, power=0),
                "unbiased": lambda: self._improper(statistics, -(shape[0] if self.tied else 1) / 2),
            },
            lambda declared: self._definite(declared.sized(shape, self.tied), statistics),
            NormalInverseWishart,
        )

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return log_density_of_vectors(theta["mean"], theta["covariance"], self.tied)

    def _definite(self, prior: NormalInverseWishart, statistics: Moments) -> NormalInverseWishart:
        return require_definite(prior, statistics, self.classes, self.columns)

    def _improper(self, statistics: Moments, power: float) -> NormalInverseWishart:
        prior = NormalInverseWishart.improper(statistics.mean.shape, self.tied, power)
        needed = len(self.columns) - prior.nu.max()
        return require_proper(prior, statistics, self.classes, self.columns, needed, self.tied)


@dataclass(frozen=True, eq=False)
class KnownCovariances(CorrelatedNormals, listed=False):
    """Correlated Gaussian features of known covariance, found in models written in PyMC.

    The predictive is normal, of covariance Σ + Λₙ⁻¹ (Murphy 2007, section 4).

    Parameters
    ----------
    prior : NormalMeanVectors
    """

    name: ClassVar[str] = "gaussian of known covariance"
    _refusal: ClassVar[str] = FullGaussian._refusal
    predictors = ()

    prior: NormalMeanVectors

    @cached_property
    def bound(self) -> NumberColumns:
        return NumberColumns(self, {"mean": ("class", "feature")}, is_separate=False)

    def resolve_prior(self, statistics: Moments) -> NormalMeanVectors:
        return self.prior.sized(statistics.mean.shape)

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return log_density_of_vectors(theta["mean"], self.covariances(theta), self.tied)
