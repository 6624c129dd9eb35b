r"""The default prior of independent normal columns: how much the classes have in common is chosen by evidence.

Each column has a variance within the classes, w, made of all their rows and, as one row more, of the variance
that Fraley & Raftery (2007) expect in one dimension. Two numbers of each column are averages of their logarithms
over a grid, with weights proportional to an evidence, so that the prior is a smooth function of the statistics:

1. ν, how many rows w is worth to the variance of a class,
   :math:`\sigma^2 \sim \mathrm{InverseGamma}(\nu/2, \nu w/2)`: at least three, and no more than the rows that w is
   made of. The evidence is that of the sums of squares of the classes, under any w. A variance that all classes
   share has ν = 3.
2. κ, how many rows the common mean is worth to the mean of a class: see :mod:`bayesppl.families.common_mean`.

The numbers of all columns come from one distribution, which the rows choose too: what one column says of how
alike the classes are counts for the others as far as these are alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate import NormalInverseGamma
from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.conjugate.moments import Moments
from bayesppl.families.common_mean import averages, of_one_mean, rows_of_columns
from bayesppl.families.moment_priors import (
    VARIANCE_ROWS,
    column_scales,
    column_variances,
    parts_of_variance,
    scatter_degrees,
)
from bayesppl.kernels.arrays import Array, log_rising
from bayesppl.kernels.ranges import row_blocks

# ν lies on a grid from its least to its greatest number of rows
_STEPS = np.linspace(0, 1, 20)

_NEWTON_STEPS = 4


@dataclass(frozen=True, eq=False)
class ColumnHierarchy:
    """What a prior of independent columns keeps of how it was found.

    Attributes
    ----------
    spread : (n_features,)
        The variance within one class in place of all, over that within the classes.
    """

    is_lent: ClassVar[bool] = False

    spread: Array

    def apart(self, prior: Any) -> Any:
        """Return the prior of a column whose classes differ: their common mean is worth one row at most.

        The more columns do not depend on the class, the larger κ is, and the less "it depends" differs from "it
        does not". One row is the unit information of Kass & Wasserman (1995).
        """
        return replace_unchecked(prior, kappa=np.minimum(prior.kappa, 1.0))

    def common(self, prior: Any) -> Any:
        """Return the prior of one class in place of all, whose variance is that of all rows about one mean."""
        found = of_one_mean(self.apart(prior))
        return replace_unchecked(found, b=found.b * self.spread)


def columnwise_prior(
    statistics: Moments, columns: Sequence[Hashable], shared: tuple[int, ...]
) -> NormalInverseGamma:
    """Return the prior of each column by itself: ν = 3 and κ = 0.01.

    Parameters
    ----------
    statistics : Moments
    columns : sequence of n_features names
    shared : tuple of int
        See :class:`~bayesppl.NormalInverseGamma`.
    """
    half, total = VARIANCE_ROWS / 2, statistics.pooled()
    within = _within(statistics, _expected(statistics, column_variances(total) > 0, column_scales(total, columns)))
    prior = NormalInverseGamma(total.mean, 0.01, half, half * within)
    return prior.sized(statistics.mean.shape, shared)


def hierarchical_columns(
    statistics: Moments, columns: Sequence[Hashable], shared: tuple[int, ...]
) -> NormalInverseGamma:
    """Return the prior of all columns, with ν and κ by evidence; see :func:`columnwise_prior`."""
    total, degrees = statistics.pooled(), scatter_degrees(statistics)
    varies, scales = column_variances(total) > 0, column_scales(total, columns)
    expected = _expected(statistics, varies, scales)
    within = _within(statistics, expected)
    kappa, nu = np.ones(len(within)), np.full(len(within), VARIANCE_ROWS)
    at = np.flatnonzero(varies)
    kappa[at] = rows_of_columns(
        VARIANCE_ROWS * within[at] + statistics.within[at],
        (statistics.mean - total.mean)[:, at],
        statistics.count[:, at],
        VARIANCE_ROWS,
    )
    if not shared:
        nu[at] = _rows_of_within(expected[at], within[at], statistics.scatter[:, at], degrees[:, at])
    prior = NormalInverseGamma(total.mean, kappa, nu / 2, nu / 2 * within).sized(statistics.mean.shape, shared)
    return replace_unchecked(prior, hierarchy=ColumnHierarchy(_within(total, scales**2) / within))


def _expected(statistics: Moments, varies: Array, scales: Array) -> Array:
    """Return the variance of each column that is expected of a class, which is positive: (n_features,)."""
    return scales**2 / parts_of_variance(varies, len(statistics.mean), 1)


def _within(statistics: Moments, expected: Array) -> Array:
    """Return the variance of each column within the classes, with one row of what is expected: (n_features,)."""
    return np.asarray((statistics.within + expected) / (scatter_degrees(statistics).sum(0) + 1))


def _rows_of_within(expected: Array, within: Array, scatter: Array, degrees: Array) -> Array:
    """Find ν of each column from how alike the variances of the classes are: (n_features,).

    The variance w that they have in common is integrated out by Laplace's method, in log w.
    """
    most = max(VARIANCE_ROWS, degrees.sum(0).max(initial=0.0) + 1)
    grid = VARIANCE_ROWS * (most / VARIANCE_ROWS) ** _STEPS
    log_evidence = np.empty((len(grid), len(within)))
    for some in row_blocks(len(within), len(grid) * len(degrees)):
        nu, df, squares = grid[:, None, None], degrees[:, some], scatter[:, some]
        w = np.tile(within[some], (len(grid), 1))
        for _ in range(_NEWTON_STEPS):
            share = 1 / (1 + squares / (nu * w[:, None]))
            slope = (nu - (nu + df) * share).sum(1) + expected[some] / w - 1
            curvature = ((nu + df) * share * (1 - share)).sum(1) + expected[some] / w
            w *= np.exp(np.clip(slope / curvature, -1, 1))
        ratio = squares / w[:, None]
        terms = (
            log_rising(nu / 2, df / 2) - nu / 2 * np.log1p(ratio / nu) - df / 2 * np.log(w[:, None] * (nu + ratio))
        )
        log_evidence[:, some] = terms.sum(1) - 0.5 * (np.log(w) + expected[some] / w + np.log(curvature))
    return averages(grid, log_evidence)
