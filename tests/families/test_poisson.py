"""The Poisson family against scipy and high precision."""

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.pymc_density import pymc_log_density

import bayesppl as bp

LABELS = np.asarray(list("aaaabbbbb"))
TABLE = pd.DataFrame({"calls": [0, 1, 2, 1, 5, 4, 6, 3, 6], "visits": [3, 0, 1, 2, 0, 0, 1, 0, 0]})
HOURS = np.asarray([1.5, 2.0, 0.5, 8.0, 1.0, 3.0, 2.5, 4.0, 1.0])
ROWS = pd.DataFrame({"calls": [0, 6, 3], "visits": [0, 2, 9]})
PRIOR = bp.Gamma(1.7, 0.6)


def exact_evidence(counts, exposure, shape, rate):
    """log p(x) of one column of one class, every term in 60 digits."""
    with mpmath.workdps(60):
        n, t = mpmath.mpf(int(sum(counts))), mpmath.mpf(float(sum(exposure)))
        a, b = mpmath.mpf(shape), mpmath.mpf(rate)
        total = mpmath.loggamma(a + n) - mpmath.loggamma(a) + a * mpmath.log(b) - (a + n) * mpmath.log(b + t)
        for x, own in zip(counts, exposure, strict=True):
            total += int(x) * mpmath.log(mpmath.mpf(float(own))) - mpmath.log(mpmath.factorial(int(x)))
        return float(total)


def test_predictive_is_negative_binomial():
    clf = bp.PoissonNB(PRIOR, class_weights="uniform").fit(TABLE, LABELS)
    found = clf.predict_joint_log_proba(ROWS)
    for k, label in enumerate("ab"):
        rows = TABLE[label == LABELS]
        b = 0.6 + len(rows)
        expected = stats.nbinom(1.7 + rows.sum(), b / (b + 1)).logpmf(ROWS).sum(1) + np.log(0.5)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-12)


def test_exposure_enters_predictive_and_evidence():
    clf = bp.PoissonNB(PRIOR, exposure="hours", class_weights="uniform").fit(TABLE.assign(hours=HOURS), LABELS)
    t = np.asarray([0.25, 3.0, 40.0])
    found = clf.predict_joint_log_proba(ROWS.assign(hours=t))
    evidence = clf.log_evidence()["features"]
    assert evidence["feature"].values.tolist() == ["calls", "visits"]
    for k, label in enumerate("ab"):
        mine = label == LABELS
        b = 0.6 + HOURS[mine].sum()
        expected = stats.nbinom(1.7 + TABLE[mine].sum(), (b / (b + t))[:, None]).logpmf(ROWS).sum(1) + np.log(0.5)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-12)
        for column in TABLE:
            exact = exact_evidence(TABLE.loc[mine, column], HOURS[mine], 1.7, 0.6)
            assert float(evidence.sel({"class": label, "feature": column})) == pytest.approx(exact, rel=1e-12)


def test_evidence_matches_high_precision():
    evidence = bp.PoissonNB(PRIOR).fit(TABLE, LABELS).log_evidence()["features"]
    for label in "ab":
        for column in TABLE:
            counts = TABLE.loc[label == LABELS, column]
            exact = exact_evidence(counts, np.ones(len(counts)), 1.7, 0.6)
            assert float(evidence.sel({"class": label, "feature": column})) == pytest.approx(exact, rel=1e-12)


def test_units_of_exposure_do_not_matter():
    fits = [bp.PoissonNB(exposure="t").fit(TABLE.assign(t=HOURS * unit), LABELS) for unit in (1.0, 3600.0)]
    hours, seconds = (
        fit.predict_proba(ROWS.assign(t=unit * np.asarray([1.0, 2.0, 3.0])))
        for fit, unit in zip(fits, (1.0, 3600.0), strict=True)
    )
    np.testing.assert_allclose(seconds, hours, rtol=1e-12)
    # the probability of counts has no units, so the evidence does not change either
    np.testing.assert_allclose(fits[1].log_evidence()["total"], fits[0].log_evidence()["total"], rtol=1e-12)


def test_default_prior_is_one_event_at_the_overall_rate():
    never = TABLE.assign(never=0)
    prior = bp.PoissonNB().fit(never, LABELS).posterior_.prior.parts["features"]
    np.testing.assert_array_equal(prior.shape, np.ones((2, 3)))
    np.testing.assert_allclose(1 / prior.rate, [[*TABLE.mean(), 1 / 9]] * 2)


def test_missing_cells_are_skipped():
    holes = TABLE.astype(float)
    holes.loc[[1, 6], "calls"] = np.nan
    kept = np.asarray([0, 2, 3, 4, 5, 7, 8])
    found = bp.PoissonNB(PRIOR, exposure="t").fit(holes.assign(t=HOURS), LABELS)
    alone = bp.PoissonNB(PRIOR, exposure="t").fit(TABLE[["calls"]].assign(t=HOURS).iloc[kept], LABELS[kept])
    np.testing.assert_allclose(
        found.log_evidence()["features"].sel(feature="calls"), alone.log_evidence()["features"][:, 0], rtol=1e-13
    )
    without = bp.PoissonNB(PRIOR).fit(TABLE[["visits"]], LABELS).predict_proba(ROWS[["visits"]])
    complete = bp.PoissonNB(PRIOR).fit(TABLE, LABELS)
    np.testing.assert_allclose(complete.predict_proba(ROWS.assign(calls=np.nan)), without, rtol=1e-12)
    point = {"class_weights": np.asarray([0.4, 0.6]), "rate": np.asarray([[0.2, 0.3], [0.6, 2.1]])}
    joint = found.posterior_.model.log_joint(point)(holes.assign(t=HOURS).to_numpy())
    expected = found.posterior_.prior.log_prob(point) + joint[np.arange(9), (LABELS == "b").astype(int)].sum()
    for likelihood in ("rows", "statistics"):
        assert pymc_log_density(found, likelihood, point) == pytest.approx(expected, rel=1e-10), likelihood


def test_unseen_class_keeps_its_prior_predictive():
    clf = bp.PoissonNB(PRIOR, class_weights="uniform", classes=["a", "b", "c"]).fit(TABLE, LABELS)
    expected = stats.nbinom(1.7, 0.6 / 1.6).logpmf(ROWS).sum(1) + np.log(1 / 3)
    np.testing.assert_allclose(clf.predict_joint_log_proba(ROWS)[:, 2], expected, rtol=1e-12)
    with pytest.raises(bp.UndefinedEstimateError, match=r"class 'c' has no observed value in column 'calls'"):
        clf.predict(ROWS, rule="mle")


def test_maximum_likelihood_is_the_mean_and_zero_rates_are_minus_infinity():
    clf = bp.PoissonNB().fit([[0, 1], [0, 4], [3, 0], [8, 0]], list("aabb"))
    np.testing.assert_array_equal(clf.estimates(["mle"])["rate"][0], [[0, 2.5], [5.5, 0]])
    found = clf.predict_joint_log_proba([[0, 2], [1, 0], [0, 0], [1, 1]], rule="mle")
    expected = np.log(0.5) + np.asarray(
        [
            [stats.poisson(2.5).logpmf(2), -np.inf],
            [-np.inf, stats.poisson(5.5).logpmf(1)],
            [-2.5, -5.5],
            [-np.inf, -np.inf],
        ]
    )
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    flat = bp.PoissonNB(bp.Gamma(1.0, 1e-12)).fit(TABLE, LABELS).estimates(["mle", "map"])["rate"]
    np.testing.assert_allclose(flat[1], flat[0], rtol=1e-11)  # flat prior: the mode is the maximum likelihood


def test_large_counts_do_not_overflow():
    X = np.asarray([[10**9], [2 * 10**9]])
    found = bp.PoissonNB().fit(X, [0, 1]).predict_joint_log_proba(X)
    rate = 1.5e9
    for k in range(2):
        a, b = 1.0 + X[k, 0], 1 / rate + 1
        with mpmath.workdps(40):
            x, p = mpmath.mpf(int(X[1, 0])), mpmath.mpf(b) / (mpmath.mpf(b) + 1)
            exact = mpmath.loggamma(a + x) - mpmath.loggamma(a) - mpmath.loggamma(x + 1)
            exact += mpmath.mpf(a) * mpmath.log(p) + x * mpmath.log1p(-p)
        # terms of size 1e10 cancel to one of size 1e8 or of size 10
        assert found[1, k] == pytest.approx(float(exact + mpmath.log(0.5)), abs=2e-5)


def bad(column, value):
    return TABLE.assign(t=HOURS).assign(**{column: [*TABLE.assign(t=HOURS)[column][:-1], value]})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (bad("calls", -1), r"column 'calls' holds -1 in row 8, but the poisson family models counts"),
        (bad("visits", 1.5), r"column 'visits' holds 1.5 in row 8, but the poisson family models counts"),
        (bad("visits", np.inf), r"column 'visits' holds inf in row 8"),
        (bad("t", -1.0), r"column 't' holds -1 in row 8, but the poisson family models positive real numbers"),
        (bad("t", 0.0), r"column 't' holds 0 in row 8"),
        (bad("t", np.inf), r"column 't' holds inf in row 8"),
        (bad("t", np.nan), r"column 't' is missing in row 8, but it holds the exposure of that row"),
        (
            bad("t", 0.0),
            r"column 't' holds 0 in row 8, .*It is the exposure of that row: correct it, or drop the row",
        ),
        (TABLE, r"missing column 't'"),
    ],
)
def test_refusals(table, message):
    with pytest.raises(ValueError, match=message):
        bp.PoissonNB(exposure="t").fit(table, LABELS)


def test_refuses_a_prior_that_is_none():
    with pytest.raises(ValueError, match="rate must be positive and finite, found -1"):
        bp.PoissonNB(bp.Gamma(1, -1)).fit(TABLE, LABELS)
    with pytest.raises(ValueError, match="rate='jeffreys' is not known; choose one of 'overall'"):
        bp.PoissonNB("jeffreys").fit(TABLE, LABELS)
