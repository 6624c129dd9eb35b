r"""Independent Gaussian features: Gaussian Naive Bayes and its tied and spherical forms.

.. math:: x_d \mid y = k \sim N(\mu_{kd}, \sigma^2_{kd}), \qquad
   (\mu_{kd}, \sigma^2_{kd}) \sim \mathrm{NormalInverseGamma}(m, \kappa, a, b).

The predictive is a Student t with :math:`2a_n` degrees of freedom, location :math:`m_n` and squared scale
:math:`b_n(\kappa_n + 1)/(a_n\kappa_n)` (Murphy 2007). Features that share a variance (spherical) are
predicted together, by a multivariate t, for they are not independent once the variance is integrated out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit

from bayesppl.conjugate import NormalInverseGamma
from bayesppl.conjugate.closed_forms import log_evidence_of, per_row
from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import Moments, moments
from bayesppl.data.table import Table
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families._bases.conjugate_family import ConjugateNumeric
from bayesppl.families._bases.gaussian_declared import MeanAndSd
from bayesppl.families._bases.gaussian_loo import without_rows
from bayesppl.families._bases.gaussian_prior import (
    choose_prior,
    column_scales,
    common_scale,
    require_finite_sums,
    require_proper,
)
from bayesppl.families._bases.leave_one_out import forget, own_class_without, row_blocks
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.support import LARGEST, REAL_NUMBERS
from bayesppl.kernels.arrays import LOG_2PI, Array, Responsibilities, Theta, log_rising
from bayesppl.kernels.missing import observed_mask, present_cells, split_missing
from bayesppl.kernels.squares import weighted_squares
from bayesppl.kernels.student import weighted_log1p_squares

_AXES = {"class": -2, "feature": -1}


@dataclass(frozen=True, eq=False)
class DiagonalGaussian(ConjugateNumeric):
    """Independent Gaussian features. Made by :func:`bayesppl.Gaussian`.

    Parameters
    ----------
    prior : str or NormalInverseGamma
        See :func:`bayesppl.Gaussian`.
    shared : tuple of {"class", "feature"}
        Dimensions over which one variance is shared.
    """

    name: ClassVar[str] = "gaussian"
    support: ClassVar = REAL_NUMBERS
    measure: ClassVar = "density"

    prior: str | NormalInverseGamma | MeanAndSd = "columnwise"
    shared: tuple[str, ...] = ()

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        return {"mean": ("class", "feature"), "variance": self.factor_dims}

    @property
    def coords(self) -> dict[str, Any]:
        return {"feature": list(self.columns)}

    @property
    def factor_dims(self) -> tuple[str, ...]:
        return tuple(dim for dim in _AXES if dim not in self.shared)

    @property
    def _axes(self) -> tuple[int, ...]:
        return tuple(_AXES[dim] for dim in self.shared)

    def sufficient_statistics(self, X: Array, responsibilities: Responsibilities) -> Moments:
        return moments(X, responsibilities, matrix=False, tied=False)

    def read_statistics(self, table: Table, responsibilities: Responsibilities) -> Moments:
        with np.errstate(over="ignore", invalid="ignore"):
            statistics = self.sufficient_statistics(self.numbers(table), responsibilities)
            if not statistics.is_within(LARGEST, responsibilities):
                self.encode(table)  # infinities are refused here; a column may also be empty, which is allowed
        return statistics

    def resolve_prior(self, statistics: Moments) -> NormalInverseGamma | MeanAndSd:
        require_finite_sums(statistics, self.columns)
        shape = statistics.mean.shape
        return choose_prior(
            self.prior,
            {
                # a variance that the columns share is none of a column
                **({} if "feature" in self.shared else {"columnwise": lambda: self._columnwise(statistics)}),
                "fraley-raftery": lambda: self._fraley_raftery(statistics),
                "jeffreys": lambda: self._improper(statistics, power=1),
                "flat": lambda: self._improper(statistics, power=0),
                "unbiased": lambda: self._improper(statistics, -self._means_per_variance(statistics) / 2),
            },
            lambda declared: declared.sized(shape, self._axes),
            NormalInverseGamma,
        )

    def mle(self, statistics: Moments) -> Theta:
        count = statistics.count.sum(self._axes)
        variance = np.divide(statistics.scatter.sum(self._axes), count, out=np.zeros_like(count), where=count > 0)
        if (variance <= 0).any() or (statistics.count <= 0).any():
            bad = np.expand_dims(variance <= 0, self._axes) | (statistics.count <= 0)
            k, d = np.argwhere(bad)[0]
            raise UndefinedEstimateError(
                f"column {self.columns[d]!r} is constant (or empty) within class {self.classes[k]!r}, so the likelihood "
                "has no maximum: a variance of zero makes it infinite. Use rule='map', 'mean' or 'predictive' with a "
                "proper prior, or drop the column."
            )
        return {"mean": statistics.mean, "variance": variance}

    def log_predictive(self, posterior: NormalInverseGamma) -> LogDensity:
        inflation = (posterior.kappa + 1) / posterior.kappa
        spread = 2 * np.broadcast_to(posterior.spread(posterior.b), inflation.shape) * inflation
        scale = np.sqrt(spread)
        dof = 2 * np.broadcast_to(posterior.spread(posterior.a), inflation.shape)
        constant = -0.5 * np.log(np.pi * spread)
        if "feature" in self.shared:
            nu = dof[:, 0]

            def log_joint_t(X: Array) -> Array:
                out, odd = weighted_squares(X, posterior.location, scale)  # = z²/dof, z standardised
                np.log1p(out, out=out)
                n_present: Any = X.shape[1]
                if len(odd):
                    n_present = np.full((len(X), 1), float(X.shape[1]))
                    n_present[odd, 0] -= np.isnan(X[odd]).sum(1)
                out *= -0.5 * (nu + n_present)
                out += log_rising(nu / 2, n_present / 2)
                return _plus_cells(out, constant, X, odd)

            return LogDensity(log_joint_t)
        constant += log_rising(dof / 2, np.asarray(0.5))

        def log_t(X: Array) -> Array:
            out, odd = weighted_log1p_squares(X, posterior.location, scale, -0.5 * (dof + 1))
            return _plus_cells(out, constant, X, odd)

        return LogDensity(log_t)

    def averaged_predictive(
        self, posterior: NormalInverseGamma, common: NormalInverseGamma, log_odds: Mapping[str, Array]
    ) -> LogDensity:
        if "feature" in self.shared:
            return super().averaged_predictive(posterior, common, log_odds)
        relevant, irrelevant = log_expit(log_odds[""]), log_expit(-log_odds[""])
        [of_all] = _log_t_of_cells(common)
        of_classes = _log_t_of_cells(posterior)

        def log_average(X: Array) -> Array:
            out = np.empty((len(X), len(of_classes)))
            for rows in row_blocks(X):
                cells, present = split_missing(X[rows])
                constant = irrelevant + of_all(cells)
                for k, of_class in enumerate(of_classes):
                    mixed = np.logaddexp(relevant + of_class(cells), constant)
                    out[rows, k] = mixed.sum(1, where=True if present is None else present)
            return out

        return LogDensity(log_average)

    def loo_log_predictive(
        self, posterior: NormalInverseGamma, statistics: Moments, X: Array, members: Membership
    ) -> tuple[Array, Array]:
        fitted = self.log_predictive(posterior)(X)
        present = observed_mask(X)
        if not self.shared or present is None:
            return fitted, without_rows(posterior, X, present, members, fitted)
        if "class" in self.shared:
            return fitted, self._all_classes_without(posterior, X, members)
        return fitted, members.replaced(fitted, own_class_without(self, posterior, X, members))

    def _all_classes_without(self, posterior: NormalInverseGamma, X: Array, members: Membership) -> Array:
        """A row taken out changes the shared variance, hence the predictive of every class."""
        out = np.empty((len(X), len(posterior.kappa)))
        for block in row_blocks(X):
            rows, remaining = forget(self, posterior, X[block], members[block])
            for k in range(out.shape[1]):
                own = (members.codes[block] == k)[:, None]
                location = np.where(own, remaining.location, posterior.location[k])
                kappa = np.where(own, remaining.kappa, posterior.kappa[k])
                belief = replace_unchecked(remaining, location=location, kappa=kappa)
                out[block, k] = per_row(log_evidence_of(belief, rows))
        return out

    def log_likelihood(self, theta: Theta) -> LogDensity:
        mean = theta["mean"]
        sd = np.sqrt(np.broadcast_to(np.expand_dims(theta["variance"], self._axes), mean.shape))
        constant = -0.5 * LOG_2PI - np.log(sd)
        # the classes of every draw, side by side
        flat_mean, flat_sd = mean.reshape(-1, mean.shape[-1]), sd.reshape(-1, mean.shape[-1])

        def log_normal(X: Array) -> Array:
            squares, odd = weighted_squares(X, flat_mean, flat_sd)
            out = np.moveaxis(squares.T.reshape(*mean.shape[:-1], len(X)), -1, -2)
            out *= -0.5
            return _plus_cells(out, constant, X, odd)

        return LogDensity(log_normal)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        mean = theta["mean"]
        sd = np.broadcast_to(np.sqrt(np.expand_dims(theta["variance"], self._axes)), mean.shape)
        return rng.normal(mean[codes], sd[codes])

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm
        import pytensor.tensor as pt

        mean = variables["mean"]
        sd = pt.broadcast_to(self._per_cell(variables["variance"]) ** 0.5, mean.shape)
        index, at, dims = present_cells(X, codes, prefix)
        pm.Normal(f"{prefix}x", mean[index], sd[index], observed=X[at], dims=dims)

    def observe_statistics(self, variables: dict[str, Any], statistics: Moments, prefix: str = "") -> None:
        import pymc as pm
        import pytensor.tensor as pt

        variance, n = self._per_cell(variables["variance"]), statistics.count
        squares = statistics.scatter + n * (statistics.mean - variables["mean"]) ** 2
        log_density = -0.5 * (n * (LOG_2PI + pt.log(variance)) + squares / variance)
        pm.Potential(f"{prefix}x", log_density.sum())

    def _per_cell(self, variance: Any) -> Any:
        import pytensor.tensor as pt

        return pt.expand_dims(variance, self._axes) if self._axes else variance

    def _improper(self, statistics: Moments, power: float) -> NormalInverseGamma:
        prior = NormalInverseGamma.improper(statistics.mean.shape, self._axes, power)
        cells_per_row = statistics.mean.shape[1] if "feature" in self.shared else 1
        needed = np.floor(-2 * prior.a.max() / cells_per_row) + 1
        per = "in all" if "class" in self.shared else "in each class"
        return require_proper(prior, statistics, self.classes, needed, per)

    def _means_per_variance(self, statistics: Moments) -> float:
        return float(np.prod([statistics.mean.shape[axis] for axis in self._axes]))

    def _columnwise(self, statistics: Moments) -> NormalInverseGamma:
        total = statistics.pooled()
        return self._weak(statistics, total.mean, column_scales(total, self.columns), dimension=1)

    def _fraley_raftery(self, statistics: Moments) -> NormalInverseGamma:
        total = statistics.pooled()
        scale = common_scale(total, self.columns)
        return self._weak(statistics, total.mean, scale, dimension=statistics.mean.shape[1])

    def _weak(
        self, statistics: Moments, location: Array, scale: Array | float, dimension: int
    ) -> NormalInverseGamma:
        """ν = D + 2, and the squares of a scale over K^(2/D)."""
        n_classes = len(statistics.mean)
        b = np.square(scale) / n_classes ** (2 / dimension) / 2
        prior = NormalInverseGamma(location, 0.01, (dimension + 2) / 2, b)
        return prior.sized(statistics.mean.shape, self._axes)


def _log_t_of_cells(posterior: NormalInverseGamma) -> list[Callable[[Array], Array]]:
    """The log predictive density of every cell under each class: functions of (n_rows, n_features)."""
    shape = posterior.kappa.shape
    half_dof = np.broadcast_to(posterior.spread(posterior.a), shape)
    b = np.broadcast_to(posterior.spread(posterior.b), shape)
    spread = 2 * b * (posterior.kappa + 1) / posterior.kappa
    constant = log_rising(half_dof, np.asarray(0.5)) - 0.5 * np.log(np.pi * spread)

    def of_class(k: int, X: Array) -> Array:
        return np.asarray(
            constant[k] - (half_dof[k] + 0.5) * np.log1p((X - posterior.location[k]) ** 2 / spread[k])
        )

    return [partial(of_class, k) for k in range(len(constant))]


def _plus_cells(out: Array, constant: Array, X: Array, odd: Array) -> Array:
    """Add what a present cell contributes whatever its value, (..., n_classes, n_features), to log densities.

    Only the rows in ``odd`` can lack cells.
    """
    without = out[..., odd, :]
    out += constant.sum(-1)[..., None, :]
    if len(odd):
        out[..., odd, :] = without + ~np.isnan(X[odd]) @ np.swapaxes(constant, -1, -2)
    return out
