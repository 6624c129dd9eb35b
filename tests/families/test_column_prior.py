"""The default prior of independent normal columns: what its formulas say, and what it is for."""

import numpy as np
import pytest
from scipy import special, stats
from sklearn.datasets import load_iris, load_wine

import bayesppl as bp

IRIS = load_iris(return_X_y=True)


def prior_of(X, y, covariance="diag"):
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(X, y)
    return clf.posterior_.prior.parts["features"]


def averaged(grid, log_evidence):
    """Average log κ or log ν of every column, over normal distributions of all of them, one after the other."""
    places, found = np.arange(len(grid)), []
    for median in places:
        for spread in (0.5, 2, 8, 1000):
            log_prior = stats.norm.logpdf(places, median, spread)
            log_prior -= special.logsumexp(log_prior)
            log_joint = log_prior[:, None] + log_evidence
            of_columns = special.logsumexp(log_joint, axis=0)
            found.append((of_columns.sum(), np.exp(log_joint - of_columns).T @ np.log(grid)))
    weights = special.softmax([log_weight for log_weight, _ in found])
    return np.exp(weights @ np.array([means for _, means in found]))


def sums(X, y):
    groups = [X[y == k] for k in np.unique(y)]
    squares = np.array([np.nanvar(rows, axis=0) * (~np.isnan(rows)).sum(0) for rows in groups])
    degrees = np.array([(~np.isnan(rows)).sum(0) - 1 for rows in groups])
    variances = np.nanvar(X, axis=0, ddof=1)
    return squares, degrees, (squares.sum(0) + variances / len(groups) ** 2) / (degrees.sum(0) + 1)


@pytest.mark.parametrize("X", [IRIS[0], np.where(np.arange(600).reshape(150, 4) % 7 == 0, np.nan, IRIS[0])])
def test_variances_shrink_as_the_evidence_of_their_sums_of_squares_says(X):
    # over an inverse gamma, a sum of squares is beta prime (Johnson, Kotz & Balakrishnan 1995, chapter 27)
    y = IRIS[1]
    squares, degrees, within = sums(X, y)
    first = within * (degrees.sum(0) + 1) - squares.sum(0)
    grid, log_evidence = np.geomspace(3, degrees.sum(0).max() + 1, 20), []
    w = np.exp(np.linspace(-4, 4, 4001))[:, None] * within
    of_first = stats.chi2.logpdf(first, 1, scale=w) + np.log(
        w
    )  # one row of the variance that is expected, over log w
    for nu in grid:
        of_classes = stats.betaprime.logpdf(squares, degrees / 2, nu / 2, scale=nu * w[:, None])
        log_evidence.append(special.logsumexp(of_classes.sum(1) + of_first, axis=0))
    prior = prior_of(X, y)
    # by Laplace's method, which is right to a twentieth here
    np.testing.assert_allclose(2 * prior.a, [averaged(grid, np.array(log_evidence))] * 3, rtol=0.05)
    np.testing.assert_allclose(prior.b, prior.a * within, rtol=1e-12)
    np.testing.assert_allclose(prior.location, [np.nanmean(X, axis=0)] * 3, rtol=1e-12)


@pytest.mark.parametrize("covariance", ["diag", "tied_diag"])
def test_means_shrink_as_the_evidence_of_their_contrasts_says(covariance):
    """By quadrature over the variance of each column: under a flat common mean, two contrasts hold all of it."""
    X, y = load_wine(return_X_y=True)
    X, y = X[::6, :3], y[::6]
    squares, degrees, within = sums(X, y)
    grid = 2.0 ** np.arange(-10, 6.25, 0.5)
    contrasts = np.array([[1.0, -1.0, 0.0], [0.5, 0.5, -1.0]])
    n, means = np.bincount(y), np.array([X[y == k].mean(0) for k in range(3)])

    def log_evidence(kappa, d):
        log_variance = np.linspace(-6, 6, 2001) + np.log(within[d])
        variance, gaps = np.exp(log_variance), contrasts @ means[:, d]
        spread = contrasts @ np.diag(1 / kappa + 1 / n) @ contrasts.T
        density = (
            -np.log(variance)
            - 0.5 * (np.linalg.slogdet(spread)[1] + gaps @ np.linalg.solve(spread, gaps) / variance)
            + stats.chi2.logpdf(squares[:, d].sum(), degrees[:, d].sum(), scale=variance)
            + stats.invgamma.logpdf(variance, 1.5, scale=1.5 * within[d])
            + log_variance
        )
        return special.logsumexp(density)

    found = np.array([[log_evidence(kappa, d) for d in range(3)] for kappa in grid])
    np.testing.assert_allclose(prior_of(X, y, covariance).kappa, [averaged(grid, found)] * 3, rtol=1e-5)


def test_a_variance_of_all_classes_is_worth_three_rows():
    prior = prior_of(*IRIS, "tied_diag")
    np.testing.assert_allclose(prior.b, 1.5 * sums(*IRIS)[2], rtol=1e-12)
    assert (prior.a == 1.5).all()


def test_columns_that_never_vary_say_nothing_of_the_others():
    X, y = IRIS
    with_constants = np.c_[X, np.full((150, 3), 7.0)]
    one, other = prior_of(X, y), prior_of(with_constants, y)
    np.testing.assert_allclose(one.kappa, other.kappa[:, :4], rtol=1e-13)
    np.testing.assert_allclose(one.a, other.a[:, :4], rtol=1e-13)


def overlapping(seed, n_rows, apart):
    rng = np.random.default_rng(seed)
    means = rng.normal(0, apart / np.sqrt(2), (4, 10))
    y, truth = np.repeat(np.arange(4), n_rows), np.repeat(np.arange(4), 50)
    return rng.normal(means[y]), y, rng.normal(means[truth]), truth


def test_few_rows_of_classes_that_overlap_do_not_make_it_sure():
    """Ten columns, four classes whose means are .3 standard deviations apart; a quarter for each scores −1.386."""
    scores, called = {"hierarchical": [], "columnwise": []}, []
    for seed in range(20):
        X, y, new, truth = overlapping(seed, 5, 0.3)
        for prior, found in scores.items():
            clf = bp.GaussianNB(prior).fit(X, y)
            found.append(clf.predict_log_proba(new)[np.arange(200), truth].mean())
        called.append((bp.GaussianNB().fit(X, y).suspicious_rows()["wrong"] > 0.5).mean())
    assert np.mean(scores["hierarchical"]) > np.log(1 / 4) - 0.1
    assert np.mean(scores["columnwise"]) < np.log(1 / 4) - 0.4
    assert np.mean(called) < 0.05


@pytest.mark.parametrize("covariance", ["diag", "tied_diag"])
def test_a_column_that_decides_is_not_drawn_to_those_of_noise(covariance):
    """One column, of means 0, 4 and 8, beside 29 of noise: eight rows in each class."""
    scores = {"hierarchical": [], "columnwise": []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y, truth = np.repeat(np.arange(3), 8), rng.integers(0, 3, 300)
        X, new = (rng.normal(size=(len(labels), 30)) for labels in (y, truth))
        X[:, 0] += 4 * y
        new[:, 0] += 4 * truth
        for prior, found in scores.items():
            clf = bp.GenerativeClassifier(bp.Gaussian(covariance, prior), class_weights="uniform").fit(X, y)
            found.append(clf.predict_log_proba(new)[np.arange(300), truth].mean())
    gain = np.subtract(scores["hierarchical"], scores["columnwise"])
    assert gain.mean() > 4 * gain.std(ddof=1) / np.sqrt(10)
    assert np.mean(scores["hierarchical"]) > -0.2  # the true probabilities score −.10


def test_columns_whose_spread_decides_are_not_drawn_to_the_others():
    """Three columns of 40, of standard deviation one or six; means are alike: 30 rows in each class."""
    scores = {"hierarchical": [], "columnwise": []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y, truth = np.repeat([0, 1], 30), rng.integers(0, 2, 300)
        X, new = (rng.normal(size=(len(labels), 40)) for labels in (y, truth))
        X[:, :3] *= np.where(y, 6, 1)[:, None]
        new[:, :3] *= np.where(truth, 6, 1)[:, None]
        for prior, found in scores.items():
            clf = bp.GaussianNB(prior).fit(X, y)
            found.append(clf.predict_log_proba(new)[np.arange(300), truth].mean())
    gain = np.subtract(scores["hierarchical"], scores["columnwise"])
    assert gain.mean() > 4 * gain.std(ddof=1) / np.sqrt(10)


def test_differences_of_many_classes_of_few_rows_are_found():
    """Ten classes of four rows, two standard deviations apart, beside columns of noise."""
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(10), 4)
    X = np.c_[rng.normal(0, 2, (10, 4))[y] + rng.normal(size=(40, 4)), rng.normal(size=(40, 4))]
    found = bp.GaussianNB().fit(X, y).feature_relevance()["log_bayes_factor"].values
    assert (found[:4] > 15).all()
    assert (found[4:] < -2).all()
