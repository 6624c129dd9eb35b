"""New rows from a fitted model, against the densities they are drawn from."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, t
from sklearn.datasets import load_iris
from support.examples import EXAMPLES
from support.pairs import in_turn

import bayesppl as bp

IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore::bayesppl.UnseenLevelWarning")  # new levels are drawn too
@pytest.mark.parametrize(("name", "rule"), in_turn(list(EXAMPLES), ["predictive", "mean"]))
def test_rows_are_rows_of_the_same_table(name: str, rule: Any) -> None:
    example = EXAMPLES[name]
    clf = bp.GenerativeClassifier(example.family).fit(example.X, example.y)
    X, y = clf.sample(25, rule=rule, random_state=0)
    assert isinstance(X, pd.DataFrame)
    assert X.columns.tolist() == example.X.columns.tolist()
    assert set(y) <= set(example.y)
    assert np.isfinite(clf.log_density(X)).all()
    pd.testing.assert_frame_equal(X, clf.sample(25, rule=rule, random_state=0)[0])


def test_predictive_rows_have_the_predictive_distribution() -> None:
    """The predictive of few rows has heavy tails, which rows drawn from one estimate lack."""
    clf = bp.GaussianNB(bp.NormalInverseGamma(location=0.0, kappa=1.0, a=1.5, b=1.0))
    clf.fit([[0.0], [1.0], [2.5], [4.0], [5.5]], [0, 0, 0, 1, 1])
    X, _ = clf.sample(1000, y=0, random_state=1)
    belief = clf.posterior_.belief.parts["features"]
    kappa, a, b = (float(v[0, 0]) for v in (belief.kappa, belief.a, belief.b))
    expected = t(2 * a, belief.location[0, 0], np.sqrt(b * (kappa + 1) / (a * kappa)))
    assert kstest(X[:, 0], expected.cdf).pvalue > 0.001
    plugged_in, _ = clf.sample(1000, y=0, rule="map", random_state=1)
    assert kstest(plugged_in[:, 0], expected.cdf).pvalue < 1e-6


def test_labels_have_the_class_weights() -> None:
    clf = bp.BernoulliNB(class_weights=[0.2, 0.8]).fit([[0], [1]], ["a", "b"])
    _, y = clf.sample(5000, rule="mean", random_state=0)
    standard_error = np.sqrt(0.2 * 0.8 / 5000)
    assert abs((y == "a").mean() - 0.2) < 4 * standard_error


def test_probabilities_of_generated_rows_are_calibrated() -> None:
    """Rows from the model itself: the labels occur as often as the predicted probabilities say."""
    clf = bp.QuadraticDiscriminantAnalysis().fit(IRIS[50:], SPECIES[50:])
    X, y = clf.sample(4000, rule="map", random_state=0)
    p = clf.predict_proba(X, rule="map")[:, 1]
    standard_error = np.sqrt((p * (1 - p)).sum())
    assert abs((y == 2).sum() - p.sum()) < 4 * standard_error


def test_labels_may_be_given() -> None:
    clf = bp.GaussianNB().fit(IRIS, SPECIES)
    X, y = clf.sample(150, y=SPECIES[::-1], random_state=0)
    assert y.tolist() == SPECIES[::-1].tolist()
    assert clf.score(X, y) > 0.9
    with pytest.raises(ValueError, match="label 7 is not among"):
        clf.sample(2, y=7)
    with pytest.raises(ValueError, match="at least 1"):
        clf.sample(0)
    with pytest.raises(ValueError, match="rule must be one of"):
        clf.sample(2, rule="best")


def test_log_density_sums_the_classes_out() -> None:
    clf = bp.GaussianNB().fit(IRIS, SPECIES)
    np.testing.assert_allclose(
        clf.log_density(IRIS), np.log(np.exp(clf.predict_joint_log_proba(IRIS)).sum(1)), rtol=1e-12
    )
    np.testing.assert_allclose(clf.log_density(IRIS), clf.novelty(IRIS, random_state=0)["log_density"], rtol=1e-12)
