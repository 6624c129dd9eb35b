"""Class weights, and classes without rows, through every family."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.examples import EXAMPLES
from support.pairs import in_turn

import bayesppl as bp
from bayesppl.families import closed_forms

FAMILIES = [pytest.param(*example, id=name) for name, example in EXAMPLES.items()]
COUNTS = np.array([5, 6, 5])  # rows of the labels a, b and c
DECLARED = {
    "scalar": (bp.Dirichlet(2.0), (COUNTS + 2) / 22),
    "per class": (bp.Dirichlet([0.5, 1.0, 4.0]), (COUNTS + np.array([0.5, 1, 4])) / 21.5),
    "uniform": ("uniform", np.full(3, 1 / 3)),
    "empirical": ("empirical", COUNTS / 16),
    "list": ([0.2, 0.3, 0.5], np.array([0.2, 0.3, 0.5])),
    "mapping": ({"c": 0.5, "a": 0.2, "b": 0.3}, np.array([0.2, 0.3, 0.5])),
}


def fitted(family, X, y, **options):
    return bp.GenerativeClassifier(family, **options).fit(X[: len(y)], y)


def log_density(clf, X):
    """log p(x | y = k) of the predictive: what is left of the joint once the class weights are taken away."""
    model, posterior = clf.posterior_.model, clf.posterior_.belief
    return closed_forms.log_predictive(model.family, posterior.parts["features"])(
        model.family.bound.encode(clf.fitted_.columns.align(X))
    )


@pytest.mark.parametrize(("name", "kind"), in_turn(list(EXAMPLES), list(DECLARED), 2))
def test_class_weights_multiply_the_density(name, kind):
    (family, X, y), (declared, expected) = EXAMPLES[name], DECLARED[kind]
    X = X[: len(y)]
    clf = fitted(family, X, y, class_weights=declared)
    np.testing.assert_allclose(
        clf.predict_joint_log_proba(X), np.log(expected) + log_density(clf, X), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(("family", "X", "y"), FAMILIES)
def test_a_class_without_rows_keeps_its_prior_predictive(family, X, y):
    # the label c is declared and does not occur
    X, y = X[:11], y[:11]
    classes = ["a", "b", "c"]
    clf = fitted(family, X, y, classes=classes)
    model, prior = clf.posterior_.model, clf.posterior_.prior
    before = closed_forms.log_predictive(model.family, prior.parts["features"])(
        model.family.bound.encode(clf.fitted_.columns.align(X))
    )
    after = log_density(clf, X)
    assert np.isfinite(after).all()
    # intercepts are means where the predictors are zero, to which effects that the classes share have come from
    # the others
    shared_effects = "class" not in model.dims.get("numbers_effect", ("class",))
    learned = {"class_weights", "numbers_mean"} if shared_effects else {"class_weights"}
    for name, values in prior.mean().items():
        if "class" in model.dims[name] and name not in learned:
            np.testing.assert_array_equal(clf.posterior_.mean()[name][2], values[2], err_msg=name)
    if all("class" in dims for dims in model.family.bound.dims.values()):
        # (a covariance or variance that classes share has learned from the others)
        np.testing.assert_allclose(after[:, 2], before[:, 2], rtol=1e-12, atol=1e-12)
        assert not np.allclose(after[:, :2], before[:, :2])
    np.testing.assert_allclose(clf.posterior_.mean()["class_weights"], np.array([6, 7, 1]) / 14)
    assert clf.class_count_.tolist() == [5, 6, 0]


@pytest.mark.parametrize(("covariance", "prior"), [("diag", "columnwise"), ("full", "fraley-raftery")])
def test_weak_gaussian_prior_with_a_class_without_rows(covariance, prior):
    # Fraley & Raftery (2007): location and scale are those of all rows, κ = 0.01, ν = D + 2; K counts the classes
    # that have rows. Column by column, three rows of the variance within the classes, each of which counts for
    # three at most; half of that of all rows adds one, for two classes have rows
    rng = np.random.default_rng(2)
    X, y = rng.normal([1.0, 5.0], [1.0, 3.0], (30, 2)), np.repeat([0, 1], 15)
    clf = fitted(bp.Gaussian(covariance, prior), X, y, classes=[0, 1, 2])
    kappa, inflation = 0.01, 1.01 / 0.01
    if covariance == "diag":
        squares = sum(((X[y == k] - X[y == k].mean(0)) ** 2).sum(0) for k in (0, 1))
        share = 3 / (3 + 14)
        scale = np.sqrt((share * squares + X.var(0, ddof=1) / 2) / (share * 28 + 1) * inflation)
        expected = stats.t.logpdf(X, 3, X.mean(0), scale).sum(1)
    else:
        shape = np.cov(X.T) / 2 * (kappa + 1) / kappa / 3
        expected = stats.multivariate_t.logpdf(X, X.mean(0), shape, df=3)
    np.testing.assert_allclose(log_density(clf, X)[:, 2], expected, rtol=1e-10)


def test_empirical_weights_rule_out_a_class_without_rows():
    clf = bp.GaussianNB(class_weights="empirical", classes=[0, 1, 2]).fit(
        [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    )
    found = clf.predict_proba([[0.5]])
    assert found[0, 2] == 0
    np.testing.assert_allclose(found.sum(), 1.0)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ([0.5, 0.6], "must be 2 probabilities that sum to one"),
        ([0.5, 0.3, 0.2], "must be 2 probabilities"),
        ([-0.5, 1.5], "must be 2 probabilities"),
        ({"a": 1.0}, r"missing \['b'\]"),
        ({"a": 0.5, "b": 0.3, "z": 0.2}, r"unknown \['z'\]"),
        ("balanced", "class_weights='balanced' is not known; use 'uniform', 'empirical'"),
        (bp.Dirichlet([1.0, 1.0, 1.0]), "does not broadcast"),
    ],
)
def test_impossible_class_weights_are_refused(declared, message):
    X = pd.DataFrame({"x": [0.0, 1.0, 4.0, 5.0]})
    with pytest.raises(ValueError, match=message):
        bp.GaussianNB(class_weights=declared).fit(X, list("aabb"))
