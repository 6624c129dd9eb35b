"""What the Gaussian families share: their support and the choice of a prior by name.

The default is the prior of Fraley & Raftery (2007, "Bayesian regularization for normal mixture estimation and
model-based clustering"): location the mean of all rows, κ = 0.01, ν = D + 2, scale the covariance of all
rows divided by K^(2/D) for K classes. It is weak, proper, and free of units.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesppl.beliefs import Conjugate
from bayesppl.beliefs.conjugate import require_kind
from bayesppl.beliefs.declared_priors import Declared
from bayesppl.beliefs.statistics import Moments
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
            f"copy each other (rows found: {rows}). Add rows, or use prior='fraley-raftery'."
        )
    return prior


def column_scales(total: Moments, columns: Sequence[Hashable]) -> Array:
    """Standard deviation of every column over all rows: (n_features,).

    A column that never varies has no scale of its own; its magnitude stands in (or 1, where it is all zero), so
    that changing the units of the column still changes nothing.

    Raises
    ------
    ValueError
        If the square of a scale is too small to be a floating-point number.
    """
    scatter = total.within
    count = np.broadcast_to(total.count[0], total.mean[0].shape)
    sums = np.diagonal(scatter) if total.is_matrix else scatter
    variance = np.divide(sums, count - 1, out=np.zeros(len(sums)), where=count > 1)
    magnitude = np.where(total.mean[0] == 0, 1.0, np.abs(total.mean[0]))
    scales = np.where(variance > 0, np.sqrt(variance), magnitude)
    lost = np.flatnonzero(scales**2 < np.finfo(float).tiny)
    if len(lost):
        raise ValueError(
            f"the numbers of column {columns[lost[0]]!r} are about {scales[lost[0]]:g}, so small that their squares are no "
            "floating-point numbers; rescale the column"
        )
    return scales
