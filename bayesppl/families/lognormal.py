r"""Log-normal features: positive numbers whose logarithms are Gaussian.

.. math:: p(x \mid \theta) = \frac{1}{\prod_d x_d}\, N(\log x \mid \mu_k, \Sigma_k).

Every density is that of a Gaussian family at the logarithms times the Jacobian :math:`\prod_d 1/x_d` (Johnson,
Kotz & Balakrishnan 1994, chapter 14). The Jacobian is the same for all classes, so it changes no class
probability; with it, the evidence is a density of x itself and compares with that of any other family of the same
columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesppl.conjugate import NormalInverseGamma, NormalInverseWishart
from bayesppl.conjugate.membership import Membership
from bayesppl.data.table import Table
from bayesppl.families.bound import NumberColumns
from bayesppl.families.family import Family, Missing
from bayesppl.families.gaussian import Covariance, Gaussian, MomentFamily
from bayesppl.families.support import POSITIVE_NUMBERS, Support
from bayesppl.families.transformed import Transformed
from bayesppl.kernels.arrays import Array


def LogNormal(
    covariance: Covariance = "diag",
    prior: str | NormalInverseGamma | NormalInverseWishart | None = None,
    *,
    mean: Any = None,
    sd: Any = None,
    cholesky: Any = None,
) -> Family:
    """Declare a log-normal class-conditional density.

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


# Tails end at the largest number
_LOG_OF_LARGEST = np.log(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class LogGaussian(Transformed):
    """Gaussian logarithms. Made by :func:`bayesppl.LogNormal`.

    Parameters
    ----------
    inner : MomentFamily
        Density of the logarithms, made by :func:`bayesppl.Gaussian`.
    """

    name: ClassVar[str] = "lognormal"
    support: ClassVar[Support] = POSITIVE_NUMBERS

    inner: MomentFamily

    @property
    def missing(self) -> Missing:  # type: ignore[override]
        return self.inner.missing

    @cached_property
    def bound(self) -> NumberColumns:
        of_logs = self.inner.bound
        return NumberColumns(self, of_logs.dims, of_logs.is_separate)

    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        return replace(self, inner=self.inner.bind(table, classes))

    def transform(self, X: Array) -> Array:
        # of small types numpy's logarithm would be as short as they are: of bytes, three digits
        return np.log(X, dtype=np.float64)

    def restore(self, rows: Array, rng: np.random.Generator) -> Array:
        return np.exp(np.minimum(rows, _LOG_OF_LARGEST))

    def log_base(self, X: Array, rows: Array) -> Array:
        return -np.nan_to_num(rows)
