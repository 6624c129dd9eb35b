"""Tuned priors: the evidence is at its maximum, and small samples are predicted better."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import betaln
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from support.examples import EXAMPLES

import bayesppl as bp

IRIS = load_iris(return_X_y=True)


def test_beta_hyperparameters_maximise_the_beta_binomial_likelihood():
    rng = np.random.default_rng(0)
    p = rng.beta(2.0, 6.0, (2, 300))
    y = np.repeat([0, 1], 12)
    X = (rng.random((24, 300)) < p[y]).astype(int)
    tuned = bp.BernoulliNB().fit(X, y).tune_prior()
    found = tuned.tuning_["factor"][-1].values  # the start is Beta(1, 1)
    s = np.stack([X[:12].sum(0), X[12:].sum(0)])

    def loss(logs):
        a, b = np.exp(logs)
        return -(betaln(a + s, b + 12 - s) - betaln(a, b)).sum()

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    np.testing.assert_allclose(found, np.exp(best.x), rtol=1e-2)
    evidence = float(tuned.log_evidence()["features"].sum())
    assert evidence == pytest.approx(-best.fun, abs=1e-3)
    assert float(tuned.tuning_["objective"][-1]) == pytest.approx(evidence)
    # 600 probabilities drawn from Beta(2, 6) tell its parameters to a tenth or so
    np.testing.assert_allclose(found, [2.0, 6.0], rtol=0.3)


# a prior of each class that is made of the rows of the others has no evidence of its own to start from
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "gaussian full, default prior"])
def test_every_family_can_be_tuned_and_refitted(name):
    family, X, y = EXAMPLES[name]
    X = X[: len(y)]
    clf = bp.GenerativeClassifier(family).fit(X, y)
    tuned = clf.tune_prior(max_steps=5)
    path = tuned.tuning_["objective"].values
    assert (np.diff(path) >= -1e-9).all()
    assert path[0] == pytest.approx(float(clf.log_evidence()["total"] - clf.log_evidence()["class_weights"]))
    assert path[-1] == pytest.approx(float(tuned.log_evidence()["total"] - tuned.log_evidence()["class_weights"]))
    # the prior it declares is the one it was fitted with
    again = clone(tuned).fit(X, y)
    np.testing.assert_allclose(again.predict_log_proba(X), tuned.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tuned.loo().log_joint, again.loo().log_joint, rtol=1e-9)


def _log_scores(clf, X, y):
    return clf.predict_log_proba(X)[np.arange(len(y)), y]


def _gains(X, y, family, size, repeats, **options):
    """Gain of the held-out log score over the default prior, for several training sets."""
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(repeats):
        order = rng.permutation(len(y))
        train, test = order[:size], order[size:]
        fitted = bp.GenerativeClassifier(family, classes=np.unique(y).tolist()).fit(X[train], y[train])
        tuned = fitted.tune_prior(**options)
        gains.append((_log_scores(tuned, X[test], y[test]) - _log_scores(fitted, X[test], y[test])).mean())
    return np.asarray(gains)


@pytest.mark.parametrize("covariance", ["diag", "tied"])
def test_evidence_finds_a_better_prior_for_few_rows_of_many_columns(covariance):
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(0) > 4]  # 32 pixels, 40 rows of ten classes
    prior = "columnwise" if covariance == "diag" else "fraley-raftery"
    gains = _gains(X, y, bp.Gaussian(covariance, prior), size=40, repeats=6)
    assert gains.mean() > 4 * gains.std(ddof=1) / np.sqrt(len(gains))


def test_leave_one_out_finds_a_better_prior_where_naive_bayes_is_wrong():
    # neighbouring pixels repeat each other: Naive Bayes is far too sure, and the evidence makes it surer still
    X, y = load_digits(return_X_y=True)
    X = (X >= 8).astype(int)
    by_loo = _gains(X, y, bp.Bernoulli(), size=100, repeats=12, objective="loo")
    by_evidence = _gains(X, y, bp.Bernoulli(), size=100, repeats=12)
    for gains in (by_loo, by_loo - by_evidence, -by_evidence):
        assert gains.mean() > 4 * gains.std(ddof=1) / np.sqrt(len(gains))


def test_loo_objective_is_the_leave_one_out_log_score():
    clf = bp.GaussianNB().fit(*IRIS)
    tuned = clf.tune_prior(["kappa", "b"], objective="loo", max_steps=4)
    assert float(tuned.tuning_["objective"][0]) == pytest.approx(clf.loo().log_score_i.sum())
    assert float(tuned.tuning_["objective"][-1]) == pytest.approx(tuned.loo().log_score_i.sum())
    assert float(tuned.tuning_["objective"][-1]) > float(tuned.tuning_["objective"][0])


def test_loo_objective_weighs_the_rows():
    weights = 1.0 + np.arange(150) % 3
    clf = bp.GaussianNB(bp.NormalInverseGamma(4.0, 0.3, 1.7, 0.9)).fit(*IRIS, weights)
    tuned = clf.tune_prior(["kappa"], objective="loo", max_steps=1)
    assert float(tuned.tuning_["objective"][0]) == pytest.approx(weights @ clf.loo().log_score_i)


def test_only_what_is_named_is_tuned():
    clf = bp.LinearDiscriminantAnalysis("fraley-raftery").fit(*IRIS)
    tuned = clf.tune_prior(["correlation", "nu"])
    before, after = (c.posterior_.prior.parts["features"] for c in (clf, tuned))
    np.testing.assert_array_equal(after.kappa, before.kappa)
    np.testing.assert_allclose(np.diagonal(after.psi), np.diagonal(before.psi))
    factors = tuned.tuning_["factor"][-1]
    assert factors["hyperparameter"].values.tolist() == ["correlation", "nu"]
    assert float(factors[0]) <= 1
    np.testing.assert_allclose(after.psi[0, 1], before.psi[0, 1] * factors[0])
    np.testing.assert_allclose(after.nu - 3, (before.nu - 3) * factors[1])


def test_an_unknown_hyperparameter_is_refused():
    with pytest.raises(
        ValueError, match="'alpha' is not a hyperparameter of this prior; choose among 'kappa', 'a', 'b'"
    ):
        bp.GaussianNB().fit(*IRIS).tune_prior(["alpha"])


def test_an_improper_prior_is_refused():
    with pytest.raises(bp.ImproperError, match="evidence is undefined"):
        bp.GaussianNB("jeffreys").fit(*IRIS).tune_prior()


def test_an_unknown_objective_is_refused():
    with pytest.raises(ValueError, match="objective must be one of 'evidence', 'loo', found 'waic'"):
        bp.GaussianNB().fit(*IRIS).tune_prior(objective="waic")
