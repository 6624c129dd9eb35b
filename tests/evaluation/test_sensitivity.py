"""Bounds over sets of priors, where they are known exactly."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

import bayesppl as bp
from bayesppl.datasets import load

IRIS = load_iris(return_X_y=True)


def test_bounds_of_class_weights_are_those_of_the_imprecise_dirichlet_model():
    # A row without cells is classified by the class weights alone. Over Dirichlet(s·t) priors with all t, class k
    # has probability between n_k/(N + s) and (n_k + s)/(N + s) (Walley 1996); here t is near each corner.
    s, near = 2.5, 1e-9
    corners = np.full((3, 3), near) + np.eye(3) * (1 - 3 * near)
    models = [bp.GaussianNB(class_weights=bp.Dirichlet(s * t)) for t in corners]
    X, y = IRIS[0][[0, 1, 2, 3, 50, 51, 100]], np.asarray([0, 0, 0, 0, 1, 1, 2])
    found = bp.credal_proba(models, X, y, np.full((1, 4), np.nan))
    counts = np.asarray([4, 2, 1])
    np.testing.assert_allclose(found["lower"][0], counts / (7 + s), atol=1e-8)
    np.testing.assert_allclose(found["upper"][0], (counts + s) / (7 + s), atol=1e-8)
    # class 0 (at least 4) beats class 2 (at most 1 + 2.5) under all of them, but not class 1, which can reach 4.5
    assert found["credal"][0].values.tolist() == [True, True, False]
    assert not bool(found["is_determinate"][0])


def test_credal_classes_by_enumeration():
    models = [
        bp.LinearDiscriminantAnalysis(bp.NormalInverseWishart([5.8, 3, 4, 1], k, 6, 1.0)) for k in (0.1, 1, 20)
    ]
    X, y = IRIS[0][::15], IRIS[1][::15]
    found = bp.credal_proba((model for model in models), X, y, IRIS[0])  # what can be gone through once
    each = [bp.LinearDiscriminantAnalysis(m.prior).fit(X, y).predict_proba(IRIS[0]) for m in models]
    for row in range(150):
        expected = [not any(all(p[row, j] > p[row, k] for p in each) for j in range(3)) for k in range(3)]
        assert found["credal"][row].values.tolist() == expected
    np.testing.assert_array_equal(found["upper"], np.max(each, axis=0))
    winners = np.stack([p.argmax(1) for p in each])
    np.testing.assert_array_equal(found["is_determinate"], (winners == winners[0]).all(0))


def test_rows_are_named_by_the_index_and_any_classifier_takes_part():
    X, y = load("iris")
    models = {"ours": bp.GaussianNB(), "theirs": GaussianNB()}
    found = bp.credal_proba(models, X[::2], y[::2], X[100:103])
    assert found["row"].values.tolist() == [100, 101, 102]
    each = [clf.fit(X[::2], y[::2]).predict_proba(X[100:103]) for clf in models.values()]
    np.testing.assert_array_equal(found["lower"], np.minimum(*each))


def test_models_of_other_classes_are_refused():
    with pytest.raises(ValueError, match="the models must have the same classes"):
        bp.credal_proba([bp.GaussianNB(), bp.GaussianNB(classes=[0, 1, 2, 3])], *IRIS, IRIS[0])
    with pytest.raises(ValueError, match="at least one model"):
        bp.credal_proba([], *IRIS, IRIS[0])
