"""Masked labels and cells of a user's model are rows that are partly known."""

from itertools import product

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

import bayesppl as bp

pytestmark = pytest.mark.filterwarnings("ignore:Data in .* contains missing values")
K, SHAPE, RATE, WEIGHTS = 2, 2.0, 0.5, np.array([1.0, 2.0])
_rng = np.random.default_rng(8)
TRUE = np.array([0, 0, 0, 1, 1, 1, 0, 1, 0, 1])
COUNTS = _rng.poisson(np.array([[2.0, 6.0], [5.0, 3.0]])[TRUE])
NO_LABEL = np.arange(10) >= 6
NO_CELL = np.zeros((10, 2), dtype=bool)
NO_CELL[[1, 4, 7], [0, 1, 1]] = True
NEW = np.array([[2, 5], [5, 2], [4, 4]])


def poisson_model():
    with pm.Model(coords={"class": ["a", "b"]}) as model:
        w = pm.Dirichlet("w", WEIGHTS, dims="class")
        y = pm.Categorical("y", w, observed=np.ma.masked_array(TRUE, NO_LABEL))
        rate = pm.Gamma("rate", SHAPE, RATE, shape=(K, 2))
        pm.Poisson("x", rate[y], observed=np.ma.masked_array(COUNTS, NO_CELL))
    return model


def _enumerated():
    """Class probabilities of new rows, and of those without a label, by all labellings of the latter."""
    seen, cells = ~NO_CELL, np.where(NO_CELL, 0, COUNTS)
    log_weight, joint, labels = [], [], []
    for missing in product(range(K), repeat=int(NO_LABEL.sum())):
        codes = np.where(NO_LABEL, np.r_[np.zeros(6, int), missing], TRUE)
        of_class = (codes == np.arange(K)[:, None]).astype(float)  # sums of bool would be bool
        alpha = WEIGHTS + of_class.sum(1)
        a, b = SHAPE + of_class @ cells, RATE + of_class @ seen
        log_weight.append(gammaln(alpha).sum() + (gammaln(a) - a * np.log(b)).sum())
        density = stats.nbinom(a, b / (b + 1)).pmf(NEW[:, None]).prod(-1)
        joint.append(alpha / alpha.sum() * density)
        labels.append(np.eye(K)[list(missing)])
    weight = np.exp(log_weight - logsumexp(log_weight))
    average = np.tensordot(weight, joint, 1)
    return average / average.sum(1, keepdims=True), np.tensordot(weight, labels, 1)


@pytest.mark.parametrize("draws", [500, pytest.param(4000, marks=pytest.mark.slow)])
def test_gibbs_sampling_of_masked_labels_and_cells_agrees_with_all_labellings(draws):
    clf = bp.from_pymc(poisson_model(), inference=bp.Gibbs(draws=draws, random_state=1))
    expected, _ = _enumerated()
    assert clf.recognition()["solution"].tolist() == ["exact", "exact"]
    assert clf.posterior_.record["rows_partly_known"] == NO_LABEL.sum()
    error = clf.predict_proba_mcse(NEW)
    assert error.max() < 0.01 * np.sqrt(4000 / draws)
    assert (np.abs(clf.predict_proba(NEW) - expected) <= 5 * error).all()
    draws = clf.to_datatree()["posterior"]
    assert draws["rate"].shape[2:] == (K, 2)
    assert draws["w"].dims == ("chain", "draw", "class")


def test_em_of_masked_labels_is_that_of_the_same_declaration(tmp_path):
    model = poisson_model()
    clf = bp.from_pymc(model, inference="em")
    labels = [None if missing else "ab"[code] for code, missing in zip(TRUE, NO_LABEL, strict=True)]
    ours = bp.GenerativeClassifier(
        bp.Poisson(rate=bp.Gamma(SHAPE, RATE)),
        class_weights=bp.Dirichlet(WEIGHTS),
        inference="em",
        unlabelled="learn",
        unlabelled_weight=1,
    ).fit(np.where(NO_CELL, np.nan, COUNTS), labels)
    np.testing.assert_allclose(clf.predict_proba(NEW), ours.predict_proba(NEW), rtol=1e-6)
    assert clf.classes_.tolist() == ["a", "b"]
    assert clf.class_count_.tolist() == [3, 3]
    assert clf.to_pymc() is model
    clf.save(tmp_path / "model.bayesppl")
    back = bp.load(tmp_path / "model.bayesppl")
    np.testing.assert_allclose(back.predict_proba(NEW), clf.predict_proba(NEW), rtol=1e-12)
    left_out = back.loo(np.where(NO_CELL, np.nan, COUNTS), labels)
    np.testing.assert_allclose(left_out.log_predictive, ours.loo().log_predictive, rtol=1e-6)
    assert (back.inference, back.unlabelled) == ("em", "learn")


def test_masked_cells_of_independent_columns_are_skipped_exactly():
    rng = np.random.default_rng(2)
    rows = rng.normal(TRUE[:, None], 1.0, (10, 2))
    rows[NO_CELL] = np.nan
    with pm.Model() as model:
        y = pm.Categorical("y", [0.5, 0.5], observed=TRUE)
        pm.Normal("x", pm.Normal("mu", 0.5, 2.0, shape=(K, 2))[y], np.array([1.0, 1.5]), observed=rows)
    clf = bp.from_pymc(model)
    assert clf.posterior_.is_exact
    variance = np.array([1.0, 1.5]) ** 2
    n = np.array([(~NO_CELL)[k == TRUE].sum(0) for k in range(K)])
    total = np.array([np.nansum(rows[k == TRUE], 0) for k in range(K)])
    precision = 1 / 4 + n / variance
    location = (0.5 / 4 + total / variance) / precision
    density = stats.norm(location, np.sqrt(variance + 1 / precision)).pdf(NEW[:, None]).prod(-1)
    np.testing.assert_allclose(clf.predict_proba(NEW), density / density.sum(1, keepdims=True), rtol=1e-9)


def test_masked_cells_of_correlated_columns_are_completed():
    rng = np.random.default_rng(3)
    rows = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]], 10) + 2 * TRUE[:, None]
    rows[NO_CELL] = np.nan
    with pm.Model() as model:
        y = pm.Categorical("y", [0.5, 0.5], observed=TRUE)
        precision = pm.Wishart("precision", 5, np.eye(2))
        mu = pm.MvNormal("mu", np.zeros(2), tau=0.5 * precision, shape=(K, 2))
        pm.MvNormal("x", mu[y], tau=precision, observed=rows)
    clf = bp.from_pymc(model, inference="em")
    prior = bp.NormalInverseWishart(0.0, 0.5, 5.0, np.eye(2))
    ours = bp.GenerativeClassifier(bp.Gaussian("tied", prior), class_weights="uniform", inference="em").fit(
        rows, TRUE
    )
    assert clf.posterior_.record["rows_partly_known"] == 3
    np.testing.assert_allclose(clf.predict_proba(NEW), ours.predict_proba(NEW), rtol=1e-6)


def test_a_changed_link_of_masked_rows_is_still_no_closed_form():
    with pm.Model() as model:
        y = pm.Categorical("y", np.ones(K) / K, observed=np.ma.masked_array(TRUE, NO_LABEL))
        rate = pm.Gamma("rate", SHAPE, RATE, shape=(K, 2))
        pm.Poisson("x", pt.sqrt(rate**2 + 1e-4)[y], observed=np.ma.masked_array(COUNTS, NO_CELL))
    with pytest.raises(ValueError, match=r"cells of 'y', 'x' are missing.*closed form, and 'x' has none"):
        bp.from_pymc(model)


@pytest.mark.slow
@pytest.mark.parametrize("masked", ["label", "z", "k"])
def test_gaps_leave_the_order_of_the_columns_as_it_is(masked):
    """That in which the variables are observed, by which rows in an array are found."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 20)
    held = {"label": y, "z": rng.normal(2.0 + 2 * y), "k": rng.poisson(1.0 + 3 * y)}
    held[masked] = np.ma.masked_array(held[masked], np.arange(40) == 3)
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=held["label"])
        variance = pm.InverseGamma("variance", 3.0, 2.0, shape=2)
        mean = pm.Normal("mean", 2.0, pt.sqrt(10.0 * variance), shape=2)
        pm.Normal("z", mean[label], pt.sqrt(variance)[label], observed=held["z"])
        pm.Poisson("k", pm.Gamma("rate", 2.0, 1.0, shape=2)[label], observed=held["k"])
    clf = bp.from_pymc(model, "y", inference="em")
    assert clf.feature_names_in_.tolist() == ["z", "k"]
    of_rows = clf.predict_proba(np.array([[5.0, 1.0], [2.0, 6.0]]))
    np.testing.assert_array_equal(of_rows, clf.predict_proba({"z": [5.0, 2.0], "k": [1, 6]}))
