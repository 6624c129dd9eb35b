r"""Poisson features: how many events happened, over one unit of exposure or over the exposure of the row.

.. math:: x_d \mid y = k \sim \mathrm{Poisson}(t\,\lambda_{kd}), \qquad \lambda_{kd} \sim \mathrm{Gamma}(a, b).

The posterior is :math:`\mathrm{Gamma}(a + \sum x, b + \sum t)` (Bernardo & Smith 1994). The predictive is
the negative binomial with :math:`a_n` successes of probability :math:`b_n / (b_n + t)`, wider than the Poisson at
the posterior mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlogy

from bayesppl.conjugate import Gamma
from bayesppl.conjugate.statistics import Events
from bayesppl.data.table import Table
from bayesppl.families._bases.covariates import NO_COVARIATES, Covariates
from bayesppl.families._bases.factorised import COUNTS, CellFamily
from bayesppl.families._bases.family import Takes
from bayesppl.families._bases.missing import present_cells
from bayesppl.families._bases.one_parameter import RateFamily
from bayesppl.families._bases.support import Support
from bayesppl.kernels.arrays import Array, Theta


@dataclass(frozen=True, eq=False)
class Poisson(RateFamily, CellFamily):
    """Independent Poisson features.

    Parameters
    ----------
    rate : "overall" or Gamma
        Prior of the rates. ``"overall"`` is worth one event, at the rate of the column over all rows: a gamma of
        shape 1 whose mean is that rate, so that the units of the exposure do not matter.
    exposure : str, optional
        Column that holds the exposure of each row (time, area, population, number of words), a positive number
        common to all its features; that column is then not a feature itself. One for every row by default.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GenerativeClassifier(bp.Poisson(bp.Gamma(1, 1))).fit([[0], [1], [4], [7]], ["a", "a", "b", "b"])
    >>> clf.predict_proba([[1]]).round(3).tolist()
    [[0.747, 0.253]]
    """

    name: ClassVar[str] = "poisson"
    takes: ClassVar[Takes] = "whole numbers"
    support: ClassVar[Support] = COUNTS
    measure: ClassVar = "mass"
    allows_sparse: ClassVar[bool] = True
    per_row: ClassVar[str | None] = "exposure"

    rate: str | Gamma | Any = "overall"
    exposure: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.exposure, str | None):
            raise TypeError(
                f"exposure must name the column that holds the exposure of each row, found {self.exposure!r}; one exposure for "
                "every row needs no column"
            )

    def encode(self, table: Table) -> Array:
        return self.read(table)

    @property
    def numbers(self) -> Array:
        return np.ones(1)

    def count(self, events: Array, exposure: Array) -> Events:
        present = ~np.isnan(events)
        x, t = np.where(present, events, 0.0), np.where(present, exposure, 0.0)
        return Events(x, t, xlogy(x, t) - gammaln(x + 1))

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        exposure = self.per_row_of(covariates)
        return self.join(rng.poisson(exposure * theta["rate"][codes]), covariates)

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        events, exposure = self.split(X)
        index, at, dims = present_cells(events, codes, prefix)
        mu = self.declare_per_row(exposure, at, prefix) * variables["rate"][index]
        pm.Poisson(f"{prefix}x", mu=mu, observed=events[at], dims=dims)
