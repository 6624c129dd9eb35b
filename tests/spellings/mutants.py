"""Models that differ a little from one with a closed form: a constant, a prior, a link, an index, or a term."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from registry import CODES, COUNTS, REAL

K, D = 3, 2


def mutant(seed: int) -> tuple[Any, bool]:
    """A model, and whether it has a closed form all the same (None of what was changed touches the conjugacy)."""
    rng = np.random.default_rng(seed)
    return (_gaussian if rng.random() < 0.6 else _poisson)(rng)


def _gaussian(rng):
    """Normal features of precision τ and mean given τ; conjugate unless a change below says otherwise."""
    change = rng.choice(
        ["constants", "power", "prior of tau", "prior of mu", "link of scale", "shift", "couple classes",
         "couple columns",
         "scale of one class", "index", "offset of rows", "jitter of precision", "potential"]
    )  # fmt: skip
    a, b, m, kappa = rng.uniform(0.5, 4.0, 4)
    with pm.Model() as model:
        y = pm.Categorical("y", pm.Dirichlet("w", rng.uniform(0.5, 3.0, K)), observed=CODES)
        tau = (
            pm.Weibull("tau", 1.0 + a, b, shape=(K, D))
            if change == "prior of tau"
            else pm.Gamma("tau", a, b, shape=(K, D))
        )
        exact = change in ("constants", "index")
        spread = kappa * tau
        if change == "power":
            spread = kappa * tau ** rng.uniform(0.9, 0.99)
        if change == "jitter of precision":
            spread = kappa * tau + 10.0 ** -rng.integers(2, 5)
        centre: Any = np.full((K, D), m)
        if change == "couple classes":
            base = pm.Normal("base", m, tau=kappa * tau[0], shape=D)
            rest = pm.Normal("rest", m + 1e-3 * base, tau=kappa * tau[1:], shape=(K - 1, D))
            mu = pt.concatenate([base[None], rest])
        elif change == "couple columns":
            first = pm.Normal("first", m, tau=kappa * tau[:, 0], shape=K)
            second = pm.Normal("second", m + 0.01 * first, tau=kappa * tau[:, 1], shape=K)
            mu = pt.stack([first, second], axis=1)
        elif change == "prior of mu":
            mu = pm.StudentT("mu", nu=30.0, mu=centre, lam=spread, shape=(K, D))
        else:
            mu = pm.Normal("mu", centre, tau=spread, shape=(K, D))
        if change == "potential":
            pm.Potential("extra", -1e-3 * (mu**4).sum())
        scale = tau**-0.5
        if change == "link of scale":
            scale = scale + 1e-3
        if change == "scale of one class":
            scale = scale * (1 + 0.01 * mu**2 / (1 + mu**2))
        location = mu[y]
        if change == "shift":
            location = mu[y] + 0.01 * pt.sin(mu[y])
        if change == "index":
            order = rng.permutation(K)
            pm.Normal("x", mu[order][y], scale[order][y], observed=REAL)
        elif change == "offset of rows":
            pm.Normal("x", location, scale[y] * (1 + 1e-3 * pt.abs(location)), observed=REAL)
        else:
            pm.Normal("x", location, scale[y], observed=REAL)
    return model, exact


def _poisson(rng):
    change = rng.choice(["constants", "prior", "truncated", "link", "couple", "offset", "floor", "two scales"])
    a, b = rng.uniform(0.5, 4.0, 2)
    with pm.Model() as model:
        y = pm.Categorical("y", rng.dirichlet(np.ones(K)), observed=CODES)
        exact = change == "constants"
        if change == "prior":
            rate = pm.LogNormal("rate", a - 1, b, shape=(K, D))
        elif change == "truncated":
            rate = pm.Truncated("rate", pm.Gamma.dist(a, b), lower=0.0, upper=50.0, shape=(K, D))
        elif change == "couple":
            first = pm.Gamma("first", a, b, shape=D)
            rest = pm.Gamma("rest", a, b + 0.01 * first, shape=(K - 1, D))
            rate = pt.concatenate([first[None], rest])
        elif change == "two scales":
            rate = pm.Gamma("rate", a, b, shape=(K, D)) * pm.LogNormal("common", 0.0, 0.1)
        else:
            rate = pm.Gamma("rate", a, b, shape=(K, D))
        if change == "link":
            rate = rate ** rng.uniform(0.9, 0.99)
        if change == "offset":
            rate = rate + 10.0 ** -rng.integers(1, 5)
        if change == "floor":
            rate = pt.sqrt(rate**2 + 1e-4)
        pm.Poisson("x", rate[y], observed=COUNTS)
    return model, exact


def clipped_rates(limit):
    with pm.Model() as model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=CODES)
        rate = pm.Gamma("rate", 2.0, 0.5, shape=(K, D))
        pm.Poisson("x", pt.clip(rate, 1 / limit, limit)[y], observed=COUNTS)
    return model


def a_potential_that_forbids_large_rates(limit):
    with pm.Model() as model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=CODES)
        rate = pm.Gamma("rate", 2.0, 0.5, shape=(K, D))
        pm.Potential("forbidden", pt.switch(pt.any(rate > limit), -np.inf, 0.0))
        pm.Poisson("x", rate[y], observed=COUNTS)
    return model


def a_potential_that_forbids_large_means(limit):
    with pm.Model() as model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=CODES)
        tau = pm.Gamma("tau", 2.0, 0.5, shape=(K, D))
        mu = pm.Normal("mu", 0.0, tau=0.3 * tau, shape=(K, D))
        pm.Potential("forbidden", pt.switch(pt.any(mu > limit), -np.inf, 0.0))
        pm.Normal("x", mu[y], tau=tau[y], observed=REAL)
    return model


def ordered_means(_):
    with pm.Model() as model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=CODES)
        tau = pm.Gamma("tau", 2.0, 0.5, shape=(K, D))
        ordered = pm.distributions.transforms.ordered
        start = np.tile(np.arange(D) - 0.5, (K, 1))
        mu = pm.Normal("mu", 0.0, tau=0.3 * tau, shape=(K, D), default_transform=ordered, initval=start)
        pm.Normal("x", mu[y], tau=tau[y], observed=REAL)
    return model


def a_class_weight_forbidden_by_a_potential(limit):
    with pm.Model() as model:
        w = pm.Dirichlet("w", np.ones(K))
        pm.Potential("forbidden", pt.switch(w[0] < 0.1 / limit, -np.inf, 0.0))
        y = pm.Categorical("y", w, observed=CODES)
        pm.Poisson("x", pm.Gamma("rate", 2.0, 0.5, shape=(K, D))[y], observed=COUNTS)
    return model


#: Models whose density is that of one with a closed form wherever it is not zero, and zero elsewhere.
def a_floor_under_precisions(_):
    """The density of a Wishart matrix of D + 1 degrees of freedom is the same once it is moved."""
    with pm.Model() as model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=CODES)
        tau = [pm.Wishart(f"tau{k}", D + 1, np.eye(D)) + 0.5 * np.eye(D) for k in range(K)]
        mu = [pm.MvNormal(f"mu{k}", np.zeros(D), tau=tau[k]) for k in range(K)]
        pm.MvNormal("x", pt.stack(mu)[y], tau=pt.stack(tau)[y], observed=REAL)
    return model


def confined_correlations(_):
    """An inverse Wishart matrix of two columns has a uniform correlation, here one of an interval."""
    with pm.Model() as model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=CODES)
        rho = 1.2 / np.pi * pt.arctan(pm.Cauchy("z", 0.0, 1.0, shape=K))
        variance = pm.InverseGamma("variance", 1.5, (1 / (2 * (1 - rho**2)))[:, None], shape=(K, 2))
        shared = rho * pt.sqrt(variance.prod(-1))
        rows = [pt.stack([variance[:, 0], shared], -1), pt.stack([shared, variance[:, 1]], -1)]
        covariance = pt.stack(rows, -1)
        whitened = pm.Normal("whitened", 0.0, 2**0.5, shape=(K, 2, 1))
        mu = (pt.linalg.cholesky(covariance) @ whitened)[..., 0]
        pm.MvNormal("x", mu[y], cov=covariance[y], observed=REAL[:, :2])
    return model


CONFINED = (
    confined_correlations,
    a_floor_under_precisions,
    clipped_rates,
    a_potential_that_forbids_large_rates,
    a_potential_that_forbids_large_means,
    ordered_means,
    a_class_weight_forbidden_by_a_potential,
)
