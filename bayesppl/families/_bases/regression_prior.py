"""The default prior of regressions on categories: weak, free of units, and as much shrinkage as the evidence asks for.

The intercepts and the covariance have the hierarchical prior that a covariance shared by all classes has (see
:mod:`bayesppl.families._bases.covariance_prior`): a diagonal scale matrix of the variances within classes, worth δ₀ rows, and a
common mean, worth κ rows. The effect of a level is worth λ rows, :math:`B \\mid \\Sigma \\sim \\mathrm{MN}(0, I / \\lambda, \\Sigma)`: in units of
the numbers' own standard deviations. The logarithm of λ is averaged over a grid, with weights proportional to the evidence, so that
the prior is a smooth function of the statistics. Categories that explain nothing have a λ at the end of the grid.

No correlation and no effect is read off the rows: the evidence counts every row once, with each class by itself or all together.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.moments import Moments
from bayesppl.families._bases.covariance_prior import average, hierarchical_prior

_EFFECT_ROWS = 2.0 ** np.arange(-4, 13.0)


def regression_prior(
    statistics: Moments, n_predictors: int, tied: bool, columns: Sequence[Hashable]
) -> MatrixNormalInverseWishart:
    """The prior of regressions of columns on predictors.

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
    )
    log_evidence = np.array(
        [prior.rescaled({"precision": rows}).log_increment(statistics).sum() for rows in _EFFECT_ROWS]
    )
    return prior.rescaled({"precision": average(_EFFECT_ROWS, log_evidence)})


def common_regression_prior(
    statistics: Moments, n_predictors: int, tied: bool, columns: Sequence[Hashable]
) -> MatrixNormalInverseWishart:
    """The prior of one class in place of all, with the numbers found from the classes (see ``common_hierarchical_prior``)."""
    prior = regression_prior(statistics, n_predictors, tied, columns)
    if not tied:
        return prior.select_classes(np.zeros(1, dtype=np.intp))
    return replace_unchecked(prior, location=prior.location[:1], kappa=prior.kappa[:1], centre=prior.centre[:1])
