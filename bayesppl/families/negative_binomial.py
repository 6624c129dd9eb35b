r"""Negative binomial features of known size: counts that vary more than Poisson counts do.

.. math:: p(x \mid p) = \frac{\Gamma(x + r)}{\Gamma(r)\,x!}\, p^r (1 - p)^x, \qquad p_{kd} \sim \mathrm{Beta}(\alpha, \beta):

the number of failures before the r-th success of probability p, as ``scipy.stats.nbinom(n=r, p=p)`` has it; r need
not be whole. The mean is :math:`r(1-p)/p` and the variance :math:`r(1-p)/p^2`; as r grows with the mean held, the
Poisson appears. The posterior is :math:`\mathrm{Beta}(\alpha + nr, \beta + \sum x)` (Bernardo & Smith 1994)
and the predictive the beta-negative-binomial (Johnson, Kemp & Kotz 2005, chapter 6),

.. math:: p(x \mid D) = \frac{\Gamma(x + r)}{\Gamma(r)\,x!}\,
   \frac{B(\alpha_n + r, \beta_n + x)}{B(\alpha_n, \beta_n)}.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate import Beta
from bayesppl.conjugate.statistics import Successes
from bayesppl.data.table import Table
from bayesppl.families._bases.covariates import NO_COVARIATES, Covariates
from bayesppl.families._bases.factorised import COUNTS, CellFamily, positive_per_column
from bayesppl.families._bases.family import Takes
from bayesppl.families._bases.missing import present_cells
from bayesppl.families._bases.one_parameter import ProbabilityFamily
from bayesppl.families._bases.support import Support
from bayesppl.kernels.arrays import Array, Theta, log_beta


@dataclass(frozen=True, eq=False)
class NegativeBinomial(ProbabilityFamily, CellFamily):
    """Independent negative binomial features of known size.

    Parameters
    ----------
    size : float, sequence of float or mapping of column to float
        r, the number of successes that ends the count; a small one makes the counts vary much.
    probability : Beta
        Prior of the success probabilities p; uniform by default. A feature counts failures, so its mean is
        r (1 − p) / p.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GenerativeClassifier(bp.NegativeBinomial(1.5)).fit([[0], [1], [4], [7]], ["a", "a", "b", "b"])
    >>> clf.predict_proba([[1]]).round(3).tolist()
    [[0.62, 0.38]]
    """

    name: ClassVar[str] = "negative binomial"
    takes: ClassVar[Takes] = "whole numbers"
    support: ClassVar[Support] = COUNTS
    measure: ClassVar = "mass"
    allows_sparse: ClassVar[bool] = True

    size: float | Sequence[float] | Mapping[Hashable, float]
    _: KW_ONLY
    probability: Beta | Any = Beta()

    def encode(self, table: Table) -> Array:
        return self.read(table)

    @property
    def numbers(self) -> Array:
        return positive_per_column("size", self.size, self.columns)

    def count(self, failures: Array, size: Array) -> Successes:
        present = ~np.isnan(failures)
        x, r = np.where(present, failures, 0.0), np.where(present, size, 0.0)
        # Γ(x + r) / (Γ(r) x!) is 1 / (x B(x, r)), and one where x is zero
        positive = np.where(x > 0, x, 1.0)
        return Successes(r, x, np.where(x > 0, -np.log(positive) - log_beta(positive, size), 0.0))

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        return rng.negative_binomial(self.numbers, theta["probability"][codes])

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        failures, size = self.split(X)
        index, at, dims = present_cells(failures, codes, prefix)
        p = variables["probability"][index]
        pm.NegativeBinomial(f"{prefix}x", n=size[at], p=p, observed=failures[at], dims=dims)
