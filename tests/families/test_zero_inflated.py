"""Zero-inflated families: the sum of their parts, and a density of total mass one."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import simpson
from scipy.special import betaln

import bayesppl as bp

X = pd.DataFrame({"x": [0.0, 2.0, 0.0, 5.0, 1.0, 4.0, np.nan]})
Y = list("aaabbba")


@pytest.mark.parametrize("inner", [bp.LogNormal(), bp.Exponential(), bp.GammaRate(3.0)], ids=str)
def test_zero_and_the_rest_have_probability_one(inner):
    clf = bp.GenerativeClassifier(bp.ZeroInflated(inner), class_weights="uniform").fit(X, Y)
    # over log x, where the tails are light
    t = np.linspace(-60, 90, 30_001)
    zero, *rest = 2 * np.exp(clf.predict_joint_log_proba(pd.DataFrame({"x": [0.0, *np.exp(t)]})))
    np.testing.assert_allclose(zero + simpson(rest * np.exp(t)[:, None], x=t, axis=0), 1.0, rtol=1e-6)


@pytest.mark.parametrize("inner", [bp.Poisson(), bp.NegativeBinomial(1.5)], ids=str)
def test_masses_of_counts_sum_to_one(inner):
    clf = bp.GenerativeClassifier(bp.ZeroInflated(inner), class_weights="uniform").fit(X, Y)
    # the tail of the predictive is a power: what is missing beyond n is below its last term times n
    mass = 2 * np.exp(clf.predict_joint_log_proba(pd.DataFrame({"x": np.arange(40_000.0)})))
    assert (mass.sum(0) <= 1 + 1e-9).all()
    assert (1 - mass.sum(0) <= 40_000 * mass[-1] + 1e-9).all()


def test_the_evidence_of_the_zeros_is_beta_bernoulli():
    clf = bp.GenerativeClassifier(bp.ZeroInflated(bp.LogNormal(), bp.Beta(2, 3))).fit(X, Y)
    expected = [betaln(2 + 2, 3 + 1) - betaln(2, 3), betaln(2, 3 + 3) - betaln(2, 3)]
    np.testing.assert_allclose(clf.log_evidence()["zero"].values[:, 0], expected, rtol=1e-12)


def test_values_outside_the_rest_are_refused_by_row_and_column():
    clf = bp.GenerativeClassifier(bp.ZeroInflated(bp.LogNormal())).fit(X, Y)
    with pytest.raises(ValueError, match="column 'x' holds -1 in row 1, but the lognormal family models positive"):
        clf.predict(pd.DataFrame({"x": [0.0, -1.0]}))


@pytest.mark.parametrize(("value", "found"), [(2.5, "2.5"), (-4.0, "-4"), (0.5, "0.5")])
def test_a_refused_count_is_named_as_it_stands_in_its_cell(value, found):
    clf = bp.GenerativeClassifier(bp.ZeroInflated(bp.Poisson()))
    refused = pd.DataFrame({"x": [0.0, value, 3.0, 0.0]})
    message = f"column 'x' holds {found} in row 1, but the poisson family models counts"
    with pytest.raises(ValueError, match=message):
        clf.fit(refused, list("aabb"))
    with pytest.raises(ValueError, match=message):
        clf.fit(X, Y).predict(refused)


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        (bp.Gaussian("full"), "models its columns one by one"),
        (bp.LogNormal("full"), "models its columns one by one"),
        (bp.Mixture(bp.LogNormal("diag"), 2), "Components go around it"),
        (bp.Poisson(exposure="x"), "reads exposure from a column"),
    ],
    ids=str,
)
def test_families_that_model_rows_are_refused(inner, words):
    with pytest.raises(ValueError, match=words):
        bp.GenerativeClassifier(bp.ZeroInflated(inner)).fit(X.assign(z=[1.0, 2, 3, 4, 5, 6, 7]).dropna(), Y[:6])


def test_files_keep_it(tmp_path):
    clf = bp.GenerativeClassifier(bp.ZeroInflated(bp.Histogram(3))).fit(X, Y)
    clf.save(tmp_path / "fit.nc")
    np.testing.assert_array_equal(bp.load(tmp_path / "fit.nc").predict_proba(X), clf.predict_proba(X))


def test_the_relevance_of_zeros_and_of_the_rest_have_names_of_their_own():
    found = bp.GenerativeClassifier(bp.ZeroInflated(bp.Poisson())).fit(X, Y).feature_relevance()
    assert found["feature"].values.tolist() == ["zero.x", "rest.x"]


def test_levels_are_not_inflated():
    with pytest.raises(ValueError, match="columns one by one, and the categorical family does not"):
        bp.GenerativeClassifier(bp.ZeroInflated(bp.Categorical())).fit([[0], [1], [0], [1]], list("aabb"))
