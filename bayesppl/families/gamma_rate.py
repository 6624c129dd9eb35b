r"""Gamma features of known shape and unknown rate: waiting times and other positive numbers.

.. math:: x_d \mid y = k \sim \mathrm{Gamma}(s_d, \lambda_{kd}), \qquad \lambda_{kd} \sim \mathrm{Gamma}(a, b),

both in shape–rate form, so that a feature has mean :math:`s_d / \lambda_{kd}`. A cell counts as s events, seen
over an exposure of x. The posterior is :math:`\mathrm{Gamma}(a + ns, b + \sum x)` (Bernardo & Smith 1994)
and the predictive is the compound gamma (Dubey 1970, "Compound gamma, beta and F distributions"; the gamma-gamma
of Bernardo & Smith),

.. math:: p(x \mid D) = \frac{\Gamma(a_n + s)}{\Gamma(a_n)\,\Gamma(s)}\,
   \frac{b_n^{a_n} x^{s-1}}{(b_n + x)^{a_n + s}}.

With s = 1 the features are exponential, and the predictive is that of Lomax (1954).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlogy

from bayesppl.conjugate import Gamma
from bayesppl.conjugate.statistics import Events
from bayesppl.families.cells import CellFamily, Number
from bayesppl.families.support import POSITIVE_NUMBERS, Support
from bayesppl.kernels.arrays import Array


def Exponential(rate: str | Gamma = "overall") -> GammaRate:
    """Declare independent exponential features: gamma features of shape one.

    Parameters
    ----------
    rate : "overall" or Gamma
        Prior of the rates; see :class:`bayesppl.families.GammaRate`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.families.Exponential(bp.Gamma(2, 3))
    GammaRate(shape=1.0, rate=Gamma(shape=2, rate=3))
    """
    return GammaRate(1.0, rate=rate)


@dataclass(frozen=True, eq=False)
class GammaRate(CellFamily):
    """Independent gamma features of known shape and unknown rate.

    Parameters
    ----------
    shape : float, sequence of float or mapping of column to float
        Known shape of the features: 1 is exponential, n the sum of n exponential waiting times (Erlang).
    rate : "overall" or Gamma
        Prior of the rates. ``"overall"`` is worth one event, at the rate of the column over all rows: a gamma of
        shape 1 whose mean is that rate, so that the units of the column do not matter.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GenerativeClassifier(bp.families.GammaRate(2.0, rate=bp.Gamma(1, 1)))
    >>> clf.fit([[0.5], [1.0], [4.0], [7.0]], ["a", "a", "b", "b"]).predict_proba([[1.0]]).round(3).tolist()
    [[0.793, 0.207]]
    """

    name: ClassVar[str] = "gamma"
    pair: ClassVar = Gamma
    support: ClassVar[Support] = POSITIVE_NUMBERS
    number: ClassVar = Number("shape")

    shape: float | Sequence[float] | Mapping[Hashable, float]
    _: KW_ONLY
    rate: str | Gamma | Any = "overall"

    def count(self, x: Array, number: Array) -> Events:
        return Events(np.array(number), x, xlogy(number - 1, x) - gammaln(number))

    def draw(self, parameter: Array, number: Array, rng: np.random.Generator) -> Array:
        return rng.gamma(number, 1 / parameter)

    def observe(self, name: str, parameter: Any, number: Any, **observed: Any) -> None:
        import pymc as pm

        pm.Gamma(name, alpha=number, beta=parameter, **observed)
