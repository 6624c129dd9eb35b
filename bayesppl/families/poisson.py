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
from bayesppl.data.names import spelled
from bayesppl.families.cells import CellFamily, Number
from bayesppl.families.support import COUNTS, Support
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class Poisson(CellFamily):
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
    pair: ClassVar = Gamma
    support: ClassVar[Support] = COUNTS
    number: ClassVar = Number("exposure", by_row=True)
    allows_sparse: ClassVar[bool] = True

    rate: str | Gamma | Any = "overall"
    exposure: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.exposure, str | None):
            raise TypeError(
                "exposure must name the column that holds the exposure of each row, found "
                f"{spelled(self.exposure)}; one exposure for every row needs no column"
            )

    def count(self, x: Array, number: Array) -> Events:
        return Events(x, np.array(number), xlogy(x, number) - gammaln(x + 1))

    def draw(self, parameter: Array, number: Array, rng: np.random.Generator) -> Array:
        return rng.poisson(number * parameter)

    def observe(self, name: str, parameter: Any, number: Any, **observed: Any) -> None:
        import pymc as pm

        pm.Poisson(name, mu=number * parameter, **observed)
