"""Columns far from zero for their spread, and in units of their own, such as years, coordinates and incomes."""

import numpy as np
import pymc as pm
import pytest
from registry import quick_and_slow

import bayesppl as bp

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 50)
TABLES = {
    "income and age": np.column_stack([RNG.normal(50_000 + 5_000 * Y, 15_000), RNG.normal(40 + 5 * Y, 10)]),
    "latitude and longitude": np.column_stack([RNG.normal(52.52, 0.02, 100), RNG.normal(13.4, 0.03, 100)]),
    "seconds since 1970": np.column_stack([RNG.normal(1.7e9, 1e6, 100), RNG.normal(5, 1, 100)]),
}


@pytest.mark.parametrize("table", quick_and_slow(TABLES, ("seconds since 1970",)))
@pytest.mark.parametrize(
    "estimator",
    [bp.GaussianNB(), bp.LinearDiscriminantAnalysis(), bp.QuadraticDiscriminantAnalysis("fraley-raftery")],
    ids=["diag", "tied", "full"],
)
def test_our_own_declarations_come_back_as_exact(estimator, table):
    X = TABLES[table]
    clf = estimator.fit(X, Y)
    read = bp.from_pymc(clf.to_pymc())
    assert read.recognition()["solution"].tolist() == ["exact", "exact"]
    np.testing.assert_allclose(read.predict_proba(X), clf.predict_proba(X), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kappa", [0.01, 1.0])
def test_years_are_solved_as_years_since_any_other(kappa):
    years = RNG.integers(2015, 2025, 100) + 0.0

    def model(start):
        with pm.Model() as found:
            label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=Y)
            v = pm.InverseGamma("v", 2.0, 4.0, shape=2)
            mean = pm.Normal("mean", 2019.5 - start, pm.math.sqrt(v / kappa), shape=2)
            pm.Normal("year", mean[label], pm.math.sqrt(v)[label], observed=years - start)
        return bp.from_pymc(found)

    raw, centred = model(0.0), model(2020.0)
    assert raw.recognition()["solution"].tolist() == ["exact", "exact"]
    np.testing.assert_allclose(raw.predict_proba([[2016.0]]), centred.predict_proba([[-4.0]]), rtol=1e-9)
    assert float(raw.log_evidence()["total"]) == pytest.approx(float(centred.log_evidence()["total"]), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("units", [(1e4, 10.0), (10.0, 1e4), (1e9, 1e9), (1e-3, 1e3)])
def test_a_wishart_prior_is_solved_in_any_units(units):
    standard = np.random.default_rng(1).normal(3.0 + Y[:, None], size=(100, 2))

    def model(unit):
        with pm.Model() as found:
            label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=Y)
            precision = pm.Wishart("precision", 5, np.diag(1 / unit**2))
            covariance = pm.math.matrix_inverse(precision)
            mean = pm.MvNormal("mean", 3 * unit, cov=covariance / 0.3, shape=(2, 2))
            pm.MvNormal("x", mean[label], cov=covariance, observed=unit * standard)
        return bp.from_pymc(found)

    raw, standardised = model(np.asarray(units)), model(np.ones(2))
    assert raw.recognition()["solution"].tolist() == ["exact", "exact"]
    np.testing.assert_allclose(
        raw.predict_proba(units * standard), standardised.predict_proba(standard), rtol=1e-8
    )
    scaled = float(raw.log_evidence()["total"]) + len(Y) * np.log(units).sum()
    assert scaled == pytest.approx(float(standardised.log_evidence()["total"]), abs=1e-7)
