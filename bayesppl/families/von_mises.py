r"""Angles and what returns after a period: directions, hours of the day, months of the year.

.. math:: p(x \mid y = k) = \frac{\exp(a_{kd} \cos\omega x + b_{kd} \sin\omega x)}{P\, I_0(\sqrt{a_{kd}^2 +
   b_{kd}^2})},
   \qquad \omega = 2\pi / P,

the von Mises distribution of period P (Mardia & Jupp 2000, section 3.5.4) with direction
:math:`\mathrm{atan2}(b, a)/\omega` and concentration :math:`\kappa = \sqrt{a^2 + b^2}`. The coefficients a and b
are its natural parameters: unlike the direction they have averages, and a prior of both that is the same normal
prefers no direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ive

from bayesppl.conjugate.declare import Direct
from bayesppl.conjugate.moments import degrees_within
from bayesppl.conjugate.statistics import ROUNDING
from bayesppl.conjugate.weighted_rows import WeightedRows
from bayesppl.data.arguments import real
from bayesppl.families.independent_cells import IndependentCells, OfColumn
from bayesppl.kernels.arrays import Array, Theta

# Rows that the concentration within all classes counts for beside that of one, the least length of a mean vector,
# and the concentration from which on log I₀(κ) - κ is -log(2πκ)/2, up to 1/(8κ)
_ROWS_WITHIN, _LEAST_LENGTH, _LARGE = 2.0, 0.01, 1e8


@dataclass(frozen=True, eq=False)
class VonMises(IndependentCells):
    """Independent von Mises features: numbers on a circle.

    Parameters
    ----------
    period : float
        After which the values return: 2π for angles in radians, 360 for degrees, 24 for hours, 12 for months.
    coefficient : PyMC distribution or callable, optional
        Prior of the coefficients of cosine and sine. By default they are normal about zero with a standard
        deviation that exceeds the concentration of the class by one, so that no direction is preferred.

    Examples
    --------
    >>> import bayesppl as bp
    >>> hours, shift = [[22.5], [23.5], [0.5], [1.5], [11.0], [12.0], [13.0], [12.5]], ["night"] * 4 + ["day"] * 4
    >>> clf = bp.GenerativeClassifier(bp.families.VonMises(24), inference=bp.Laplace(random_state=1))
    >>> clf = clf.fit(hours, shift)
    >>> clf.predict([[0.0], [24.0], [14.0]]).tolist()
    ['night', 'night', 'day']
    """

    name: ClassVar[str] = "von mises"

    period: float = 2 * np.pi
    coefficient: Any = None

    parameters = ("cosine", "sine")

    def resolve_prior(self, statistics: WeightedRows) -> Direct:
        import pymc as pm

        real("VonMises: period", self.period, "be positive and finite", lambda period: 0 < period < np.inf)
        declared = self.coefficient
        if declared is None:
            declared = pm.Normal.dist(0.0, 1 + self._concentrations(statistics))
        return Direct(dict.fromkeys(self.parameters, declared), dict.fromkeys(self.parameters, "real"))

    def log_cell(self, theta: Theta) -> OfColumn:
        cosine, sine = (theta[name] for name in self.parameters)
        kappa = np.hypot(cosine, sine)
        log_norm = _log_bessel(kappa) + kappa + np.log(self.period)
        return lambda x: cosine * np.cos(self._angles(x)) + sine * np.sin(self._angles(x)) - log_norm

    def draw(self, theta: Theta, rng: np.random.Generator) -> Array:
        cosine, sine = (theta[name] for name in self.parameters)
        angles = rng.vonmises(np.arctan2(sine, cosine), np.hypot(cosine, sine))
        return np.mod(angles * self.period / (2 * np.pi), self.period)

    def observe(self, name: str, theta: dict[str, Any], **observed: Any) -> None:
        import pymc as pm
        import pytensor.tensor as pt

        def log_density(value: Any, cosine: Any, sine: Any) -> Any:
            angles = 2 * np.pi / self.period * value
            kappa = pt.sqrt(cosine**2 + sine**2 + 1e-24)  # whose gradient exists at zero
            series = pt.log(pt.ive(0, pt.minimum(kappa, _LARGE)))
            log_bessel = pt.switch(kappa > _LARGE, -0.5 * pt.log(2 * np.pi * kappa), series)
            log_norm = log_bessel + kappa + np.log(self.period)
            return cosine * pt.cos(angles) + sine * pt.sin(angles) - log_norm

        pm.CustomDist(name, *(theta[parameter] for parameter in self.parameters), logp=log_density, **observed)

    def _concentrations(self, statistics: WeightedRows) -> Array:
        """Estimate the concentrations of the classes, each averaged with that within all: (n_classes, n_features).

        Of logarithms, so that a class of many rows keeps its own; that within all counts for two. A class of equal
        angles shows no width.
        """
        count = statistics.sum_by_class(np.ones((len(statistics.X), 1)))
        short = count - np.abs(statistics.sum_by_class(np.exp(1j * self._angles(statistics.X))))
        rounding = max(ROUNDING, np.finfo(float).eps * len(statistics.X))  # of sums in the order of the rows
        rows = np.where(short > rounding * count, degrees_within(count), 0.0)
        all_rows, n_rows = degrees_within(count).sum(0), count.sum(0)
        within = _concentration(np.where(rows.any(0), short.sum(0) / np.maximum(all_rows, 1.0), 1 / (n_rows + 1)))
        own = _concentration(np.divide(short, rows, out=np.ones_like(short), where=rows > 0))
        return np.asarray(np.exp((rows * np.log(own) + _ROWS_WITHIN * np.log(within)) / (rows + _ROWS_WITHIN)))

    def _angles(self, x: Array) -> Array:
        return 2 * np.pi / self.period * np.asarray(x, dtype=np.float64)


def _concentration(short: Array) -> Array:
    """Estimate a concentration from what a mean vector is short of one (Banerjee et al. 2005, equation 4.4).

    For narrow classes that is unbiased over the degrees of freedom (Watson & Williams 1956).
    """
    length = np.maximum(1 - short, _LEAST_LENGTH)
    return np.asarray(length * (2 - length**2) / (1 - length**2))


def _log_bessel(kappa: Array) -> Array:
    """Compute log I₀(κ) - κ, beyond what scipy computes by its series (Mardia & Jupp 2000, appendix 1)."""
    tail = -0.5 * np.log(2 * np.pi * np.maximum(kappa, _LARGE))
    return np.where(kappa > _LARGE, tail, np.log(ive(0, np.minimum(kappa, _LARGE))))
