"""Correlated columns fitted to rows with gaps: exact answers, fixed points, and what is refused."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import bayesppl as bp
from bayesppl.datasets import load
from bayesppl.errors import ConvergenceWarning
from bayesppl.families.gaps import drawn_statistics

RNG = np.random.default_rng(8)
ROWS = RNG.multivariate_normal([1.0, -1.0], [[1.0, 0.7], [0.7, 2.0]], 24)
LABELS = np.repeat(["a", "b"], 12)
HOLES = np.where(np.arange(24)[:, None] % 3 == [[0, 1]], np.nan, ROWS)
NIW = bp.NormalInverseWishart(location=0.5, kappa=0.7, nu=7.0, psi=[1.0, 2.0])


def log_density(rows, mean, covariance):
    """Of the cells that are there."""
    total = 0.0
    for row in rows:
        there = ~np.isnan(row)
        if there.any():
            total += multivariate_normal(mean[there], covariance[np.ix_(there, there)]).logpdf(row[there])
    return total


def test_complete_rows_have_the_closed_form():
    exact = bp.QuadraticDiscriminantAnalysis().fit(ROWS, LABELS)
    found = bp.QuadraticDiscriminantAnalysis(inference="em").fit(ROWS, LABELS)
    np.testing.assert_allclose(found.predict_proba(ROWS), exact.predict_proba(ROWS), rtol=1e-12)


@pytest.mark.parametrize("inference", ["em", bp.Gibbs(draws=20, tune=5, chains=2, random_state=0)], ids=str)
def test_gaps_in_rows_of_weight_zero_leave_the_closed_form(inference):
    weights = (~np.isnan(HOLES).any(1)).astype(float)
    at = np.flatnonzero(weights)
    exact = bp.QuadraticDiscriminantAnalysis().fit(HOLES[at], LABELS[at])
    found = bp.QuadraticDiscriminantAnalysis(inference=inference).fit(HOLES, LABELS, weights)
    np.testing.assert_allclose(found.predict_proba(ROWS), exact.predict_proba(ROWS), rtol=1e-12)
    np.testing.assert_allclose(found.log_evidence()["total"], exact.log_evidence()["total"], rtol=1e-12)
    np.testing.assert_array_equal(found.forget(ROWS[:1], LABELS[:1], 0.0).class_count_, exact.class_count_)


def test_em_finds_the_likelihood_that_an_optimiser_finds():
    clf = bp.GenerativeClassifier(bp.Gaussian("full", NIW), inference=bp.EM("mle", tol=1e-12))
    theta = clf.fit(HOLES, LABELS).posterior_.theta("mle")
    for k, label in enumerate("ab"):
        rows = HOLES[label == LABELS]

        def loss(values, rows=rows):
            root = np.array([[np.exp(values[2]), 0.0], [values[3], np.exp(values[4])]])
            return -log_density(rows, values[:2], root @ root.T)

        best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-8})
        np.testing.assert_allclose(
            log_density(rows, theta["mean"][k], theta["covariance"][k]), -best.fun, rtol=0, atol=1e-6
        )


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_the_posterior_does_not_fall_and_ends_where_it_is_level(covariance):
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance, NIW), inference=bp.EM(tol=1e-13)).fit(HOLES, LABELS)
    mode = clf.posterior_.theta("map")
    prior = clf.posterior_.prior.parts["features"]

    def value(mean, covariances):
        theta = {"mean": mean, "covariance": covariances}
        each = np.broadcast_to(covariances, (2, 2, 2))
        rows = sum(log_density(HOLES[label == LABELS], mean[k], each[k]) for k, label in enumerate("ab"))
        return float(np.sum(prior.log_prob(theta))) + rows

    step = 1e-4
    for index in np.ndindex(mode["mean"].shape):
        up, down = (mode["mean"].copy() for _ in range(2))
        up[index] += step
        down[index] -= step
        slope = (value(up, mode["covariance"]) - value(down, mode["covariance"])) / (2 * step)
        assert abs(slope) < 1e-3
    for entry in ([0, 0], [1, 1], [0, 1]):
        change = np.zeros((2, 2))
        change[entry[0], entry[1]] = change[entry[1], entry[0]] = step
        changes = (
            [change] if covariance == "tied" else [np.stack([change, 0 * change]), np.stack([0 * change, change])]
        )
        for each in changes:
            slope = value(mode["mean"], mode["covariance"] + each) - value(mode["mean"], mode["covariance"] - each)
            assert abs(slope / (2 * step)) < 1e-3


@pytest.mark.parametrize("draws", [800, pytest.param(2500, marks=pytest.mark.slow)])
def test_gibbs_has_the_posterior_of_a_monotone_pattern(draws):
    """The first column is complete: its posterior is that of a normal column with its part of the prior.

    Under a normal-inverse-Wishart prior the first mean and variance are normal-inverse-gamma, and independent of
    the regression of the second column on the first, by which alone the gaps come in.
    """
    rows = ROWS.copy()
    rows[::3, 1] = np.nan
    clf = bp.GenerativeClassifier(
        bp.Gaussian("full", NIW), inference=bp.Gibbs(draws=draws, tune=100, chains=2, random_state=3)
    ).fit(rows, LABELS)
    # of 2 columns the variance of one has ν − 1 degrees of freedom
    column = bp.NormalInverseGamma(location=0.5, kappa=0.7, a=3.0, b=0.5)
    exact = bp.GenerativeClassifier(bp.Gaussian("diag", column)).fit(rows[:, :1], LABELS).posterior_.mean()
    tree = clf.to_datatree(groups=["posterior"])
    error = az.mcse(tree)
    for name, found in (
        ("mean", tree.posterior["mean"].isel(feature=0)),
        ("covariance", tree.posterior["covariance"].isel(feature=0, other_feature=0)),
    ):
        expected = exact["mean" if name == "mean" else "variance"][:, 0]
        of_name = error[name].isel(feature=0) if name == "mean" else error[name].isel(feature=0, other_feature=0)
        assert (np.abs(found.mean(("chain", "draw")).values - expected) < 4.5 * of_name.values).all()


def test_gaps_and_labels_may_be_missing_in_the_same_table():
    X, y = load("iris")
    holes, y = X.mask(np.random.default_rng(0).random(X.shape) < 0.1), y.astype(object)
    labels = y.where(np.random.default_rng(1).random(len(y)) < 0.5, None)
    clf = bp.QuadraticDiscriminantAnalysis(inference="em", unlabelled="learn").fit(holes, labels)
    assert (clf.predict(X) == y).mean() > 0.95


def test_more_is_learned_than_from_complete_rows_alone():
    X, y = load("iris")
    complete = bp.LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.15)
    some = holes.notna().all(axis=1)

    def distance(clf):
        return np.abs(clf.predict_proba(X) - complete).mean()

    completed = bp.LinearDiscriminantAnalysis(inference="em").fit(holes, y)
    assert distance(completed) < 0.5 * distance(bp.LinearDiscriminantAnalysis().fit(X[some], y[some]))


def test_blocks_transformed_columns_and_regressions_are_completed():
    X, y = load("iris")
    holes = X.mask(np.random.default_rng(2).random(X.shape) < 0.1)
    holes["wide"] = np.where(X["sepal width (cm)"] > 3, "yes", "no")
    names = list(X)
    families = [
        bp.Product({"logs": (names, bp.LogNormal("tied")), "level": (["wide"], bp.Categorical())}),
        bp.families.ConditionalGaussian(),
    ]
    for family in families:
        clf = bp.GenerativeClassifier(family, inference="em").fit(holes, y)
        assert (clf.predict(holes) == y).mean() > 0.9


@pytest.mark.parametrize("family", [bp.Gaussian("full", NIW), bp.Gaussian("full"), bp.Gaussian("tied")])
def test_a_row_of_weight_two_is_two_rows_and_one_of_weight_zero_none(family):
    twice = np.r_[HOLES, HOLES[:6]]
    weights = np.r_[np.full(6, 2.0), np.ones(18), np.zeros(6)]
    em = bp.EM(tol=1e-12, max_steps=10_000)
    one = bp.GenerativeClassifier(family, inference=em).fit(twice, np.r_[LABELS, LABELS[:6]], weights)
    two = bp.GenerativeClassifier(family, inference=em).fit(twice, np.r_[LABELS, LABELS[:6]])
    np.testing.assert_allclose(one.predict_log_proba(ROWS), two.predict_log_proba(ROWS), atol=1e-5)


def test_the_start_of_a_search_counts_rows_by_their_weights():
    """The default prior is resolved where a short search from there ends."""
    rng = np.random.default_rng(0)
    rows = np.where(rng.random(ROWS.shape) < 0.25, np.nan, ROWS)
    weights, more = 1.0 + np.arange(24) % 3, rng.integers(0, 24, 6)
    em = bp.EM(tol=1e-12, max_steps=10_000)

    def fitted(at, weights=None):
        clf = bp.QuadraticDiscriminantAnalysis(inference=em).fit(rows[at], LABELS[at], weights)
        return clf.predict_log_proba(ROWS)

    every = np.arange(24)
    np.testing.assert_allclose(fitted(every, weights), fitted(np.repeat(every, weights.astype(int))), atol=1e-6)
    of_none = np.r_[np.ones(24), np.zeros(6)]
    np.testing.assert_allclose(fitted(np.r_[every, more], of_none), fitted(every), atol=1e-6)


@pytest.mark.parametrize("weight", [9.0, 8.6])
def test_gibbs_completes_a_row_of_weight_w_as_w_rows(weight):
    """The sum of w independent draws has w times the variance of one; of one draw counted w times, w squared."""
    family = bp.GenerativeClassifier(bp.Gaussian("full", NIW)).fit(ROWS, LABELS).posterior_.model.family
    theta = {"mean": np.zeros((2, 2)), "covariance": np.tile([[1.0, 0.6], [0.6, 2.0]], (2, 1, 1))}
    rng, n_draws = np.random.default_rng(0), 300
    row, shares = np.array([[1.0, np.nan]]), np.array([[weight, 0.0]])
    found = [drawn_statistics(family, theta, row, shares, rng) for _ in range(n_draws)]
    sums = np.array([weight * drawn.mean[0, 1] for drawn in found])
    given = 2.0 - 0.6**2  # of the second column given the first
    assert abs(sums.mean() - 0.6 * weight) < 4.5 * np.sqrt(given * weight**2 / 9 / n_draws)
    assert abs(sums.var() / (given * weight**2 / 9) - 1) < 4.5 * np.sqrt(2 / n_draws)


def test_without_an_inference_that_completes_rows_gaps_are_refused():
    with pytest.raises(ValueError, match=r"missing values in column 'x0', 'x1'.*inference='gibbs' or 'em'"):
        bp.QuadraticDiscriminantAnalysis().fit(HOLES, LABELS)


def test_too_few_draws_are_warned_of():
    clf = bp.QuadraticDiscriminantAnalysis(inference=bp.Gibbs(draws=5, tune=0, chains=2, random_state=0))
    with pytest.warns(ConvergenceWarning):
        clf.fit(pd.DataFrame(HOLES), LABELS)


def test_rows_with_gaps_are_counted(tmp_path):
    weights = np.linspace(0.5, 2.0, len(HOLES))
    clf = bp.QuadraticDiscriminantAnalysis(inference="em").fit(HOLES, LABELS, weights)
    expected = [weights[label == LABELS].sum() for label in "ab"]
    np.testing.assert_allclose(clf.class_count_, expected)
    clf.save(tmp_path / "model.npz")
    loaded = bp.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.class_count_, clf.class_count_)
    # class weights where the classifier is used start from all rows too
    shifted = clf.predict_proba(ROWS, class_weights="empirical")
    np.testing.assert_array_equal(loaded.predict_proba(ROWS, class_weights="empirical"), shifted)
    empirical = bp.QuadraticDiscriminantAnalysis(class_weights="empirical", inference="em").fit(
        HOLES, LABELS, weights
    )
    np.testing.assert_allclose(empirical.predict_proba(ROWS), shifted, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["em", bp.Gibbs(draws=100, chains=2, random_state=0)])
@pytest.mark.filterwarnings("ignore::bayesppl.ConvergenceWarning")  # of few draws
def test_a_tree_says_which_rows_its_groups_hold(inference):
    clf = bp.QuadraticDiscriminantAnalysis(inference=inference)
    tree = clf.fit(HOLES, LABELS).to_datatree(draws=100, groups="all", random_state=0)
    complete = ~np.isnan(HOLES).any(1)
    for name in ("log_likelihood", "observed_data", "constant_data", "posterior_predictive", "prior_predictive"):
        assert tree[name]["row"].values.tolist() == np.flatnonzero(complete).tolist()
        assert tree[name].attrs["rows_left_out"] == "16 rows of the fit that are known only in part"
    assert "rows_left_out" not in tree["posterior"].attrs
    none_complete = HOLES.copy()
    none_complete[complete, 0] = np.nan
    tree = clf.fit(none_complete, LABELS).to_datatree(draws=100, groups="all", random_state=0)
    assert {"posterior", "prior", "log_prior"} == set(tree.children) - {"sample_stats"}
    for name in ("log_likelihood", "observed_data", "constant_data", "posterior_predictive", "prior_predictive"):
        assert f"{name}: every row of the fit is known only in part" in tree.attrs["left_out"]
    with pytest.raises(ValueError, match="every row of the fit is known only in part"):
        clf.to_datatree(groups="log_likelihood")


def test_what_would_lose_rows_with_gaps_is_refused():
    clf = bp.QuadraticDiscriminantAnalysis(inference="em").fit(HOLES, LABELS)
    expected = clf.predict_proba(ROWS)
    for question in (clf.partial_fit, clf.forget):
        with pytest.raises(ValueError, match="that lack cells, or whose component"):
            question(ROWS[2:3], LABELS[2:3])
    with pytest.raises(ValueError, match="16 rows of the fit are known only in part"):
        clf.to_pymc()
    np.testing.assert_array_equal(clf.predict_proba(ROWS), expected)


def test_leave_one_out_after_em_says_what_it_stands_on():
    clf = bp.QuadraticDiscriminantAnalysis(inference="em")
    assert "given rows completed at the MAP" in repr(clf.fit(HOLES, LABELS).loo())
    assert clf.fit(ROWS, LABELS).loo().approximation is None
