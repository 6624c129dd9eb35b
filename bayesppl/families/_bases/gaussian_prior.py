"""What the Gaussian families share: their support and the choice of a prior by name.

The prior of Fraley & Raftery (2007, "Bayesian regularization for normal mixture estimation and model-based
clustering") has the location at the mean of all rows, κ = 0.01, ν = D + 2, and for a scale the covariance of all rows
divided by K^(2/D) for K classes; where columns are independent, the mean of their variances for that covariance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.conjugate import require_kind
from bayesppl.conjugate.declared_priors import Declared
from bayesppl.conjugate.moments import Moments
from bayesppl.errors import ImproperError
from bayesppl.kernels.arrays import Array


def choose_prior(
    declared: Any,
    by_name: Mapping[str, Callable[[], Any]],
    resolve: Callable[[Any], Any],
    kind: type[Conjugate],
    argument: str = "prior",
) -> Any:
    """Resolve a prior given by name, one declared in PyMC, or one of ``kind`` with hyperparameters of its own."""
    if isinstance(declared, Declared):
        return declared
    if not isinstance(declared, str):
        return resolve(require_kind(declared, kind, argument))
    if declared not in by_name:
        raise ValueError(
            f"{argument}={declared!r} is not known; choose one of {', '.join(map(repr, by_name))}, or pass a "
            f"bayesppl.{kind.__name__}"
        )
    return by_name[declared]()


def require_proper(
    prior: Any, statistics: Moments, classes: Sequence[Hashable], rows_needed: float, per: str
) -> Any:
    """Return an improper prior if these rows make its posterior proper; refuse it otherwise."""
    proper = prior.update(statistics).is_proper()
    if not proper.all():
        count = statistics.count if statistics.is_matrix else statistics.count.min(1)
        rows = ", ".join(f"{label!r}: {n:g}" for label, n in zip(classes, count, strict=True))
        raise ImproperError(
            f"the posterior is improper: this prior needs at least {rows_needed:g} rows {per}, whose columns vary and do not "
            f"copy each other (rows found: {rows}). Add rows, or use a proper prior, such as the default."
        )
    return prior


def require_finite_sums(statistics: Moments, columns: Sequence[Hashable]) -> None:
    """Refuse rows whose weighted squares add up to more than the largest floating-point number."""
    finite = np.isfinite(statistics.scatter).reshape(-1, len(columns)).all(0)
    if not finite.all():
        raise ValueError(
            f"the weighted sum of squares of column {columns[int(np.argmin(finite))]!r} is larger than any floating-point "
            "number. Rescale the column, or divide the weights by their mean"
        )


def degrees(count: Array) -> Array:
    """What sums of squares about a mean are divided by, for rows of this total weight, to estimate a variance.

    It is one less than the number of rows; but weights that add up to less than two would then be divided by next to
    nothing, or less. They count as if they added up to two, so that the estimate is continuous in the weights.
    """
    return np.maximum(count - 1, np.where(count > 0, count / 2, 1.0))


def column_variances(total: Moments) -> Array:
    """Variance of every column over all rows, zero where nothing varies: (n_features,)."""
    sums = np.diagonal(total.within) if total.is_matrix else total.within
    return np.asarray(sums / degrees(total.count[0]))


def column_scales(total: Moments, columns: Sequence[Hashable]) -> Array:
    """Standard deviation of every column over all rows: (n_features,).

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
    """Standard deviation of all columns together, which have the same unit.

    A column that never varies counts as such. Where none varies, the magnitude of their means stands in (or 1, where all
    are zero).

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
            f"the numbers of column {columns[lost[0]]!r} are about {scales[lost[0]]:g}, so that their squares or sums of squares "
            "are no floating-point numbers; rescale the column"
        )
