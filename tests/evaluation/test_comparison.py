"""The comparison of the four rules, against direct use of the classifier."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.datasets import load

RULES = ["mle", "map", "mean", "predictive"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def result(iris):
    return bp.compare(bp.GaussianNB(), *iris)


def test_the_given_classifier_stays_unfitted(iris):
    clf = bp.GaussianNB()
    bp.compare(clf, *iris, draws=10)
    assert "classes_" not in vars(clf)


def test_probabilities_are_those_of_predict_proba(result, iris):
    X_train, y_train, X_test, y_test = iris
    clf = bp.GaussianNB().fit(X_train, y_train)
    assert result.probabilities.dims == ("rule", "row", "class")
    for rule in RULES:
        # exp(log p) is rounded to |log p| ulps, and |log p| < 745 where p is not zero
        expected = clf.predict_proba(X_test, rule=rule)
        np.testing.assert_allclose(result.probabilities.sel(rule=rule), expected, rtol=745 * np.finfo(float).eps)
    np.testing.assert_array_equal(result.probabilities["label"], y_test)


def test_scores_are_recomputed_from_the_probabilities(result, iris):
    y_test = iris[3]
    rows = np.arange(len(y_test))
    for rule in RULES:
        p = result.probabilities.sel(rule=rule).values
        reference = result.probabilities.sel(rule="predictive").values
        for score, per_row in {
            "accuracy": lambda p: 1.0 * (p.argmax(1) == y_test),
            "log_score": lambda p: np.log(p[rows, y_test]),
            "brier": lambda p: ((p - np.eye(3)[y_test]) ** 2).sum(1),
        }.items():
            one = result.scores.sel(rule=rule)
            d = per_row(p) - per_row(reference)
            np.testing.assert_allclose(one[score], per_row(p).mean(), rtol=1e-9)
            np.testing.assert_allclose(one[f"{score}_difference"], d.mean(), rtol=1e-6, atol=1e-15)
            np.testing.assert_allclose(one[f"{score}_difference_se"], stats.sem(d), rtol=1e-6, atol=1e-15)


def test_predictive_differs_from_itself_by_nothing(result):
    one = result.scores.sel(rule="predictive")
    for score in ("accuracy", "log_score", "brier", "ece"):
        assert one[f"{score}_difference"] == 0
        assert one[f"{score}_difference_se"] == 0


def test_estimates_are_those_of_the_classifier(result):
    estimates = result.classifier.estimates()
    for name in estimates.data_vars:
        np.testing.assert_array_equal(
            result.parameters[name].sel(estimate=["mle", "map", "mean"]).transpose(*estimates[name].dims),
            estimates[name],
        )
    assert result.parameters["estimate"].values.tolist() == ["mle", "map", "mean", "sd", "lower", "upper"]


def test_sd_and_interval_are_those_of_the_student_t_and_beta(result):
    """The posterior of a class weight is Beta, that of a variance inverse gamma: known sd and quantiles."""
    posterior = result.classifier.posterior_.belief.parts
    alpha = posterior["class_weights"].concentration
    beta = stats.beta(alpha, alpha.sum() - alpha)
    variance = stats.invgamma(posterior["features"].a, scale=posterior["features"].b)
    n = result.parameters.attrs["draws"]
    for name, exact in {"class_weights": beta, "variance": variance}.items():
        found = result.parameters[name].transpose("estimate", ...)
        sd = exact.std()
        kurtosis = np.asarray(exact.stats(moments="k"))
        sd_error = sd * np.sqrt((kurtosis + 2) / (4 * n))
        assert (abs(found.sel(estimate="sd") - sd) < 5 * sd_error).all()
        for estimate, tail in (("lower", 0.05), ("upper", 0.95)):
            quantile = exact.ppf(tail)
            error = np.sqrt(tail * (1 - tail) / n) / exact.pdf(quantile)
            assert (abs(found.sel(estimate=estimate) - quantile) < 5 * error).all()


def test_the_interval_has_the_probability_asked_for(iris):
    wide = bp.compare(bp.GaussianNB(), *iris, prob=0.98, random_state=3).parameters
    narrow = bp.compare(bp.GaussianNB(), *iris, prob=0.5, random_state=3).parameters
    assert wide.attrs["prob"] == 0.98
    for name in wide.data_vars:
        assert (wide[name].sel(estimate="lower") < narrow[name].sel(estimate="lower")).all()
        assert (wide[name].sel(estimate="upper") > narrow[name].sel(estimate="upper")).all()


def test_the_same_seed_gives_the_same_numbers(iris):
    a, b = (bp.compare(bp.GaussianNB(), *iris, random_state=4) for _ in range(2))
    xr.testing.assert_identical(a.parameters, b.parameters)
    xr.testing.assert_identical(a.scores, b.scores)


def test_draws_are_those_of_the_data_tree(result):
    tree = result.classifier.to_datatree(draws=1000, chains=4, random_state=0)
    sd = tree["posterior"]["variance"].stack(sample=("chain", "draw")).std("sample", ddof=1)
    np.testing.assert_allclose(result.parameters["variance"].sel(estimate="sd"), sd, rtol=1e-12)


def test_a_label_held_impossible_scores_minus_infinity_and_is_shown():
    X = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    y = np.array(["a", "a", "b", "b"])
    result = bp.compare(bp.BernoulliNB(), X, y, [[1, 0], [1, 0]], ["b", "a"])
    mle = result.scores.sel(rule="mle")
    assert mle["log_score"] == -np.inf
    assert mle["log_score_difference"] == -np.inf
    assert np.isnan(mle["log_score_difference_se"])
    assert np.isfinite(result.scores.sel(rule="predictive")["log_score"])


def test_rows_impossible_under_every_class_are_counted():
    X, y = [[1, 0], [1, 0], [0, 1], [0, 1]], ["a", "a", "b", "b"]
    with pytest.warns(bp.ImpossibleRowWarning):
        result = bp.compare(bp.BernoulliNB(), X, y, [[1, 1], [0, 1]], ["a", "b"])
    assert result.scores["impossible_rows"].sel(rule=["mle", "predictive"]).values.tolist() == [1, 0]


def test_a_rule_that_does_not_exist_is_named_and_the_others_remain():
    X, y = load("digits")
    X, y = X.iloc[:400], y.iloc[:400]
    result = bp.compare(bp.GaussianNB(), X[::2], y[::2], X[1::2], y[1::2], draws=50)
    assert list(result.undefined) == ["mle"]
    assert "pixel_0_0" in result.undefined["mle"]
    assert np.isnan(result.scores["accuracy"].sel(rule="mle"))
    assert np.isnan(result.probabilities.sel(rule="mle")).all()
    assert np.isnan(result.parameters["variance"].sel(estimate="mle")).all()
    assert result.scores["accuracy"].sel(rule=["map", "mean", "predictive"]).notnull().all()


def test_labels_may_be_text_and_features_a_data_frame():
    X, y = load("iris")
    result = bp.compare(bp.LinearDiscriminantAnalysis(), X[::2], y[::2], X[1::2], y[1::2], draws=20)
    assert result.probabilities["class"].values.tolist() == ["setosa", "versicolor", "virginica"]
    assert set(result.probabilities["label"].values.tolist()) == {"setosa", "versicolor", "virginica"}
    assert result.parameters["covariance"].sel(feature="petal width (cm)").notnull().all()


def test_draws_are_cut_where_they_would_fill_the_memory(iris, monkeypatch):
    from bayesppl.analysis import parameter_tables

    monkeypatch.setattr(parameter_tables, "_MAX_CELLS", 27 * 100)  # 3 weights, 12 means, 12 variances
    assert bp.compare(bp.GaussianNB(), *iris).parameters.attrs["draws"] == 100


def test_results_survive_netcdf(result, tmp_path):
    for name in ("parameters", "scores"):
        dataset = getattr(result, name)
        dataset.to_netcdf(tmp_path / f"{name}.nc", engine="h5netcdf")
        xr.testing.assert_identical(xr.load_dataset(tmp_path / f"{name}.nc", engine="h5netcdf"), dataset)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_test": ["x"] * 75}, r"'x' is not among the declared classes"),
        ({"y_test": [0]}, r"75 rows and y_test has 1 labels"),
        ({"draws": 1}, r"draws must be at least 2, found 1"),
        ({"prob": 1.0}, r"prob must lie between 0 and 1, found 1"),
    ],
    ids=["unknown label", "lengths", "draws", "prob"],
)
def test_refusals(iris, change, message):
    names = ("X_train", "y_train", "X_test", "y_test")
    with pytest.raises(ValueError, match=message):
        bp.compare(bp.GaussianNB(), **{**dict(zip(names, iris, strict=True)), **change})


def test_ties_go_to_the_first_class():
    frame = pd.DataFrame({"x": [0, 1, 0, 1]})
    result = bp.compare(bp.BernoulliNB(), frame, ["a", "a", "b", "b"], frame, ["a", "a", "b", "b"])
    assert result.scores["accuracy"].values.tolist() == [0.5] * 4
