r"""Correlated numbers whose mean depends linearly on given predictors, by class.

.. math:: z \mid d, y = k \sim N(\mu_k + B_k^\top d, \Sigma_k).

Their closed forms stand in :mod:`bayesppl.conjugate.regressions`. The default prior is weak, free of units, and
shrinks as much as the evidence asks for. Intercepts and covariance have the hierarchical prior that a covariance
shared by all classes has (see :mod:`bayesppl.families.covariance_prior`): a diagonal scale matrix of the variances
within classes, worth δ₀ rows, and a common mean, worth κ rows. The effect of a level is worth λ rows,
:math:`B \mid \Sigma \sim \mathrm{MN}(0, I / \lambda, \Sigma)`: in units of the numbers' own standard deviations.
The logarithm of λ is averaged over a grid, with weights proportional to the evidence, so that the prior is a
smooth function of the statistics. Categories that explain nothing have a λ at the end of the grid. No correlation
and no effect is read off the rows: the evidence counts every row once, with each class by itself or all together.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayesppl.conjugate.conjugate import choose_prior, replace_unchecked
from bayesppl.conjugate.correlated_normals import by_pattern
from bayesppl.conjugate.log_density import Evaluate, LogDensity, on_first_use
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.moments import Moments
from bayesppl.conjugate.regressions import squares_of
from bayesppl.families.bound import NumberColumns
from bayesppl.families.common_mean import average
from bayesppl.families.covariance_prior import hierarchical_prior
from bayesppl.families.gaussian_full import CorrelatedNormals
from bayesppl.families.moment_priors import require_definite_scale
from bayesppl.families.support import require_finite_sums
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta
from bayesppl.kernels.definite import whitener_of

_EFFECT_ROWS = 2.0 ** np.arange(-4, 13.0)


@dataclass(frozen=True, eq=False)
class GaussianRegression(CorrelatedNormals, listed=False):
    """The numbers of a :class:`bayesppl.families.ConditionalGaussian`, encoded with their predictors.

    Parameters
    ----------
    prior : "hierarchical" or MatrixNormalInverseWishart
    tied : bool
        Whether all classes share the effects and one covariance matrix.
    predictors : tuple
        Names of the predictors.
    """

    name: ClassVar[str] = "gaussian_regression"
    _refusal: ClassVar[str] = (
        "correlated numbers cannot be fitted to incomplete rows in closed form. Use inference='gibbs' or 'em', "
        "which complete them (labels too, with unlabelled='learn') under conjugate priors in a fit of all rows at "
        "once, or bayesppl.MixedNB, which skips missing cells exactly; or drop or impute them."
    )

    prior: str | MatrixNormalInverseWishart = "hierarchical"
    tied: bool = True
    predictors: tuple[Hashable, ...] = ()

    @cached_property
    def bound(self) -> NumberColumns:
        of_classes = () if self.tied else ("class",)
        dims = {
            "mean": ("class", "feature"),
            "effect": (*of_classes, "level", "feature"),
            "covariance": (*of_classes, "feature", "other_feature"),
        }
        return NumberColumns(self, dims, is_separate=False, other_coords={"level": list(self.predictors)})

    def resolve_prior(self, statistics: Moments) -> MatrixNormalInverseWishart:
        n_predictors = len(self.predictors)
        require_finite_sums(statistics.scatter, [*self.predictors, *self.columns], "sum of squares")
        shape = (len(statistics.count), len(self.columns))
        found: MatrixNormalInverseWishart = choose_prior(
            self.prior,
            {"hierarchical": lambda: regression_prior(statistics, n_predictors, self.tied, self.columns)},
            lambda declared: declared.sized(shape, n_predictors, self.tied),
            MatrixNormalInverseWishart,
        )
        require_definite_scale(found.update(statistics).numbers, statistics, self.classes, self.columns)
        return found

    def log_likelihood(self, theta: Theta) -> LogDensity:
        q, mean = len(self.predictors), theta["mean"]
        effect, covariance = theta["effect"], theta["covariance"]

        def log_normal(at: Array) -> Evaluate:
            of = at[q:] - q
            whitener, log_det = whitener_of(covariance[..., of[:, None], of])
            log_det = log_det[..., None] if self.tied else log_det
            weights = np.concatenate([-whitener @ np.swapaxes(effect[..., of], -1, -2), whitener], axis=-1)
            location = np.concatenate([np.zeros((*mean.shape[:-1], q)), mean[..., of]], axis=-1)
            squares = squares_of(location, weights[..., None, :, :] if self.tied else weights)
            constant = -0.5 * (len(of) * LOG_2PI + log_det[..., None, :])
            return lambda X: constant - 0.5 * squares(X)

        return LogDensity(on_first_use(lambda: by_pattern(log_normal, q + mean.shape[-1])))


def regression_prior(
    statistics: Moments, n_predictors: int, tied: bool, columns: Sequence[Hashable]
) -> MatrixNormalInverseWishart:
    """Return the default prior of regressions of columns on predictors.

    Parameters
    ----------
    statistics : Moments
        Of rows of predictors and numbers side by side, with matrices of scatter.
    n_predictors : int
    tied : bool
    columns : sequence of hashable
        Names of the columns of numbers, for errors.
    """
    within = statistics.within[n_predictors:, n_predictors:]
    numbers = Moments(statistics.count, statistics.mean[:, n_predictors:], within)
    found = hierarchical_prior(numbers, True, columns)
    shape = found.location.shape
    prior = MatrixNormalInverseWishart().sized(shape, n_predictors, tied)
    centre = np.broadcast_to(statistics.pooled().mean[:, :n_predictors], prior.centre.shape)
    prior = replace_unchecked(
        prior,
        location=found.location,
        kappa=found.kappa,
        nu=np.broadcast_to(found.nu, prior.nu.shape),
        psi=np.broadcast_to(found.psi, prior.psi.shape),
        centre=centre,
        hierarchy=found.hierarchy,
    )
    log_evidence = np.array(
        [prior.rescaled({"precision": rows}).log_increment(statistics).sum() for rows in _EFFECT_ROWS]
    )
    return prior.rescaled({"precision": average(_EFFECT_ROWS, log_evidence)})
