"""Values that differ but could be taken for one another: kept apart, or refused by column, value and remedy."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesppl as bp
from bayesppl.data.levels import lookalikes
from bayesppl.data.read_table import as_table
from bayesppl.families.find_levels import unseen_beside
from bayesppl.families.level_columns import cell_names

BEYOND = 2**53 + 1
Y = [0, 0, 1, 1]
LEVEL_ESTIMATORS = [bp.CategoricalNB, bp.JointCategoricalNB]
NUMBER_ESTIMATORS = [
    bp.GaussianNB(),
    bp.QuadraticDiscriminantAnalysis(),
    bp.PoissonNB(),
    bp.MultinomialNB(),
    bp.GenerativeClassifier(bp.GammaRate(2.0)),
    bp.GenerativeClassifier(bp.LogNormal()),
]


def objects(*cells: Any) -> np.ndarray:
    column = np.empty((len(cells), 1), dtype=object)
    column[:, 0] = cells
    return column


@pytest.mark.parametrize("make", LEVEL_ESTIMATORS)
@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ((1, "1", 2, 2), r"1 \(int\) in row 0 and '1' \(str\) in row 1"),
        (
            (2, "1.0", 1, 2),
            r"'1.0' \(str\) in row 1 and 1 \(int\) in row 2|1 \(int\) in row 2 and '1.0' \(str\) in row 1",
        ),
        ((0.5, "b", "0.5", "b"), r"0.5 \(float\) in row 0 and '0.5' \(str\) in row 2"),
        ((None, "True", True, True), r"True \(bool\) in row 2 and 'True' \(str\) in row 1"),
        ((1, True, 2, 2), "True in row 1 and 1 in row 0, which are equal"),
        ((0.0, 3, False, 2), "False in row 2 and 0.0 in row 0, which are equal"),
    ],
    ids=str,
)
def test_levels_of_two_types_that_read_alike_are_refused(make: Any, cells: Any, found: str) -> None:
    for X in (objects(*cells), pd.DataFrame({"x0": pd.Series(cells, dtype=object)})):
        with pytest.raises(ValueError, match=f"column 'x0' holds ({found}).*convert the column to one type"):
            make().fit(X, Y)


@pytest.mark.parametrize("make", LEVEL_ESTIMATORS)
@pytest.mark.parametrize(
    ("fitted", "other", "found"),
    [
        ([1, 2, 1, 2], [9, "1"], r"'1' \(str\) in row 1, which resembles the level 1 \(int\)"),
        (["1", "2", "1", "2"], [7, 2], r"2 \(int\) in row 1, which resembles the level '2' \(str\)"),
        ([1.5, 2, 1, 2], ["x", "1.5"], r"'1.5' \(str\) in row 1, which resembles the level 1.5 \(float\)"),
        (
            [True, False, True, True],
            ["True", "x"],
            r"'True' \(str\) in row 0, which resembles the level True \(bool\)",
        ),
    ],
    ids=str,
)
def test_levels_of_another_type_than_in_the_fit_are_refused(
    make: Any, fitted: Any, other: Any, found: str
) -> None:
    clf = make().fit(pd.DataFrame({"size": fitted}), Y)
    before = dict(vars(clf))
    rows = pd.DataFrame({"size": pd.Series(other, dtype=object)})
    for ask in (clf.predict, clf.predict_proba):
        with pytest.raises(ValueError, match=f"'size' holds {found}.*type it had in the fit"):
            ask(rows)
    with pytest.raises(ValueError, match=r"this batch holds '.*did not show"):
        clf.partial_fit(rows, [0, 1])
    # even where all names of the levels are known
    with pytest.raises(ValueError, match="type it had in the fit"):
        clf.partial_fit(rows[[str(cell) in map(str, fitted) for cell in other]], [0])
    assert vars(clf) == before


def test_whole_numbers_and_truth_values_are_the_same_levels_in_every_type() -> None:
    clf = bp.CategoricalNB(unseen="learned").fit(np.array([[1], [2], [2], [2]]), Y)
    expected = clf.predict_proba([[1], [2], [3]])
    for rows in (np.array([[1.0], [2.0], [3.0]]), objects(1, 2.0, np.int8(3)), pl.DataFrame({"a": [1, 2, 3]})):
        np.testing.assert_array_equal(clf.predict_proba(rows), expected)
    truths = bp.CategoricalNB().fit([[True], [False], [True], [True]], Y)
    np.testing.assert_array_equal(truths.predict_proba([[1], [0]]), truths.predict_proba([[True], [False]]))


def test_text_that_is_no_number_of_the_fit_is_an_unseen_level() -> None:
    clf = bp.CategoricalNB(unseen="learned").fit([[1], [2], [1], [2]], Y)
    np.testing.assert_array_equal(clf.predict_proba([["other"], ["3"]]), clf.predict_proba([[3], [4]]))


@pytest.mark.parametrize("make", LEVEL_ESTIMATORS)
def test_declared_levels_that_read_alike_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="the levels 1 and '1' of column 'x0' read alike; declare one of the two"):
        make(levels=[1, 2, "1"]).fit([[1], [2], [1], [2]], Y)


def test_a_level_named_unseen_has_a_name_of_its_own() -> None:
    frame = pd.DataFrame({"c": ["(unseen)", "(unseen)", "x", "x"]})
    clf = bp.CategoricalNB(class_weights="uniform").fit(frame, list("aabb"))
    assert clf.posterior_.model.coords["cell"] == ["c=(unseen)", "c=x", "c=((unseen))"]
    drawn, labels = clf.sample(2000, random_state=0)
    share = np.mean(drawn["c"][labels == "a"] == "(unseen)")
    assert share == pytest.approx(3 / 5, abs=5 * np.sqrt(0.24 / 1000))
    assert unseen_beside(["((unseen))", "(unseen)"]) == "(((unseen)))"


def test_cells_have_names_of_their_own() -> None:
    X = pd.DataFrame({"x": ["1=2", "a", "a", "a"], "x=1": ["2", "2", "b", "b"]})
    pairs = pd.DataFrame({"first": ["a", "a, b", "a", "b"], "second": ["b, b", "b", "a", "b"]})
    for clf in (bp.CategoricalNB().fit(X, Y), bp.JointCategoricalNB().fit(pairs, Y)):
        cells = clf.posterior_.model.coords["cell"]
        assert len(set(cells)) == len(cells)
    assert cell_names([("size", 1), ("size", 2)], "=") == ["size=1", "size=2"]
    assert cell_names([("x", "1=2"), ("x=1", "2")], "=") == ["'x'='1=2'", "'x=1'='2'"]


def test_lookalikes() -> None:
    assert lookalikes(["1", "01", "1.0", "a"]) is None  # text is what it is
    assert lookalikes([1, 2.5, True, "x"]) is None
    assert lookalikes(["a", 7, "b", "007"]) == (7, "007")
    assert lookalikes([2**60 + 1, str(2**60)]) is None


@pytest.mark.parametrize("make", LEVEL_ESTIMATORS)
@pytest.mark.parametrize(
    "X",
    [np.array([[1 + 0j], [2], [1], [2]]), objects(1, 2j, 1, 2), objects(np.complex64(1), 2, 2, 2)],
    ids=["array", "objects", "numpy's"],
)
def test_complex_numbers_are_refused(make: Any, X: Any) -> None:
    with pytest.raises(ValueError, match=r"[Cc]omplex.* real and imaginary parts columns of their own"):
        make().fit(X, Y)
    with pytest.raises((ValueError, TypeError), match=r"real and imaginary parts columns of their own"):
        bp.GaussianNB().fit(X, Y)
    with pytest.raises((ValueError, TypeError), match=r"omplex|not a real number"):
        bp.GaussianNB().fit(pd.DataFrame(X, columns=["a"]), Y)


def test_complex_weights_are_refused() -> None:
    with pytest.raises(TypeError, match="one weight per row, found an array of complex128"):
        bp.GaussianNB().fit([[1.0], [2.0], [4.0], [5.0]], Y, np.ones(4) * 1j)


TOO_LARGE: dict[str, Any] = {
    "int64": np.array([[1], [BEYOND], [2], [3]]),
    "uint64": np.array([[1], [2**64 - 1], [2], [3]], dtype=np.uint64),
    "objects": objects(1, 10**400, 2, 3),
    "masked": np.ma.masked_array([[1], [BEYOND], [2], [3]], mask=[[True], [False], [False], [False]]),
    "list beside real numbers": [[1, 0.5], [BEYOND, 0.5], [2, 0.5], [3, 0.5]],
    "frame": pd.DataFrame({"x0": [1, BEYOND, 2, 3]}),
    "frame beside real numbers": pd.DataFrame({"x0": [1, BEYOND, 2, 3], "x1": 0.5}),
    "numbered frame": pd.DataFrame({0: [1, BEYOND, 2, 3], 1: 0.5}),
    "frame with a gap": pd.DataFrame({"x0": pd.array([None, BEYOND, 2, 3], dtype="Int64")}),
    "polars": pl.DataFrame({"x0": [None, BEYOND, 2, 3]}),
    "pyarrow": pa.table({"x0": [None, BEYOND, 2, 3]}),
}


@pytest.mark.parametrize("kind", TOO_LARGE)
@pytest.mark.parametrize("clf", NUMBER_ESTIMATORS, ids=lambda clf: str(clf)[:24])
def test_integers_that_would_be_rounded_are_refused_as_numbers(kind: str, clf: Any) -> None:
    with pytest.raises(ValueError, match=r"column 'x0' (holds .* in row 1.*2\^53|is missing in row 0)"):
        clf.fit(TOO_LARGE[kind], Y)


@pytest.mark.parametrize("kind", TOO_LARGE)
@pytest.mark.parametrize("make", LEVEL_ESTIMATORS)
def test_large_integers_are_levels_to_the_last_digit(kind: str, make: Any) -> None:
    large = {"uint64": 2**64 - 1, "objects": 10**400}.get(kind, BEYOND)
    levels = make().fit(as_table(TOO_LARGE[kind]).take(slice(1, 4)), Y[1:]).posterior_.model.family.outcomes[0]
    assert levels == (2, 3, large, "(unseen)")
    if make is bp.CategoricalNB:  # with the missing cells too, which a joint table cannot be fitted to
        assert large in make().fit(TOO_LARGE[kind], Y).posterior_.model.family.outcomes[0]


def test_floating_point_numbers_and_the_largest_exact_integers_pass() -> None:
    for X in (
        np.array([[1e17], [3e17], [2.0], [4.0]]),
        [[2**53], [-(2**53)], [0], [5]],
        [[1e17], [1.0], [2], [3]],
    ):
        assert bp.GaussianNB().fit(X, Y).class_count_.tolist() == [2.0, 2.0]


def test_columns_of_a_numbered_frame_keep_their_types() -> None:
    frame = pd.DataFrame({0: [1, 2, 3, 4], 1: [0.5, 1.5, 2.5, 4.5]})
    with pytest.raises(ValueError, match=r"integer columns may hold counts, codes or measurements.*'x0'"):
        bp.MixedNB().fit(frame, Y)
    clf = bp.MixedNB(integers="poisson").fit(frame, Y)
    assert not hasattr(clf, "feature_names_in_")
    np.testing.assert_array_equal(
        clf.predict_proba(frame), bp.MixedNB(integers="poisson").fit(frame.add_prefix("x"), Y).predict_proba(frame)
    )


CATEGORIES = ["small", "large", "huge"]
WITH_CATEGORIES: dict[str, Any] = {
    "pandas": lambda cells: pd.DataFrame({"size": pd.Categorical(cells, categories=CATEGORIES)}),
    "pandas, ordered": lambda cells: pd.DataFrame({"size": pd.Categorical(cells, CATEGORIES, ordered=True)}),
    "polars": lambda cells: pl.DataFrame({"size": cells}, schema={"size": pl.Enum(CATEGORIES)}),
}


@pytest.mark.parametrize("kind", WITH_CATEGORIES)
@pytest.mark.parametrize("make", LEVEL_ESTIMATORS)
def test_the_categories_of_a_column_are_its_levels(kind: str, make: Any) -> None:
    frame = WITH_CATEGORIES[kind]
    clf = make().fit(frame(["small", "large", "small"]), [0, 0, 1])
    levels = clf.posterior_.model.family.outcomes
    assert levels == (("small", "large", "huge", "(unseen)"),)
    # a later batch may hold any of them
    clf.partial_fit(frame(["huge", "large"]), [0, 1])
    rows = frame(["small", "large", "small", "huge", "large"])
    declared = make(levels=[*CATEGORIES, "(unseen)"]).fit(rows, [0, 0, 1, 0, 1])
    np.testing.assert_allclose(clf.predict_proba(rows), declared.predict_proba(rows), rtol=1e-12)


def test_categories_that_are_whole_numbers_are_integers() -> None:
    frame = pd.DataFrame({"size": pd.Categorical([1.0, 2.0, 2.0, 1.0], categories=[1.0, 2.0, 3.0])})
    clf = bp.CategoricalNB().fit(frame, Y)
    assert clf.posterior_.model.coords["cell"] == ["size=1", "size=2", "size=3", "size=(unseen)"]
    np.testing.assert_array_equal(clf.predict_proba([[1], [3]]), clf.predict_proba([[1.0], [3.0]]))
