"""Evidence as a chain of predictives, and models compared by it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.datasets import load_iris
from support.examples import EXAMPLES
from support.pairs import in_turn

import bayesppl as bp
from bayesppl.analysis.evidence import prior_depends_on_data
from bayesppl.data.labels import one_hot

IRIS = load_iris(return_X_y=True)
NIG = bp.NormalInverseGamma(location=4.0, kappa=0.3, a=1.7, b=0.9)


# the prior of a class that is made of the rows of the others is no prior of all of them: see test_covariance_prior
@pytest.mark.parametrize(
    ("name", "seed"), in_turn([name for name in EXAMPLES if name != "gaussian full, default prior"], [0, 1])
)
def test_evidence_is_the_product_of_one_step_ahead_predictives_in_any_order(name, seed):
    family, X, y = EXAMPLES[name]
    clf = bp.GenerativeClassifier(family, class_weights=bp.Dirichlet(0.7)).fit(X[: len(y)], y)
    model, rows, belief = clf.posterior_.model, clf.fitted_.rows, clf.posterior_.prior
    total, X = 0.0, model.family.bound.encode(rows.table)
    for row in np.random.default_rng(seed).permutation(len(y)):
        one = X[[row]]
        total += model.log_joint_predictive(belief)(one)[0, rows.codes[row]]
        belief = belief.update(model.statistics(one, one_hot(rows.codes[[row]], model.n_classes)))
    np.testing.assert_allclose(total, float(clf.log_evidence()["total"]), rtol=1e-10)


def test_models_side_by_side():
    models = {
        "naive": bp.GaussianNB(NIG),
        "tied": bp.LinearDiscriminantAnalysis(),
        "full": bp.QuadraticDiscriminantAnalysis(),
    }
    result = bp.compare_models(models, *IRIS, prior=[0.2, 0.5, 0.3])
    fitted = {name: clf.fit(*IRIS) for name, clf in models.items()}
    evidence = np.asarray([float(clf.log_evidence()["total"]) for clf in fitted.values()])
    np.testing.assert_allclose(result["log_evidence"], evidence)
    np.testing.assert_allclose(result["probability"], softmax(evidence + np.log([0.2, 0.5, 0.3])), rtol=1e-12)
    np.testing.assert_allclose(result["elpd"], [clf.loo().elpd().elpd for clf in fitted.values()])
    np.testing.assert_allclose(result["accuracy"], [clf.loo().accuracy[0] for clf in fitted.values()])
    # a default prior reads the data, a prior with numbers of its own does not
    assert result["prior_depends_on_data"].values.tolist() == [False, True, True]
    assert prior_depends_on_data(
        bp.GaussianNB(NIG, class_weights="empirical").fit(IRIS[0][:99], IRIS[1][:99]).fitted_
    )


def test_unnamed_models_are_named_by_their_settings():
    models = [bp.GaussianNB(), bp.LinearDiscriminantAnalysis(class_weights="uniform")]
    names = bp.compare_models(models, *IRIS)["model"].values.tolist()
    assert names == ["GaussianNB()", "LinearDiscriminantAnalysis(class_weights='uniform')"]
    twins = bp.compare_models([bp.GaussianNB(), bp.GaussianNB()], *IRIS)
    assert twins["model"].values.tolist() == ["GaussianNB() #1", "GaussianNB() #2"]
    np.testing.assert_allclose(twins["probability"], 0.5)


def test_a_mass_is_not_compared_with_a_density():
    X, y = [[0, 1], [1, 1], [1, 0], [0, 0], [1, 0]], list("aabba")
    with pytest.raises(ValueError, match="of column 'x0', 'yes/no' gives a mass and 'real' a density"):
        bp.compare_models({"yes/no": bp.BernoulliNB(), "real": bp.GaussianNB()}, X, y)


def test_a_column_that_is_a_feature_of_one_model_only_is_refused():
    X = pd.DataFrame({"events": [0.0, 3, 1, 5, 2], "hours": [1.0, 2, 1, 3, 1]})
    models = {
        "rate": bp.GenerativeClassifier(bp.Poisson(exposure="hours")),
        "counts": bp.GenerativeClassifier(bp.Poisson()),
    }
    with pytest.raises(ValueError, match="column 'hours' is a feature of only one of 'rate' and 'counts'"):
        bp.compare_models(models, X, list("aabba"))


def test_models_of_other_classes_are_refused():
    models = {"three": bp.GaussianNB(), "four": bp.GaussianNB(classes=[0, 1, 2, 3])}
    with pytest.raises(ValueError, match=r"found \[0, 1, 2\] of 'three' and \[0, 1, 2, 3\] of 'four'"):
        bp.compare_models(models, *IRIS)


def test_improper_priors_are_refused():
    with pytest.raises(bp.ImproperError, match="evidence is undefined"):
        bp.compare_models([bp.GaussianNB(), bp.GaussianNB("jeffreys")], *IRIS)


@pytest.mark.parametrize("prior", [[1.0], [-1.0, 2.0], [0.0, 0.0], [np.inf, 1.0], "a"])
def test_a_prior_that_does_not_fit_the_models_is_refused(prior):
    with pytest.raises(ValueError, match=r"prior must hold one non-negative number per model \(2\)"):
        bp.compare_models([bp.GaussianNB(), bp.GaussianNB(NIG)], *IRIS, prior=prior)


def test_prior_weights_of_models_go_by_name():
    models = {"flat": bp.GaussianNB(NIG), "shared": bp.LinearDiscriminantAnalysis()}
    by_position = bp.compare_models(models, *IRIS, prior=[0.9, 0.1])["probability"]
    for prior in ({"shared": 0.1, "flat": 0.9}, pd.Series({"shared": 0.1, "flat": 0.9})):
        np.testing.assert_array_equal(bp.compare_models(models, *IRIS, prior=prior)["probability"], by_position)
    with pytest.raises(
        ValueError, match=r"prior must name every model once, \['flat', 'shared'\], found \['flat'\]"
    ):
        bp.compare_models(models, *IRIS, prior={"flat": 1.0})


@pytest.mark.parametrize("class_weights", ["uniform", "empirical", (0.2, 0.5, 0.3)])
def test_labels_have_a_probability_under_known_class_weights_too(class_weights):
    X, y = IRIS[0][10:120], IRIS[1][10:120]
    clf = bp.GaussianNB(NIG, class_weights=class_weights).fit(X, y)
    n = np.bincount(y)
    weights = {"uniform": np.full(3, 1 / 3), "empirical": n / n.sum()}.get(class_weights, class_weights)
    np.testing.assert_allclose(clf.log_evidence()["class_weights"], n @ np.log(weights))
    # a Dirichlet that all but knows the weights says the same
    nearly = bp.GaussianNB(NIG, class_weights=bp.Dirichlet(1e15 * np.asarray(weights))).fit(X, y).log_evidence()
    np.testing.assert_allclose(clf.log_evidence()["total"], nearly["total"], rtol=1e-10)


def test_a_class_of_weight_zero_that_has_rows_makes_the_labels_impossible():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    assert bp.GaussianNB(NIG, class_weights=[1.0, 0.0]).fit(X, y).log_evidence()["class_weights"] == -np.inf
    unseen = bp.GaussianNB(NIG, class_weights=[0.5, 0.5, 0.0], classes=[0, 1, 2]).fit(X, y).log_evidence()
    np.testing.assert_allclose(unseen["class_weights"], 4 * np.log(0.5))
