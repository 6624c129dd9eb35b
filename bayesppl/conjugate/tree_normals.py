r"""Normal columns that depend on each other along a tree, averaged over all trees.

The margin of a :math:`\mathrm{NormalInverseWishart}(m, \kappa, \nu, \Psi)` over d of its D columns is one with
:math:`\nu - (D - d)` degrees of freedom and the entries of m and Ψ of these columns (Dawid & Lauritzen 1993):
columns and pairs have consistent margins, in whatever tree a pair is an edge. The law of a covariance along a
tree is then their hyper inverse Wishart, with :math:`\delta = \nu - D + 1` degrees of freedom of every column.
The predictive of a column and of a pair is a Student t of as many.

Given the parameters, rows are normal. The inverse of their covariance, in units of the standard deviations, is
zero but along the edges, of correlation r: :math:`-r/(1 - r^2)` there, and on the diagonal 1 and the sum of
:math:`r^2/(1 - r^2)` over the edges of the column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from bayesppl.conjugate.averaged_trees import AveragedTrees, PairTables, layout_of, require_one_tree
from bayesppl.conjugate.conjugate import require_defined
from bayesppl.conjugate.correlated_normals import log_t_density, t_terms, without_own
from bayesppl.conjugate.log_density import Evaluate
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import Moments, NumberRows
from bayesppl.conjugate.normal_inverse_wishart import NormalInverseWishart, inverse_wishart_gain
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.kernels.tree_sums import directed_edges

# the largest correlation whose matrices have a Cholesky root in floating-point numbers
_MOST_ALIKE = 1 - 1e-10


@final
@dataclass(frozen=True, eq=False)
class TreeNormals(AveragedTrees):
    """Belief about a tree of columns, their means and variances, and the covariances along its edges.

    Parameters
    ----------
    log_weights : (n_pairs,) or (n_classes, n_pairs)
        See :class:`~bayesppl.conjugate.averaged_trees.AveragedTrees`.
    location : (n_classes, n_columns)
    kappa : (n_classes,)
        How many rows the location is worth.
    dof : (n_classes,)
        Degrees of freedom of the variance of a column; those of a pair are one more.
    psi : (n_classes, n_columns, n_columns)
        The scale matrix.
    """

    scalable: ClassVar[tuple[str, ...]] = ("kappa", "dof", "psi")
    parameters: ClassVar[tuple[str, ...]] = ("edge", "mean", "variance", "covariance")

    location: Array
    kappa: Array
    dof: Array
    psi: Array
    hierarchy: Any = field(default=None, repr=False, kw_only=True)

    @property
    def layout(self) -> PairTables:
        return layout_of((1,) * self.location.shape[1])

    def is_proper(self) -> Array:
        spread = np.linalg.diagonal(self.psi).min(-1, initial=np.inf) > 0
        proper = (self.kappa > 0) & (self.dof > 0) & spread & (np.abs(self._correlations) < 1).all(-1)
        return np.asarray(proper.all() if self.is_common else proper)

    def _gains(self, statistics: Moments) -> Array:
        after = self._updated(statistics)
        log_dets = (_log_determinants(psi, self.layout) for psi in (self.psi, after["psi"]))
        return self._log_gain(self.dof, self.kappa, statistics.count, *log_dets)

    def _updated(self, statistics: Moments) -> dict[str, Array]:
        after = Moments(self.kappa, self.location, self.psi).merged(statistics)
        return {
            "location": after.mean,
            "kappa": after.count,
            "dof": self.dof + statistics.count,
            "psi": after.scatter,
        }

    def _log_gain(self, dof: Array, kappa: Array, n: Array, before: Array, after: Array) -> Array:
        """Compute what n rows add to the log normalisers of tables, given log determinants of their scales.

        Rows, or classes, by tables.
        """
        n_columns, n = self.location.shape[1], n[:, None]
        gains = [
            inverse_wishart_gain(dof[:, None] + d - 1, n, d, before[:, tables], after[:, tables])
            - 0.5 * d * np.log1p(n / kappa[:, None])
            for d, tables in ((1, slice(n_columns)), (2, slice(n_columns, None)))
        ]
        return np.concatenate(gains, axis=1)

    def _log_prob_of_tables(self, theta: Theta) -> Array:
        layout, parts, places = self.layout, [], np.arange(self.location.shape[1])
        full = layout.square(theta["covariance"])
        full[..., places, places] = theta["variance"]
        for columns in (places[:, None], layout.pairs.T):
            d, at = columns.shape[1], (columns[:, :, None], columns[:, None])
            for k, (kappa, dof) in enumerate(zip(self.kappa, self.dof, strict=True)):
                tables = NormalInverseWishart(self.location[k, columns], kappa, dof + d - 1, self.psi[k, *at])
                own = {"mean": theta["mean"][..., k, columns], "covariance": full[..., k, *at]}
                parts.append(sum(tables.sized(columns.shape).log_prob_of_parts(own)))
        n_classes = len(self.kappa)
        of_tables = [np.stack(some, axis=-2) for some in (parts[:n_classes], parts[n_classes:])]
        return np.concatenate(of_tables, axis=-1)

    def _draw_along(self, trees: Array, classes: slice, rng: np.random.Generator) -> Theta:
        layout, size = self.layout, len(trees)
        location, kappa, dof, psi = (values[classes] for values in (self.location, self.kappa, self.dof, self.psi))
        mean, variance = (np.zeros((size, *location.shape)) for _ in range(2))
        covariance = np.zeros((size, len(location), layout.pairs.shape[1]))

        def spread(n: int, scale: Array, degrees: Array) -> Array:
            """Draw variances: inverse gamma, of half the scale and half the degrees of freedom."""
            return 0.5 * scale / rng.standard_gamma(degrees / 2, (n, len(location)))

        variance[..., 0] = spread(size, psi[:, 0, 0], dof)
        mean[..., 0] = location[:, 0] + np.sqrt(variance[..., 0] / kappa) * rng.standard_normal(mean[..., 0].shape)
        for parent, child, those in directed_edges(trees):
            slope = psi[:, parent, child] / psi[:, parent, parent]
            left = spread(len(those), psi[:, child, child] - slope * psi[:, parent, child], dof + 1)
            noise = rng.standard_normal((2, *left.shape))
            slope = slope + np.sqrt(left / psi[:, parent, parent]) * noise[0]
            variance[those, :, child] = left + slope**2 * variance[those, :, parent]
            covariance[those, :, layout.pair(parent, child)] = slope * variance[those, :, parent]
            shift = slope * (mean[those, :, parent] - location[:, parent])
            mean[those, :, child] = location[:, child] + shift + np.sqrt(left / kappa) * noise[1]
        return {"mean": mean, "variance": variance, "covariance": covariance}

    def _mean_of_tables(self, edge: Array) -> Theta:
        require_defined(
            self.dof <= 2,
            "the posterior mean of 'variance' is infinite",
            ": it needs more than two degrees of freedom after the data. Add rows, use a larger prior=, or "
            "rule='predictive'.",
        )
        mean = self.psi / (self.dof - 2)[:, None, None]
        return {
            "mean": self.location,
            "variance": np.linalg.diagonal(mean),
            "covariance": edge * mean[:, *self.layout.pairs],
        }

    def table_densities(self) -> list[Evaluate]:
        log_det, inflation = _log_determinants(self.psi, self.layout), (self.kappa + 1) / self.kappa
        dimension = self._dimension

        def of_class(k: int) -> Evaluate:
            terms = t_terms(self.dof[k], dimension, log_det[k], inflation[k])
            codes = np.full(1, k)
            return lambda rows: log_t_density(self._squares(rows.X, codes), *terms, inflation[k])

        return [of_class(k) for k in range(len(self.location))]

    def without(self, rows: NumberRows, members: Membership) -> tuple[Array, Array]:
        log_det = _log_determinants(self.psi, self.layout)[members.codes]
        weights = np.broadcast_to(members.weights, len(rows))
        kappa, dof = (values[members.codes] - weights for values in (self.kappa, self.dof))
        kappa, dof = (np.where(values > 0, values, np.nan) for values in (kappa, dof))
        ratio, inflation = 1 + weights / kappa, (kappa + 1) / kappa
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left the answer is not finite
            squares = self._squares(rows.X, members.codes)
            log_shrunk, _, own = without_own(squares, ratio[:, None], (weights * ratio)[:, None])
            before = log_det + log_shrunk
            terms = t_terms(dof[:, None], self._dimension, before, inflation[:, None])
            added = self._log_gain(dof, kappa, weights, before, log_det)
            return added, log_t_density(own, *terms, inflation[:, None])

    def _squares(self, X: Array, codes: Array) -> Array:
        """Compute squared distances of rows to a class each, in the scale of every table: (n_rows, n_tables)."""
        first, second = self.layout.pairs
        apart = (X - self.location[codes]) / np.sqrt(np.linalg.diagonal(self.psi))[codes]
        r = self._correlations[codes]
        beside = (apart[:, second] - r * apart[:, first]) ** 2 / (1 - r**2)
        squares = apart**2
        return np.concatenate([squares, squares[:, first] + beside], axis=1)

    @property
    def _correlations(self) -> Array:
        sd = np.sqrt(np.linalg.diagonal(self.psi))
        first, second = self.layout.pairs
        return self.psi[:, first, second] / (sd[:, first] * sd[:, second])

    @property
    def _dimension(self) -> Array:
        """Return how many columns every table has."""
        return np.repeat([1, 2], [self.location.shape[1], self.layout.pairs.shape[1]])


def _log_determinants(psi: Array, layout: PairTables) -> Array:
    """Compute the log determinant of the scale of every table: (n_classes, n_tables)."""
    first, second = layout.pairs
    squares = np.linalg.diagonal(psi)
    # in this order neither large nor small units leave the range of numbers
    left = squares[:, second] - psi[:, first, second] / squares[:, first] * psi[:, first, second]
    return np.concatenate([np.log(squares), np.log(squares[:, first]) + np.log(left)], axis=1)


def covariances_along(theta: Theta) -> Array:
    """Compute covariance matrices of rows, (..., n_classes, n_columns, n_columns), from those along a tree."""
    edge, variance, covariance = (theta[name] for name in ("edge", "variance", "covariance"))
    require_one_tree(edge)
    layout, sd = layout_of((1,) * variance.shape[-1]), np.sqrt(variance)
    first, second = layout.pairs
    # a prior of few degrees of freedom draws columns that copy each other to the last digit
    r = layout.square(np.clip(covariance / (sd[..., first] * sd[..., second]), -_MOST_ALIKE, _MOST_ALIKE))
    diagonal = 1 + (r**2 / (1 - r**2)).sum(-1)
    precision = diagonal[..., None] * np.eye(variance.shape[-1]) - r / (1 - r**2)
    return np.asarray(np.linalg.inv(precision) * sd[..., None] * sd[..., None, :])
