"""Counts, bits, levels, words and waiting times, as people write them."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from registry import BINARY, BITS, CODES, COUNTS, LEVELS, POSITIVE, TIME, WORDS, spelling

K = 3


def label(codes, n=K):
    return pm.Categorical("y", pm.Dirichlet("w", np.ones(n)), observed=codes)


@spelling({"x": COUNTS}, x="exact")
def poisson_rates(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Poisson("x", pm.Gamma("rate", 2.0, 0.5, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="exact")
def exponential_priors_of_rates(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Poisson("x", pm.Exponential("rate", 0.5, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="exact")
def scaled_chi_square_rates(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        rate = pm.Deterministic("rate", 0.25 * pm.ChiSquared("c", 6.0, shape=(K, 2)))
        pm.Poisson("x", rate[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="exact")
def fixed_class_weights(rows, codes):
    with pm.Model() as model:
        y = pm.Categorical("y", [0.2, 0.3, 0.5], observed=codes)
        pm.Poisson("x", pm.Gamma("rate", mu=3.0, sigma=2.0, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, CODES % 2, x="exact")
def a_class_without_rows(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Poisson("x", pm.Gamma("rate", 2.0, 0.5, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="compressed")
def log_rates(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Poisson("x", pt.exp(pm.Normal("log_rate", 1.0, 1.0, shape=(K, 2))[y]), observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="compressed")
def additive_log_rates(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        effect = pm.Normal("class_effect", 0.0, 1.0, shape=K)
        pm.Poisson("x", pt.exp(effect[y][:, None] + pm.Normal("column", 1.0, 1.0, shape=2)), observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="collapsed")
def rates_with_a_learned_prior(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        shape, scale = pm.Exponential("shape", 1.0), pm.Exponential("scale", 1.0)
        pm.Poisson("x", pm.Gamma("rate", shape, scale, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS[:, 0], "time": TIME}, given=("time",), x="exact")
def exposure(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        time = pm.Data("time", rows["time"])
        pm.Poisson("x", pm.Gamma("rate", 2.0, 0.5, shape=K)[y] * time, observed=rows["x"])
    return model


@spelling({"x": COUNTS[:, 0], "trials": COUNTS[:, 0] + COUNTS[:, 1] + 1}, given=("trials",), x="exact")
def trials_as_they_are(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        trials = pm.Data("trials", rows["trials"])
        pm.Binomial("x", n=trials, p=pm.Beta("p", 2.0, 1.0, shape=K)[y], observed=rows["x"])
    return model


@spelling({"x": np.minimum(COUNTS[:, 0] / 2, 3.0)}, x="by rows")
def truncated_waiting_times(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        waiting = pm.Exponential.dist(pm.Gamma("rate", 2.0, 1.0, shape=K)[y])
        pm.Truncated("x", waiting, lower=-1.0, upper=4.0, observed=rows["x"])
    return model


@spelling({"x": COUNTS[:, 0] + 0.5, "error": 0.5 + COUNTS[:, 1]}, given=("error",), x="by rows")
def errors_as_they_are(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        error = pm.Data("error", rows["error"])
        pm.Normal("x", pm.Normal("mu", 2.0, 2.0, shape=K)[y], error, observed=rows["x"])
    return model


@spelling({"x": COUNTS, "trials": COUNTS.max(1) + 3}, given=("trials",), x="exact")
def trials_by_row(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        trials = pm.Data("trials", rows["trials"])
        pm.Binomial("x", n=trials[:, None], p=pm.Beta("p", 2.0, 1.0, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="exact")
def known_size(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.NegativeBinomial("x", n=1.5, p=pm.Beta("p", 2.0, 1.0, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": 1 + COUNTS}, x="exact")
def trials_up_to_the_first_success(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Geometric("x", pm.Beta("p", 2.0, 1.5, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="compressed")
def learned_size(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.Gamma("mu", 2.0, 0.5, shape=(K, 2))
        pm.NegativeBinomial("x", mu=mu[y], alpha=pm.Exponential("alpha", 1.0), observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="by rows")
def zero_inflated(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        psi, rate = pm.Beta("psi", 2.0, 1.0, shape=(K, 2)), pm.Gamma("rate", 2.0, 0.5, shape=(K, 2))
        pm.ZeroInflatedPoisson("x", psi[y], rate[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="exact")
def known_trials(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Binomial("x", 20, pm.Beta("p", 2.0, 1.0, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": BITS}, x="exact")
def bernoulli_features(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Bernoulli("x", pm.Beta("p", 2.0, 0.7, shape=(K, 3))[y], observed=rows["x"])
    return model


@spelling({"x": BITS}, x="exact")
def uniform_probabilities(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Bernoulli("x", pm.Uniform("p", 0.0, 1.0, shape=(K, 3))[y], observed=rows["x"])
    return model


@spelling({"x": BITS}, x="exact")
def logits_with_a_logistic_prior(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Bernoulli("x", logit_p=pm.Logistic("logit", 0.0, 1.0, shape=(K, 3))[y], observed=rows["x"])
    return model


@spelling({"x": BITS}, x="compressed")
def normal_logits(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Bernoulli("x", logit_p=pm.Normal("logit", 0.0, 1.5, shape=(K, 3))[y], observed=rows["x"])
    return model


@spelling({"x": BITS}, BINARY, x="compressed")
def logits_shifted_by_the_label(rows, codes):
    with pm.Model() as model:
        y = pm.Bernoulli("y", pm.Beta("p", 1.0, 1.0), observed=codes)
        base, shift = pm.Normal("base", 0.0, 1.0, shape=3), pm.Normal("shift", 0.0, 1.0, shape=3)
        pm.Bernoulli("x", logit_p=base + pt.eq(y, 1)[:, None] * shift, observed=rows["x"])
    return model


@spelling({"x": BITS}, x="collapsed")
def learned_concentration(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        c = pm.Gamma("c", 2.0, 0.25)
        pm.Bernoulli("x", pm.Beta("p", 0.5 * c, 0.5 * c, shape=(K, 3))[y], observed=rows["x"])
    return model


@spelling({"x": LEVELS}, x="exact")
def levels_of_equal_number(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        p = pm.Dirichlet("p", np.array([0.5, 1.0, 1.5, 2.0]), shape=(K, 2, 4))
        pm.Categorical("x", p[y], observed=rows["x"])
    return model


@spelling({"a": LEVELS[:, 0], "b": LEVELS[:, 1]}, a="exact", b="exact")
def a_categorical_per_column(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        for name, values in rows.items():
            pm.Categorical(name, pm.Dirichlet(f"p_{name}", np.ones(4), shape=(K, 4))[y], observed=values)
    return model


@spelling({"x": LEVELS[:, 0]}, x="exact")
def dirichlets_in_a_list(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        p = pt.stack([pm.Dirichlet(f"p{k}", np.ones(4) + k) for k in range(K)])
        pm.Categorical("x", p[y], observed=rows["x"])
    return model


@spelling({"x": LEVELS}, x="compressed")
def softmax_of_normals(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Categorical("x", logit_p=pm.Normal("logit", 0.0, 1.0, shape=(K, 2, 4))[y], observed=rows["x"])
    return model


@spelling({"x": WORDS}, x="exact")
def words(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Multinomial(
            "x", rows["x"].sum(1), pm.Dirichlet("p", np.full(3, 0.5), shape=(K, 3))[y], observed=rows["x"]
        )
    return model


@spelling({"x": POSITIVE}, x="exact")
def waiting_times(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Exponential("x", pm.Gamma("rate", 2.0, 1.0, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": POSITIVE}, x="exact")
def waiting_times_by_scale(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Exponential("x", scale=pm.InverseGamma("scale", 2.0, 1.0, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": POSITIVE}, x="exact")
def gamma_of_known_shape(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Gamma("x", 2.5, pm.Gamma("rate", 2.0, 1.0, shape=(K, 2))[y], observed=rows["x"])
    return model


@spelling({"x": POSITIVE}, x="by rows")
def gamma_of_learned_shape(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        shape, rate = pm.Exponential("shape", 1.0, shape=(K, 2)), pm.Gamma("rate", 2.0, 1.0, shape=(K, 2))
        pm.Gamma("x", shape[y], rate[y], observed=rows["x"])
    return model


@spelling({"x": POSITIVE}, x="by rows")
def weibull(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        alpha, beta = pm.HalfNormal("alpha", 2.0, shape=(K, 2)), pm.HalfNormal("beta", 2.0, shape=(K, 2))
        pm.Weibull("x", alpha[y], beta[y], observed=rows["x"])
    return model


@spelling({"x": WORDS}, x="by rows")
def overdispersed_words(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        a = pm.Exponential("a", 1.0, shape=(K, 3))
        pm.DirichletMultinomial("x", n=9, a=a[y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="exact")
def one_rate_of_two_columns(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        rate = pm.Gamma("rate", 2.0, 0.5, shape=K)
        pm.Poisson("x", rate[y][:, None], observed=rows["x"])
    return model


@spelling({"a": COUNTS[:, 0], "b": COUNTS[:, 1]}, a__b="exact")
def one_rate_of_two_variables(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        rate = pm.Gamma("rate", 2.0, 0.5, shape=K)
        for name, values in rows.items():
            pm.Poisson(name, rate[y], observed=values)
    return model


@spelling({"x": COUNTS}, x="exact")
def one_rate_of_two_classes(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        rate = pm.Gamma("rate", 2.0, 0.5, shape=(2, 2))
        pm.Poisson("x", rate[np.array([0, 1, 0])][y], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="exact")
def a_column_alike_in_all_classes(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        rate, common = pm.Gamma("rate", 2.0, 0.5, shape=K), pm.Gamma("common", 1.0, 0.5)
        pm.Poisson("x", pt.stack([rate, pt.alloc(common, K)], axis=1)[y], observed=rows["x"])
    return model


@spelling({"x": BITS}, x="exact")
def one_probability_of_all_columns_and_two_classes(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        p = pm.Beta("p", 2.0, 3.0, shape=2)
        pm.Bernoulli("x", pt.stack([p[0], p[1], p[0]])[y][:, None], observed=rows["x"])
    return model


@spelling({"x": COUNTS}, x="collapsed")
def one_rate_of_two_classes_with_a_learned_prior(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        rate = pm.Gamma("rate", 2.0, pm.Exponential("scale", 1.0), shape=(2, 2))
        pm.Poisson("x", rate[np.array([0, 1, 0])][y], observed=rows["x"])
    return model
