"""Leave-one-out of rules that plug in an estimate: the estimate of all rows but one, for every row.

An estimate is a function of the sufficient statistics, and those of all rows but one are a sum over the others. The sums
are taken by halves: those of the rows outside a range, plus those of one half of it, are those of the rows outside the
other half, and so on until a single row is left. Every row is added log₂ n times and none is ever subtracted. Hence
nothing cancels: a level that no other row shows has a count of exactly zero, a column that is constant without
the row a variance of exactly zero, and an outlier leaves no rounding error behind. It serves every family alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.labels import one_hot
from bayesppl.errors import ImproperError, UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.posterior import Exact, Posterior
from bayesppl.model.rules import RuleName


def joints_from_others(
    posterior: Posterior, X: Any, codes: Array, weights: Array, rule: RuleName, views: Sequence[Sequence[int]]
) -> tuple[Array, Array]:
    """log p(x_i, y = k | θ) of what is seen of every row, under the estimate from all the others, and its class weights.

    Parameters
    ----------
    posterior : Posterior
        Of these rows and no others.
    X : encoded rows
    codes, weights : (n_rows,)
    rule : {"mle", "map", "mean"}
    views : sequence of units
        Which units are seen at once; see :meth:`BoundColumns.marginal_rows`.

    Returns
    -------
    log_joint : (n_views, n_rows, n_classes)
    class_weights : (n_rows, n_classes)

    Raises
    ------
    UndefinedEstimateError
        If the other rows have no such estimate.
    ImproperError
        If the posterior without a row is improper.
    """
    model = posterior.model

    def take(some: slice) -> JointStatistics:
        return model.statistics(X[some], one_hot(codes[some], model.n_classes, weights[some]))

    shape = len(codes), model.n_classes
    log_joint, class_weights = np.empty((len(views), *shape)), np.empty(shape)
    for row, others in sums_of_others(take, len(codes)):
        try:
            theta = estimate(posterior, others, rule)
        except (UndefinedEstimateError, ImproperError) as error:
            label = model.classes[codes[row]]
            raise type(error)(
                f"without row {row}, of class {label!r}, there is no estimate for rule={rule!r}: {error}"
            ) from None
        density = model.log_joint(theta)
        for seen, view in zip(log_joint, views, strict=True):
            seen[row] = density(model.family.bound.marginal_rows(X[row : row + 1], view))[0]
        class_weights[row] = theta[CLASS_WEIGHTS]
    return log_joint, class_weights


def sums_of_others[S: JointStatistics](take: Callable[[slice], S], n_rows: int) -> Iterator[tuple[int, S]]:
    """The statistics of all rows but one, for every row in order; log₂ ``n_rows`` of them are held at a time.

    Parameters
    ----------
    take : callable
        Statistics of a range of rows, also of an empty one.
    n_rows : int
    """
    ranges = [(slice(0, n_rows), take(slice(0, 0)))]
    while ranges:
        rows, outside = ranges.pop()
        if rows.stop - rows.start == 1:
            yield rows.start, outside
            continue
        middle = (rows.start + rows.stop) // 2
        first, second = slice(rows.start, middle), slice(middle, rows.stop)
        ranges.append((second, outside + take(first)))
        ranges.append((first, outside + take(second)))


def estimate(posterior: Posterior, statistics: JointStatistics, rule: RuleName) -> Theta:
    """The estimate from these statistics, in closed form, under the prior of ``posterior``."""
    belief = posterior.prior.update(statistics)
    if not belief.is_proper().all() and rule != "mle":
        raise ImproperError(
            "under an improper prior the posterior of some class is improper; use a proper prior, or add rows"
        )
    return Exact(posterior.model, statistics, posterior.prior, belief).theta(rule)
