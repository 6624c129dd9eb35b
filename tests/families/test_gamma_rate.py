"""Exponential and gamma features of unknown rate against scipy and high precision."""

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.pymc_density import pymc_log_density

import bayesppl as bp

LABELS = np.asarray(list("aaaabbbbb"))
TABLE = pd.DataFrame(
    {"wait": [0.2, 1.1, 0.7, 2.4, 5.0, 9.1, 3.3, 14.0, 6.6], "size": [30, 12.5, 41, 8.25, 3, 1.5, 2, 7, 0.5]}
)
ROWS = pd.DataFrame({"wait": [0.1, 3.0, 200.0], "size": [5.0, 0.001, 60.0]})
PRIOR = bp.Gamma(1.7, 0.6)


def classifier(family, **options):
    return bp.GenerativeClassifier(family, class_weights="uniform", **options)


def test_exponential_predictive_is_lomax():
    clf = classifier(bp.Exponential(PRIOR)).fit(TABLE, LABELS)
    found = clf.predict_joint_log_proba(ROWS)
    for k, label in enumerate("ab"):
        rows = TABLE[label == LABELS]
        expected = stats.lomax(1.7 + len(rows), scale=0.6 + rows.sum()).logpdf(ROWS).sum(1) + np.log(0.5)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-12)


def test_gamma_predictive_is_beta_prime():
    shape = np.asarray([0.4, 3.5])
    clf = classifier(bp.GammaRate({"wait": 0.4, "size": 3.5}, rate=PRIOR)).fit(TABLE, LABELS)
    found = clf.predict_joint_log_proba(ROWS)
    for k, label in enumerate("ab"):
        rows = TABLE[label == LABELS]
        # x / b follows a beta prime distribution, the ratio of two gamma variables
        compound = stats.betaprime(shape, 1.7 + shape * len(rows), scale=0.6 + rows.sum())
        np.testing.assert_allclose(found[:, k], compound.logpdf(ROWS).sum(1) + np.log(0.5), rtol=1e-12)


@pytest.mark.parametrize("shape", [1.0, 0.4, 3.5])
def test_evidence_matches_high_precision_quadrature(shape):
    clf = classifier(bp.GammaRate(shape, rate=PRIOR)).fit(TABLE, LABELS)
    found = clf.log_evidence()["features"]
    values = [mpmath.mpf(x) for x in TABLE.wait[LABELS == "a"]]

    def density(rate):
        likelihood = mpmath.fprod(
            mpmath.mpf(rate) ** shape * x ** (shape - 1) * mpmath.exp(-rate * x) / mpmath.gamma(shape)
            for x in values
        )
        return likelihood * rate**0.7 * mpmath.exp(-0.6 * rate) * mpmath.mpf(0.6) ** 1.7 / mpmath.gamma(1.7)

    with mpmath.workdps(30):
        exact = mpmath.log(mpmath.quad(density, [0, 0.5, 1, 2, 4, 8, 16, 64]))
    assert float(found.sel({"class": "a", "feature": "wait"})) == pytest.approx(float(exact), rel=1e-10)


def test_units_do_not_matter_under_the_default_prior():
    unit = np.asarray([1e-6, 3600.0])
    plain = classifier(bp.Exponential()).fit(TABLE, LABELS)
    scaled = classifier(bp.Exponential()).fit(TABLE * unit, LABELS)
    np.testing.assert_allclose(scaled.predict_proba(ROWS * unit), plain.predict_proba(ROWS), rtol=1e-12)
    change = -len(TABLE) * np.log(unit).sum()  # a density is per unit
    np.testing.assert_allclose(scaled.log_evidence()["total"], plain.log_evidence()["total"] + change, rtol=1e-12)
    prior = plain.posterior_.prior.parts["features"]
    np.testing.assert_allclose(prior.mean()["rate"], [1 / TABLE.mean()] * 2)
    fixed = classifier(bp.Exponential(bp.Gamma(1, 1)))
    assert not np.allclose(
        fixed.fit(TABLE, LABELS).predict_proba(ROWS), fixed.fit(TABLE * unit, LABELS).predict_proba(ROWS * unit)
    )


def test_estimates():
    clf = classifier(bp.GammaRate(2.5)).fit(TABLE, LABELS)
    estimates = clf.estimates(["mle", "map", "mean"])["rate"].sel({"class": "b", "feature": "wait"})
    total, overall = TABLE.wait[4:].sum(), TABLE.wait.sum() / (2.5 * 9)
    expected = [5 * 2.5 / total, 5 * 2.5 / (total + overall), (1 + 5 * 2.5) / (total + overall)]
    np.testing.assert_allclose(estimates, expected, rtol=1e-13)
    found = clf.predict_joint_log_proba(ROWS, rule="mle")[:, 1]
    rate = 5 * 2.5 / TABLE[4:].sum()
    np.testing.assert_allclose(found - np.log(0.5), stats.gamma(2.5, scale=1 / rate).logpdf(ROWS).sum(1))


def test_missing_cells_are_skipped():
    holes = TABLE.copy()
    holes.loc[[1, 6], "wait"] = np.nan
    kept = np.asarray([0, 2, 3, 4, 5, 7, 8])
    found = classifier(bp.GammaRate(2.5, rate=PRIOR)).fit(holes, LABELS)
    alone = classifier(bp.GammaRate(2.5, rate=PRIOR)).fit(TABLE[["wait"]].iloc[kept], LABELS[kept])
    np.testing.assert_allclose(
        found.log_evidence()["features"].sel(feature="wait"), alone.log_evidence()["features"][:, 0], rtol=1e-13
    )
    without = classifier(bp.GammaRate(2.5, rate=PRIOR)).fit(TABLE[["size"]], LABELS)
    np.testing.assert_allclose(
        found.predict_proba(ROWS.assign(wait=np.nan)), without.predict_proba(ROWS[["size"]]), rtol=1e-12
    )
    nothing = ROWS.assign(wait=np.nan, size=np.nan)
    np.testing.assert_allclose(found.predict_proba(nothing), 0.5, rtol=1e-14)
    point = {"rate": np.asarray([[0.2, 0.3], [0.6, 2.1]])}
    theta = {"class_weights": np.full(2, 0.5), **point}
    joint = found.posterior_.model.log_joint(theta)(holes.to_numpy())
    expected = found.posterior_.prior.log_prob(theta) + joint[np.arange(9), (LABELS == "b").astype(int)].sum()
    for likelihood in ("rows", "statistics"):
        assert pymc_log_density(found, likelihood, point) == pytest.approx(expected, rel=1e-10), likelihood


def test_unseen_class_keeps_its_prior_predictive():
    clf = classifier(bp.Exponential(PRIOR), classes=["a", "b", "c"]).fit(TABLE, LABELS)
    expected = stats.lomax(1.7, scale=0.6).logpdf(ROWS).sum(1) + np.log(1 / 3)
    np.testing.assert_allclose(clf.predict_joint_log_proba(ROWS)[:, 2], expected, rtol=1e-12)
    with pytest.raises(bp.UndefinedEstimateError, match=r"class 'c' has no observed value in column 'wait'"):
        clf.predict(ROWS, rule="mle")


@pytest.mark.parametrize(
    ("value", "found"), [(0.0, "0"), (-3.0, "-3"), (np.inf, "inf")], ids=["zero", "negative", "infinite"]
)
def test_refuses_values_that_are_not_positive(value, found):
    table = TABLE.assign(size=[*TABLE["size"][:-1], value])
    message = rf"column 'size' holds {found} in row 8, but the gamma family models positive real numbers"
    with pytest.raises(ValueError, match=message):
        classifier(bp.Exponential()).fit(table, LABELS)


@pytest.mark.parametrize("shape", [0, -1.0, np.inf, np.nan])
def test_refuses_shapes_that_are_not_positive(shape):
    with pytest.raises(ValueError, match=r"shape must be positive, found \S+ for column 'wait'"):
        classifier(bp.GammaRate(shape)).fit(TABLE, LABELS)
