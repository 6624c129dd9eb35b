"""Labels of every shape, and the mark of rows without one."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.datasets import load_iris
from sklearn.exceptions import DataConversionWarning

import bayesppl as bp

X, Y = load_iris(return_X_y=True)
FEW = np.where(np.arange(150) % 6 == 0, Y, -1)


def fitted(y, **options):
    clf = bp.GaussianNB(**{"unlabelled_weight": 1.0, "inference": "em", "unlabelled_label": -1, **options})
    return clf.fit(X, y)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
@pytest.mark.parametrize("unlabelled", ["drop", "learn"])
@pytest.mark.parametrize(
    "column",
    [
        FEW[:, None],
        FEW[:, None].tolist(),
        pd.DataFrame({"y": FEW}),
        pd.DataFrame({"y": pd.Series(FEW, dtype="Int64").where(FEW >= 0)}),
    ],
    ids=["array", "list", "frame", "gaps"],
)
def test_a_column_of_labels_has_rows_without_one_as_a_vector_has(column, unlabelled):
    expected = fitted(FEW, unlabelled=unlabelled)
    with pytest.warns(DataConversionWarning, match=r"read as y\.ravel\(\)") as record:
        found = fitted(column, unlabelled=unlabelled)
    assert len(record) == 1
    assert found.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_a_mark_that_can_equal_no_label_is_refused():
    for y, mark in ((FEW, "-1"), (FEW.astype(str), -1)):
        with pytest.raises(ValueError, match=f"unlabelled_label={mark!r} is of another type than the labels"):
            fitted(y, unlabelled="learn", unlabelled_label=mark)
    for y in (["a", -1, "b", "a"], [-1, "a", "b", "a"]):
        clf = bp.GaussianNB(unlabelled="drop", unlabelled_label=-1).fit([[0.0], [2.0], [4.0], [1.0]], y)
        assert clf.class_count_.sum() == 3
    with pytest.raises(TypeError, match=r"unlabelled_label must be one label, found \[-1\]"):
        fitted(FEW, unlabelled="learn", unlabelled_label=[-1])
    with pytest.warns(UserWarning, match="-1 is taken for a class, beside 0 to 2"):
        fitted(FEW, unlabelled="drop", unlabelled_label=-2)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
@pytest.mark.parametrize("mark", [np.nan, float("nan"), pd.NA, pd.NaT, None])
def test_a_mark_that_is_missing_marks_what_is_missing(mark, tmp_path):
    for y in (pd.Series([1, 2, pd.NA] * 5, dtype="Int64"), pd.Series(["a", "b", None] * 5)):
        clf = bp.GaussianNB(bp.NormalInverseGamma(0, 1, 1, 1), unlabelled="drop", unlabelled_label=mark)
        tuned = clf.fit(np.arange(15.0)[:, None], y).tune_prior()
        assert clf.class_count_.tolist() == tuned.class_count_.tolist() == [5, 5]
        clf.save(tmp_path / "model.npz")
        assert bp.load(tmp_path / "model.npz").partial_fit([[0.0]], y[2:3]).class_count_.tolist() == [5, 5]
    few = np.where(FEW < 0, np.nan, FEW)
    fitted(few, unlabelled="learn", unlabelled_label=mark, prior=bp.NormalInverseGamma(5, 0.1, 2, 1)).tune_prior()


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
def test_no_prediction_is_right_or_wrong_without_a_label():
    gaps = [None if label < 0 else int(label) for label in FEW]
    for y, clf in (
        (FEW, fitted(FEW, unlabelled="drop")),
        (gaps, fitted(gaps, unlabelled="drop", unlabelled_label=None)),
    ):
        with pytest.raises(
            ValueError, match="the label is missing in row 1, so that no prediction is right or wrong"
        ):
            clf.score(X, y)
        assert clf.score(X[FEW >= 0], FEW[FEW >= 0]) > 0.9


def test_a_learning_curve_leaves_marked_rows_out():
    clf = bp.GaussianNB(unlabelled="drop", unlabelled_label=-1)
    found = bp.learning_curve(clf, X, FEW, 9, repeats=2)
    expected = bp.learning_curve(clf, X[FEW >= 0], FEW[FEW >= 0], 9, repeats=2)
    xr.testing.assert_identical(found, expected)
    with pytest.raises(ValueError, match="a missing label in row 1 is no class"):
        bp.learning_curve(clf.set_params(unlabelled="refuse"), X, FEW, 9)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
def test_fits_of_rows_partly_known_list_their_attributes_and_show_themselves():
    holes = X.copy()
    holes[3, 1] = np.nan
    for clf in (
        fitted(FEW, unlabelled="learn"),
        bp.LinearDiscriminantAnalysis(inference="em").fit(holes, Y),
        bp.LinearDiscriminantAnalysis(classes=[0]).fit(X[:50], Y[:50]),
        bp.dawid_skene([["a", "b"], ["b", "b"], ["a", "a"]], inference="em"),
    ):
        assert "predict_proba" in dir(clf)
        assert "classes_" in dir(clf)
        assert type(clf).__name__ in clf._repr_html_()
    undetermined = bp.GaussianNB("jeffreys").partial_fit(X[:1], Y[:1], classes=[0, 1, 2])
    assert "posterior_" in dir(undetermined)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
@pytest.mark.parametrize("unlabelled", ["drop", "learn"])
def test_rows_of_trees_and_scores_are_named_by_their_places_among_those_given(unlabelled):
    clf = fitted(FEW, unlabelled=unlabelled)
    tree, labelled = (
        clf.to_datatree(X[:2], groups="all", draws=5, chains=1, random_state=0),
        np.flatnonzero(FEW >= 0),
    )
    for group in ("observed_data", "log_likelihood", "posterior_predictive", "constant_data"):
        np.testing.assert_array_equal(tree[group]["row"], labelled)
    np.testing.assert_array_equal(tree["observed_data"]["x"], X[tree["observed_data"]["row"]])
    np.testing.assert_array_equal(clf.loo().elpd().elpd_i["row"], labelled)
    assert tree["predictions"]["row"].values.tolist() == [0, 1]


def test_log_likelihoods_have_the_weights_of_their_rows():
    weights = np.where(np.arange(150) % 5 == 0, 3.0, 1.0)
    asked = {"draws": 3, "chains": 1, "random_state": 0, "groups": ["log_likelihood"], "log_likelihood": "joint"}
    clf = bp.GaussianNB().fit(X, Y, weights)
    found = clf.to_datatree(**asked)["log_likelihood"]["joint"]
    theta = {name: values[0] for name, values in clf.posterior_.draws(1, 3, np.random.default_rng(0)).items()}
    density = clf.posterior_.model.log_joint(theta)(X)[:, np.arange(150), Y]
    np.testing.assert_allclose(found[0], weights * density, rtol=1e-12)


def test_annotations_of_one_class_are_no_classifier():
    with pytest.raises(ValueError, match="the target holds one class only, 'a'"):
        bp.GaussianNB(inference="em").fit(X[:3], annotations=[["a", "a"]] * 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_arviz_summarises_annotators():
    crowd = bp.dawid_skene([["a", "b"], ["b", "b"], ["a", "a"]] * 5, inference=bp.Gibbs(draws=60, random_state=0))
    assert any("confusion" in name for name in az.summary(crowd.to_datatree()).index)


@pytest.mark.parametrize(
    "inference", [bp.Laplace(draws=0), bp.ADVI(iterations=0), bp.SMC(draws=0), bp.SMC(chains=0)]
)
def test_inferences_check_their_numbers(inference):
    with pytest.raises(ValueError, match=r"(Laplace|ADVI|SMC): \w+ must be at least 1, found 0"):
        bp.GaussianNB(inference=inference).fit(X[:, :1], Y)


def test_a_weight_of_unlabelled_rows_is_finite():
    with pytest.raises(ValueError, match="unlabelled_weight must be 'loo' or positive"):
        fitted(FEW, unlabelled="learn", unlabelled_weight=np.inf)
