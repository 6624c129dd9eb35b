"""Bernoulli features against scikit-learn, closed forms and dense input."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.naive_bayes import BernoulliNB

import bayesppl as bp

DIGITS, LABELS = load_digits(return_X_y=True)
BINARY = (DIGITS > 7).astype(np.uint8)


def test_smoothed_probabilities_are_scikit_learns():
    theirs = BernoulliNB(alpha=1.0).fit(BINARY, LABELS)
    ours = bp.BernoulliNB(class_weights="empirical").fit(BINARY, LABELS)
    for rule in ("mean", "predictive"):
        np.testing.assert_allclose(
            ours.predict_log_proba(BINARY, rule=rule), theirs.predict_log_proba(BINARY), rtol=1e-9, atol=1e-9
        )


def test_evidence_of_seven_successes_in_ten():
    # ln B(8, 4) = -ln 1320 (Bernardo & Smith 1994)
    X = np.array([[1]] * 7 + [[0]] * 3)
    clf = bp.BernoulliNB(classes=["a", "b"]).fit(X, ["a"] * 10)
    np.testing.assert_allclose(clf.log_evidence()["features"], [[-np.log(1320)], [0.0]], atol=1e-12)


def test_map_under_a_uniform_prior_is_mle():
    clf = bp.BernoulliNB().fit(BINARY, LABELS)
    mle, map_ = clf.estimates(["mle", "map"])["probability"].values
    np.testing.assert_allclose(map_, mle)


def test_sparse_rows_are_classified_as_dense_ones():
    dense, sparse = bp.BernoulliNB().fit(BINARY, LABELS), bp.BernoulliNB().fit(csr_array(BINARY), LABELS)
    for rule in ("map", "mean", "predictive"):
        np.testing.assert_allclose(
            sparse.predict_log_proba(csr_array(BINARY), rule=rule), dense.predict_log_proba(BINARY, rule=rule)
        )


def test_impossible_rows_under_mle_return_the_class_weights_with_a_warning():
    X, y = np.array([[0, 1], [0, 1], [1, 1]]), ["a", "a", "b"]
    clf = bp.BernoulliNB().fit(X, y)
    with pytest.warns(bp.ImpossibleRowWarning, match="1 of 2 rows have probability zero under every class"):
        found = clf.predict_proba([[0, 0], [1, 1]], rule="mle")
    np.testing.assert_allclose(found, [[2 / 3, 1 / 3], [0, 1]])


def test_a_certain_probability_is_zero_or_one_never_nan():
    clf = bp.BernoulliNB().fit(np.array([[0, 1], [0, 1], [1, 1], [1, 0]]), list("aabb"))
    joint = clf.predict_joint_log_proba([[0, 1], [1, 1], [0, 0]], rule="mle")
    expected = np.log(
        [[0.5 * 1.0, 0.0], [0.0, 0.5 * 0.5], [0.0, 0.0]],
        where=[[1, 0], [0, 1], [0, 0]],
        out=np.full((3, 2), -np.inf),
    )
    np.testing.assert_allclose(joint, expected)


def test_missing_cells_are_skipped():
    X = BINARY.astype(float)
    X[:, 20] = np.nan
    without = np.delete(X, 20, axis=1)
    whole = bp.BernoulliNB().fit(BINARY, LABELS)
    fitted_without = bp.BernoulliNB().fit(without, LABELS)
    np.testing.assert_allclose(whole.predict_log_proba(X), fitted_without.predict_log_proba(without))
    np.testing.assert_allclose(
        bp.BernoulliNB().fit(X, LABELS).predict_log_proba(BINARY),
        fitted_without.predict_log_proba(without),
        atol=1e-9,
    )


@pytest.mark.parametrize(("value", "shown"), [(2, "2"), (-1, "-1"), (0.5, "0.5"), (np.inf, "inf")])
def test_other_values_are_refused(value, shown):
    X = np.array([[0, 1], [1, value]], dtype=float)
    with pytest.raises(
        ValueError, match=f"column 'x1' holds {shown} in row 1, but the bernoulli family models 0 and 1"
    ):
        bp.BernoulliNB().fit(X, [0, 1])


def test_mle_of_an_empty_class_is_refused():
    clf = bp.BernoulliNB(classes=["a", "b", "c"]).fit([[0], [1]], ["a", "b"])
    with pytest.raises(bp.UndefinedEstimateError, match="class 'c' has no observed value in column 'x0'"):
        clf.predict([[0]], rule="mle")
    # its predictive is the prior's: probability 1/2 each way, class weight (0 + 1)/(2 + 3)
    np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba([[0]]))[0, 2], 0.5 / 5)


@pytest.mark.parametrize("alpha", [1e9, 1e14, 1e18, 1e300])
def test_what_is_all_but_certain_leaves_the_other_outcome_its_probability(alpha):
    clf = bp.BernoulliNB(bp.Beta([[alpha], [1.0]], [[1.0], [alpha]]), class_weights="uniform")
    found = clf.fit([[1], [0]], ["a", "b"]).predict_joint_log_proba([[0], [1]]) - np.log(0.5)
    rare, usual = -np.log(alpha + 2), np.log1p(-1 / (alpha + 2))
    np.testing.assert_allclose(found, [[rare, usual], [usual, rare]], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("rule", ["mle", "mean", "predictive"])
def test_bytes_and_numbers_say_the_same_of_two_classes(rule):
    rng = np.random.default_rng(5)
    X = rng.random((400, 19)) < rng.random(19)
    y = rng.random(400) < 0.5
    clf = bp.BernoulliNB().fit(X.astype(float), y)
    expected = clf.predict_proba(X.astype(float), rule=rule)
    for dtype in (bool, np.uint8, np.int8, np.int64):
        np.testing.assert_allclose(clf.predict_proba(X.astype(dtype), rule=rule), expected, rtol=1e-11)
        np.testing.assert_allclose(clf.fit(X.astype(dtype), y).predict_proba(X, rule=rule), expected, rtol=1e-11)


@pytest.mark.parametrize(("dtype", "wrong"), [(np.uint8, 2), (np.int8, -1), (np.int64, 3), (float, 0.5)])
def test_other_numbers_are_refused_whatever_their_type(dtype, wrong):
    X = np.zeros((4, 3), dtype=dtype)
    X[2, 1] = wrong
    with pytest.raises(
        ValueError, match=f"column 'x1' holds {wrong} in row 2, but the bernoulli family models 0 and 1"
    ):
        bp.BernoulliNB().fit(X, [0, 1, 0, 1])
