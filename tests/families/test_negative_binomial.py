"""The negative binomial family of known size against scipy, quadrature and its Poisson limit."""

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.pymc_density import pymc_log_density

import bayesppl as bp

LABELS = np.asarray(list("aaaabbbbb"))
TABLE = pd.DataFrame({"calls": [0, 1, 2, 1, 5, 40, 6, 3, 6], "visits": [3, 0, 1, 2, 0, 0, 1, 0, 0]})
ROWS = pd.DataFrame({"calls": [0, 6, 300], "visits": [0, 2, 9]})
PRIOR = bp.Beta(2.5, 1.2)


def classifier(family, **options):
    return bp.GenerativeClassifier(family, class_weights="uniform", **options)


def test_likelihood_is_scipys():
    r = np.asarray([0.6, 4.0])
    clf = classifier(bp.NegativeBinomial([0.6, 4.0], probability=PRIOR)).fit(TABLE, LABELS)
    estimates = clf.estimates(["mle"])["probability"].values[0]
    for k, label in enumerate("ab"):
        p = r / (r + TABLE[label == LABELS].mean())
        np.testing.assert_allclose(estimates[k], p, rtol=1e-13)
        expected = stats.nbinom(r, p).logpmf(ROWS).sum(1) + np.log(0.5)
        np.testing.assert_allclose(clf.predict_joint_log_proba(ROWS, rule="mle")[:, k], expected, rtol=1e-11)


def test_predictive_is_beta_negative_binomial():
    clf = classifier(bp.NegativeBinomial(4, probability=PRIOR)).fit(TABLE, LABELS)
    found = clf.predict_joint_log_proba(ROWS)
    for k, label in enumerate("ab"):
        rows = TABLE[label == LABELS]
        expected = stats.betanbinom(4, 2.5 + 4 * len(rows), 1.2 + rows.sum()).logpmf(ROWS).sum(1)
        np.testing.assert_allclose(found[:, k], expected + np.log(0.5), rtol=1e-11)


@pytest.mark.parametrize("r", [0.6, 4.0])
def test_evidence_matches_high_precision_quadrature(r):
    found = classifier(bp.NegativeBinomial(r, probability=PRIOR)).fit(TABLE, LABELS).log_evidence()["features"]
    counts = [int(x) for x in TABLE.calls[LABELS == "a"]]

    def density(p):
        chances = (
            mpmath.gamma(x + r) / mpmath.gamma(r) / mpmath.factorial(x) * p**r * (1 - p) ** x for x in counts
        )
        return mpmath.fprod(chances) * p**1.5 * (1 - p) ** 0.2 / mpmath.beta(2.5, 1.2)

    with mpmath.workdps(30):
        exact = mpmath.log(mpmath.quad(density, [0, 0.25, 0.5, 0.75, 1]))
    assert float(found.sel({"class": "a", "feature": "calls"})) == pytest.approx(float(exact), rel=1e-10)


def test_large_size_is_poisson():
    # p = r / (r + λ): a beta prior with α = r b and β = a tends to λ ~ Gamma(a, b), with an error of order 1/r
    poisson = classifier(bp.Poisson(bp.Gamma(1.7, 0.6))).fit(TABLE, LABELS)
    gaps = []
    for r in (1e5, 1e6):
        near = classifier(bp.NegativeBinomial(r, probability=bp.Beta(r * 0.6, 1.7))).fit(TABLE, LABELS)
        predictive = near.predict_joint_log_proba(ROWS[:2]) - poisson.predict_joint_log_proba(ROWS[:2])
        gaps.append([*predictive.ravel(), float(near.log_evidence()["total"] - poisson.log_evidence()["total"])])
    np.testing.assert_allclose(gaps[0], 10 * np.asarray(gaps[1]), rtol=0.02)
    assert np.abs(gaps[1]).max() < 0.01


def test_evidence_prefers_the_size_of_the_data():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, size=400)
    spread = rng.negative_binomial(0.5, np.where(y == 0, 0.2, 0.1))[:, None]
    plain = rng.poisson(np.where(y == 0, 2.0, 4.5))[:, None]

    def evidence(family, X):
        return float(classifier(family).fit(X, y).log_evidence()["total"])

    assert evidence(bp.NegativeBinomial(0.5), spread) > evidence(bp.Poisson(), spread) + 100
    assert evidence(bp.Poisson(), plain) > evidence(bp.NegativeBinomial(0.5), plain) + 100


def test_maximum_likelihood_at_the_edge():
    clf = classifier(bp.NegativeBinomial(2.0)).fit([[0], [0], [4], [2]], list("aabb"))
    np.testing.assert_allclose(clf.estimates(["mle"])["probability"].values[0], [[1.0], [0.4]], rtol=1e-15)
    found = clf.predict_joint_log_proba([[0], [1]], rule="mle")
    np.testing.assert_allclose(found[:, 0], [np.log(0.5), -np.inf])
    assert np.isfinite(found[:, 1]).all()
    unseen = classifier(bp.NegativeBinomial(2.0), classes=list("abc")).fit(TABLE, LABELS)
    with pytest.raises(bp.UndefinedEstimateError, match=r"class 'c' has no observed value in column 'calls'"):
        unseen.predict(ROWS, rule="mle")
    # one success, or one failure, at the odds of all rows
    alpha, beta = np.maximum([18 / 64, 18 / 7], 1), np.maximum([64 / 18, 7 / 18], 1)
    expected = stats.betanbinom(2.0, alpha, beta).logpmf(ROWS).sum(1) + np.log(1 / 3)
    np.testing.assert_allclose(unseen.predict_joint_log_proba(ROWS)[:, 2], expected, rtol=1e-11)


def test_missing_cells_are_skipped():
    holes = TABLE.astype(float)
    holes.loc[[1, 6], "calls"] = np.nan
    kept = np.asarray([0, 2, 3, 4, 5, 7, 8])
    found = classifier(bp.NegativeBinomial([0.6, 4.0], probability=PRIOR)).fit(holes, LABELS)
    alone = classifier(bp.NegativeBinomial(0.6, probability=PRIOR)).fit(TABLE[["calls"]].iloc[kept], LABELS[kept])
    np.testing.assert_allclose(
        found.log_evidence()["features"].sel(feature="calls"), alone.log_evidence()["features"][:, 0], rtol=1e-13
    )
    point = {"probability": np.asarray([[0.2, 0.3], [0.6, 0.7]])}
    theta = {"class_weights": np.full(2, 0.5), **point}
    joint = found.posterior_.model.log_joint(theta)(holes.to_numpy())
    expected = found.posterior_.prior.log_prob(theta) + joint[np.arange(9), (LABELS == "b").astype(int)].sum()
    for likelihood in ("rows", "statistics"):
        assert pymc_log_density(found, likelihood, point) == pytest.approx(expected, rel=1e-10), likelihood


@pytest.mark.parametrize(("value", "found"), [(-1, "-1"), (2.5, "2.5"), (np.inf, "inf")])
def test_refuses_what_is_not_a_count(value, found):
    table = TABLE.assign(visits=[*TABLE.visits[:-1], value])
    with pytest.raises(ValueError, match=rf"'visits' holds {found} in row 8, but the negative binomial family"):
        classifier(bp.NegativeBinomial(2.0)).fit(table, LABELS)


@pytest.mark.parametrize("size", [0, -1.0, [1.0, np.inf]])
def test_refuses_sizes_that_are_not_positive(size):
    with pytest.raises(ValueError, match=r"size must be positive, found \S+ for column"):
        classifier(bp.NegativeBinomial(size)).fit(TABLE, LABELS)


@pytest.mark.parametrize("size", ["a", [1, "a"], [[1], [1, 2]], 1 + 2j])
def test_refuses_sizes_that_are_no_numbers(size):
    with pytest.raises(TypeError, match=r"size must be one number or one per column, found \S+"):
        classifier(bp.NegativeBinomial(size)).fit(TABLE, LABELS)


def test_a_column_without_failures_has_a_proper_prior():
    clf = classifier(bp.NegativeBinomial(2.0)).fit([[0], [0], [0], [0]], list("aabb"))
    expected = stats.betanbinom(2.0, 8 + 4, 1).logpmf(3)
    np.testing.assert_allclose(clf.predict_joint_log_proba([[3]])[0] - np.log(0.5), expected, rtol=1e-11)
    prior = classifier(bp.NegativeBinomial(0.05)).fit([[0]] * 4, list("aabb")).posterior_.prior.parts["features"]
    np.testing.assert_allclose([prior.alpha, prior.beta], 1.0)  # .2 successes, and no more failures than these


def test_few_rows_do_not_pull_large_counts_to_one_failure_for_each_success():
    """Counts of size .3 and means of 10 to 1000: class frequencies score −1.099."""
    scores = {"overall": [], "uniform": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mean = np.exp(rng.uniform(np.log(10), np.log(1000), 4)) * np.exp(rng.normal(0, 0.5, (3, 4)))
        y, truth = np.repeat(np.arange(3), 5), np.repeat(np.arange(3), 50)
        X, new = (rng.negative_binomial(0.3, 0.3 / (0.3 + mean[labels])) for labels in (y, truth))
        for name, prior in {"overall": "overall", "uniform": bp.Beta()}.items():
            clf = bp.GenerativeClassifier(bp.NegativeBinomial(0.3, probability=prior)).fit(X, y)
            scores[name].append(clf.predict_log_proba(new)[np.arange(150), truth].mean())
    assert np.mean(scores["overall"]) > np.log(1 / 3) - 0.05
    assert np.mean(scores["uniform"]) < np.log(1 / 3) - 0.1
