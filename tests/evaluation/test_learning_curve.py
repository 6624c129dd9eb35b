"""The learning curve against fits made by hand."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB as SklearnNB
from sklearn.pipeline import make_pipeline

import bayesppl as bp
from bayesppl.datasets import load

X, y = load_iris(return_X_y=True)


def test_scores_are_those_of_fits_by_hand():
    curve = bp.learning_curve(bp.LinearDiscriminantAnalysis(), X, y, [20, 80], repeats=3, random_state=4)
    rng = np.random.default_rng(4)
    for repeat in range(3):
        order = rng.permutation(150)
        test, train = order[:45], list(order[45:])
        for label in (2, 1, 0):
            train.insert(0, train.pop(next(i for i, row in enumerate(train) if y[row] == label)))
        for size in (20, 80):
            clf = bp.LinearDiscriminantAnalysis().fit(X[train[:size]], y[train[:size]])
            for rule in ("mle", "map", "mean", "predictive"):
                p = clf.predict_proba(X[test], rule)
                at = curve.sel(size=size, rule=rule).isel(repeat=repeat)
                assert float(at["accuracy"]) == pytest.approx((p.argmax(1) == y[test]).mean())
                assert float(at["log_score"]) == pytest.approx(np.log(p[np.arange(45), y[test]]).mean())
    difference = curve["log_score"].sel(rule="map") - curve["log_score"].sel(rule="predictive")
    np.testing.assert_allclose(curve["log_score_difference"].sel(rule="map"), difference.mean("repeat"))
    error = difference.std("repeat", ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(curve["log_score_difference_se"].sel(rule="map"), error)
    assert (curve["log_score_difference"].sel(rule="predictive") == 0).all()


def test_levels_that_few_rows_lack_are_expected():
    levels = pd.DataFrame({"level": [*"abcd", *map(str, range(56))]})
    curve = bp.learning_curve(bp.CategoricalNB(), levels, np.tile([0, 1], 30), [4], repeats=2)
    assert np.isfinite(curve["log_score"]).all()


def test_a_rule_that_does_not_exist_is_left_out():
    # two rows of a class make no covariance of four columns
    frame = pd.DataFrame(X, columns=list("abcd"))
    curve = bp.learning_curve(bp.QuadraticDiscriminantAnalysis(), frame, y, [6, 90], repeats=4)
    undefined = curve["undefined"].sel(rule="mle")
    assert undefined.values.tolist() == [1.0, 0.0]
    assert np.isnan(curve["log_score"].sel(rule="mle", size=6)).all()
    assert np.isnan(curve["log_score_difference"].sel(rule="mle", size=6))
    assert np.isfinite(curve["log_score"].sel(rule="predictive")).all()


def test_impossible_labels_score_minus_infinity():
    binary = load("digits_binary")
    curve = bp.learning_curve(bp.BernoulliNB(), binary.X, binary.y, [30], repeats=2)
    assert float(curve["log_score_difference"].sel(rule="mle", size=30)) == -np.inf
    assert np.isnan(curve["log_score_difference_se"].sel(rule="mle", size=30))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [2]}, "between the number of classes, 3, and the 105 rows left for training, found 2"),
        ({"sizes": [106]}, "found 106"),
        ({"sizes": np.linspace(10, 90, 3)}, "each of sizes must be a whole number, at least 1, found 10.0"),
        ({"sizes": 9, "repeats": 0}, "repeats must be at least 1, found 0"),
        ({"sizes": 9, "random_state": -1}, "random_state must be None, a whole number from zero"),
        ({"sizes": 9, "test_share": float("nan")}, "test_share must lie between 0 and 1, found nan"),
        ({"sizes": [9], "test_share": 1.0}, "test_share must lie between 0 and 1, found 1"),
    ],
)
def test_settings_that_cannot_be_met_are_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bp.learning_curve(bp.GaussianNB(), X, y, **options)


def test_rows_without_a_label_are_left_out_where_the_classifier_says_so():
    gaps = np.where(np.arange(150) % 10 == 0, None, y)
    with pytest.raises(ValueError, match=r"unlabelled='learn' learns from the others too: set_params\("):
        bp.learning_curve(bp.GaussianNB(unlabelled="learn", inference="em"), X, gaps, 12, repeats=2)
    found = bp.learning_curve(bp.GaussianNB(unlabelled="drop"), X, gaps, 12, repeats=2)
    expected = bp.learning_curve(
        bp.GaussianNB(), X[np.arange(150) % 10 > 0], y[np.arange(150) % 10 > 0], [12], repeats=2
    )
    xr.testing.assert_identical(found, expected)


@pytest.mark.parametrize(
    "clf", [make_pipeline(bp.GaussianNB()), SklearnNB(), bp.AutoClassifier([bp.GaussianNB()]), bp.GaussianNB]
)
def test_what_has_no_rules_is_refused_by_comparisons(clf):
    for ask in (
        lambda: bp.learning_curve(clf, X, y, [12]),
        lambda: bp.compare(clf, X, y, X, y),
        lambda: bp.compare_models([clf], X, y),
    ):
        with pytest.raises(TypeError, match=r"must be one declared classifier, such as bayesppl\.GaussianNB\(\)"):
            ask()


def test_a_single_model_is_no_list_of_models():
    for ask in (
        lambda: bp.compare_models(bp.GaussianNB(), X, y),
        lambda: bp.credal_proba(bp.GaussianNB(), X, y, X),
    ):
        with pytest.raises(TypeError, match="models must be a list of classifiers"):
            ask()


def test_a_stack_has_a_reliability_of_its_one_rule():
    clf = bp.AutoClassifier([bp.GaussianNB()]).fit(X, y)
    found, expected = bp.reliability(clf, X, y, rule="predictive"), bp.reliability(clf, X, y)
    xr.testing.assert_identical(found, expected)
    with pytest.raises(ValueError, match="a stack has one rule, 'predictive', found 'mle'"):
        bp.reliability(clf, X, y, rule="mle")


def test_the_generator_of_old_numpy_is_a_seed():
    found = [bp.compare(bp.GaussianNB(), X, y, X, y, random_state=np.random.RandomState(0)) for _ in range(2)]
    xr.testing.assert_identical(found[0].scores, found[1].scores)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breast_cancer", "digits_binary", "iris", "wine"])
def test_predictive_pays_where_rows_are_few_on_real_data(name):
    data = load(name)
    clf = bp.BernoulliNB() if name == "digits_binary" else bp.QuadraticDiscriminantAnalysis()
    curve = bp.learning_curve(clf, data.X, data.y, [20, 100], repeats=80)
    few = curve.sel(size=20, rule="mean" if name == "digits_binary" else "map")
    gap, error = float(few["log_score_difference"]), float(few["log_score_difference_se"])
    if name == "digits_binary":
        assert abs(gap) < 1e-12  # one Bernoulli draw: predictive and mean are the same rule
    else:
        assert gap < -3 * error
    late = curve.sel(size=100, rule=few["rule"])
    assert abs(float(late["log_score_difference"])) <= abs(gap)
