r"""Bernoulli features: yes or no, word present or absent.

.. math:: x_d \mid y = k \sim \mathrm{Bernoulli}(\phi_{kd}), \qquad \phi_{kd} \sim \mathrm{Beta}(\alpha, \beta).

The posterior is :math:`\mathrm{Beta}(\alpha + s, \beta + n - s)` after s successes in n rows (Bernardo & Smith
1994). The predictive probability of a success is the posterior mean, so for one row the rules ``mean`` and
``predictive`` agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate import Beta
from bayesppl.conjugate.statistics import Successes
from bayesppl.families.cells import CellFamily
from bayesppl.families.support import BITS, Support
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class Bernoulli(CellFamily):
    """Independent Bernoulli features; absent words count as evidence too.

    Parameters
    ----------
    probability : "overall" or Beta
        Prior of the success probabilities; uniform by default. ``"overall"`` is worth one success or one failure,
        whichever is rarer, at the odds of the column over all rows. Of marks that are rare in every class (a few
        in a hundred rows) it predicts better than the uniform one, which expects as many as not.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> clf = bp.GenerativeClassifier(bp.Bernoulli(bp.Beta(1, 1))).fit(X, ["a", "a", "b", "b"])
    >>> clf.predict_proba([[1, 0]]).round(3).tolist()
    [[0.75, 0.25]]
    """

    name: ClassVar[str] = "bernoulli"
    pair: ClassVar = Beta
    support: ClassVar[Support] = BITS
    allows_sparse: ClassVar[bool] = True
    has_fixed_margins: ClassVar[bool] = True

    probability: str | Beta | Any = Beta()

    def count(self, x: Array, number: Array) -> Successes:
        return Successes(x, 1 - x, np.zeros(x.shape))

    def draw(self, parameter: Array, number: Array, rng: np.random.Generator) -> Array:
        return rng.binomial(1, parameter)

    def observe(self, name: str, parameter: Any, number: Any, **observed: Any) -> None:
        import pymc as pm

        pm.Bernoulli(name, parameter, **observed)
