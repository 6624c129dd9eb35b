"""A fitted model on one screen, as text and as a table, for every kind of posterior."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.base import clone
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.analysis.parameter_tables import parameter_summary
from bayesppl.analysis.summary import summary
from bayesppl.model.convergence import Diagnosis

IRIS = load_iris(as_frame=True)
ESTIMATORS = {
    "diagonal": bp.GaussianNB(),
    "full": bp.QuadraticDiscriminantAnalysis("fraley-raftery", calibration="temperature", tuning="evidence"),
    "tied": bp.LinearDiscriminantAnalysis(),
    "approximate": bp.GaussianNB(inference="laplace"),
    "improper": bp.GaussianNB("jeffreys"),
    "product": bp.MixedNB(),
    "counts": bp.MultinomialNB(),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_it_fits_on_a_screen(name):
    X = (10 * IRIS.data).round().astype(int) if name == "counts" else IRIS.data
    text = repr(ESTIMATORS[name].fit(X, IRIS.target).summary())
    lines = text.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    names = [line.split("  ")[0] for line in lines if re.match(r"\w+\[", line)]
    assert names
    assert len(set(names)) == len(names)


def test_the_numbers_are_those_of_the_estimates_and_of_scipy():
    clf = bp.BernoulliNB(bp.Beta(2, 3), class_weights="uniform").fit([[1], [1], [0], [0]], ["a", "a", "b", "b"])
    rows = {name: cells for name, *cells in clf.summary(prob=0.5).rows}
    mle, map_, mean, interval = rows["probability[a, x0]"]
    assert [mle, map_, mean] == ["1", f"{3 / 5:.3g}", f"{4 / 7:.3g}"]
    lower, upper = map(float, interval.split(" to "))
    exact = beta(4, 3)
    for found, level in ((lower, 0.25), (upper, 0.75)):
        error = np.sqrt(level * (1 - level) / 1000) / exact.pdf(exact.ppf(level))
        assert abs(found - exact.ppf(level)) < 5 * error + 0.0005


@pytest.mark.slow
def test_evidence_temperature_and_reasons():
    fit = {name: ESTIMATORS[name].fit(IRIS.data, IRIS.target) for name in ("full", "improper", "approximate")}
    facts = {name: clf.summary().facts for name, clf in fit.items()}
    assert float(facts["full"]["log evidence"]) == pytest.approx(
        float(fit["full"].log_evidence()["total"]), rel=1e-5
    )
    assert f"T = {fit['full'].fitted_.temperature:.3g} " in facts["full"]["calibration"]
    assert "kappa × " in facts["full"]["prior tuned"]
    assert "undefined" in facts["improper"]["log evidence"]
    assert facts["approximate"]["posterior"].startswith("draws, ")


@pytest.mark.parametrize("name", ["diagonal", "full", "tied"])
def test_squares_of_large_numbers_are_no_reason_to_warn(name):
    estimator = clone(ESTIMATORS[name]).set_params(calibration=None, tuning=None)
    shown = estimator.fit(IRIS.data * 1e100, IRIS.target).summary()
    assert not any("inf" in cell or "nan" in cell for row in shown.rows for cell in row)
    spread = parameter_summary(estimator.fitted_).sel(estimate="sd")
    small = parameter_summary(estimator.fit(IRIS.data, IRIS.target).fitted_).sel(estimate="sd")
    np.testing.assert_allclose(spread["mean"] * 1e-100, small["mean"], rtol=1e-6)


@pytest.mark.parametrize(
    ("clf", "labels"),
    [
        (bp.GaussianNB("jeffreys"), [*"aabb"]),
        (bp.QuadraticDiscriminantAnalysis(bp.NormalInverseWishart(0, 1, 1.5, np.eye(2))), [*"aaab"]),
    ],
)
def test_a_mean_that_is_infinite_leaves_the_others(clf, labels):
    rows = clf.fit([[0.0, 1.0], [1.0, 0.4], [4.0, 1.2], [5.5, 3.0]], labels).summary().rows
    assert [mean for _, _, _, mean, _ in rows] == ["—"] * len(rows)
    assert all("—" not in (mode, interval) for _, _, mode, _, interval in rows)


@pytest.mark.slow
def test_convergence_of_draws_is_the_worst_of_all_parameters():
    fitted = bp.GaussianNB(inference="laplace").fit(IRIS.data, IRIS.target).fitted_
    measures = {
        "a": np.array([[1.001, 1.02], [900.0, 800.0], [700.0, np.nan]]),
        "b": np.array([1.0, 850.0, 650.0]),
    }
    report = replace(fitted.posterior.report, diagnosis=Diagnosis(measures, ["the chains do not agree."]))
    worse = replace(fitted, inferred=replace(fitted.posterior, report=report))
    assert summary(worse).facts["convergence"] == (
        "R-hat at most 1.02; effective sample size at least 800 (bulk), 650 (tails); the chains do not agree."
    )


def test_a_posterior_that_is_not_determined_yet_says_why():
    clf = bp.GaussianNB("jeffreys").partial_fit(IRIS.data[:2], IRIS.target[:2], classes=[0, 1, 2])
    assert clf.summary().facts["posterior"].startswith("not determined yet: ")


def test_html_is_escaped_and_names_break_no_line():
    X = pd.DataFrame({"<b>\nx": [0.0, 1.0, 3.0, 4.0]})
    found = bp.GaussianNB().fit(X, ["<i>", "<i>", "k", "k"]).summary()
    assert "<b>" not in found._repr_html_()
    assert "<i>" not in found._repr_html_()
    assert "&lt;i&gt;" in found._repr_html_()
    assert len(repr(found).splitlines()) == 4 + 2 + 6


def test_many_parameters_are_counted_and_need_no_draws():
    X = np.random.default_rng(1).poisson(1.0, (20, 30_000))
    found = bp.MultinomialNB().fit(X, np.arange(20) % 2).summary()
    assert found.n_numbers == 2 * 30_000 + 2
    assert "interval" not in " ".join(found.columns)
    assert "… and " in repr(found)


def test_wide_numbers_and_long_names_share_the_line():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "the harbour where they went on board": np.resize(["Cherbourg", "Queenstown", "Southampton"], 60),
            "fare in pence": 1e5 * rng.lognormal(size=60),
        }
    )
    lines = repr(bp.MixedNB().fit(X, np.resize(["lost", "saved"], 60)).summary()).splitlines()
    assert max(map(len, lines)) <= 80
    names = [line.split("  ")[0] for line in lines if re.match(r"[\w…]+\[", line)]
    assert len(set(names)) == len(names) > 6
