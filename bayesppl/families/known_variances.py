r"""Gaussian features of known variance.

.. math:: x_d \mid y = k \sim N(\mu_{kd}, \sigma^2_{kd}), \qquad \mu_{kd} \sim N(m, 1/\lambda).

The predictive is normal, of variance :math:`\sigma^2 + 1/\lambda_n` (Murphy 2007, section 2). Nobody declares it:
it is found in models written in PyMC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate.independent_normals import log_normal_density
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.moments import Moments, NumberRows
from bayesppl.conjugate.normal_means import NormalMeans
from bayesppl.families.bound import Dims
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import Missing
from bayesppl.families.moment_family import MomentFamily
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta
from bayesppl.kernels.missing import present_cells


@dataclass(frozen=True, eq=False)
class KnownVariances(MomentFamily, listed=False):
    """Independent Gaussian features of known variance.

    Parameters
    ----------
    prior : NormalMeans
    """

    name: ClassVar[str] = "gaussian of known variance"
    missing: ClassVar[Missing] = "refused"

    prior: NormalMeans

    @property
    def parameter_dims(self) -> Dims:
        return {"mean": ("class", "feature")}

    def rows(self, X: Array) -> NumberRows:
        return NumberRows(X, is_matrix=False, is_tied=False)

    def resolve_prior(self, statistics: Moments) -> NormalMeans:
        return self.prior.sized(statistics.mean.shape)

    def mle(self, statistics: Moments) -> Theta:
        return {"mean": statistics.mean}

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return log_normal_density(theta["mean"], np.asarray(self.prior.variance, dtype=np.float64))

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        sd = np.sqrt(np.broadcast_to(self.prior.variance, theta["mean"].shape))
        return rng.normal(theta["mean"][codes], sd[codes])

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        sd = np.sqrt(np.broadcast_to(self.prior.variance, (len(self.classes), len(self.columns))))
        index, at, dims = present_cells(X, codes, prefix)
        pm.Normal(f"{prefix}x", variables["mean"][index], sd[index], observed=X[at], dims=dims)

    def observe_statistics(self, variables: dict[str, Any], statistics: Moments, prefix: str = "") -> None:
        import pymc as pm

        variance, n = self.prior.variance, statistics.count
        squares = statistics.scatter + n * (statistics.mean - variables["mean"]) ** 2
        pm.Potential(f"{prefix}x", (-0.5 * (n * (LOG_2PI + np.log(variance)) + squares / variance)).sum())
