r"""Normalisers of conjugate posteriors, as graphs of the coefficients of their priors.

Where a prior is :math:`\exp(c + \sum_j h_j t_j(\theta))` in the coordinates of :mod:`.naturals`, the rows add their sums to
:math:`h`, and :math:`\int \exp(\sum_j h_j t_j) d\theta` of what comes out is the likelihood of :math:`h`, up to
:math:`e^c` and a constant (Bernardo & Smith 1994, section 5.2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytensor.tensor as pt

from bayesppl.conjugate.moments import Moments
from bayesppl.conjugate.statistics import Counts, Events, Successes
from bayesppl.inference.pymc.reading.natural_normals import Means, MeansAndCovariances, MeansAndVariances
from bayesppl.inference.pymc.reading.naturals import Natural, Probabilities, Rates, Simplices

#: Graphs of what is known beside the parameters, by name.
Known = Mapping[str, Any]


def _beta(natural: Natural, h: Any, rows: Successes, known: Known) -> Any:
    alpha, beta = h[..., 0] + 1 + rows.successes, h[..., 1] + 1 + rows.failures
    return pt.gammaln(alpha) + pt.gammaln(beta) - pt.gammaln(alpha + beta)


def _gamma(natural: Natural, h: Any, rows: Events, known: Known) -> Any:
    shape, rate = h[..., 0] + 1 + rows.events, h[..., 1] + rows.exposure
    return pt.gammaln(shape) - shape * pt.log(rate)


def _dirichlet(natural: Any, h: Any, rows: Counts, known: Known) -> Any:
    alpha = h + 1 + rows.counts.reshape((*natural.lead, natural.n_outcomes))
    return pt.gammaln(alpha).sum(-1) - pt.gammaln(alpha.sum(-1))


def _normal_inverse_gamma(natural: Any, h: Any, rows: Moments, known: Known) -> Any:
    count, mean, scatter = (
        natural.means_last(np.broadcast_to(values, natural.entries))
        for values in (rows.count, rows.mean, rows.scatter)
    )
    n = count.shape[-1]
    kappa = -2 * h[..., 2 + n :]
    location = h[..., 2 : 2 + n] / kappa
    b = -h[..., 1] - (kappa * location**2).sum(-1) / 2
    squares = scatter + kappa * count / (kappa + count) * (mean - location) ** 2
    shape = -h[..., 0] - 1 - n / 2 + count.sum(-1) / 2
    return pt.gammaln(shape) - shape * pt.log(b + squares.sum(-1) / 2) - 0.5 * pt.log(kappa + count).sum(-1)


def _normal_inverse_wishart(natural: Any, h: Any, rows: Moments, known: Known) -> Any:
    kappa, location, nu, whole = natural.unpacked(h)
    n, d = rows.count, natural.n_features
    psi = whole - natural.between(kappa, location) + rows.scatter
    psi = psi + natural.between(kappa * n / (kappa + n), rows.mean - location)
    nu = nu + (n.sum() if natural.tied else n)
    of_degrees = 0.5 * d * np.log(2) * nu + sum(pt.gammaln((nu - j) / 2) for j in range(d))
    of_means = 0.5 * d * pt.log(kappa + n)
    return of_degrees - 0.5 * nu * pt.linalg.slogdet(psi)[1] - (of_means.sum() if natural.tied else of_means)


def _normal(natural: Any, h: Any, rows: Moments, known: Known) -> Any:
    variance, n = known.get("variance", natural.variance), rows.count
    precision = -2 * h[..., 1]
    location = h[..., 0] / precision
    own = precision * variance
    squares = rows.scatter + own * n / (own + n) * (rows.mean - location) ** 2
    of_rows = n * pt.log(variance) + squares / variance
    return 0.5 * (precision * location**2 - pt.log(precision + n / variance) - of_rows)


#: log ∫ of the posterior's density over the parameters, by factor, from natural, coefficients, sums of the rows, and what is
#: known; up to a constant.
LOG_NORMALIZERS: Mapping[type[Natural], Callable[[Any, Any, Any, Known], Any]] = {
    Probabilities: _beta,
    Rates: _gamma,
    Simplices: _dirichlet,
    MeansAndVariances: _normal_inverse_gamma,
    MeansAndCovariances: _normal_inverse_wishart,
    Means: _normal,
}
