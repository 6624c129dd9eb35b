"""Priors and families are searched over under the names that scikit-learn gives to nested parameters."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesppl as bp

X = np.random.default_rng(0).integers(0, 3, (60, 3))
Y = X[:, 0] > 0


def test_a_grid_over_hyperparameters_is_that_over_priors() -> None:
    values = [0.1, 1.0, 30.0]
    nested = GridSearchCV(
        make_pipeline(FunctionTransformer(), bp.CategoricalNB()),
        {"categoricalnb__probability__concentration": values},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, Y)
    priors = GridSearchCV(
        bp.CategoricalNB(), {"probability": [bp.Dirichlet(a) for a in values]}, scoring="neg_log_loss", cv=3
    ).fit(X, Y)
    scores = nested.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(scores, priors.cv_results_["mean_test_score"])
    assert len(set(scores)) == 3
    best = nested.best_estimator_[-1]
    assert best.probability.concentration == nested.best_params_["categoricalnb__probability__concentration"]
    assert clone(best).probability.concentration == best.probability.concentration


def test_names_reach_into_families_and_their_priors() -> None:
    prior = bp.NormalInverseGamma(kappa=2.0, b=3.0)
    clf = bp.GenerativeClassifier(bp.Gaussian(prior=prior))
    assert clf.get_params()["family__prior__kappa"] == 2.0
    clf.set_params(family__prior__kappa=0.1, class_weights__concentration=4.0, rule="mean")
    assert (clf.family.prior.kappa, clf.family.prior.b, clf.class_weights.concentration) == (0.1, 3.0, 4.0)
    assert prior.kappa == 2.0
    expected = bp.GaussianNB(
        bp.NormalInverseGamma(kappa=0.1, b=3.0), class_weights=bp.Dirichlet(4.0), rule="mean"
    ).fit(X, Y)
    np.testing.assert_array_equal(clf.fit(X, Y).predict_proba(X), expected.predict_proba(X))


def test_a_declaration_and_its_parameter_can_be_set_together() -> None:
    clf = bp.GaussianNB().set_params(prior=bp.NormalInverseGamma(a=7.0), prior__kappa=0.5)
    assert (clf.prior.a, clf.prior.kappa) == (7.0, 0.5)


def test_the_classifier_that_chooses_itself_has_nested_parameters_too() -> None:
    assert bp.AutoClassifier().set_params(class_weights__concentration=2.0).class_weights.concentration == 2.0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"probability__alpha": 1.0},
            "probability__alpha: Dirichlet has no parameter 'alpha', only 'concentration'",
        ),
        ({"rule__x": 1}, "rule__x: rule='map' has no parameters of its own"),
        ({"unknown__x": 1}, r"'unknown' for estimator CategoricalNB.*Valid parameters are: \['calibration'"),
        ({"unknown": 1}, "'unknown' for estimator CategoricalNB"),
        ({"probability__concentration": -1.0}, "concentration must be positive"),
        ({"probability__concentration__x": 1}, "probability__concentration=1.0 has no parameters"),
    ],
)
def test_a_name_that_does_not_exist_is_refused_and_nothing_changes(params: dict[str, Any], message: str) -> None:
    clf = bp.CategoricalNB(rule="map")
    before = clf.get_params()
    with pytest.raises(ValueError, match=message):
        clf.set_params(unseen="error", **params)
    assert clf.get_params() == before
