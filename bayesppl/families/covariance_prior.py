r"""The default prior of correlated Gaussian features: as much shrinkage as maximises the evidence.

Three numbers are chosen, each by averaging its logarithm over a grid, with weights proportional to an evidence. So
the prior is a smooth function of the sufficient statistics alone:

1. :math:`\delta_0`, how many rows independence of the columns is worth:
   :math:`\Sigma \sim \mathrm{InverseWishart}(D - 1 + \delta_0, \delta_0 V)`, where V is diagonal and holds the
   variances within the classes. This is the prior of a covariance that all classes share (linear discriminant
   analysis). Its evidence is that of the correlations: of the scatter W within the classes, over that of each
   column of it alone.
2. :math:`\delta`, how many rows the other classes are worth to a class of its own covariance. Its prior is what
   they leave of the first one, a power prior (Ibrahim & Chen 2000): with :math:`n_0 = \delta_0 + n_{-k}` and
   :math:`r = \delta / (\delta + n_0)`, degrees of freedom :math:`D - 1 + r n_0` and scale
   :math:`r (\delta_0 V + W_{-k})`. As :math:`\delta \to \infty` this becomes the covariance that all classes
   share.
3. :math:`\kappa`, how many rows the common mean is worth to the mean of a class.

The inverse Wishart is written with its degrees of freedom above D − 1, so that the scale matrix of the predictive
is a weighted mean of the prior's and the rows'.

Where every class has a covariance of its own, the prior of each is made of the rows of all others. These priors
are good for predictions, but the product of their evidences counts every row many times;
:meth:`Hierarchy.log_evidence` does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv, dsygvd
from scipy.special import gammaln

from bayesppl.conjugate import NormalInverseWishart
from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.conjugate.moments import Moments
from bayesppl.families.common_mean import average, of_one_mean, rows_of_vectors
from bayesppl.families.moment_priors import (
    VARIANCE_ROWS,
    beyond_last_bits,
    of_others,
    scatter_degrees,
    within_sd,
)
from bayesppl.kernels.arrays import Array

# δ₀ is believed to be about that, within factors of e² = 7.4 (one standard deviation of its logarithm)
_SPREAD = 2.0

_INDEPENDENCE = 2.0 ** np.arange(-4, 12.25, 0.5)
_LEAST_ROWS_PER_COLUMN = 2.0
_OTHER_CLASSES = 2.0 ** np.arange(0, 14.5)  # in multiples of the least

# all of its numbers are replaced by numbers that need no check
_ANY = NormalInverseWishart()


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The numbers that the priors of all covariances share, and the degrees of freedom of the classes.

    ``others`` is infinite where the covariance is tied.
    """

    location: Array
    kappa: float
    sd: Array
    independence: float
    others: float
    degrees: Array

    @property
    def is_lent(self) -> bool:
        """Whether the prior of each class is made of the rows of the others."""
        return bool(np.isfinite(self.others))

    @property
    def shares(self) -> Array:
        """The share of the rows of the other classes that the prior of each class holds: (n_classes,)."""
        return self._share(self.independence + of_others(self.degrees))

    def tied(self) -> NormalInverseWishart:
        """Return the prior of every class, where all share one covariance."""
        nu = np.asarray(len(self.sd) - 1 + self.independence)
        found = self._prior_with(len(self.degrees), nu, self.independence * np.eye(len(self.sd)))
        return replace_unchecked(found, hierarchy=self)

    def lent(self, statistics: Moments) -> NormalInverseWishart:
        """Return the prior of every class, made of the same share of the rows of all others as in the fit."""
        scatter, degrees = self._in_units(statistics.scatter), scatter_degrees(statistics)
        return replace_unchecked(
            self._prior_given(of_others(scatter), of_others(degrees), self.shares), hierarchy=self
        )

    def rebuilt(self, prior: Any, statistics: Moments) -> Any:
        """Return the prior whose classes borrow the rows of these statistics; a tied one as it is."""
        return self.lent(statistics) if self.is_lent else prior

    def apart(self, prior: Any) -> Any:
        """Return the prior of classes that differ, which is that of the fit."""
        return prior

    def common(self, prior: Any, statistics: Moments) -> Any:
        """Return the prior of one class in place of all: that of the first class in :meth:`log_evidence`."""
        if self.is_lent:
            n_classes, n_features = prior.location.shape
            prior = self._prior_given(np.zeros((n_classes, n_features, n_features)), np.zeros(n_classes))
        return of_one_mean(prior, statistics.n_seen)

    def log_evidence(self, statistics: Moments) -> Array:
        r"""Return the log evidence of every class given those before it, up to log h: (n_classes,).

        By the chain rule :math:`p(X_1, \ldots, X_K) = \prod_k p(X_k \mid X_1, \ldots, X_{k-1})`, where the prior
        of a covariance is made of the classes before it alone, so that no row is predicted by itself. The order of
        the classes is arbitrary: the logarithms are averaged over the K cyclic orders, a lower bound of the log
        evidence of their equal mixture (Jensen's inequality). Classes stand by the size of their scatter, so that
        their names do not matter. What all classes share (:math:`\delta_0, \delta, \kappa`, V and the location)
        stays as resolved from all rows.
        """
        log_evidence, scatter = np.zeros(len(statistics.count)), self._in_units(statistics.scatter)
        shared = self.independence * np.eye(len(self.sd)) + scatter.sum(0)
        sizes = np.trace(np.linalg.solve(shared, scatter), axis1=-2, axis2=-1)
        present = np.flatnonzero(statistics.count > 0)
        ring = present[np.argsort(sizes[present])]
        before, degrees = np.zeros_like(scatter[ring]), np.zeros(len(ring))
        rows = Moments(statistics.count[ring], statistics.mean[ring], statistics.scatter[ring])
        for n_before in range(len(ring)):
            log_evidence[ring] += self._prior_given(before, degrees).log_increment(rows) / len(ring)
            # the next order has one class more before each: they follow each other in a ring
            another = np.roll(ring, n_before + 1)
            before, degrees = before + scatter[another], degrees + self.degrees[another]
        return log_evidence

    def _in_units(self, scatter: Array) -> Array:
        """Divide sums of products by the units of their columns, ``sd``."""
        return scatter / (self.sd[:, None] * self.sd)

    def _share(self, rows: Array) -> Array:
        """Return the share of this number of rows that the prior of a class holds."""
        return self.others / (self.others + rows)

    def _prior_given(self, scatter: Array, degrees: Array, share: Array | None = None) -> NormalInverseWishart:
        """Return the prior of every class: a share of the first prior and of these sums of other classes."""
        n_classes, n_features = scatter.shape[:2]
        rows = self.independence + degrees
        share = self._share(rows) if share is None else share
        psi = share[:, None, None] * (self.independence * np.eye(n_features) + scatter)
        return self._prior_with(n_classes, n_features - 1 + share * rows, psi)

    def _prior_with(self, n_classes: int, nu: Array, psi: Array) -> NormalInverseWishart:
        location = np.broadcast_to(self.location, (n_classes, len(self.sd)))
        kappa, units = np.full(n_classes, self.kappa), self.sd[:, None] * self.sd
        return replace_unchecked(_ANY, location=location, kappa=kappa, nu=nu, psi=psi * units)


def hierarchical_prior(statistics: Moments, tied: bool, columns: Sequence[Hashable]) -> NormalInverseWishart:
    """Return the prior that shrinks covariances to those of other classes, and all of them to a diagonal matrix.

    Parameters
    ----------
    statistics : Moments
        With matrices of scatter: per class, or summed over classes where the covariance is tied.
    tied : bool
    columns : sequence of hashable
        Names of the columns, for errors.
    """
    found = hierarchy(statistics, tied, columns)
    return found.tied() if tied else found.lent(statistics)


def hierarchy(statistics: Moments, tied: bool, columns: Sequence[Hashable]) -> Hierarchy:
    """Find the numbers that define the prior of these statistics, for fits, leave-one-out and evidence."""
    total = statistics.pooled()
    n_features = statistics.mean.shape[1]
    degrees, within = scatter_degrees(statistics), statistics.within
    sd = within_sd(np.diagonal(within), degrees.sum(), total, columns)
    units = sd[:, None] * sd
    varies = beyond_last_bits(np.diagonal(within) / max(degrees.sum(), 1.0), total) > 0
    independence = _rows_of_independence(within[varies][:, varies], degrees.sum())
    shared = independence * np.eye(n_features) + within / units
    gaps = (statistics.mean - total.mean) / sd
    _, solved, failed = dposv(shared, gaps.T)
    if failed:
        raise _lost_to_rounding(shared)
    kappa = rows_of_vectors(gaps @ solved, statistics.count, n_features - 1 + independence, n_features)
    others = np.inf
    if not tied:
        scatter = statistics.scatter / units
        before = independence * np.eye(n_features) + of_others(scatter)
        others = _rows_of_other_classes(before, independence + of_others(degrees), scatter, degrees)
    return Hierarchy(total.mean, kappa, sd, independence, others, degrees)


def _lost_to_rounding(scatter: Array) -> ValueError:
    return ValueError(
        f"the weights add up to so much (a sum of squares is {np.diagonal(scatter).max():.2g} variances) that "
        "beside columns which copy each other the prior is lost to rounding. Divide the weights by their mean"
    )


def _rows_of_independence(within: Array, degrees: float) -> float:
    """Find δ₀ from the correlations of columns that vary within the classes."""
    root = np.sqrt(np.diagonal(within))
    correlation = within / (root[:, None] * root)
    squares = degrees * np.maximum(np.linalg.eigvalsh(correlation), 0.0)
    together = _log_evidence(_INDEPENDENCE, _INDEPENDENCE, squares, degrees)
    alone = _log_evidence(_INDEPENDENCE, _INDEPENDENCE, np.array([degrees]), degrees)
    log_prior = -0.5 * (np.log(_INDEPENDENCE / VARIANCE_ROWS) / _SPREAD) ** 2
    return average(_INDEPENDENCE, together - len(squares) * alone + log_prior)


def _rows_of_other_classes(others: Array, rows: Array, scatter: Array, degrees: Array) -> float:
    """Find δ from how well the other classes predict the scatter of each class."""
    dimension = others.shape[-1]
    worth = _LEAST_ROWS_PER_COLUMN * dimension * _OTHER_CLASSES
    present = np.flatnonzero(degrees > 0)
    squares = np.empty((len(present), 1, dimension))
    for of_class, k in zip(squares, present, strict=True):
        # eigenvalues in the metric of the others, to which an identity matrix was added
        found, _, failed = dsygvd(scatter[k], others[k], jobz="N")
        if failed:
            raise _lost_to_rounding(others[k])
        of_class[0] = np.maximum(found, 0.0)
    share = worth / (worth + rows[present, None])
    log_evidence = _log_evidence(share * rows[present, None], share, squares, degrees[present, None])
    return average(worth, log_evidence.sum(0))


def _log_evidence(rows: Array, scale: Array, squares: Array, degrees: Array | float) -> Array:
    """Return the log evidence of a scatter with these ``degrees`` of freedom, up to a constant: (..., n_grid).

    Parameters
    ----------
    rows, scale : (..., n_grid)
        The prior has dimension − 1 + ``rows`` degrees of freedom and the scale matrix ``scale`` times some matrix
        M.
    squares : (..., 1, dimension)
        Eigenvalues of the scatter in the metric of M.
    degrees : (..., 1) or float
    """
    dimension = squares.shape[-1]
    nu = dimension - 1 + rows
    halves = (nu[..., None] - np.arange(dimension)) / 2
    gammas = (gammaln(halves + np.asarray(degrees)[..., None] / 2) - gammaln(halves)).sum(-1)
    log_dets = nu * dimension * np.log(scale) - (nu + degrees) * np.log(scale[..., None] + squares).sum(-1)
    return np.asarray(gammas + 0.5 * log_dets)
