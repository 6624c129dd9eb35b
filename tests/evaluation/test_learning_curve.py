"""The learning curve against fits made by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

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
        ({"sizes": [9], "test_share": 1.0}, "test_share must leave rows on both sides"),
    ],
)
def test_settings_that_cannot_be_met_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        bp.learning_curve(bp.GaussianNB(), X, y, **options)


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
