"""The binomial family against scipy, high precision, and its coincidence with the Bernoulli family."""

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.pymc_density import pymc_log_density

import bayesppl as bp

LABELS = list("aaaabbbbb")
TABLE = pd.DataFrame({"loan": [0, 1, 2, 1, 5, 4, 6, 3, 6], "meeting": [3, 0, 1, 2, 0, 0, 1, 0, 0]})
ROWS = pd.DataFrame({"loan": [0, 6, 3], "meeting": [0, 2, 3]})


def log_beta(a, b):
    return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)


def exact_evidence(counts, trials, alpha, beta):
    """log p(x) of one column of one class, every term in 60 digits."""
    with mpmath.workdps(60):
        total = log_beta(alpha + sum(counts), beta + sum(trials) - sum(counts)) - log_beta(alpha, beta)
        total += sum(mpmath.log(mpmath.binomial(int(m), int(x))) for x, m in zip(counts, trials, strict=True))
        return float(total)


def test_predictive_is_beta_binomial():
    clf = bp.BinomialNB(trials=6, probability=bp.Beta(0.7, 2.0), class_weights="uniform").fit(TABLE, LABELS)
    found = clf.predict_joint_log_proba(ROWS)
    for k, label in enumerate("ab"):
        rows = TABLE[np.asarray(LABELS) == label]
        a, b = 0.7 + rows.sum(), 2.0 + (6 - rows).sum()
        expected = stats.betabinom(6, a, b).logpmf(ROWS).sum(1) + np.log(0.5)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-12)


def test_evidence_matches_high_precision():
    trials = [6, 4]
    clf = bp.BinomialNB(trials, bp.Beta(0.7, 2.0)).fit(TABLE, LABELS)
    found = clf.log_evidence()["features"]
    for label in "ab":
        for column, m in zip(TABLE, trials, strict=True):
            counts = TABLE.loc[np.asarray(LABELS) == label, column].tolist()
            expected = exact_evidence(counts, [m] * len(counts), 0.7, 2.0)
            assert float(found.sel({"class": label, "feature": column})) == pytest.approx(expected, rel=1e-12)


def test_trials_by_row_match_high_precision():
    trials = [9, 6, 7, 6, 8, 6, 6, 12, 7]
    clf = bp.BinomialNB("words").fit(TABLE.assign(words=trials), LABELS)
    found = clf.log_evidence()["features"]
    assert found["feature"].values.tolist() == ["loan", "meeting"]
    for label in "ab":
        mask = np.asarray(LABELS) == label
        expected = exact_evidence(TABLE.loan[mask].tolist(), np.asarray(trials)[mask].tolist(), 1, 1)
        assert float(found.sel({"class": label, "feature": "loan"})) == pytest.approx(expected, rel=1e-12)
    rows = ROWS.assign(words=[4, 20, 3])
    a, b = 1 + TABLE[:4].sum(), 1 + sum(trials[:4]) - TABLE[:4].sum()
    expected = stats.betabinom(rows[["words"]].to_numpy(), a, b).logpmf(ROWS).sum(1)
    np.testing.assert_allclose(clf.predict_joint_log_proba(rows)[:, 0] - np.log(5 / 11), expected, rtol=1e-12)


def test_constant_trials_in_every_form_agree():
    expected = bp.BinomialNB(6).fit(TABLE, LABELS).predict_joint_log_proba(ROWS)
    for trials in ([6, 6], {"loan": 6, "meeting": 6}, np.asarray([6, 6])):
        found = bp.BinomialNB(trials).fit(TABLE, LABELS).predict_joint_log_proba(ROWS)
        np.testing.assert_array_equal(found, expected)
    by_row = bp.BinomialNB("m").fit(TABLE.assign(m=6), LABELS).predict_joint_log_proba(ROWS.assign(m=6))
    np.testing.assert_array_equal(by_row, expected)


@pytest.mark.parametrize("rule", ["predictive", "mean", "map", "mle"])
def test_one_trial_is_bernoulli(rule):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, size=(60, 4)).astype(float), rng.integers(0, 3, size=60)
    X[:, 3] = y == 1  # certain: an estimate of exactly one and of exactly zero
    X[rng.random(X.shape) < 0.1] = np.nan
    one, bernoulli = (nb.fit(X, y) for nb in (bp.BinomialNB(1, bp.Beta(2, 1.5)), bp.BernoulliNB(bp.Beta(2, 1.5))))
    found, expected = (nb.predict_joint_log_proba(X, rule=rule) for nb in (one, bernoulli))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(one.predict(X, rule=rule), bernoulli.predict(X, rule=rule))
    np.testing.assert_allclose(one.log_evidence()["features"], bernoulli.log_evidence()["features"], rtol=1e-12)


def test_missing_cells_are_skipped():
    holes = TABLE.astype(float)
    holes.loc[[1, 6], "loan"] = np.nan
    found = bp.BinomialNB(6).fit(holes, LABELS)
    kept = np.asarray([0, 2, 3, 4, 5, 7, 8])
    alone = bp.BinomialNB(6).fit(TABLE[["loan"]].iloc[kept], np.asarray(LABELS)[kept])
    np.testing.assert_allclose(
        found.log_evidence()["features"].sel(feature="loan"), alone.log_evidence()["features"][:, 0], rtol=1e-13
    )
    without = bp.BinomialNB(6).fit(TABLE[["meeting"]], LABELS).predict_proba(ROWS[["meeting"]])
    np.testing.assert_allclose(found.predict_proba(ROWS.assign(loan=np.nan)), without, rtol=1e-12)


def test_unseen_class_keeps_its_prior_predictive():
    clf = bp.BinomialNB(6, bp.Beta(2, 3), class_weights="uniform", classes=["a", "b", "c"]).fit(TABLE, LABELS)
    expected = stats.betabinom(6, 2, 3).logpmf(ROWS).sum(1) + np.log(1 / 3)
    np.testing.assert_allclose(clf.predict_joint_log_proba(ROWS)[:, 2], expected, rtol=1e-12)
    with pytest.raises(bp.UndefinedEstimateError, match=r"class 'c' has no observed value in column 'loan'"):
        clf.predict(ROWS, rule="mle")


def test_maximum_likelihood_of_zero_is_minus_infinity_not_nan():
    clf = bp.BinomialNB(6).fit([[0], [0], [6], [6]], list("aabb"))
    found = clf.predict_joint_log_proba([[0], [3], [6]], rule="mle")
    np.testing.assert_array_equal(np.exp(found), [[0.5, 0], [0, 0], [0, 0.5]])
    with pytest.warns(bp.ImpossibleRowWarning, match="1 of 3 rows"):
        np.testing.assert_array_equal(clf.predict_proba([[0], [3], [6]], rule="mle")[1], [0.5, 0.5])


def test_large_counts_do_not_overflow():
    clf = bp.BinomialNB("m").fit(pd.DataFrame({"x": [10**9, 10**8], "m": [2 * 10**9, 10**9]}), [0, 1])
    found = clf.predict_proba(pd.DataFrame({"x": [3 * 10**8], "m": [6 * 10**8]}))
    np.testing.assert_allclose(found, [[1, 0]], atol=1e-300)
    small = np.asarray([[200], [100]], dtype=np.uint8)
    expected = bp.BinomialNB(255).fit(small.astype(float), [0, 1]).predict_proba(small.astype(float))
    np.testing.assert_array_equal(bp.BinomialNB(255).fit(small, [0, 1]).predict_proba(small), expected)


def bad(column, value):
    return TABLE.assign(**{column: [*TABLE[column][:-1], value]})


@pytest.mark.parametrize(
    ("table", "trials", "message"),
    [
        (bad("loan", -1), 6, r"column 'loan' holds -1 in row 8, but the binomial family models counts"),
        (bad("meeting", 0.5), 6, r"column 'meeting' holds 0.5 in row 8, but the binomial family models counts"),
        (bad("meeting", np.inf), 6, r"column 'meeting' holds inf in row 8"),
        (bad("loan", 7), 6, r"column 'loan' holds 7 successes in row 8, more than its 6 trials"),
        (TABLE, [6, 2], r"column 'meeting' holds 3 successes in row 0, more than its 2 trials"),
        (TABLE.assign(m=[6] * 8 + [5]), "m", r"column 'loan' holds 6 successes in row 8, more than its 5 trials"),
        (TABLE.assign(m=[6] * 8 + [6.5]), "m", r"column 'm' holds 6.5 in row 8"),
        (TABLE.assign(m=[6] * 8 + [np.nan]), "m", r"column 'm' is missing in row 8, but it holds the trials"),
        (TABLE, "m", r"missing column 'm'"),
        (TABLE, 0, r"trials must be positive whole numbers, found 0 for column 'loan'"),
        (TABLE, [6, 2.5], r"trials must be positive whole numbers, found 2.5 for column 'meeting'"),
        (TABLE, [6, 6, 6], r"trials has 3 values for 2 columns"),
        (TABLE, {"loan": 6}, r"trials has no value for column 'meeting'"),
    ],
)
def test_refusals(table, trials, message):
    with pytest.raises(ValueError, match=message):
        bp.BinomialNB(trials).fit(table, LABELS)


def test_pymc_skips_missing_cells():
    holes = TABLE.astype(float)
    holes.loc[1, "loan"] = np.nan
    clf = bp.BinomialNB(6).fit(holes, LABELS)
    point = {"class_weights": np.asarray([0.4, 0.6]), "probability": np.asarray([[0.2, 0.3], [0.6, 0.1]])}
    joint = clf.posterior_.model.log_joint(point)(holes.to_numpy())
    prior = clf.posterior_.prior.log_prob(point)
    expected = prior + joint[np.arange(9), (np.asarray(LABELS) == "b").astype(int)].sum()
    for likelihood in ("rows", "statistics"):
        assert pymc_log_density(clf, likelihood, point) == pytest.approx(expected, rel=1e-10), likelihood


def test_too_many_successes_are_found_in_any_row():
    X, y = np.ones((200_000, 2)), np.arange(200_000) % 2
    X[199_998, 1] = 4
    with pytest.raises(ValueError, match="'x1' holds 4 successes in row 199998, more than its 3 trials"):
        bp.BinomialNB(trials=3).fit(X, y)
