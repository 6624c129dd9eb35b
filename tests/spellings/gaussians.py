"""Gaussian features, as people write them."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from registry import BINARY, COUNTS, POSITIVE, REAL, spelling

K, D = 3, 2
COORDS = {"class": ["setosa", "versicolor", "virginica"], "feature": ["length", "width"]}


def label(codes, n=K):
    return pm.Categorical("y", pm.Dirichlet("w", np.ones(n)), observed=codes)


@spelling({"x": REAL}, x="exact")
def precision_and_mean_given_it(rows, codes):
    with pm.Model(coords={**COORDS, "row": range(len(codes))}) as model:
        w = pm.Dirichlet("w", np.ones(3), dims="class")
        y = pm.Categorical("y", w, observed=codes, dims="row")
        tau = pm.Gamma("tau", 2.0, 0.5, dims=("class", "feature"))
        mu = pm.Normal("mu", 4.0, tau=0.1 * tau, dims=("class", "feature"))
        pm.Normal("x", mu[y], tau=tau[y], observed=rows["x"], dims=("row", "feature"))
    return model


@spelling({"x": REAL}, x="exact")
def variance_and_centred_mean(rows, codes):
    with pm.Model() as model:
        label(codes)
        v = pm.InverseGamma("v", 2.5, 1.5, shape=(K, D))
        mu = pm.Normal("mu", 0.5, pt.sqrt(v / 0.7), shape=(K, D))
        pm.Normal("x", mu[codes], pt.sqrt(v)[codes], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def variance_and_non_centred_mean(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.5, 1.5, shape=(K, D))
        z = pm.Normal("z", 0.0, 1.0, shape=(K, D))
        mu = pm.Deterministic("mu", 0.5 + 2.0 * z * pt.sqrt(v))
        sd = pm.Deterministic("sd", pt.sqrt(v))
        pm.Normal("x", mu[y], sd[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def standard_deviation_from_a_log_precision(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        tau = pm.Gamma("tau", alpha=2.0, beta=np.array([0.5, 3.0]), shape=(K, D))
        sd = pm.Deterministic("sd", pt.exp(-0.5 * pt.log(tau)))
        mu = pm.Normal("mu", np.array([[1.0, -1.0]]), 3.0 * sd, shape=(K, D))
        pm.Normal("x", mu[y], sd[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def indexed_by_data(rows, codes):
    with pm.Model() as model:
        index = pm.Data("index", codes)
        y = pm.Categorical("y", pm.Dirichlet("w", [1.0, 2.0, 3.0]), observed=index)
        tau = pm.Gamma("tau", 2.0, 0.5, shape=(K, D))
        mu = pm.Normal("mu", 0.0, tau=0.5 * tau, shape=(K, D))
        pm.Normal("x", pt.take(mu, index, axis=0), tau=tau[index, :], observed=pm.Data("X", rows["x"]))
    assert y is not None
    return model


@spelling({"x": REAL}, x="exact")
def features_first(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.5, 1.5, shape=(D, K))
        mu = pm.Normal("mu", 0.0, pt.sqrt(v / 0.5), shape=(D, K))
        pm.Normal("x", mu.T[y], pt.sqrt(v).T[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def tied_variances(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=D)
        mu = pm.Normal("mu", 0.0, pt.sqrt(v / 0.2), shape=(K, D))
        pm.Normal("x", mu[y], pt.sqrt(v), observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def spherical_classes(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        tau = pm.Gamma("tau", 3.0, 2.0, shape=K)
        mu = pm.Normal("mu", 0.0, tau=(0.3 * tau)[:, None], shape=(K, D))
        pm.Normal("x", mu[y], tau=tau[y][:, None], observed=rows["x"])
    return model


@spelling({"x": REAL[:, 0]}, x="exact")
def one_feature(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=K)
        mu = pm.Normal("mu", 1.0, pt.sqrt(2.0 * v), shape=K)
        pm.Normal("x", mu[y], pt.sqrt(v[y]), observed=rows["x"])
    return model


@spelling({"x": REAL[:, 0]}, BINARY, x="exact")
def binary_label_by_switch(rows, codes):
    with pm.Model() as model:
        p = pm.Beta("p", 2.0, 3.0)
        y = pm.Bernoulli("y", p, observed=codes)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=2)
        low = pm.Normal("low", 0.0, pt.sqrt(v[0] / 0.5))
        high = pm.Normal("high", 1.0, pt.sqrt(v[1] / 0.5))
        pm.Normal("x", pt.switch(pt.eq(y, 1), high, low), pt.sqrt(v[y]), observed=rows["x"])
    return model


def _chosen_by(of_mean, of_precision, rows, codes):
    """A normal column whose mean and precision are chosen by these conditions."""
    with pm.Model() as model:
        pm.Bernoulli("y", 0.4, observed=codes)
        t0, t1 = pm.Gamma("t0", 2.0, 1.0), pm.Gamma("t1", 3.0, 1.0)
        m0, m1 = pm.Normal("m0", 0.0, tau=0.5 * t0), pm.Normal("m1", 0.0, tau=0.5 * t1)
        mean, tau = pm.math.switch(of_mean, m1, m0), pm.math.switch(of_precision, t1, t0)
        pm.Normal("x", mean, tau=tau, observed=rows["x"])
    return model


@spelling({"x": REAL[:, 0]}, BINARY, x="exact")
def binary_label_as_condition(rows, codes):
    return _chosen_by(codes, codes, rows, codes)


@spelling({"x": REAL[:, 0]}, BINARY, x="exact")
def binary_label_as_numbers(rows, codes):
    numbers = codes.astype(float)
    return _chosen_by(numbers, pt.eq(numbers, 1), rows, codes)


@spelling({"x": REAL}, x="exact")
def a_list_of_classes(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = [pm.InverseGamma(f"v{k}", 2.0 + k, 1.0, shape=D) for k in range(K)]
        mu = [pm.Normal(f"mu{k}", float(k), pt.sqrt(v[k] / 0.5), shape=D) for k in range(K)]
        pm.Normal("x", pt.stack(mu)[y], pt.sqrt(pt.stack(v))[y], observed=rows["x"])
    return model


@spelling({"length": REAL[:, 0], "width": REAL[:, 1]}, length="exact", width="exact")
def a_variable_per_feature(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        for name, values in rows.items():
            v = pm.InverseGamma(f"v_{name}", 2.0, 1.0, shape=K)
            mu = pm.Normal(f"mu_{name}", 0.0, pt.sqrt(v / 0.5), shape=K)
            pm.Normal(name, mu[y], pt.sqrt(v)[y], observed=values)
    return model


@spelling({"length": REAL[:, 0], "width": REAL[:, 1]}, length__width="exact")
def a_loop_over_columns_of_one_parameter(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=(K, D))
        mu = pm.Normal("mu", 0.0, pt.sqrt(v / 0.5), shape=(K, D))
        for d, (name, values) in enumerate(rows.items()):
            pm.Normal(name, mu[y, d], pt.sqrt(v[y, d]), observed=values)
    return model


@spelling({"x": REAL, "c": COUNTS}, x="exact", c="exact")
def numbers_beside_counts(rows, codes):
    with pm.Model(coords=COORDS) as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=(K, D))
        mu = pm.Normal("mu", 0.0, pt.sqrt(v / 0.5), shape=(K, D))
        pm.Normal("x", mu[y], pt.sqrt(v)[y], observed=rows["x"])
        rate = pm.Gamma("rate", 2.0, 1.0, shape=(K, D))
        pm.Poisson("c", rate[y], observed=rows["c"])
    return model


@spelling({"x": POSITIVE}, x="exact")
def log_normal_features(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=(K, D))
        mu = pm.Normal("mu", 0.0, pt.sqrt(v / 0.5), shape=(K, D))
        pm.LogNormal("x", mu[y], pt.sqrt(v)[y], observed=rows["x"])
    return model


def _wishart_means(precision, n=K):
    cov = pt.stack([10.0 * pt.linalg.inv(precision[k]) for k in range(n)])
    return pm.MvNormal("mu", np.array([1.0, -1.0]), cov=cov, shape=(n, D))


@spelling({"x": REAL}, x="exact")
def wishart_precisions(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        precision = pm.Wishart("precision", 5, np.array([[2.0, 0.3], [0.3, 1.0]]), shape=(K, D, D))
        mu = _wishart_means(precision)
        pm.MvNormal("x", mu[y], tau=precision[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def wishart_covariances_by_inverse(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        precision = pm.Wishart("precision", 6, np.eye(2), shape=(K, D, D))
        mu = _wishart_means(precision)
        cov = pm.Deterministic("cov", pt.linalg.inv(precision))
        pm.MvNormal("x", mu[y], cov=cov[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def wishart_per_class_in_a_list(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        precision = [pm.Wishart(f"precision{k}", 5 + k, np.eye(2)) for k in range(K)]
        mu = [pm.MvNormal(f"mu{k}", np.zeros(2), tau=0.5 * precision[k]) for k in range(K)]
        pm.MvNormal("x", pt.stack(mu)[y], tau=pt.stack(precision)[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def wishart_precisions_of_means_too(rows, codes):
    """PyMC itself has no density of several vectors of means with a precision each."""
    with pm.Model() as model:
        y = label(codes)
        precision = pm.Wishart("precision", 5, np.array([[2.0, 0.3], [0.3, 1.0]]), shape=(K, D, D))
        mu = pm.MvNormal("mu", np.array([1.0, -1.0]), tau=0.1 * precision, shape=(K, D))
        pm.MvNormal("x", mu[y], tau=precision[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, BINARY, x="exact")
def as_many_classes_as_features_and_one_precision(rows, codes):
    """Of as many vectors as they have entries, PyMC itself has another density."""
    with pm.Model() as model:
        y = label(codes, 2)
        precision = pm.Wishart("precision", 5, np.eye(2))
        mu = pm.MvNormal("mu", np.zeros(2), tau=0.25 * precision, shape=(2, D))
        pm.MvNormal("x", mu[y], tau=precision, observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def linear_discriminant(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        precision = pm.Wishart("precision", 5, np.eye(2))
        mu = pm.MvNormal("mu", np.zeros(2), cov=4.0 * pt.linalg.inv(precision), shape=(K, D))
        pm.MvNormal("x", mu[y], tau=precision, observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def means_weighted_by_potential(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=(K, D))
        mu = pm.Flat("mu", shape=(K, D))
        pm.Potential("prior of mu", (-0.5 * (pt.log(v) + 0.5 * (mu - 1.0) ** 2 / v)).sum())
        pm.Normal("x", mu[y], pt.sqrt(v)[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def known_covariance(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.Normal("mu", 0.5, 2.0, shape=(K, D))
        pm.MvNormal("x", mu[y], cov=np.array([[1.0, 0.3], [0.3, 0.5]]), observed=rows["x"])
    return model


#: Of the rows of each class, and of the means.
COVARIANCES = np.array([[[1.0, 0.3], [0.3, 0.5]], [[2.0, -0.5], [-0.5, 1.0]], [[0.7, 0.0], [0.0, 0.9]]])
OF_MEANS = np.array([[2.0, 0.4], [0.4, 3.0]])


@spelling({"x": REAL}, x="exact")
def known_covariances_of_the_classes(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.MvNormal("mu", np.array([0.5, -1.0]), cov=OF_MEANS, shape=(K, D))
        pm.MvNormal("x", mu[y], cov=pt.constant(COVARIANCES)[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def known_precisions_and_correlated_means_non_centred(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = 0.5 + pm.Normal("z", shape=(K, D)) @ np.linalg.cholesky(OF_MEANS).T
        pm.MvNormal("x", mu[y], tau=pt.constant(np.linalg.inv(COVARIANCES))[y], observed=rows["x"])
    return model


ALIKE = np.array([0, 1, 0])


@spelling({"x": REAL}, x="exact")
def two_classes_of_one_mean_and_variance(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=(2, D))
        mu = pm.Normal("mu", 0.5, pt.sqrt(v / 0.3), shape=(2, D))
        pm.Normal("x", mu[ALIKE][y], pt.sqrt(v)[ALIKE][y], observed=rows["x"])
    return model


@spelling({"x": POSITIVE}, x="exact")
def two_classes_of_one_mean_of_logarithms(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.LogNormal("x", pm.Normal("mu", 0.5, 2.0, shape=(2, D))[ALIKE][y], 0.8, observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def two_classes_of_one_mean_beside_a_learned_scale(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.Normal("mu", 0.5, 2.0, shape=(2, D))
        pm.Normal("x", mu[ALIKE][y], pm.HalfNormal("s", 1.0), observed=rows["x"])
    return model


# --- without a closed form --------------------------------------------------------------------------------


@spelling({"x": REAL}, x="collapsed")
def half_normal_scales(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.Normal("mu", 0.0, 5.0, shape=(K, D))
        sd = pm.HalfNormal("sd", 2.0, shape=(K, D))
        pm.Normal("x", mu[y], sd[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def inverse_gamma_with_an_independent_mean(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.Normal("mu", 0.0, 5.0, shape=(K, D))
        v = pm.InverseGamma("v", 2.0, 1.0, shape=(K, D))
        pm.Normal("x", mu[y], pt.sqrt(v)[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def one_scale_for_all(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.Normal("mu", 0.0, 5.0, shape=(K, D))
        pm.Normal("x", mu[y], pm.Exponential("sd", 1.0), observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def known_scale_about_a_learned_centre(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        centre, spread = pm.Normal("centre", 0.0, 5.0, shape=D), pm.HalfNormal("spread", 2.0)
        pm.Normal("x", pm.Normal("mu", centre, spread, shape=(K, D))[y], 0.8, observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def partial_pooling(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        centre = pm.Normal("centre", 0.0, 5.0, shape=D)
        spread = pm.HalfNormal("spread", 2.0, shape=D)
        mu = pm.Normal("mu", centre, spread, shape=(K, D))
        sd = pm.HalfNormal("sd", 2.0, shape=D)
        pm.Normal("x", mu[y], sd, observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def partial_pooling_non_centred(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        centre, spread = pm.Normal("centre", 0.0, 5.0, shape=D), pm.HalfNormal("spread", 2.0, shape=D)
        mu = pm.Deterministic("mu", centre + spread * pm.Normal("z", shape=(K, D)))
        sd = pm.HalfNormal("sd", 2.0, shape=(K, D))
        pm.Normal("x", mu[y], sd[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def one_mean_per_class_and_scales_of_a_horseshoe(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        shift = pm.Normal(
            "shift", 0.0, pm.HalfCauchy("all", 1.0) * pm.HalfCauchy("own", 1.0, shape=D), shape=(K, D)
        )
        pm.Normal("x", shift[y], pm.Gamma("sd", 2.0, 1.0, shape=D)[None, :], observed=rows["x"])
    return model


@spelling({"x": POSITIVE}, x="exact")
def log_normal_of_known_scale(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.Normal("mu", np.array([0.0, 1.0]), 2.0, shape=(K, D))
        pm.LogNormal("x", mu[y], pt.constant([[0.5, 0.7], [0.6, 0.9], [1.0, 1.1]])[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def lkj_tied(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        root, _, _ = pm.LKJCholeskyCov("root", n=D, eta=2.0, sd_dist=pm.HalfNormal.dist(2.0, shape=D))
        mu = pm.Normal("mu", 0.0, 5.0, shape=(K, D))
        pm.MvNormal("x", mu[y], chol=root, observed=rows["x"])
    return model


@spelling({"x": REAL}, x="collapsed")
def lkj_per_class(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        roots = [
            pm.LKJCholeskyCov(
                f"root{k}", n=D, eta=2.0, sd_dist=pm.HalfNormal.dist(2.0, shape=D), compute_corr=False
            )
            for k in range(K)
        ]
        roots = pt.stack([pm.math.expand_packed_triangular(D, root) for root in roots])
        mu = pm.Normal("mu", 0.0, 5.0, shape=(K, D))
        pm.MvNormal("x", mu[y], chol=roots[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="by rows")
def student_t(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.Normal("mu", 0.0, 5.0, shape=(K, D))
        sd = pm.HalfNormal("sd", 2.0, shape=(K, D))
        pm.StudentT("x", nu=4.0, mu=mu[y], sigma=sd[y], observed=rows["x"])
    return model


@spelling({"x": REAL}, x="by rows")
def skewed(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.Normal("mu", 0.0, 5.0, shape=(K, D))
        sd = pm.HalfNormal("sd", 2.0, shape=D)
        alpha = pm.Normal("alpha", 0.0, 2.0, shape=(K, D))
        pm.SkewNormal("x", mu=mu[y], sigma=sd, alpha=alpha[y], observed=rows["x"])
    return model


@spelling({"x": REAL[:, 0]}, x="by rows")
def mixture_within_each_class(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        share = pm.Dirichlet("share", np.ones(2), shape=(K, 2))
        mu = pm.Normal("mu", np.array([-1.0, 1.0]), 1.0, shape=(K, 2))
        pm.NormalMixture("x", w=share[y], mu=mu[y], sigma=1.0, observed=rows["x"])
    return model


@spelling({"x1": REAL[:, 0], "x2": REAL[:, 1]}, x1="exact", x2="by rows")
def one_feature_given_another(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        v = pm.InverseGamma("v", 2.0, 1.0, shape=K)
        mu = pm.Normal("mu", 0.0, pt.sqrt(v / 0.5), shape=K)
        first = pm.Normal("x1", mu[y], pt.sqrt(v)[y], observed=rows["x1"])
        a, b = pm.Normal("a", 0.0, 1.0, shape=K), pm.Normal("b", 0.0, 1.0, shape=K)
        pm.Normal("x2", a[y] + b[y] * first, pm.HalfNormal("s", 1.0), observed=rows["x2"])
    return model


@spelling({"x": REAL[:, 0], "z": REAL[:, 1]}, given=("z",), x="by rows")
def regression_on_a_covariate(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        z = pm.Data("z", rows["z"])
        a, b = pm.Normal("a", 0.0, 1.0, shape=K), pm.Normal("b", 0.0, 1.0, shape=K)
        pm.Normal("x", a[y] + b[y] * z, pm.HalfNormal("s", 1.0), observed=rows["x"])
    return model


@spelling({"x": REAL}, x="by rows")
def laplace_features(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        mu = pm.Normal("mu", 0.0, 5.0, shape=(K, D))
        pm.Laplace("x", mu[y], pm.HalfNormal("b", 1.0, shape=D), observed=rows["x"])
    return model


@spelling({"x": REAL}, x="exact")
def known_scale(rows, codes):
    with pm.Model() as model:
        y = label(codes)
        pm.Normal("x", pm.Normal("mu", 0.0, 5.0, shape=(K, D))[y], 1.0, observed=rows["x"])
    return model


@spelling({"x": REAL}, y="compressed", x="collapsed")
def class_weights_by_softmax(rows, codes):
    with pm.Model() as model:
        weights = pm.math.softmax(pm.Normal("logits", 0.0, 1.0, shape=K))
        y = pm.Categorical("y", weights, observed=codes)
        mu = pm.Normal("mu", 0.0, 5.0, shape=(K, D))
        pm.Normal("x", mu[y], pm.HalfNormal("sd", 1.0, shape=D), observed=rows["x"])
    return model
