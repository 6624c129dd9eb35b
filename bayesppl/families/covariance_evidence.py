"""The evidence of correlated Gaussian features under a prior made of the other classes' rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from bayesppl.conjugate.moments import Moments
from bayesppl.families.covariance_prior import Hierarchy, hierarchy
from bayesppl.families.gaussian_priors import scatter_degrees
from bayesppl.kernels.arrays import Array, diagonal


def chained_log_evidence(statistics: Moments, columns: Sequence[Hashable]) -> Array:
    r"""Log evidence of every class given those before it, up to log h: (n_classes,).

    By the chain rule :math:`p(X_1, \ldots, X_K) = \prod_k p(X_k \mid X_1, \ldots, X_{k-1})`, where the prior of a
    covariance is made of the classes before it alone, so that no row is predicted by itself. The order of the
    classes is arbitrary: the logarithms are averaged over the K cyclic orders, a lower bound of the log evidence
    of their equal mixture (Jensen's inequality). Classes stand by the size of their scatter, so that their names
    do not matter. What all classes share (:math:`\delta_0, \delta, \kappa`, V and the location) stays as resolved
    from all rows.

    Parameters
    ----------
    statistics : Moments
        With a matrix of scatter per class.
    columns : sequence of hashable
    """
    return _chained(hierarchy(statistics, False, columns), statistics)


def log_evidence_of_correlation(statistics: Moments) -> float:
    r"""Return the log Bayes factor of correlated columns against independent ones.

    Means and variances say nothing about it, and are left out: every class shows its correlations alone, with
    variances of one. Both hypotheses have the same :math:`\delta_0` and :math:`\delta`, found from these columns
    together: fitted to each column by itself, they would be other constants for other columns, and independent
    columns of like variances would gain by sharing them.

    Parameters
    ----------
    statistics : Moments
        With a matrix of scatter per class.
    """
    degrees = scatter_degrees(statistics)
    roots = np.sqrt(diagonal(statistics.scatter))
    units = roots[:, :, None] * roots[:, None, :]
    # a column that does not vary is correlated with none
    correlation = np.divide(statistics.scatter, units, out=np.zeros_like(units), where=units > 0)
    places = np.arange(correlation.shape[-1])
    correlation[:, places, places] = 1.0
    scatter = degrees[:, None, None] * correlation
    together = Moments(statistics.count, np.zeros_like(statistics.mean), scatter)
    one = Moments(statistics.count, together.mean[:, :1], scatter[:, :1, :1])  # any of them: all are alike
    found = hierarchy(together, False, places.tolist())
    alone = _chained(found.of_one(), one).sum()
    return float(_chained(found, together).sum() - len(places) * alone)


def _chained(found: Hierarchy, statistics: Moments) -> Array:
    log_evidence, scatter = np.zeros(len(statistics.count)), found.in_units(statistics.scatter)
    shared = found.independence * np.eye(len(found.sd)) + scatter.sum(0)
    sizes = np.trace(np.linalg.solve(shared, scatter), axis1=-2, axis2=-1)
    present = np.flatnonzero(statistics.count > 0)
    ring = present[np.argsort(sizes[present])]
    before, degrees = np.zeros_like(scatter[ring]), np.zeros(len(ring))
    rows = Moments(statistics.count[ring], statistics.mean[ring], statistics.scatter[ring])
    for n_before in range(len(ring)):
        log_evidence[ring] += found.given(before, degrees).log_increment(rows) / len(ring)
        # the next order has one class more before each: they follow each other in a ring
        another = np.roll(ring, n_before + 1)
        before, degrees = before + scatter[another], degrees + found.degrees[another]
    return log_evidence
