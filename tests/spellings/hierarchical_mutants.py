"""Models that differ a little from one whose parameters can be integrated out given a centre that is learned."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from registry import CODES, REAL

K, D = 3, 2

#: What is changed; nothing but constants keeps the model conjugate given the centre.
CHANGES = (
    "constants",
    "precision of mu",
    "prior of tau",
    "prior of mu",
    "link of scale",
    "a child of mu",
    "location follows tau",
    "bound of mu",
)


def hierarchical_mutant(change: str, seed: int) -> tuple[Any, bool]:
    """A model, and whether its parameters can be integrated out given the centre."""
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
        pm.Normal("x", mu[y], scale[y], observed=REAL)
    return model, change == "constants"
