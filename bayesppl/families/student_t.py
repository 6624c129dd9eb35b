r"""Independent Student-t features: like Gaussian ones, with tails so heavy that an outlier moves no estimate far.

.. math:: x_d \mid y = k \sim t_{\nu_{kd}}(\mu_{kd}, \sigma_{kd}).

There are neither sufficient statistics nor a conjugate prior: the posterior is sampled on the rows. Where
:math:`\nu` is learned too, how heavy the tails are is estimated from the data (Lange, Little & Taylor 1989). As
:math:`\nu` grows, the density becomes that of ``Gaussian("diag")``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate.declare import Direct
from bayesppl.conjugate.declared_priors import is_declaration
from bayesppl.conjugate.weighted_rows import WeightedRows
from bayesppl.data.arguments import real
from bayesppl.families.independent_cells import IndependentCells, OfColumn
from bayesppl.kernels.arrays import Array, Theta, log_rising


@dataclass(frozen=True, eq=False)
class StudentT(IndependentCells):
    """Independent Student-t features, robust against outliers.

    Parameters
    ----------
    dof : float, PyMC distribution or callable
        Degrees of freedom, given as a positive number or learned under a prior, such as ``pm.Gamma.dist(2, 0.1)``
        (Juárez & Steel 2010). 1 is Cauchy.
    location, scale : PyMC distribution or callable, optional
        Priors of the locations and scales. By default the location is normal about the median of the column, with
        ten times its scale, or the distance of the median of a class, where that is more; and the scale is
        log-normal about that within the classes, with a spread of one. Scales are interquartile ranges as those of
        a normal: both priors are weak, and free of units.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [[0.0], [1.0], [0.5], [90.0], [4.0], [5.0], [4.5], [5.5]], list("aaaabbbb")
    >>> clf = bp.GenerativeClassifier(bp.families.StudentT(2.0), inference=bp.Laplace(random_state=1)).fit(X, y)
    >>> clf.predict([[0.7], [4.2]]).tolist()
    ['a', 'b']
    """

    name: ClassVar[str] = "student t"

    dof: Any = 4.0
    location: Any = None
    scale: Any = None

    @property
    def parameters(self) -> tuple[str, ...]:
        return ("location", "scale", "dof") if is_declaration(self.dof) else ("location", "scale")

    def resolve_prior(self, statistics: WeightedRows) -> Direct:
        import pymc as pm

        centre, spread = statistics.median_and_spread()
        medians, within = statistics.spread_within(centre, spread)
        farthest = np.maximum(spread, np.abs(medians - centre).max(0))
        declared = {
            "location": pm.Normal.dist(centre, 10 * farthest) if self.location is None else self.location,
            "scale": pm.LogNormal.dist(np.log(within), 1.0) if self.scale is None else self.scale,
        }
        if is_declaration(self.dof):
            declared["dof"] = self.dof
        else:
            real("StudentT: dof", self.dof, "be positive and finite, or a prior", lambda dof: 0 < dof < np.inf)
        return Direct(declared, {"location": "real", "scale": "positive", "dof": "positive"})

    def log_cell(self, theta: Theta) -> OfColumn:
        location, scale = theta["location"], theta["scale"]
        dof = theta["dof"] if "dof" in theta else np.asarray(float(self.dof))
        constant = log_rising(dof / 2, np.asarray(0.5)) - 0.5 * np.log(np.pi * dof) - np.log(scale)
        return lambda x: constant - (dof + 1) / 2 * np.log1p(((x - location) / scale) ** 2 / dof)

    def draw(self, theta: Theta, rng: np.random.Generator) -> Array:
        location = theta["location"]
        return location + theta["scale"] * rng.standard_t(theta.get("dof", self.dof), location.shape)

    def observe(self, name: str, theta: dict[str, Any], **observed: Any) -> None:
        import pymc as pm

        dof = theta.get("dof", self.dof)
        pm.StudentT(name, nu=dof, mu=theta["location"], sigma=theta["scale"], **observed)
