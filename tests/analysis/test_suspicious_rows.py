"""Suspicious labels: the model of the noise by enumeration, planted errors, and what is asked of the rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import beta
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

import bayesppl as bp
from bayesppl.analysis.suspicious_rows import noise_rate, wrong_label
from bayesppl.errors import ImproperError


def test_the_probability_of_a_wrong_label_is_that_of_all_classes_it_may_have_been():
    proba = np.array([[0.7, 0.2, 0.1], [0.05, 0.05, 0.9], [1e-30, 1.0, 0.0]])
    codes, noise = np.array([0, 0, 0]), 0.1
    # p(true class, recorded label) by enumeration
    recorded = np.where(np.arange(3) == codes[:, None], 1 - noise, noise / 2)
    joint = proba * recorded
    expected = 1 - joint[np.arange(3), codes] / joint.sum(1)
    np.testing.assert_allclose(wrong_label(np.log(proba[np.arange(3), codes]), noise, 3), expected, rtol=1e-12)


def test_the_share_of_wrong_labels_is_the_mode_of_its_posterior():
    rng = np.random.default_rng(1)
    own, weights = rng.beta(4, 1, 60), rng.uniform(0.5, 2, 60)
    grid = np.linspace(1e-4, 0.74, 20_001)
    log_posterior = beta(2, 20).logpdf(grid) + weights @ np.log(
        np.outer(own, 1 - grid) + np.outer((1 - own) / 3, grid)
    )
    found = noise_rate(np.log(own), weights, 4)
    assert abs(found - grid[log_posterior.argmax()]) < 2 * (grid[1] - grid[0])


def test_where_the_model_is_right_as_many_labels_are_wrong_as_is_expected():
    """The number of wrong labels is a sum of independent trials with these probabilities: five standard errors."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 3000)
    X = rng.normal(size=(3000, 2)) + 2.5 * np.column_stack([truth == 1, truth == 2])
    planted = rng.random(3000) < 0.06
    y = np.where(planted, (truth + rng.integers(1, 3, 3000)) % 3, truth)
    found = bp.GaussianNB().fit(X, y).suspicious_rows()
    wrong = found["wrong"].sort_index().to_numpy()
    error = np.sqrt((wrong * (1 - wrong)).sum())
    assert abs(wrong.sum() - planted.sum()) < 5 * error
    assert abs(found.attrs["noise"] - 0.06) < 5 * error / 3000
    sure = wrong > 0.9
    assert sure.sum() > 40
    assert planted[sure].mean() > 0.9 - 5 * np.sqrt(0.09 / sure.sum())


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_planted_errors_come_first(load):
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(2)
    planted = rng.choice(len(y), 8, replace=False)
    y[planted] = (y[planted] + rng.integers(1, 3, 8)) % 3
    found = bp.QuadraticDiscriminantAnalysis(calibration="temperature").fit(X, y).suspicious_rows()
    assert np.isin(found.index[:8], planted).sum() >= 7
    assert found["wrong"].is_monotonic_decreasing
    assert (found["label"].sort_index() == y).all()


@pytest.mark.parametrize("gap", [2.0, 9.0])
def test_the_rule_of_the_fit_plays_no_part(gap):
    rng = np.random.default_rng(0)
    y = np.append(np.arange(40) % 2, 2)
    X = rng.normal(size=(41, 2)) + gap * y[:, None]
    expected = bp.GaussianNB().fit(X, y).suspicious_rows()
    for rule in ("mean", "map", "mle"):
        pd.testing.assert_frame_equal(bp.GaussianNB(rule=rule).fit(X, y).suspicious_rows(), expected)


def test_rows_that_are_left_out_by_refits_are_as_suspicious():
    """At the end the probabilities reproduce themselves; the share of wrong labels settles long before."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 3)) + y[:, None] * [1.0, 0.7, 0.0]
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=60)
    weights = rng.choice([0.5, 1.0, 2.0], 60)
    prior = bp.NormalInverseGamma(0.0, 0.5, 2.0, 2.0)
    found = bp.GaussianNB(prior).fit(X, y, sample_weight=weights).suspicious_rows().sort_index()
    wrong, kept = found["wrong"].to_numpy(), np.eye(60) == 0
    own = [
        bp.GaussianNB(prior).fit(X[k], y[k], (weights * (1 - wrong))[k]).predict_log_proba(X[[i]])[0, y[i]]
        for i, k in enumerate(kept)
    ]
    again = wrong_label(np.array(own), found.attrs["noise"], 3)
    np.testing.assert_allclose(again, wrong, atol=2e-4)


def test_rows_are_passed_again_where_they_are_not_held():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["s", "c", "v"])[y]
    weights = np.where(np.arange(150) < 3, 0.0, 1.0)
    whole = bp.GaussianNB().fit(X, labels, weights)
    expected = whole.suspicious_rows()
    assert expected.loc[0, "probability"] == pytest.approx(whole.loo().proba[0, 1])
    again = bp.GaussianNB().partial_fit(X, labels, classes=["s", "c", "v"], sample_weight=weights)
    with pytest.raises(ValueError, match="not held any more"):
        again.suspicious_rows()
    pd.testing.assert_frame_equal(again.suspicious_rows(X, labels, weights), expected)


def test_rows_that_the_fit_has_not_seen_are_refused():
    X, y = load_iris(return_X_y=True)
    counts = (X * 10).astype(int)
    for clf, rows in (
        (bp.GaussianNB(), X),
        (bp.QuadraticDiscriminantAnalysis(), X),
        (bp.PoissonNB(), counts),
        (bp.CategoricalNB(unseen="missing"), counts),
        (bp.MultinomialNB(), csr_array(counts)),
    ):
        clf.fit(rows[::2], y[::2])
        again = clone(clf).partial_fit(rows[::2], y[::2], classes=[0, 1, 2])
        order = np.random.default_rng(0).permutation(75)
        shuffled, labels = rows[::2][order], y[::2][order]
        assert again.loo(shuffled, labels).log_score[0] == pytest.approx(clf.loo().log_score[0], rel=1e-9)
        for ask in (again.loo, again.suspicious_rows, clf.loo):
            with pytest.raises(ValueError, match="not the rows of the fit: they do not add up to its sums"):
                ask(rows[1::2], y[1::2])


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
@pytest.mark.parametrize("unlabelled", ["drop", "learn"])
def test_rows_are_counted_among_those_given_to_fit(unlabelled):
    X, y = load_iris(return_X_y=True)
    without = np.array([0, 1, 2, 50, 60, 61, 100, 101])
    y = y.astype(float)
    y[[3, 140]], y[without] = [2, 0], np.nan
    clf = bp.QuadraticDiscriminantAnalysis(unlabelled=unlabelled, inference="em").fit(X, y)
    assert clf.posterior_.is_exact
    found = clf.suspicious_rows()
    assert set(found.index[:2]) == {3, 140}
    np.testing.assert_array_equal(found.index.sort_values(), np.delete(np.arange(150), without))
    np.testing.assert_array_equal(found["label"], y[found.index])
    pd.testing.assert_frame_equal(clf.suspicious_rows(X, y), found)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
def test_a_fit_that_completes_labels_is_refused():
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) % 7, y.astype(float), np.nan)
    completed = bp.GaussianNB(unlabelled="learn", unlabelled_weight=1.0, inference="em").fit(X, y)
    with pytest.raises(bp.NotConjugateError, match="suspicious rows are found by a posterior in closed form"):
        completed.suspicious_rows()


def test_rows_that_count_less_may_be_too_few_for_an_improper_prior():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [5, 12])
    rows = rng.normal(size=(17, 2)) + 1.5 * labels[:, None]
    rows[0] += 3
    clf = bp.GenerativeClassifier(bp.Gaussian("diag", "flat")).fit(rows, labels)
    clf.loo()
    with pytest.raises(ImproperError, match="once rows count with the probability that their label is right"):
        clf.suspicious_rows()


def test_one_class_leaves_no_other_label():
    with pytest.raises(ValueError, match="one class only"):
        bp.GaussianNB(classes=["a"]).fit(np.arange(9.0)[:, None], ["a"] * 9).suspicious_rows()
