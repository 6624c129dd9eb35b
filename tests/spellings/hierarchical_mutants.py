"""Models that differ a little from one whose parameters can be integrated out given a centre that is learned."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from registry import CODES, REAL

K, D = 3, 2

_MEANS = "Normal given centre, tau"
#: What is changed, and what can be integrated out all the same: means and precisions, the means alone, or nothing.
CHANGES = {
    "constants": "NormalInverseGamma given centre",
    "precision of mu": _MEANS,
    "prior of tau": _MEANS,
    "prior of mu": None,
    "link of scale": _MEANS,
    "scale follows mu": None,
    "a child of mu": None,
    "location follows tau": _MEANS,
    "bound of mu": None,
}


def hierarchical_mutant(change: str, seed: int) -> Any:
    """A model that was changed in this way."""
    a, b, kappa, spread = np.random.default_rng(seed).uniform(0.5, 4.0, 4)
    with pm.Model() as model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=CODES)
        centre = pm.Normal("centre", 0.0, spread, shape=D)
        if change == "prior of tau":
            tau = pm.LogNormal("tau", 0.1 * centre, 1.0, shape=(K, D))
        else:
            tau = pm.Gamma("tau", a, b, shape=(K, D))
        precision, location = kappa * tau, centre
        if change == "precision of mu":
            precision = precision + 1e-2 * pt.exp(-(centre**2))
        if change == "location follows tau":
            location = centre + 1e-2 * tau
        if change == "prior of mu":
            mu = pm.StudentT("mu", nu=30.0, mu=location, lam=precision, shape=(K, D))
        elif change == "bound of mu":
            normal = pm.Normal.dist(location, tau=precision)
            mu = pm.Truncated("mu", normal, lower=centre - 50.0, upper=centre + 50.0, shape=(K, D))
        else:
            mu = pm.Normal("mu", location, tau=precision, shape=(K, D))
        if change == "a child of mu":
            pm.Normal("child", mu[0, 0], 1.0)
        scale = tau**-0.5
        if change == "link of scale":
            scale = scale + 1e-3 * centre**2
        if change == "scale follows mu":
            scale = scale + 1e-4 * mu**2
        pm.Normal("x", mu[y], scale[y], observed=REAL)
    return model
