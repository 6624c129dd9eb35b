"""Models as functions of a module, so that other processes can import them."""

import numpy as np
import pymc as pm


def rates(X, y):
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=y)
        pm.Poisson("x", pm.Gamma("rate", 2.0, 1.0, shape=(2, X.shape[1]))[label], observed=X)
    return model


def rates_and_levels(X, y):
    """Three parts: in closed form, collapsed, and neither."""
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=y)
        pm.Poisson("counts", pm.Gamma("rate", 2.0, 1.0, shape=2)[label], observed=X[:, 0])
        p = pm.Beta("p", pm.Gamma("a", 2.0, 1.0), 1.0, shape=2)
        pm.Binomial("successes", 9, p[label], observed=X[:, 1])
        pm.Poisson("more", pm.HalfNormal("mean", 3.0, shape=2)[label], observed=X[:, 2])
    return model
