r"""Binomial features: successes in a known number of trials, such as how often a word occurs in m words.

.. math:: x_d \mid y = k \sim \mathrm{Binomial}(m_d, \phi_{kd}), \qquad \phi_{kd} \sim
   \mathrm{Beta}(\alpha, \beta).

The posterior adds successes to α and failures to β (Bernardo & Smith 1994). The predictive is the
beta-binomial,

.. math:: p(x \mid D) = \binom{m}{x} \frac{B(\alpha_n + x, \beta_n + m - x)}{B(\alpha_n, \beta_n)},

which is wider than the binomial at the posterior mean. With one trial this is the Bernoulli family.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from bayesppl.conjugate import Beta
from bayesppl.conjugate.statistics import Successes
from bayesppl.families.cells import CellFamily, Number
from bayesppl.families.support import COUNTS, Support
from bayesppl.kernels.arrays import Array, log_rising


@dataclass(frozen=True, eq=False)
class Binomial(CellFamily):
    """Independent binomial features with known numbers of trials.

    Parameters
    ----------
    trials : int, sequence of int, mapping of column to int, or str
        Number of trials: the same for all cells, one per column, or (a str) the column of the table that holds
        the number of each row, common to all its features; that column is then not a feature itself.
    probability : "overall" or Beta
        Prior of the success probabilities; uniform by default. See :class:`bayesppl.Bernoulli` for ``"overall"``.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GenerativeClassifier(bp.Binomial(10)).fit([[1], [2], [7], [9]], ["a", "a", "b", "b"])
    >>> clf.predict_proba([[3]]).round(3).tolist()
    [[0.956, 0.044]]
    """

    name: ClassVar[str] = "binomial"
    pair: ClassVar = Beta
    support: ClassVar[Support] = COUNTS
    number: ClassVar = Number("trials", COUNTS, by_row=True, is_limit=True)
    allows_sparse: ClassVar[bool] = True
    has_fixed_margins: ClassVar[bool] = True

    trials: int | Sequence[int] | Mapping[Hashable, int] | str
    _: KW_ONLY
    probability: str | Beta | Any = Beta()

    def count(self, x: Array, number: Array) -> Successes:
        few = np.minimum(x, number - x)  # a binomial coefficient is the same for successes and for failures
        return Successes(x, number - x, log_rising(number - few + 1, few) - gammaln(few + 1))

    def draw(self, parameter: Array, number: Array, rng: np.random.Generator) -> Array:
        return rng.binomial(number.astype(np.int64), parameter)

    def observe(self, name: str, parameter: Any, number: Any, **observed: Any) -> None:
        import pymc as pm

        pm.Binomial(name, n=number, p=parameter, **observed)
