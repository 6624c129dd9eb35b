"""Priors whose constants are learned, as people write them: conjugate given these, or not."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from registry import BINARY, BITS, COUNTS, LEVELS, POSITIVE, REAL, TIME, WORDS, spelling

K, D = 3, 2


def label(codes):
    return pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=codes)


@spelling({"x": LEVELS}, x="collapsed")
def levels_of_learned_concentration(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        c = pm.Gamma("c", 2.0, 0.5)
        pm.Categorical("x", pm.Dirichlet("p", c * np.ones(4), shape=(K, 2, 4))[y], observed=rows["x"])
    return model


@spelling({"x": WORDS}, x="collapsed")
def words_about_a_learned_base(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        base, c = pm.Dirichlet("base", np.ones(3)), pm.Exponential("c", 0.1)
        pm.Multinomial("x", 9, pm.Dirichlet("p", 0.1 + c * base, shape=(K, 3))[y], observed=rows["x"])
    return model


@spelling({"x": BITS}, x="collapsed")
def probabilities_about_a_learned_mean(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mean, size = pm.Beta("mean", 1.0, 1.0, shape=3), pm.Deterministic("size", 1 + pm.HalfNormal("extra", 5.0))
        p = pm.Beta("p", mean * size, (1 - mean) * size, shape=(K, 3))
        pm.Bernoulli("x", p[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="collapsed")
def binomials_of_learned_concentration(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        a, b = pm.Gamma("a", 2.0, 1.0), pm.Gamma("b", 2.0, 1.0, shape=2)
        pm.Binomial("x", 20, pm.Beta("p", a, b, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS[:, 0], "time": TIME}, given=("time",), x="collapsed")
def exposed_rates_with_a_learned_prior(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        time = pm.Data("time", rows["time"])
        rate = pm.Gamma("rate", 2.0, pm.Gamma("scale", 2.0, 1.0), shape=K)
        pm.Poisson("x", rate[y] * time, observed=rows["x"])
    return model


@spelling({"x": POSITIVE}, x="collapsed")
def waiting_times_with_a_learned_prior(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        rate = pm.Gamma("rate", mu=pm.Exponential("typical", 1.0, shape=D), sigma=1.0, shape=(K, D))
        pm.Exponential("x", rate[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def means_about_a_learned_centre(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        centre = pm.Normal("centre", 0.0, 5.0, shape=D)
        tau = pm.Gamma("tau", 2.0, 0.5, shape=(K, D))
        mu = pm.Normal("mu", centre, tau=0.3 * tau, shape=(K, D))
        pm.Normal("x", mu[y], tau=tau[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def tied_variances_and_a_learned_spread(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        ratio, scale = pm.HalfNormal("ratio", 3.0), pm.Gamma("scale", 2.0, 1.0)
        v = pm.InverseGamma("v", 2.0, scale, shape=D)
        mu = pm.Normal("mu", 0.5, ratio * pt.sqrt(v), shape=(K, D))
        pm.Normal("x", mu[y], pt.sqrt(v), observed=rows["x"])
    return model


@spelling({"x": POSITIVE}, x="collapsed")
def log_normal_features_about_a_learned_centre(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=(K, D))
        mu = pm.Normal("mu", pm.Normal("centre", 0.0, 2.0), pt.sqrt(v / 0.5), shape=(K, D))
        pm.LogNormal("x", mu[y], pt.sqrt(v)[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def conjugate_means_non_centred(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        centre, ratio = pm.Normal("centre", 0.0, 5.0, shape=D), pm.HalfNormal("ratio", 3.0)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=D)
        mu = pm.Deterministic("mu", centre + ratio * pt.sqrt(v) * pm.Normal("z", shape=(K, D)))
        pm.Normal("x", mu[y], pt.sqrt(v), observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="collapsed")
def rates_as_multiples_of_a_learned_one(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        typical, multiple = pm.HalfNormal("typical", 5.0), pm.Gamma("multiple", 3.0, 3.0, shape=(K, D))
        pm.Poisson("x", (typical * multiple)[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def mean_vectors_about_a_learned_centre(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        centre, ratio = pm.Normal("centre", 0.0, 5.0, shape=D), pm.Gamma("ratio", 2.0, 2.0)
        precision = pm.Wishart("precision", 5, np.array([[2.0, 0.3], [0.3, 1.0]]), shape=(K, D, D))
        cov = pt.stack([pt.linalg.inv(ratio * precision[k]) for k in range(K)])
        mu = pm.MvNormal("mu", centre, cov=cov, shape=(K, D))
        pm.MvNormal("x", mu[y], tau=precision[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def a_tied_covariance_and_a_learned_spread(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        spread = pm.HalfNormal("spread", 3.0)
        precision = pm.Wishart("precision", 5, np.eye(D))
        mu = pm.MvNormal("mu", np.zeros(D), cov=spread * pt.linalg.inv(precision), shape=(K, D))
        pm.MvNormal("x", mu[y], tau=precision, observed=rows["x"])
    return model


# --- not conjugate given the constants of the prior ---------------------------------------------------------


@spelling({"x": COUNTS}, x="compressed")
def log_rates_about_a_learned_centre(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        log_rate = pm.Normal("log_rate", pm.Normal("centre", 0.0, 2.0), pm.HalfNormal("spread", 1.0), shape=(K, D))
        pm.Poisson("x", pt.exp(log_rate)[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="compressed")
def rates_cut_off_at_a_learned_bound(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        bound = 20.0 + pm.Exponential("beyond", 1.0)
        rate = pm.Truncated("rate", pm.Gamma.dist(2.0, 0.5), lower=0.0, upper=bound, shape=(K, D))
        pm.Poisson("x", rate[y], observed=rows["x"])
    return model


@spelling({"x": BITS}, x="compressed")
def a_concentration_that_may_be_negative(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        c = pm.Normal("c", 2.0, 1.0)
        pm.Bernoulli("x", pm.Beta("p", c, 1.0, shape=(K, 3))[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="compressed")
def a_learned_prior_with_a_potential(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        scale = pm.Exponential("scale", 1.0)
        rate = pm.Gamma("rate", 2.0, scale, shape=(K, D))
        pm.Potential("extra", -1e-3 * scale * (rate**2).sum())
        pm.Poisson("x", rate[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def a_mean_for_each_class_non_centred(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        centre, spread = pm.Normal("centre", 0.0, 5.0, shape=D), pm.HalfNormal("spread", 2.0)
        means = [pm.Deterministic(f"mean{k}", centre + spread * pm.Normal(f"z{k}", shape=D)) for k in range(K)]
        pm.Normal("x", pt.stack(means)[y], pm.HalfNormal("sd", 2.0, shape=D), observed=rows["x"])
    return model


@spelling({"x": REAL}, codes=BINARY, x="collapsed")
def a_mean_for_each_of_two_classes_by_switch(rows, codes):
    with pm.Model() as model:
        y = pm.Bernoulli("y", pm.Beta("w", 2.0, 2.0), observed=codes)
        low, high = pm.Normal("low", 0.0, 5.0, shape=D), pm.Normal("high", 1.0, 5.0, shape=D)
        sd = pm.HalfNormal("sd", 2.0, shape=D)
        pm.Normal("x", pm.math.switch(pt.eq(y, 1)[:, None], high, low), sd, observed=rows["x"])
    return model


@spelling({"x": BITS}, x="collapsed")
def a_column_of_probabilities_at_a_time(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        c = pm.Gamma("c", 2.0, 0.5)
        p = pt.stack([pm.Beta(f"p{j}", c, c, shape=K) for j in range(3)], axis=1)
        pm.Bernoulli("x", p[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def means_with_the_features_first(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu, sd = pm.Normal("mu", 0.0, 5.0, shape=(D, K)), pm.Exponential("sd", 1.0, shape=D)
        pm.Normal("x", mu.T[y], sd, observed=rows["x"])
    return model
