"""Axes, coefficients and distances of discriminant analysis, against scikit-learn, scipy and the classifier
itself."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.spatial.distance import mahalanobis
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as ScikitLDA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

import bayesppl as bp
from bayesppl.model.rules import ESTIMATES

WINE, CULTIVAR = load_wine(return_X_y=True)
SCANS, DIAGNOSIS = load_breast_cancer(return_X_y=True)
SCANS = SCANS[:, :8]


def like_scikit_learn(**options: Any) -> bp.LinearDiscriminantAnalysis:
    return bp.LinearDiscriminantAnalysis(rule="mle", class_weights="empirical", **options)


@pytest.mark.parametrize("n_components", [None, 1, 2])
def test_maximum_likelihood_axes_are_those_of_scikit_learn(n_components: int | None) -> None:
    ours = like_scikit_learn(n_components=n_components).fit(WINE, CULTIVAR)
    theirs = ScikitLDA(solver="eigen", n_components=n_components).fit(WINE, CULTIVAR)
    projected, expected = ours.transform(WINE), theirs.transform(WINE)
    expected = (
        expected - (ours.class_count_ @ theirs.means_ / len(WINE)) @ theirs.scalings_[:, : projected.shape[1]]
    )
    signs = np.sign((projected * expected).sum(0))
    np.testing.assert_allclose(projected, signs * expected, atol=1e-8)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-8)
    by_default = ScikitLDA(n_components=n_components).fit(WINE, CULTIVAR).transform(WINE)
    if parse_version(sklearn.__version__) < parse_version("1.9"):  # whose default solver divided by N - K
        by_default *= np.sqrt(len(WINE) / (len(WINE) - 3))
    np.testing.assert_allclose(np.abs(projected), np.abs(by_default), atol=1e-7)


@pytest.mark.parametrize("rule", [*ESTIMATES, "predictive"])
def test_axes_have_unit_variance_within_classes_under_every_rule(rule: str) -> None:
    clf = bp.LinearDiscriminantAnalysis(rule=rule).fit(WINE, CULTIVAR)
    estimate = "mean" if rule == "predictive" else rule
    covariance = clf.estimates([estimate])["covariance"].values[0]
    directions = clf.transform(np.eye(13)) - clf.transform(np.zeros((1, 13)))
    np.testing.assert_allclose(directions.T @ covariance @ directions, np.eye(2), atol=1e-9)
    assert clf.explained_variance_ratio_.sum() == pytest.approx(1)
    assert (np.diff(clf.explained_variance_ratio_) < 0).all()


@pytest.mark.parametrize(("X", "y"), [(WINE, CULTIVAR), (SCANS, DIAGNOSIS)], ids=["three classes", "two classes"])
def test_linear_coefficients_are_those_of_scikit_learn(X: np.ndarray, y: np.ndarray) -> None:
    ours, theirs = like_scikit_learn().fit(X, y), ScikitLDA(solver="lsqr").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    linear = X @ ours.coef_.T + ours.intercept_
    scores = ours.decision_function(X)
    if scores.ndim == 1:
        np.testing.assert_allclose(scores, linear[:, 0], rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_allclose(scores - scores[:, :1], linear - linear[:, :1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rule", ESTIMATES)
@pytest.mark.parametrize("make", [bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize("weights", [[0.9, 0.1], "empirical"], ids=str)
def test_quadratic_log_odds_are_those_that_classify(make: type, rule: str, weights: Any) -> None:
    clf = make(rule=rule, class_weights=weights).fit(SCANS, DIAGNOSIS)
    A, w, b = clf.quadratic()
    np.testing.assert_allclose(
        np.einsum("ni,ij,nj->n", SCANS, A, SCANS) + SCANS @ w + b,
        clf.decision_function(SCANS),
        rtol=1e-6,
        atol=1e-6,
    )
    log_proba = clf.predict_log_proba(SCANS)
    np.testing.assert_allclose(clf.decision_function(SCANS), log_proba[:, 1] - log_proba[:, 0], atol=1e-8)
    assert np.allclose(A, 0, atol=1e-9) == (make is bp.LinearDiscriminantAnalysis)


def test_class_weights_move_the_constant_by_their_log_odds() -> None:
    """E4 of the errata: the constant contains log(alpha) - log(1 - alpha)."""
    even = bp.QuadraticDiscriminantAnalysis(class_weights=[0.5, 0.5]).fit(SCANS, DIAGNOSIS).quadratic()
    uneven = bp.QuadraticDiscriminantAnalysis(class_weights=[0.2, 0.8]).fit(SCANS, DIAGNOSIS).quadratic()
    assert uneven.b - even.b == pytest.approx(np.log(0.8) - np.log(0.2))


@pytest.mark.parametrize("make", [bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis])
def test_mahalanobis_distances(make: type) -> None:
    clf = make().fit(WINE, CULTIVAR)
    estimates = clf.estimates(["map"]).sel(estimate="map")
    precision = np.linalg.inv(estimates["covariance"].values)
    for i in (0, 70, 170):
        for k in range(3):
            of_class = precision if precision.ndim == 2 else precision[k]
            expected = mahalanobis(WINE[i], estimates["mean"].values[k], of_class) ** 2
            assert clf.mahalanobis(WINE[i : i + 1], rule="map")[0, k] == pytest.approx(expected)


def test_names_and_containers_of_the_axes() -> None:
    frame = pd.DataFrame(WINE, index=np.arange(len(WINE)) + 5).rename(columns=str)
    clf = bp.LinearDiscriminantAnalysis().fit(frame, CULTIVAR).set_output(transform="pandas")
    axes = clf.transform(frame)
    assert (
        list(axes.columns)
        == list(clf.get_feature_names_out())
        == [
            "lineardiscriminantanalysis0",
            "lineardiscriminantanalysis1",
        ]
    )
    assert axes.index[0] == 5
    pipeline = make_pipeline(StandardScaler(), bp.LinearDiscriminantAnalysis(n_components=1), bp.GaussianNB())
    assert pipeline.fit(WINE, CULTIVAR).score(WINE, CULTIVAR) > 0.8


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"between 1 and .* = 2, found 3"):
        bp.LinearDiscriminantAnalysis(n_components=3).fit(WINE, CULTIVAR).transform(WINE)
    with pytest.raises(ValueError, match=r"rule must be one of .*found 'MLE'"):
        bp.QuadraticDiscriminantAnalysis().fit(SCANS, DIAGNOSIS).quadratic("MLE")
    with pytest.raises(ValueError, match="between two classes, and here are 3"):
        bp.QuadraticDiscriminantAnalysis().fit(WINE, CULTIVAR).quadratic()
    holed = WINE.copy()
    holed[4, 2] = np.nan
    clf = bp.LinearDiscriminantAnalysis().fit(WINE, CULTIVAR)
    for method in (clf.transform, clf.mahalanobis):
        with pytest.raises(ValueError, match=r"'x2' is missing \(NaN\) in row 4"):
            method(holed)
    with pytest.raises(AttributeError, match="not fitted"):
        bp.LinearDiscriminantAnalysis().coef_  # noqa: B018
