r"""Correlated Student-t features: like those of ``Gaussian("full")``, but outliers move no estimate far.

.. math:: x \mid y = k \sim t_\nu(\mu_k, \Sigma_k),

of ν > 2 degrees of freedom, mean μ and covariance Σ. A row is normal with the covariance Σ/w once its weight w is
known (:mod:`bayesppl.conjugate.heavy_tails`); nobody knows it, so that rows are completed by it
(:mod:`bayesppl.inference.augmentation`). By EM this is the algorithm of Liu & Rubin (1995, "ML estimation of the t
distribution using EM and its extensions, ECM and ECME", Statistica Sinica 5, 19-39).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self, final

import numpy as np

from bayesppl.conjugate import NormalInverseWishart
from bayesppl.conjugate.heavy_tails import TailedRows, expected_weights, log_density
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.row_statistics import refuse_closed_form
from bayesppl.data.arguments import real
from bayesppl.data.table import Table
from bayesppl.families.bound import NumberColumns
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import Missing
from bayesppl.families.gaussian_full import FullGaussian
from bayesppl.families.transformed import Wrapping
from bayesppl.kernels.arrays import Array, Theta


@final
@dataclass(frozen=True, eq=False)
class MultivariateT(Wrapping):
    """Correlated Student-t features, robust against outliers.

    Nobody knows the weights of the rows, so that there is no posterior in closed form: fit it with
    ``inference="em"``, which finds a mode, or ``"gibbs"``, which draws.

    Parameters
    ----------
    dof : float
        Degrees of freedom ν above 2, so that there is a covariance. 4 is robust; as it grows the density becomes
        that of ``Gaussian("full")``.
    prior : str or NormalInverseWishart
        As of ``Gaussian("full")``; of weighted rows, where it depends on the data.
    tied : bool
        Whether all classes share one covariance matrix.

    Examples
    --------
    An outlier beside class "a":

    >>> import bayesppl as bp
    >>> X = [[0.0, 0.3], [1.0, 0.9], [0.5, 0.4], [0.7, 0.9], [40.0, -60.0], [4.0, 4.2], [5.0, 4.6], [4.5, 4.7]]
    >>> clf = bp.GenerativeClassifier(bp.families.MultivariateT(), inference="em").fit(X, list("aaaaabbb"))
    >>> clf.predict([[0.7, 0.5], [4.2, 4.4]]).tolist()
    ['a', 'b']
    """

    name: ClassVar[str] = "multivariate t"
    missing: ClassVar[Missing] = "predicted"
    has_pymc_model: ClassVar[bool] = False

    dof: float = 4.0
    prior: str | NormalInverseWishart = "hierarchical"
    tied: bool = False

    @property
    def bound(self) -> NumberColumns:
        return self.inner.bound

    @property
    def classes(self) -> tuple[Hashable, ...]:  # type: ignore[override]
        return self.inner.classes

    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        words = "be finite and above 2, for there to be a covariance"
        dof = real("MultivariateT: dof", self.dof, words, lambda dof: 2 < dof < np.inf)
        return replace(self, dof=dof, inner=FullGaussian(self.prior, self.tied).bind(table, classes, members))

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return log_density(theta["mean"], theta["covariance"], self.tied, self.dof)

    def weights(self, theta: Theta | None, X: Array, rng: np.random.Generator | None = None) -> Array:
        """Return the weights of rows in every class, expected or drawn: (n_rows, n_classes)."""
        if theta is None:
            return np.ones((len(X), len(self.classes)))
        shape, expected = expected_weights(theta["mean"], theta["covariance"], self.tied, self.dof, X)
        return expected if rng is None else rng.standard_gamma(shape) * expected / shape

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        normal = self.inner.simulate(theta, codes, rng, covariates)
        weights = rng.gamma(self.dof / 2, 2 / (self.dof - 2), len(codes))
        mean = theta["mean"][codes]
        return mean + (normal - mean) / np.sqrt(weights)[:, None]

    def rows(self, X: Array) -> TailedRows:
        """Return encoded rows as statistics not summed yet; completed rows have their weight as a last column."""
        n_features = len(self.inner.columns)
        weights = X[:, n_features] if X.shape[1] > n_features else None
        return TailedRows(X[:, :n_features], weights, self.dof, self.tied)

    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> NoReturn:
        refuse_closed_form("weight")

    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> NoReturn:
        refuse_closed_form("weight")
