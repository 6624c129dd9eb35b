r"""Negative binomial features of known size: counts that vary more than Poisson counts do.

.. math:: p(x \mid p) = \frac{\Gamma(x + r)}{\Gamma(r)\,x!}\, p^r (1 - p)^x, \qquad p_{kd} \sim
   \mathrm{Beta}(\alpha, \beta):

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
from bayesppl.families.cells import CellFamily, Number
from bayesppl.families.support import COUNTS, COUNTS_FROM_ONE, Support
from bayesppl.kernels.arrays import Array, log_beta


@dataclass(frozen=True, eq=False)
class NegativeBinomial(CellFamily):
    """Independent negative binomial features of known size.

    Parameters
    ----------
    size : float, sequence of float or mapping of column to float
        r, the number of successes that ends the count; a small one makes the counts vary much.
    probability : "overall" or Beta
        Prior of the success probabilities p; a feature counts failures, so that its mean is r (1 − p) / p.
        ``"overall"`` is worth one success or one failure, whichever is rarer, at the odds of the column over all
        rows. A uniform prior would expect as many failures as successes, whatever the counts.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GenerativeClassifier(bp.NegativeBinomial(1.5)).fit([[0], [1], [4], [7]], ["a", "a", "b", "b"])
    >>> clf.predict_proba([[1]]).round(3).tolist()
    [[0.649, 0.351]]
    """

    name: ClassVar[str] = "negative binomial"
    pair: ClassVar = Beta
    support: ClassVar[Support] = COUNTS
    number: ClassVar = Number("size")
    allows_sparse: ClassVar[bool] = True

    size: float | Sequence[float] | Mapping[Hashable, float]
    _: KW_ONLY
    probability: str | Beta | Any = "overall"

    def count(self, x: Array, number: Array) -> Successes:
        # Γ(x + r) / (Γ(r) x!) is 1 / (x B(x, r)), and one where x is zero
        positive = np.where(x > 0, x, 1.0)
        log_base = np.where(x > 0, -np.log(positive) - log_beta(positive, number), 0.0)
        return Successes(np.array(number), x, log_base)

    def draw(self, parameter: Array, number: Array, rng: np.random.Generator) -> Array:
        return rng.negative_binomial(number, parameter)

    def observe(self, name: str, parameter: Any, number: Any, **observed: Any) -> None:
        import pymc as pm

        pm.NegativeBinomial(name, n=number, p=parameter, **observed)


@dataclass(frozen=True, eq=False)
class Geometric(CellFamily, listed=False):
    """Independent numbers of trials up to the first success, found in models written in PyMC.

    One less, the number of failures, is negative binomial of size one.

    Parameters
    ----------
    probability : Beta
        Prior of the success probabilities; uniform by default.
    """

    name: ClassVar[str] = "geometric"
    pair: ClassVar = Beta
    support: ClassVar[Support] = COUNTS_FROM_ONE

    probability: Beta | Any = Beta()

    def count(self, x: Array, number: Array) -> Successes:
        return Successes(np.ones(x.shape), x - 1, np.zeros(x.shape))

    def draw(self, parameter: Array, number: Array, rng: np.random.Generator) -> Array:
        return rng.geometric(parameter)

    def observe(self, name: str, parameter: Any, number: Any, **observed: Any) -> None:
        import pymc as pm

        pm.Geometric(name, parameter, **observed)
