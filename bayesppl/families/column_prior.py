r"""The default prior of independent normal columns: how much the classes have in common is chosen by evidence.

Each column has a variance within the classes, w, made of all their rows and, as one row more, of a K-th of the
variance of all rows, but of no more than thirty times that of their rows. Of K classes each counts for ν rows in
it at most, however large it is. A column that never varies is as constant in every class.
Two numbers of each column are averages of their logarithms over a grid, with weights proportional to an evidence,
so that the prior is a smooth function of the statistics:

1. ν, how many rows w is worth to the variance of a class,
   :math:`\sigma^2 \sim \mathrm{InverseGamma}(\nu/2, \nu w/2)`: at least three, and no more than the rows that w is
   made of. The evidence is that of the sum of squares of each class, given w of the other classes. A variance that
   all classes share has ν = 3.
2. κ, how many rows the common mean is worth to the mean of a class: see :mod:`bayesppl.families.common_mean`.

The numbers of all columns come from one distribution, which the rows choose too: what one column says of how
alike the classes are counts for the others as far as these are alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate import NormalInverseGamma
from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.conjugate.learned_columns import bounded_by_within, share_of_rows, sums_within
from bayesppl.conjugate.moments import Moments
from bayesppl.families.common_mean import averages, of_one_mean, rows_of_columns
from bayesppl.families.moment_priors import (
    VARIANCE_ROWS,
    column_scales,
    column_variances,
    of_others,
    scatter_degrees,
)
from bayesppl.kernels.arrays import Array, log_rising
from bayesppl.kernels.ranges import row_blocks

# κ and ν of a column that never varies, in multiples of the rows there are
_ALIKE = 1e9
# ν lies on a grid from its least to its greatest number of rows
_STEPS = np.linspace(0, 1, 20)


@dataclass(frozen=True, eq=False)
class ColumnHierarchy:
    """What a prior of independent columns keeps of how it was found.

    Attributes
    ----------
    nu : (n_features,)
        The rows that the variance within the classes is worth to that of a class; infinite where these are one.
    expected, within : (n_features,)
        The variance that is expected of a class, and that within the classes, of which it is one row.
    overall : (n_features,)
        The variance within one class in place of all.
    varies : (n_features,) bool
        Whether the numbers of the column differ.
    """

    is_lent: ClassVar[bool] = False

    nu: Array
    expected: Array
    within: Array
    overall: Array
    varies: Array

    def rebuilt(self, prior: Any, statistics: Moments) -> Any:
        """Return the prior with the location and the variance within the classes of these statistics."""
        total = statistics.pooled()
        varies = column_variances(total) > 0
        expected = _expected(statistics, varies, column_scales(total, range(len(self.nu))))
        within = _within(statistics, expected, np.where(varies, self.nu, np.inf))
        a = _unless_constant(2 * prior.a, varies, statistics) / 2
        return replace_unchecked(
            prior,
            location=np.broadcast_to(total.mean, prior.location.shape),
            kappa=_unless_constant(prior.kappa, varies, statistics),
            a=a,
            b=prior.b * (a / prior.a * within / self.within),
            hierarchy=replace(self, expected=expected, within=within, varies=varies),
        )

    def apart(self, prior: Any) -> Any:
        """Return the prior of a column whose classes differ: their common mean is worth one row at most.

        The more columns do not depend on the class, the larger κ is, and the less "it depends" differs from "it
        does not". One row is the unit information of Kass & Wasserman (1995).
        """
        return replace_unchecked(prior, kappa=np.where(self.varies, np.minimum(prior.kappa, 1.0), prior.kappa))

    def common(self, prior: Any, statistics: Moments) -> Any:
        """Return the prior of one class in place of all, whose variance is that of all rows about one mean."""
        found = of_one_mean(self.apart(prior), statistics.n_seen)
        return replace_unchecked(found, b=found.b * (self.overall / self.within))


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
    expected = _expected(statistics, column_variances(total) > 0, column_scales(total, columns))
    within = _within(statistics, expected, np.inf if shared else VARIANCE_ROWS)
    prior = NormalInverseGamma(total.mean, 0.01, half, half * within)
    return prior.sized(statistics.mean.shape, shared)


def hierarchical_columns(
    statistics: Moments, columns: Sequence[Hashable], shared: tuple[int, ...]
) -> NormalInverseGamma:
    """Return the prior of all columns, with ν and κ by evidence; see :func:`columnwise_prior`."""
    total, degrees = statistics.pooled(), scatter_degrees(statistics)
    varies, scales = column_variances(total) > 0, column_scales(total, columns)
    expected = _expected(statistics, varies, scales)
    within = _within(statistics, expected, np.inf)
    kappa, nu = (_unless_constant(rows, varies, statistics) for rows in (1.0, VARIANCE_ROWS))
    # variances that are one do not differ from w
    nu_of_classes = np.full(len(within), np.inf)
    at = np.flatnonzero(varies)
    kappa[at] = rows_of_columns(
        VARIANCE_ROWS * within[at] + statistics.within[at],
        (statistics.mean - total.mean)[:, at],
        statistics.count[:, at],
        VARIANCE_ROWS,
    )
    if not shared:
        found = _rows_of_within(expected[at], statistics.scatter[:, at], degrees[:, at])
        # a column of few numbers learns ν from the others, but its w is known no better
        nu[at] = np.minimum(found, np.maximum(degrees[:, at].sum(0) + 1, VARIANCE_ROWS))
        nu_of_classes, within = nu, _within(statistics, expected, nu)
    prior = NormalInverseGamma(total.mean, kappa, nu / 2, nu / 2 * within).sized(statistics.mean.shape, shared)
    overall = np.where(varies, _within(total, scales**2, np.inf), within)
    hierarchy = ColumnHierarchy(nu_of_classes, expected, within, overall, varies)
    return replace_unchecked(prior, hierarchy=hierarchy)


def _unless_constant(rows: Any, varies: Array, statistics: Moments) -> Array:
    """Return κ or ν of each column that varies; one that never does is alike in all classes: (..., n_features).

    Were its variance learned for each class, it would speak for the class of most rows.
    """
    return np.where(varies, rows, _ALIKE * (1 + scatter_degrees(statistics).sum(0)))


def _expected(statistics: Moments, varies: Array, scales: Array) -> Array:
    """Return the variance of each column that is expected of a class, which is positive: (n_features,).

    It is a K-th of that of all rows, of K classes with numbers, bounded by :func:`bounded_by_within`. A constant
    column is as constant in every class.
    """
    of_all = scales**2 / np.where(varies, statistics.n_seen, 1)
    return bounded_by_within(of_all, statistics.scatter.sum(0), scatter_degrees(statistics).sum(0))


def _within(statistics: Moments, expected: Array, nu: Any) -> Array:
    """Return the variance of each column within the classes, with one row of what is expected: (n_features,)."""
    squares, rows = sums_within(statistics.scatter, scatter_degrees(statistics), nu)
    return np.asarray((squares + expected) / (rows + 1))


def _rows_of_within(expected: Array, scatter: Array, degrees: Array) -> Array:
    """Find ν of each column by how well the variances of the other classes predict that of each: (n_features,)."""
    most = max(VARIANCE_ROWS, degrees.sum(0).max(initial=0.0) + 1)
    grid = VARIANCE_ROWS * (most / VARIANCE_ROWS) ** _STEPS
    log_evidence = np.empty((len(grid), len(expected)))
    for some in row_blocks(len(expected), len(grid) * len(degrees)):
        nu, df, squares = grid[:, None], degrees[:, None, some], scatter[:, None, some]
        share = share_of_rows(df, nu)
        rows = of_others(share * df) + 1
        within = (of_others(share * squares) + expected[some]) / rows
        # as far as the others know it themselves
        nu, ratio = 1 / (1 / nu + 1 / rows), squares / within
        terms = log_rising(nu / 2, df / 2) - nu / 2 * np.log1p(ratio / nu) - df / 2 * np.log(within * (nu + ratio))
        log_evidence[:, some] = terms.sum(0)
    return averages(grid, log_evidence)
