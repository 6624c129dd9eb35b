r"""Log-normal features: positive numbers whose logarithms are Gaussian.

.. math:: p(x \mid \theta) = \frac{1}{\prod_d x_d}\, N(\log x \mid \mu_k, \Sigma_k).

Every density is that of a Gaussian family at the logarithms times the Jacobian :math:`\prod_d 1/x_d` (Johnson, Kotz &
Balakrishnan 1994, chapter 14). The Jacobian is the same for all classes, so it changes no class probability; with
it, the evidence is a density of x itself and compares with that of any other family of the same columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesppl.conjugate import NormalInverseGamma, NormalInverseWishart
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import Moments
from bayesppl.data.table import Table
from bayesppl.families import closed_forms
from bayesppl.families.bound import Factor, Measure
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily, Evidence, Family, Takes
from bayesppl.families.gaussian import Covariance, Gaussian
from bayesppl.families.moment_family import MomentFamily
from bayesppl.families.support import POSITIVE_NUMBERS, checked_numbers
from bayesppl.kernels.arrays import Array, Responsibilities, Theta


def LogNormal(
    covariance: Covariance = "diag",
    prior: str | NormalInverseGamma | NormalInverseWishart | None = None,
    *,
    mean: Any = None,
    sd: Any = None,
    cholesky: Any = None,
) -> Family:
    """Log-normal class-conditional density.

    Parameters
    ----------
    covariance, prior, mean, sd, cholesky
        Of the logarithms of the columns; see :func:`bayesppl.Gaussian`. Multiplying a column by a constant shifts
        its logarithms, so the default priors are free of units here too.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[1.0], [3.0], [2.0], [20.0], [90.0], [40.0]]
    >>> clf = bp.GenerativeClassifier(bp.LogNormal()).fit(X, list("aaabbb"))
    >>> clf.predict([[5.0], [10.0]]).tolist()
    ['a', 'b']
    """
    return LogGaussian(Gaussian(covariance, prior, mean=mean, sd=sd, cholesky=cholesky))


@dataclass(frozen=True, eq=False)
class LogGaussian(ConjugateFamily):
    """Gaussian logarithms. Made by :func:`bayesppl.LogNormal`.

    Parameters
    ----------
    gaussian : MomentFamily
        Density of the logarithms, made by :func:`bayesppl.Gaussian`.
    """

    name: ClassVar[str] = "lognormal"
    takes: ClassVar[Takes] = "positive numbers"

    gaussian: MomentFamily

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        return dict(self.gaussian.bound.dims)

    @property
    def coords(self) -> dict[str, list[Hashable]]:
        return self.gaussian.bound.coords

    @property
    def measures(self) -> dict[Hashable, Measure]:
        return self.gaussian.bound.measures

    @property
    def factors(self) -> tuple[Factor, ...]:
        return self.gaussian.bound.factors

    def marginal_rows(self, X: Array, units: Sequence[int]) -> Array:
        seen: Array = self.gaussian.bound.marginal_rows(X, units)
        return seen

    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        return replace(self, gaussian=self.gaussian.bind(table, classes))

    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        return replace(self, gaussian=self.gaussian.with_classes(classes))

    def encode(self, table: Table) -> Array:
        columns = self.gaussian.columns
        X = checked_numbers(table, columns, self.name, POSITIVE_NUMBERS)
        return np.asarray(X)

    def decode(self, X: Array) -> dict[Hashable, Array]:
        return self.gaussian.bound.decode(X)

    def sufficient_statistics(self, X: Array, responsibilities: Responsibilities) -> Any:
        return closed_forms.sufficient_statistics(self.gaussian, _logarithms(X), responsibilities)

    def resolve_prior(self, statistics: Moments) -> Any:
        return self.gaussian.resolve_prior(statistics)

    def tunable(self, prior: Any) -> Mapping[str, tuple[float, float]]:
        return closed_forms.tunable(self.gaussian, prior)

    def with_prior(self, prior: Any) -> Self:
        return replace(self, gaussian=self.gaussian.with_prior(prior))

    def mle(self, statistics: Moments) -> Theta:
        return self.gaussian.mle(statistics)

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return _of_logarithms(self.gaussian.log_likelihood(theta))

    def log_predictive(self, posterior: Any) -> LogDensity:
        return _of_logarithms(closed_forms.log_predictive(self.gaussian, posterior))

    def loo_log_predictive(
        self, posterior: Any, statistics: Any, X: Array, members: Membership
    ) -> tuple[Array, Array]:
        fitted, without = closed_forms.leave_one_out(self.gaussian, posterior, statistics, _logarithms(X), members)
        log_jacobian = _log_jacobian(X)
        return fitted + log_jacobian, without + log_jacobian

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        with np.errstate(over="ignore"):  # tails that reach beyond the largest number
            return np.exp(self.gaussian.simulate(theta, codes, rng, covariates))

    def label_rows(self, X: Array, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return self.gaussian.bound.label_rows(X, prefix)

    def log_evidence(self, prior: Any, statistics: Moments) -> dict[str, Evidence]:
        log_jacobian = _log_jacobian_of(statistics)
        evidence = closed_forms.log_evidence(self.gaussian, prior, statistics)
        return {
            block: Evidence(dims, values + _over(log_jacobian, dims)) for block, (dims, values) in evidence.items()
        }

    def common_prior(self, statistics: Moments) -> Any:
        return closed_forms.common_prior(self.gaussian, statistics)

    def log_dependence(self, prior: Any, common: Any, statistics: Moments) -> dict[str, Evidence]:
        return closed_forms.log_bayes_factor(self.gaussian, prior, common, statistics)

    def averaged_predictive(self, posterior: Any, common: Any, log_odds: Mapping[str, Array]) -> LogDensity:
        return _of_logarithms(closed_forms.inclusion_averaged(self.gaussian, posterior, common, log_odds))

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        """The logarithms are the observed variable; the Jacobian is a potential."""
        import pymc as pm
        import pytensor.tensor as pt

        self.gaussian.observe_rows(variables, _logarithms(X), codes, prefix)
        pm.Potential(f"{prefix}log_jacobian", pt.as_tensor(_log_jacobian(X).sum()))

    def observe_statistics(self, variables: dict[str, Any], statistics: Moments, prefix: str = "") -> None:
        """The moments of the logarithms are observed; the Jacobian is a potential."""
        import pymc as pm
        import pytensor.tensor as pt

        self.gaussian.observe_statistics(variables, statistics, prefix)
        pm.Potential(f"{prefix}log_jacobian", pt.as_tensor(_log_jacobian_of(statistics).sum()))


def _logarithms(X: Array) -> Array:
    # of small types numpy's logarithm would be as short as they are: of bytes, three digits
    return np.log(X, dtype=np.float64)


def _of_logarithms(log_density: LogDensity) -> LogDensity:
    """The density of x, from that of log x: the Jacobian is the same for all classes."""
    return LogDensity(
        lambda X: log_density(_logarithms(X)) + _log_jacobian(X), lambda X: log_density.kernel(_logarithms(X))
    )


def _log_jacobian(X: Array) -> Array:
    """−Σ log x over the cells of a row that are present: (n_rows, 1)."""
    return -np.nansum(_logarithms(X), axis=1, keepdims=True)


def _log_jacobian_of(statistics: Moments) -> Array:
    """−Σ log x of every class and column, which the moments of the logarithms hold: count times mean."""
    count = statistics.count[:, None] if statistics.is_matrix else statistics.count
    return -count * statistics.mean


def _over(values: Array, dims: tuple[str, ...]) -> Array:
    """Sum (class, feature) values over the dimensions that are not among ``dims``."""
    axes = tuple(axis for axis, dim in enumerate(("class", "feature")) if dim not in dims)
    return np.asarray(values.sum(axes))
