"""Priors by name of families whose statistics are moments, and checks of them.

The prior of Fraley & Raftery (2007, "Bayesian regularization for normal mixture estimation and model-based
clustering") has the location at the mean of all rows, κ = 0.01, ν = D + 2, and for a scale the covariance of all
rows divided by K^(2/D) for K classes (but for columns that never vary); where columns are independent, the mean
of their variances for that covariance.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from bayesppl.conjugate import NormalInverseWishart
from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.conjugate.learned_columns import bounded_by_within
from bayesppl.conjugate.moments import Moments, degrees, degrees_within
from bayesppl.conjugate.statistics import LAST_BITS
from bayesppl.data.names import listed
from bayesppl.errors import ImproperError
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.definite import LOST, is_positive_definite, weakest_direction

#: Rows that the variance of a column over all rows counts for beside its variance within the classes: the degrees
#: of freedom of Fraley & Raftery (2007) in one dimension
VARIANCE_ROWS = 3.0


def require_proper(
    prior: Any,
    statistics: Moments,
    classes: Sequence[Hashable],
    columns: Sequence[Hashable],
    rows_needed: float,
    tied: bool,
) -> Any:
    """Return an improper prior if these rows make its posterior proper; refuse it otherwise."""
    proper = prior.update(statistics).is_proper()
    if not proper.all():
        k = None if tied else int(np.argwhere(~proper)[0, 0])
        raise ImproperError(
            f"the posterior is improper: this prior needs at least {rows_needed:g} rows in "
            f"{'all, one of each class,' if tied else 'each class,'} whose columns vary and do not copy each "
            f"other ({_found(statistics, classes, columns, rows_needed, k)}). Add rows, or use a proper prior, "
            "such as the default."
        )
    return prior


def _found(
    statistics: Moments, classes: Sequence[Hashable], columns: Sequence[Hashable], needed: float, k: int | None
) -> str:
    """Say how many rows the classes have; and where those are enough, which columns of class ``k`` do not vary."""
    counts = statistics.count.reshape(len(classes), -1)
    least = int(counts.min(0).argmin())
    count, of = counts[:, least], "rows"
    if (count != counts.T).any():  # of gaps
        of = f"numbers of column {columns[least]!r}"
    found = f"{of} found: " + ", ".join(f"{label!r}: {n:g}" for label, n in zip(classes, count, strict=True))
    if count.all() and (count.sum() if k is None else counts[k].min()) >= needed:
        scatter = statistics.within if k is None else statistics.scatter[k]
        places = weakest_direction(scatter) if statistics.is_matrix else np.flatnonzero(scatter <= 0).tolist()
        names = listed([columns[d] for d in places])
        what = "is constant" if len(places) == 1 else "are constant, or copies or sums of each other"
        found += f"; within {'every class' if k is None else f'class {classes[k]!r}'} {names} {what}"
    return found


def column_variances(total: Moments) -> Array:
    """Return the variance of every column over all rows, zero where its numbers are equal: (n_features,).

    Computed numbers that differ in their last bits alone, as a/b and 3a/(3b) do, are equal.
    """
    sums = np.diagonal(total.within) if total.is_matrix else total.within
    return beyond_last_bits(sums / degrees(total.count[0]), total)


def beyond_last_bits(variances: Array, total: Moments) -> Array:
    """Return variances of columns, zero where numbers of their size differ in their last bits alone."""
    return np.where(np.sqrt(variances) > LAST_BITS * np.abs(total.mean[0]), variances, 0.0)


def column_scales(total: Moments, columns: Sequence[Hashable]) -> Array:
    """Return the standard deviation of every column over all rows: (n_features,).

    A column that never varies has no scale of its own; its magnitude stands in (or 1, where it is all zero), so
    that changing the units of the column still changes nothing.

    Raises
    ------
    ValueError
        If the square of a scale, or the sum of squares it comes from, is no floating-point number.
    """
    variances, magnitude = column_variances(total), np.abs(total.mean[0])
    scales = np.where(variances > 0, np.sqrt(variances), np.where(magnitude == 0, 1.0, magnitude))
    _require_squares(scales, columns)
    return scales


def common_scale(total: Moments, columns: Sequence[Hashable]) -> float:
    """Return the standard deviation of all columns together, which have the same unit.

    A column that never varies counts as such. Where none varies, the magnitude of their means stands in (or 1,
    where all are zero).

    Raises
    ------
    ValueError
        If the square of the scale, or the sum of squares it comes from, is no floating-point number.
    """
    observed = total.count[0] > 0
    squares = column_variances(total)[observed]
    if not squares.any():
        squares = total.mean[0][observed] ** 2
    scale = np.sqrt(squares.mean()) if squares.any() else 1.0
    _require_squares(np.full(len(columns), scale), columns)
    return float(scale)


def _require_squares(scales: Array, columns: Sequence[Hashable]) -> None:
    lost = np.flatnonzero(~((scales**2 >= np.finfo(float).tiny) & np.isfinite(scales)))
    if len(lost):
        raise ValueError(
            f"the numbers of column {columns[lost[0]]!r} are about {scales[lost[0]]:g}, so that their squares or "
            "sums of squares are no floating-point numbers; rescale the column"
        )


def parts_of_variance(varies: Array, n_classes: Array, dimension: int) -> Array:
    """Return what the variance over all rows is divided by for a class.

    A column that never varies is as constant in every class. What stands in for its variance is not divided:
    the smaller the prior expects a variance to be, the more probable are equal values, and the column would seem
    to depend on the class.
    """
    return np.where(varies, n_classes ** (2 / dimension), 1.0)


def fraley_raftery_prior(
    statistics: Moments, classes: Sequence[Hashable], columns: Sequence[Hashable]
) -> NormalInverseWishart:
    """Return the prior of Fraley & Raftery (2007), with a scale that leaves every posterior definite.

    Parameters
    ----------
    statistics : Moments
        With matrices of scatter.
    classes : sequence of n_classes labels
    columns : sequence of n_features names
    """
    total = statistics.pooled()
    n_features = statistics.mean.shape[1]
    part = parts_of_variance(column_variances(total) > 0, statistics.n_seen, n_features)
    for covariance in _covariances(total, columns):
        psi = covariance / np.sqrt(part[:, None] * part)
        # what the constructor would check holds already
        prior = replace_unchecked(
            NormalInverseWishart(), location=total.mean, kappa=0.01, nu=n_features + 2, psi=psi
        )
        prior = prior.sized(statistics.mean.shape, statistics.is_tied)
        if is_positive_definite(psi) and prior.update(statistics).is_proper().all():
            return prior
    return require_definite(prior, statistics, classes, columns)


def regularised_prior(statistics: Moments, columns: Sequence[Hashable]) -> NormalInverseWishart:
    """Return the prior that is worth as many rows as a class has on average, of independent columns.

    The expected covariance of a class is about halfway between its own and the diagonal matrix of the variances
    within the classes, as in the regularised discriminant analysis of Friedman (1989) at γ = ½, in units of these
    variances.

    Parameters
    ----------
    statistics : Moments
        With matrices of scatter.
    columns : sequence of n_features names
    """
    # without any rows, as after all of them were forgotten, the prior is worth one
    n_classes = 1 if statistics.is_tied else statistics.n_seen
    return diagonal_prior(statistics, columns, statistics.n_rows.sum() / n_classes or 1.0)


def diagonal_prior(statistics: Moments, columns: Sequence[Hashable], rows: float) -> NormalInverseWishart:
    """Return the prior worth so many rows, of independent columns with the variances within the classes.

    Parameters
    ----------
    statistics : Moments
        With matrices of scatter.
    columns : sequence of n_features names
    rows : float
        One is the least for which the covariance has an expectation before any row.
    """
    total = statistics.pooled()
    variances = within_sd(np.diagonal(statistics.within), scatter_degrees(statistics).sum(), total, columns) ** 2
    prior = NormalInverseWishart(total.mean, 1.0, len(variances) + 1 + rows, rows * variances)
    return prior.sized(statistics.mean.shape, statistics.is_tied)


def scatter_degrees(statistics: Moments) -> Array:
    """Return the degrees of freedom of the scatter, of the shape of ``count``: of one row there are none."""
    return degrees_within(statistics.n_rows)


def of_others(values: Array) -> Array:
    """Sum over all other classes, those before and those after: a difference from the total would lose digits."""
    out = np.zeros_like(values)
    out[1:] = np.cumsum(values[:-1], axis=0)
    out[:-1] += np.cumsum(values[:0:-1], axis=0)[::-1]
    return out


def within_sd(squares: Array, degrees: float, total: Moments, columns: Sequence[Hashable]) -> Array:
    """Return standard deviations within the classes, positive also for constant columns: (n_features,).

    Parameters
    ----------
    squares : (n_features,)
        Sums of squares within the classes.
    degrees : float
        Their degrees of freedom.
    total : Moments
        Of all rows.
    columns : sequence of n_features names
    """
    overall = bounded_by_within(column_scales(total, columns) ** 2, squares, np.asarray(degrees))
    return np.asarray(np.sqrt((squares + VARIANCE_ROWS * overall) / (degrees + VARIANCE_ROWS)))


def _covariances(total: Moments, columns: Sequence[Hashable]) -> Iterator[Array]:
    """Yield the covariance of all rows, then their variances alone, for where it is singular."""
    if column_variances(total).all():
        yield total.within / degrees(total.count[0])
    yield np.diag(column_scales(total, columns) ** 2)


def require_definite(
    prior: NormalInverseWishart,
    statistics: Moments,
    classes: Sequence[Hashable],
    columns: Sequence[Hashable],
) -> NormalInverseWishart:
    """Return a proper prior whose posterior can be computed, or refuse it."""
    require_definite_scale(prior.update(statistics), statistics, classes, columns)
    return prior


def require_definite_scale(
    posterior: NormalInverseWishart,
    statistics: Moments,
    classes: Sequence[Hashable],
    columns: Sequence[Hashable],
) -> None:
    """Refuse a posterior that cannot be computed.

    Raises
    ------
    ImproperError
        If columns copy each other so closely, beside the scale matrix of the prior, that the scale matrix of the
        posterior is singular to the digits it is known to.
    """
    definite = np.atleast_1d(is_positive_definite(posterior.psi, LOST))
    if not definite.all():
        k = int(np.argmin(definite))
        matrix = posterior.psi if posterior.is_tied else posterior.psi[k]
        names = ", ".join(repr(columns[d]) for d in weakest_direction(matrix))
        where = "" if posterior.is_tied else f" in class {classes[k]!r}"
        raise ImproperError(
            f"the covariance of columns {names}{where} is singular to rounding: they copy each other, or a sum of "
            f"the others, and beside {statistics.count.sum():g} rows the prior's psi is too small to be seen (an "
            f"eigenvalue of the correlations of the posterior is below {LOST:g}). Drop a column, or use a prior "
            "with a larger psi."
        )
