"""Labels of every shape, and the mark of rows without one."""

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
    clf = bp.GaussianNB(unlabelled_weight=1.0, inference="em", **{"unlabelled_label": -1, **options})
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
    with pytest.raises(TypeError, match=r"unlabelled_label must be one label, found \[-1\]"):
        fitted(FEW, unlabelled="learn", unlabelled_label=[-1])
    with pytest.warns(UserWarning, match="-1 is taken for a class, beside 0 to 2"):
        fitted(FEW, unlabelled="drop", unlabelled_label=-2)


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
