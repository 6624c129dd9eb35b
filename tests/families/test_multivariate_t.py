"""Correlated Student-t features: scipy, quadrature, maximum likelihood, the normal limit, outliers, refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad
from sklearn.datasets import load_wine

import bayesppl as bp
from bayesppl.conjugate.heavy_tails import TailedRows, log_predictive
from bayesppl.data.read_table import as_table
from bayesppl.errors import NotConjugateError

DOF = 4.0
RNG = np.random.default_rng(5)
SCALE = np.array([[1.0, 0.6], [0.6, 1.5]])
Y = np.repeat(["a", "b"], [30, 24])
X = np.vstack(
    [
        stats.multivariate_t([0, 0], SCALE, DOF, seed=RNG).rvs(30),
        stats.multivariate_t([3, 1], SCALE / 2, DOF, seed=RNG).rvs(24),
    ]
)
HOLES = np.where(np.arange(54)[:, None] % 6 == [2, 5], np.nan, X)
NIW = bp.NormalInverseWishart(location=0.5, kappa=0.7, nu=7.0, psi=[1.0, 2.0])


def classifier(inference, prior=NIW, tied=False, dof=DOF, **options):
    family = bp.MultivariateT(dof, prior, tied)
    return bp.GenerativeClassifier(family, class_weights=bp.Dirichlet(2.0), inference=inference, **options)


def peer(mean, covariance, dof=DOF):
    return stats.multivariate_t(mean, covariance * (dof - 2) / dof, dof)


def log_density_of_cells(rows, mean, covariance):
    """By scipy, of the cells that are there."""
    total = 0.0
    for row in rows:
        at = np.flatnonzero(~np.isnan(row))
        total += peer(mean[at], covariance[np.ix_(at, at)]).logpdf(row[at])
    return total


@pytest.mark.parametrize("tied", [False, True])
def test_density_is_that_of_scipy(tied):
    family = bp.MultivariateT(DOF, NIW, tied).bind(as_table(X), ("a", "b"))
    theta = {"mean": np.array([[0.0, 0], [4, 1]]), "covariance": np.stack([SCALE, 2 * SCALE])[: 1 if tied else 2]}
    covariances = np.broadcast_to(theta["covariance"], (2, 2, 2))
    if tied:
        theta["covariance"] = theta["covariance"][0]
    found = family.log_likelihood({name: np.stack([v, v]) for name, v in theta.items()})(X)
    expected = np.column_stack([peer(m, c).logpdf(X) for m, c in zip(theta["mean"], covariances, strict=True)])
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-12)
    rows = family.simulate(theta, np.ones(20_000, dtype=int), np.random.default_rng(0))
    within = [
        (peer([4, 1], covariances[1]).cdf(at), (rows <= at).all(1).mean()) for at in ([4, 1], [5, 0], [2, 3])
    ]
    assert all(abs(p - share) < 5 * np.sqrt(p * (1 - p) / len(rows)) + 1e-4 for p, share in within)


@pytest.mark.parametrize("dof", [2.2, 4.0, 500.0])
def test_predictive_is_the_average_over_weights(dof):
    location, psi, nu, kappa = np.array([[0.3, -0.2]]), SCALE[None] * 5, np.array([6.0]), np.array([1.5])
    posterior = bp.NormalInverseWishart(location, kappa, nu, psi).sized((1, 2))
    rows = np.array([[3.0, -2.0], [400.0, 100.0]])
    found = log_predictive(posterior)(TailedRows(rows, None, dof, False))[:, 0]

    def joint(log_weight, row):
        weight, left = np.exp(log_weight), nu[0] - 1
        given = stats.multivariate_t(location[0], psi[0] * (1 / kappa[0] + 1 / weight) / left, left)
        return given.pdf(row) * stats.gamma(dof / 2, scale=2 / (dof - 2)).pdf(weight) * weight

    expected = [quad(joint, -25, 8, (row,), points=[-12, -6, -1, 0, 1, 3], limit=400)[0] for row in rows]
    np.testing.assert_allclose(found, np.log(expected), rtol=1e-6)


@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "gaps"])
def test_em_finds_a_mode_of_the_likelihood(rows):
    theta = classifier(bp.EM("mle", tol=1e-13)).fit(rows, Y).posterior_.theta("mle")
    for k, label in enumerate("ab"):
        mean, covariance, own = theta["mean"][k], theta["covariance"][k], rows[label == Y]
        middle = log_density_of_cells(own, mean, covariance)
        for direction in np.eye(5) * 1e-4:
            step = np.array([[direction[2], direction[3]], [direction[3], direction[4]]])
            up, down = (
                log_density_of_cells(own, mean + s * direction[:2], covariance + s * step) for s in (1, -1)
            )
            assert max(up, down) < middle
            assert abs(up - down) / 2e-4 < 2e-3


def test_of_one_column_it_is_the_fit_of_scipy():
    theta = classifier(bp.EM("mle", tol=1e-13), "hierarchical").fit(X[:, :1], Y).posterior_.theta("mle")
    for k, label in enumerate("ab"):
        _, location, scale = stats.t.fit(X[label == Y, 0], fdf=DOF)
        np.testing.assert_allclose(theta["mean"][k], location, atol=1e-4)
        np.testing.assert_allclose(theta["covariance"][k] * (DOF - 2) / DOF, scale**2, rtol=1e-4)


@pytest.mark.parametrize("tied", [False, True])
def test_with_many_degrees_of_freedom_it_is_normal(tied):
    found = classifier("em", tied=tied, dof=1e9).fit(X, Y).predict_joint_log_proba(X)
    normal = bp.Gaussian("tied" if tied else "full", NIW)
    expected = (
        bp.GenerativeClassifier(normal, class_weights=bp.Dirichlet(2.0)).fit(X, Y).predict_joint_log_proba(X)
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("draws", [100, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_gibbs_agrees_with_quadrature(draws):
    """One column: the posterior of mean and variance on a grid, by scipy's density and prior."""
    x, prior = np.array([0.1, 0.9, -0.4, 0.5, 9.0]), bp.NormalInverseWishart(0.0, 0.5, 5.0, 2.0)
    mean, log_variance = np.meshgrid(np.linspace(-6, 6, 401), np.linspace(-5, 6, 401), indexing="ij")
    variance = np.exp(log_variance)
    log_posterior = (
        stats.invgamma(2.5, scale=1.0).logpdf(variance)
        + log_variance
        + stats.norm(0.0, np.sqrt(variance / 0.5)).logpdf(mean)
        + sum(stats.t(DOF, mean, np.sqrt(variance * (DOF - 2) / DOF)).logpdf(value) for value in x)
    )
    share = np.exp(log_posterior - log_posterior.max())
    share /= share.sum()
    gibbs = bp.Gibbs(draws=draws, tune=10, chains=2, random_state=0)
    clf = classifier(gibbs, prior).fit(np.r_[x, 50.0][:, None], [*"aaaaa", "b"])
    for name, values in (("mean", mean), ("covariance", log_variance)):
        drawn = clf.posterior_.samples[name][..., 0].reshape(2, draws, 2)[..., 0]
        drawn = np.log(drawn) if name == "covariance" else drawn
        batches = drawn.reshape(20, draws // 10).mean(1)
        assert abs(batches.mean() - (share * values).sum()) < 5 * batches.std(ddof=1) / np.sqrt(20)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_gibbs_agrees_with_nuts():
    import pymc as pm

    rows, labels = X[::2], (Y[::2] == "b").astype(int)
    clf = classifier(bp.Gibbs(draws=4000, tune=200, chains=2, random_state=1)).fit(rows, labels)
    with pm.Model(coords={"class": range(2), "feature": range(2), "other": range(2)}):
        dims = {"mean": ("class", "feature"), "covariance": ("class", "feature", "other")}
        declared = NIW.sized((2, 2)).declare(dims)
        for k in range(2):
            scale = declared["covariance"][k] * (DOF - 2) / DOF
            pm.MvStudentT(f"x{k}", nu=DOF, mu=declared["mean"][k], scale=scale, observed=rows[labels == k])
        trace = pm.sample(1500, tune=1000, chains=2, cores=1, random_seed=2, progressbar=False)
    for name in ("mean", "covariance"):
        one, other = clf.posterior_.samples[name], trace.posterior[name].to_numpy()
        spread = other.std((0, 1))
        # a few hundred effective draws of each
        assert (np.abs(one.mean((0, 1)) - other.mean((0, 1))) < 0.25 * spread).all()
        np.testing.assert_allclose(one.std((0, 1)), spread, rtol=0.3)


def test_a_row_of_weight_two_is_two_rows():
    weights = np.where(np.arange(54) % 5 == 0, 2.0, 1.0)
    one = classifier("em").fit(HOLES, Y, sample_weight=weights)
    twice = np.repeat(np.arange(54), weights.astype(int))
    other = classifier("em").fit(HOLES[twice], Y[twice])
    np.testing.assert_allclose(one.predict_joint_log_proba(X), other.predict_joint_log_proba(X), atol=1e-8)


def test_outliers_do_not_matter_and_without_them_nothing_is_lost():
    rows, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    train = rng.permutation(len(rows)) < 90
    planted = rows[train]
    planted[:9] += 10 * rows.std(0) * rng.standard_normal((9, 13))
    normal, tailed = (bp.GenerativeClassifier(bp.Gaussian("full")), classifier("em", "hierarchical"))
    clean, robust = (tailed.fit(seen, y[train]).score(rows[~train], y[~train]) for seen in (rows[train], planted))
    assert clean >= normal.fit(rows[train], y[train]).score(rows[~train], y[~train]) - 0.02
    assert robust >= clean - 0.02
    assert robust > normal.fit(planted, y[train]).score(rows[~train], y[~train]) + 0.05


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
@pytest.mark.parametrize("inference", ["em", bp.Gibbs(draws=20, tune=20, chains=2, random_state=0)])
def test_what_was_fitted_is_saved_and_loaded_fills_gaps_and_learns_from_unlabelled_rows(inference, tmp_path):
    y = np.where(np.arange(54) % 3 == 0, None, Y.astype(object))
    clf = classifier(inference, unlabelled="learn", unlabelled_weight=1.0).fit(HOLES, y)
    assert clf.score(X, Y) > 0.8
    clf.save(tmp_path / "t.npz")
    np.testing.assert_array_equal(
        bp.load(tmp_path / "t.npz").predict_log_proba(HOLES), clf.predict_log_proba(HOLES)
    )
    filled = clf.impute(HOLES, random_state=0).to_numpy()
    np.testing.assert_array_equal(filled[~np.isnan(HOLES)], X[~np.isnan(HOLES)])
    assert np.isfinite(filled).all()


def test_it_is_a_block_of_a_product():
    table = pd.DataFrame(X, columns=["u", "v"]).assign(count=np.random.default_rng(0).poisson(3, 54))
    blocks = {"t": (["u", "v"], bp.MultivariateT(DOF, NIW)), "n": (["count"], bp.Poisson(bp.Gamma(2, 1)))}
    weights = bp.Dirichlet(2.0)
    both = bp.GenerativeClassifier(bp.Product(blocks), class_weights=weights, inference="em").fit(table, Y)
    counts = bp.GenerativeClassifier(blocks["n"][1], class_weights=weights).fit(table[["count"]], Y)
    alone = classifier("em").fit(table[["u", "v"]], Y)
    expected = alone.predict_joint_log_proba(table[["u", "v"]]) + counts.predict_joint_log_proba(table[["count"]])
    expected -= np.log(counts.posterior_.mean()["class_weights"])
    np.testing.assert_allclose(both.predict_joint_log_proba(table), expected, rtol=1e-7)


@pytest.mark.parametrize("inference", ["closed_form", "nuts"])
def test_other_inferences_are_refused_with_the_remedy(inference):
    with pytest.raises(NotConjugateError, match="inference='em'"):
        classifier(inference).fit(X, Y)


def test_what_has_no_closed_form_is_refused():
    with pytest.raises(NotConjugateError, match="no batches"):
        classifier("em").partial_fit(X, Y, classes=["a", "b"])
    clf = classifier("em").fit(X, Y)
    for question in (clf.loo, clf.log_evidence):
        with pytest.raises(NotConjugateError):
            question()
    with pytest.raises(ValueError, match=r"dof must be finite and above 2, .* found 2"):
        classifier("em", dof=2.0).fit(X, Y)
