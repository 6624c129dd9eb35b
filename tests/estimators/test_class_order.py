"""Classes: in ascending order however they come in, of one kind, and predicted as they were given."""

import datetime
from decimal import Decimal
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pymc as pm
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer, roc_auc_score

import bayesppl as bp
from bayesppl.data.labels import declared_classes, encode_labels, union

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
ROWS = [[0.0], [1.0], [4.0], [5.5]]


@pytest.mark.parametrize("classes", list(permutations(range(3))))
def test_the_order_in_which_classes_are_declared_changes_nothing(classes: tuple[int, ...]) -> None:
    named = dict(zip(NAMES.tolist(), [0.2, 0.3, 0.5], strict=True))
    learned = bp.QuadraticDiscriminantAnalysis(class_weights=[0.2, 0.3, 0.5]).fit(IRIS, NAMES[SPECIES])
    declared = bp.QuadraticDiscriminantAnalysis(class_weights=named, classes=[str(NAMES[k]) for k in classes]).fit(
        IRIS, NAMES[SPECIES]
    )
    assert declared.classes_.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(declared.predict_proba(IRIS), learned.predict_proba(IRIS))
    batches = bp.QuadraticDiscriminantAnalysis().partial_fit(IRIS, SPECIES, classes=list(classes))
    np.testing.assert_array_equal(batches.classes_, [0, 1, 2])


@pytest.mark.parametrize(
    "scorer", ["roc_auc", "roc_auc_ovr", "average_precision", "neg_log_loss", "neg_brier_score"]
)
@pytest.mark.parametrize("classes", [["bad", "good"], ["good", "bad"]])
def test_scorers_of_scikit_learn_find_the_classes(scorer: str, classes: list[str]) -> None:
    X, y = IRIS[50:, :2], np.array(["bad", "good"])[SPECIES[50:] - 1]
    if scorer == "neg_brier_score" or scorer == "average_precision":
        y, classes = np.where(y == "good", 1, 0), [int(label == "good") for label in classes]
    expected = get_scorer(scorer)(bp.GaussianNB().fit(X, y), X, y)
    assert get_scorer(scorer)(bp.GaussianNB(classes=classes).fit(X, y), X, y) == expected


def test_the_area_under_the_curve_is_that_of_the_greater_label() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 50)
    X = rng.normal(np.where(y == "yes", 3.0, 0.0))[:, None]
    clf = bp.GaussianNB(classes=["yes", "no"]).fit(X, y)
    area = roc_auc_score(y == "yes", clf.predict_proba(X)[:, 1])
    # the probability that a row of "yes" lies above one of "no"
    assert area == pytest.approx(np.mean(X[y == "yes"] > X[y == "no"].T))


def test_classes_that_come_later_take_their_place() -> None:
    clf = bp.GaussianNB().partial_fit(IRIS[50:100], SPECIES[50:100], classes=[1])
    clf.partial_fit(IRIS[100:], SPECIES[100:], classes=[2]).partial_fit(IRIS[:50], SPECIES[:50], classes=[0])
    whole = bp.GaussianNB().fit(IRIS, SPECIES)
    np.testing.assert_array_equal(clf.classes_, whole.classes_)
    np.testing.assert_allclose(clf.predict_proba(IRIS), whole.predict_proba(IRIS), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize(
    ("classes", "reason"),
    [
        ([0, 0, 1], "classes holds 0 more than once"),
        ([0, 1, 1.0], "classes holds 1.0 more than once"),
        (["a", "b", "a"], "classes holds 'a' more than once"),
        ([0, None, 1], "classes contains NaN: a missing label in row 1"),
        ([0.0, 1.0, np.nan], "classes contains NaN: a missing label in row 2"),
        (pd.Series(["a", None]), "classes contains NaN: a missing label in row 1"),
        ([0, 1, "1"], r"classes mixes labels of different types.*\(int, str\)"),
        ([False, True, 2], r"classes mixes labels of different types.*\(bool, int\)"),
        ([0, 1, 2.5], "classes holds the number 2.5"),
        ([0, 1, np.inf], "classes contains infinity"),
        ([0, 1j], "classes holds complex numbers"),
        (np.array([0, 1j], dtype=object), "classes mixes labels"),
        ({0, 1}, r"a sequence of labels, such as \[0, 1\], found \{0, 1\}"),
        ("ab", "a sequence of labels, such as .* found 'ab'"),
        ([[0], [1]], "a sequence of labels"),
    ],
    ids=str,
)
def test_what_is_no_list_of_classes_is_refused(classes: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        bp.GaussianNB(classes=classes).fit(ROWS, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=reason):
        bp.GaussianNB().partial_fit(ROWS, [0, 0, 1, 1], classes=classes)
    clf = bp.GaussianNB().fit(ROWS, [0, 0, 1, 1])
    before = dict(vars(clf))
    with pytest.raises(ValueError, match=reason):
        clf.partial_fit(ROWS, [0, 0, 1, 1], classes=classes)
    assert vars(clf) == before


def test_labels_of_another_type_than_the_classes_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"label '0' is not among the declared classes 0, 1; .*convert the labels"
    ):
        bp.GaussianNB(classes=[0, 1]).fit(ROWS, list("0011"))
    clf = bp.GaussianNB().fit(ROWS, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"classes mixes labels of different types.*\(int, str\)"):
        clf.partial_fit(ROWS, ["a"] * 4, classes=["a"])
    text = bp.GaussianNB().fit(ROWS, ["0", "0", "1", "1"])
    with pytest.raises(ValueError, match=r"classes mixes labels of different types.*\(int, str\)"):
        clf.merge(text)
    assert clf.predict(ROWS).dtype.kind == "i"


@pytest.mark.parametrize("kind", [datetime.date.fromisoformat, np.datetime64, pd.Period, Decimal])
def test_fits_of_labels_that_cannot_be_stored_are_merged(kind: Any) -> None:
    labels = [kind("2020-01-01"), kind("2021-01-01")] if kind is not Decimal else [Decimal(1), Decimal("1.5")]
    y = [labels[0], labels[1]] * 2
    merged = bp.GaussianNB().fit(ROWS, y) + bp.GaussianNB().fit(ROWS, y)
    assert merged.class_count_.tolist() == [4.0, 4.0]
    assert merged.predict(ROWS[:1])[0] in y


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_labels_that_are_times_of_any_unit_are_merged(unit: str, kind: str) -> None:
    first, second, third = np.array([0, 86400, 172800], dtype=f"{kind}[s]").astype(f"{kind}[{unit}]")
    one, other = bp.GaussianNB().fit(ROWS, [first, second] * 2), bp.GaussianNB().fit(ROWS, [first, third] * 2)
    merged = one + other
    assert merged.classes_.dtype == one.classes_.dtype
    assert (merged.classes_ == np.array([first, second, third])).all()
    assert one.suspicious_rows()["label"].dtype.kind != "i"


@pytest.mark.parametrize("read", [pd.Series, pd.array, pd.Index, lambda y: pl.from_pandas(pd.Series(y))])
def test_labels_that_are_times_of_a_zone_keep_it(read: Any) -> None:
    y = pd.to_datetime(["2020-01-01", "2021-06-01"] * 2).tz_localize("Europe/Berlin")
    clf = bp.GaussianNB().fit([[0.0], [9.0], [1.0], [8.0]], read(y))
    assert clf.predict([[0.0], [9.0]]).tolist() == list(y[:2])


def test_times_on_both_sides_of_a_clock_that_is_set_back_are_two_classes() -> None:
    y = pd.to_datetime(["2020-10-25T00:30", "2020-10-25T01:30"] * 2, utc=True).tz_convert("Europe/Berlin")
    for given in (pd.Series(y), pl.from_pandas(pd.Series(y))):
        assert bp.GaussianNB().fit(ROWS, given).class_count_.tolist() == [2.0, 2.0]


def test_labels_of_single_nanoseconds_are_kept() -> None:
    y = np.array(["2020-01-01T10:00", "2020-06-01T11:30:00.000000001"] * 2, dtype="M8[ns]")
    clf = bp.GaussianNB().fit(ROWS, y)
    assert clf.forget(ROWS[:1], y[:1]).class_count_.tolist() == [1.0, 2.0]
    assert (clf + bp.GaussianNB().fit(ROWS, y)).class_count_.tolist() == [3.0, 4.0]


LABELS: dict[str, Any] = {
    **{dtype: np.array([7, 3, 7, 3], dtype) for dtype in ("int8", "uint8", "int16", "int64", "uint64", "float32")},
    "beyond floats": np.array([2**53, 2**53 + 1] * 2),
    "beyond int64": np.array([2**64 - 1, 2**64 - 2] * 2, dtype=np.uint64),
    "bool": np.array([True, False] * 2),
    "text": np.array(["no", "perhaps"] * 2),
    "objects": np.array(["no", "perhaps"] * 2, dtype=object),
}


@pytest.mark.parametrize("kind", LABELS)
def test_predicted_labels_are_of_the_type_of_the_given_ones(kind: str) -> None:
    y = LABELS[kind]
    clf = bp.GaussianNB().fit([[0.0], [9.0], [1.0], [8.0]], y)
    found = clf.predict([[0.5], [8.5]])
    assert found.dtype == y.dtype
    assert found.tolist() == y[:2].tolist()
    later = clf.partial_fit([[0.0]], y[:1], classes=y[::-1][:1]).predict([[0.5], [8.5]])
    assert later.dtype == y.dtype
    assert later.tolist() == y[:2].tolist()


@pytest.mark.parametrize(
    "make",
    [
        list,
        lambda y: np.array(y, dtype=object),
        lambda y: pd.Series(y, dtype="Int64"),
        lambda y: pd.Series(y, dtype="int64[pyarrow]"),
        pl.Series,
    ],
    ids=["list", "objects", "pandas, nullable", "pandas, pyarrow", "polars"],
)
def test_large_integers_are_labels_to_the_last_digit(make: Any) -> None:
    y = [2**53, 2**53 + 1, -(2**60) - 1, -(2**60)]
    classes, codes = encode_labels(make(y))
    assert classes.tolist() == sorted(y)
    assert classes[codes].tolist() == y
    assert encode_labels(make(y), y)[0].tolist() == sorted(y)


def test_integers_that_no_numpy_type_holds_together_are_labels() -> None:
    for y in ([2**63, -1], [2**70, 2**70 + 1], [2**53 + 1, 2.0**53]):
        classes, codes = encode_labels(y)
        assert classes.tolist() == sorted(y)
        assert classes[codes].tolist() == y


@pytest.mark.parametrize("y", [np.array([1j, 2]), [1j, 2], np.array([1j, 2], dtype=object)], ids=str)
def test_complex_labels_are_refused(y: Any) -> None:
    with pytest.raises(ValueError, match="Unknown label type: y"):
        bp.GaussianNB().fit([[0.0], [1.0]], y)


@pytest.mark.parametrize(
    ("known", "further", "expected"),
    [
        (np.array([2, 5], np.int8), [3], np.array([2, 3, 5], np.int8)),
        (np.array([2, 5], np.int8), [300], np.array([2, 5, 300])),
        (np.array([2, 5]), [2**70], np.array([2, 5, 2**70], dtype=object)),
        (np.array([0.0, 1.0], np.float32), [2], np.array([0, 1, 2], np.float32)),
        (np.array(["a", "c"], dtype=object), ["b"], np.array(["a", "b", "c"], dtype=object)),
        (np.array(["a", "c"]), ["bb"], np.array(["a", "bb", "c"])),
        (np.array([False, True]), [0, 1], np.array([False, True])),
    ],
    ids=str,
)
def test_the_classes_known_and_further_ones(known: Any, further: Any, expected: Any) -> None:
    found = union(known, further)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


def test_classes_may_come_in_any_sequence() -> None:
    for classes in ((2, 0, 1), range(3), np.array([1, 2, 0]), pd.Index([2, 1, 0]), pl.Series([1, 0, 2])):
        assert declared_classes(classes).tolist() == [0, 1, 2]


def test_a_single_class_is_one_if_it_is_declared() -> None:
    with pytest.raises(ValueError, match=r"one class only, 'a'.* this one alone"):
        bp.GaussianNB().fit(ROWS, ["a"] * 4)
    clf = bp.GaussianNB(classes=["a"]).fit(ROWS, ["a"] * 4)
    np.testing.assert_array_equal(clf.predict_proba(ROWS), np.ones((4, 1)))
    assert clf.predict(ROWS).tolist() == ["a"] * 4
    # the density of the only class is that of the same class beside another
    two = bp.GaussianNB(bp.NormalInverseGamma(1.0, 1.0, 2.0, 2.0), classes=["a", "b"]).fit(ROWS, ["a"] * 4)
    one = bp.GaussianNB(bp.NormalInverseGamma(1.0, 1.0, 2.0, 2.0), classes=["a"]).fit(ROWS, ["a"] * 4)
    np.testing.assert_allclose(
        one.predict_joint_log_proba(ROWS)[:, 0],
        two.predict_joint_log_proba(ROWS)[:, 0] - np.log(two.posterior_.mean()["class_weights"][0]),
        rtol=1e-12,
    )


def test_classes_of_a_model_in_pymc_may_come_in_any_order() -> None:
    rng = np.random.default_rng(0)
    labels = np.array(["low", "medium", "high"])  # as the coords of the model have them
    codes = rng.integers(0, 3, 60)
    x = rng.normal(3.0 * codes)
    with pm.Model(coords={"level": labels}) as model:
        weights = pm.Dirichlet("weights", np.ones(3), dims="level")
        label = pm.Categorical("y", weights, observed=codes)
        tau = pm.Gamma("tau", 2.0, 0.5, dims="level")
        mu = pm.Normal("mu", 1.0, tau=0.1 * tau, dims="level")
        pm.Normal("x", mu[label], tau=tau[label], observed=x)
    read, X, y = bp.from_pymc(model), x[:, None], labels[codes]
    sorted_ones = bp.GaussianNB(bp.NormalInverseGamma(1.0, 0.1, 2.0, 0.5)).fit(X, y)
    np.testing.assert_array_equal(read.classes_, sorted_ones.classes_)
    np.testing.assert_allclose(read.predict_proba(X), sorted_ones.predict_proba(X), rtol=1e-9)
    for part in ("ece", "resolution", "reliability"):
        found, expected = (float(bp.reliability(clf, X, y)[part]) for clf in (read, sorted_ones))
        assert found == pytest.approx(expected, rel=1e-9)
    for code, name in enumerate(labels):
        drawn, given = read.sample(500, y=name, random_state=0)
        assert set(given.tolist()) == {name}
        assert abs(np.mean(drawn) - 3.0 * code) < 0.6


def test_columns_of_a_model_in_pymc_are_found_by_the_names_in_its_coords() -> None:
    X, y = pd.DataFrame(IRIS[:, :3], columns=["length", "width", "petal"]), SPECIES
    with pm.Model(coords={"species": NAMES, "feature": X.columns}) as model:
        label = pm.Categorical("y", np.ones(3) / 3, observed=y)
        tau = pm.Gamma("tau", 2.0, 0.5, dims=("species", "feature"))
        mu = pm.Normal("mu", 4.0, tau=0.1 * tau, dims=("species", "feature"))
        pm.Normal("x", mu[label], tau=tau[label], observed=X)  # without dims, whose coords would be its names
    clf = bp.from_pymc(model)
    expected = clf.predict_proba(X.to_numpy())
    np.testing.assert_array_equal(clf.predict_proba(X), expected)
    np.testing.assert_array_equal(clf.predict_proba(X[["petal", "length", "width"]]), expected)
    other_names = X.set_axis(["a", "b", "c"], axis=1)
    with pytest.raises(ValueError, match=r"unknown column 'a'; the fit had \['length', 'width', 'petal'\]"):
        clf.predict_proba(other_names)


@pytest.mark.parametrize(
    "column", [lambda y: pd.Series(y, dtype="Int64"), lambda y: pd.array(y, dtype="Int64"), lambda y: pl.Series(y)]
)
def test_whole_numbers_beside_missing_labels_stay_whole(column):
    y = [2**53, 2**53 + 1, 2**53, 2**53 + 1, None]
    clf = bp.GaussianNB(unlabelled="drop").fit([[0.0], [5.0], [0.1], [5.1], [2.0]], column(y))
    assert clf.classes_.tolist() == [2**53, 2**53 + 1]


def test_days_are_named_as_the_classes_of_the_fit_are() -> None:
    days = [datetime.date(2024, 1, 1), datetime.date(2025, 1, 1)]
    clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.0]], pl.Series([days[0], days[0], days[1], days[1]]))
    named = [dict(zip(names, (0.2, 0.8), strict=True)) for names in (days, clf.classes_)]
    for weights in (*named, pd.Series([0.2, 0.8], index=clf.classes_)):
        np.testing.assert_array_equal(
            clf.predict_proba([[2.4]], class_weights=weights), clf.predict_proba([[2.4]], class_weights=[0.2, 0.8])
        )
    marked = bp.GaussianNB(unlabelled="drop", unlabelled_label=pd.Timestamp(days[0]), classes=days[1:])
    assert marked.fit([[0.0], [1.0]], np.array(days, dtype="M8[D]")).class_count_.tolist() == [1.0]
    loss = pd.DataFrame([[0, 1], [99, 0]], index=clf.classes_, columns=clf.classes_)
    assert clf.decide([[1.5]], loss=loss).tolist() == days[1:]
    with pytest.raises(ValueError, match=r"class_weights must name every class once: missing .*2024"):
        clf.predict_proba([[2.4]], class_weights={np.datetime64("2023-01-01"): 0.2, days[1]: 0.8})


def test_classes_that_are_declared_after_a_fit_join_those_known() -> None:
    clf = bp.GaussianNB(classes=["a", "b"]).fit(ROWS, ["a", "b"] * 2)
    with pytest.raises(ValueError, match="label 'c' is not among the declared classes"):
        clf.partial_fit(ROWS[:1], ["c"])
    clf.set_params(classes=["a", "b", "c"]).partial_fit(ROWS[:1], ["c"])
    assert clf.class_count_.tolist() == [2.0, 2.0, 1.0]
