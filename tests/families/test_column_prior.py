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
    return squares, degrees, (squares.sum(0) + variances / len(groups)) / (degrees.sum(0) + 1)


WITH_GAPS = np.where(np.arange(600).reshape(150, 4) % 7 == 0, np.nan, IRIS[0])


@pytest.mark.parametrize(("X", "y"), [IRIS, (WITH_GAPS, IRIS[1]), (IRIS[0][:112], IRIS[1][:112])])
def test_variances_shrink_as_those_of_the_other_classes_predict_each(X, y):
    # over an inverse gamma, a sum of squares is beta prime (Johnson, Kotz & Balakrishnan 1995, chapter 27)
    squares, degrees, within = sums(X, y)
    first = within * (degrees.sum(0) + 1) - squares.sum(0)
    grid, log_evidence = np.geomspace(3, degrees.sum(0).max() + 1, 20), []
    for nu in grid:
        total = 0.0
        for k in range(3):
            others = np.delete(np.arange(3), k)
            share = nu / (nu + degrees[others])
            rows = (share * degrees[others]).sum(0) + 1
            w = ((share * squares[others]).sum(0) + first) / rows
            worth = 1 / (1 / nu + 1 / rows)
            total += stats.betaprime.logpdf(squares[k], degrees[k] / 2, worth / 2, scale=worth * w)
        log_evidence.append(total)
    prior = prior_of(X, y)
    np.testing.assert_allclose(2 * prior.a, [averaged(grid, np.array(log_evidence))] * 3, rtol=1e-9)
    # a class counts by as many rows as its variance is worth to the common one
    share = 2 * prior.a / (2 * prior.a + degrees)
    common = ((share * squares).sum(0) + first) / ((share * degrees).sum(0) + 1)
    np.testing.assert_allclose(prior.b, prior.a * common, rtol=1e-12)
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


def test_a_column_of_few_numbers_is_not_known_as_well_as_the_others():
    """Two numbers in each class have two degrees of freedom, beside one row of what is expected."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 6)) + 2 * rng.normal(size=(2, 6))[y]
    X[np.arange(400) % 200 > 1, 0] = np.nan
    prior = prior_of(X, y)
    assert (2 * prior.a[:, 0] == 3).all()
    assert (2 * prior.a[:, 1:] > 20).all()


def test_columns_that_never_vary_say_nothing_of_the_others():
    X, y = IRIS
    with_constants = np.c_[X, np.full((150, 3), 7.0)]
    one, other = prior_of(X, y), prior_of(with_constants, y)
    np.testing.assert_allclose(one.kappa, other.kappa[:, :4], rtol=1e-13)
    np.testing.assert_allclose(one.a, other.a[:, :4], rtol=1e-13)


@pytest.mark.parametrize("covariance", ["diag", "tied_diag"])
def test_columns_that_never_vary_say_nothing_of_the_class(covariance):
    """Were their variances learned, each of them would make the odds of the large class three times as high."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1], [180, 20])
    X, new = rng.normal(size=(200, 2)) + y[:, None], rng.normal(size=(5, 2))
    family = bp.Gaussian(covariance)
    expected = bp.GenerativeClassifier(family).fit(X, y).predict_log_proba(new)
    for constant in (0.0, 1.5, 1e6):
        clf = bp.GenerativeClassifier(family).fit(np.c_[X, np.full((200, 30), constant)], y)
        found = clf.predict_log_proba(np.c_[new, np.full((5, 30), constant)])
        np.testing.assert_allclose(found, expected, atol=1e-4)
        unlike = np.c_[new, np.full((5, 30), 2 * constant + 1)]
        np.testing.assert_allclose(clf.predict_log_proba(unlike), expected, atol=1e-5)
        assert clf.novelty(unlike)["is_novel"].all()


def test_columns_that_never_vary_say_nothing_of_the_class_where_columns_may_not_depend_on_it():
    """The prior under which the classes differ took a class's mean of a constant column for known by its rows."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1], [180, 20])
    X, new = rng.normal(size=(200, 2)) + y[:, None], rng.normal(size=(5, 2))
    expected = bp.GaussianNB().fit(X, y).averaged_proba(new, log=True)
    clf = bp.GaussianNB().fit(np.c_[X, np.full((200, 10), 5.0)], y)
    for value in (5.0, 10.0):
        found = clf.averaged_proba(np.c_[new, np.full((5, 10), value)], log=True)
        np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(clf.feature_relevance()["log_bayes_factor"][2:], 0.0, atol=1e-4)


@pytest.mark.parametrize(
    "family",
    [
        *(bp.Gaussian("diag", prior) for prior in ("hierarchical", "columnwise", "fraley-raftery")),
        *(bp.Gaussian("full", prior) for prior in ("hierarchical", "fraley-raftery", "regularised")),
        bp.Gaussian("tied"),
    ],
    ids=str,
)
def test_numbers_that_differ_in_their_last_bits_are_equal(family):
    rng, y = np.random.default_rng(0), np.repeat([0, 1], [180, 20])
    X, new = rng.normal(size=(200, 2)) + y[:, None], np.array([[0.0, 0.0, 0.4]])
    part = rng.uniform(1, 2, 200)
    ratio = 3 * part / (10 * part)
    assert len(set(ratio)) > 1
    tables = (np.c_[X, np.full(200, 0.3)], np.c_[X, ratio])
    constant, computed = (bp.GenerativeClassifier(family).fit(table, y) for table in tables)
    np.testing.assert_allclose(computed.predict_proba(new), constant.predict_proba(new), atol=1e-9)
    np.testing.assert_allclose(computed.loo().log_score, constant.loo().log_score, atol=1e-7)


@pytest.mark.parametrize("covariance", ["diag", "tied_diag", "full"])
def test_whole_numbers_far_from_zero_vary(covariance):
    """They are exact, and their standard deviation is six spacings of numbers; that of the means is one."""
    rng, y = np.random.default_rng(5), np.arange(200) % 2
    whole = rng.integers(0, 4, size=(200, 1)) + 2.0 * y[:, None]
    near, far = (bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(whole + off, y) for off in (0.0, 2e15))
    np.testing.assert_allclose(far.predict_proba(whole + 2e15), near.predict_proba(whole), atol=0.05)


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


def test_a_class_far_away_leaves_the_others_apart():
    """Two classes are three standard deviations apart, a third is a hundred away."""
    for make in (bp.GaussianNB, bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis):
        scores = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            y, truth, means = np.repeat(np.arange(3), 20), rng.integers(0, 3, 500), np.array([0, 3, 100])
            X, new = (np.c_[rng.normal(means[of]), rng.normal(size=len(of))] for of in (y, truth))
            scores.append(make().fit(X, y).predict_log_proba(new)[np.arange(500), truth].mean())
        assert np.mean(scores) > -0.15


@pytest.mark.parametrize("covariance", ["diag", "tied_diag", "full", "tied"])
def test_numbers_that_are_equal_within_every_class_have_the_variance_of_all_rows(covariance):
    """Their average may round to another number, which is no variance."""
    y = np.repeat([0, 1], 30)
    for low, high in ((1.0, 2.0), (0.1, 98.6), (0.7, 0.1 + 0.2)):
        column = np.where(y == 0, low, high)
        expected = bp.GenerativeClassifier(bp.Gaussian(covariance)).fit((y == 1)[:, None] * 1.0, y)
        found = bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(column[:, None], y)
        np.testing.assert_allclose(
            found.predict_proba([[low], [high]]), expected.predict_proba([[0], [1]]), rtol=1e-9
        )


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


def refitted_without(clf, covariance, X, y, weights, row):
    """Fit the other rows under κ, ν of all and the location and variance within the classes of the others."""
    prior, kept = clf.posterior_.prior.parts["features"], np.where(np.arange(len(y)) == row, 0.0, weights)
    values, of_class = np.nan_to_num(X), [y == k for k in np.unique(y)]
    count = np.array([kept[k] @ ~np.isnan(X[k]) for k in of_class])
    means = np.array([kept[k] @ values[k] for k in of_class]) / np.maximum(count, 1e-300)
    location = (count * means).sum(0) / count.sum(0)
    gaps = np.where(np.isnan(X), 0.0, values - means[y])
    squares = np.array([kept[k] @ gaps[k] ** 2 for k in of_class])

    def of_all(kept):
        present = kept[:, None] * ~np.isnan(X)
        centre = (present * values).sum(0) / present.sum(0)
        return (present * (values - centre) ** 2).sum(0) / (present.sum(0) - 1)

    degrees = np.maximum(count - 1, 0)
    expected = np.minimum(of_all(kept) / (count > 0).sum(0), 30 * squares.sum(0) / degrees.sum(0))
    share = 1 if covariance == "tied_diag" else 2 * prior.a / (2 * prior.a + degrees)
    within = ((share * squares).sum(0) + expected) / ((share * degrees).sum(0) + 1)
    # one value for all classes, or of each
    declared = bp.NormalInverseGamma(location, prior.kappa, prior.a, prior.a * within)
    family = bp.Gaussian(covariance, declared)
    return bp.GenerativeClassifier(family).fit(X, y, sample_weight=kept)


@pytest.mark.parametrize("covariance", ["diag", "tied_diag"])
@pytest.mark.parametrize("with_gaps", [False, True])
@pytest.mark.parametrize("weights", ["one", "few", "many"])
def test_a_row_leaves_the_location_and_the_variance_within_the_classes(covariance, with_gaps, weights):
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2], [1, 7, 11])
    X = rng.normal(y[:, None] * [0.0, 1.0, 3.0, 0.5], [1.0, 2.0, 1e-3, 1e4])
    if with_gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    w = {"one": np.ones(19), "few": rng.integers(1, 3, 19) * 1.0, "many": rng.uniform(0.3, 2.5, 19)}[weights]
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(X, y, sample_weight=w)
    found = clf.loo().log_joint
    for row in range(19):
        others = refitted_without(clf, covariance, X, y, w, row)
        expected = others.predict_joint_log_proba(X[[row]])[0]
        np.testing.assert_allclose(found[row], expected, rtol=1e-9, atol=1e-9)


def test_leave_one_out_is_not_kinder_than_fits_without_each_row():
    """Twenty rows of 200 columns of noise: held fixed, the prior would make it kinder by .5."""
    left_out, refitted = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((20, 200)), np.arange(20) % 2
        left_out.append(bp.GaussianNB().fit(X, y).loo().log_score[0])
        for row in range(20):
            others = np.arange(20) != row
            clf = bp.GaussianNB().fit(X[others], y[others])
            refitted.append(clf.predict_log_proba(X[[row]])[0, y[row]])
    assert np.mean(left_out) < np.mean(refitted) + 0.2


@pytest.mark.parametrize(("offset", "height"), [(1.0, 1.0), (1.0, 5.0), (1e9, 1.0), (1e9, 0.01)])
@pytest.mark.parametrize("weight", [1.0, 1e6])
def test_a_row_that_alone_makes_a_column_vary_leaves_a_constant_one(offset, height, weight):
    """Each row has a column of its own, as rare indicators have, which without it says nothing."""
    X, y, places = offset + height * np.eye(40), np.arange(40) % 2, np.arange(40)
    weights = np.full(40, weight)
    found = bp.GaussianNB().fit(X, y, weights).loo()
    for row in places[:4]:
        refitted = bp.GaussianNB().fit(X[places != row], y[places != row], weights[1:])
        np.testing.assert_allclose(found.log_proba[row], refitted.predict_log_proba(X[[row]])[0], atol=0.01)


def test_the_density_of_a_row_that_alone_makes_a_column_vary_is_that_of_a_refit():
    y = np.arange(40) % 2
    X = np.c_[np.where(np.arange(40) == 0, 6.0, 1.0), np.random.default_rng(0).normal(y)]
    found = bp.GaussianNB().fit(X, y).loo().log_joint[0]
    expected = bp.GaussianNB().fit(X[1:], y[1:]).predict_joint_log_proba(X[:1])[0]
    np.testing.assert_allclose(found, expected, atol=0.05)


@pytest.mark.parametrize("covariance", ["diag", "tied_diag"])
def test_rows_of_a_class_without_weight_leave_nothing_behind(covariance):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 3)), np.repeat([0, 1, 2], 5)
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(X, y, sample_weight=(y < 2) * 1.0)
    np.testing.assert_allclose(clf.loo().log_joint[10:], clf.predict_joint_log_proba(X[10:]), rtol=1e-12)
