"""The input edge: every kind of table holds the same rows, and names lead the columns home."""

from collections import namedtuple
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import xarray as xr
from sklearn.base import clone

import bayesppl as bp
from bayesppl.data.labels import encode_labels
from bayesppl.data.read_table import as_table

NAMES = ["length", "width", "depth"]
NUMBERS = np.random.default_rng(0).normal([0.0, 5.0, -3.0], size=(30, 3))
LABELS = ["thick", "thin"] * 15

FROM_FRAME: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "pandas, nullable": lambda frame: frame.astype("Float64"),
    "pandas, pyarrow dtypes": lambda frame: frame.astype("float64[pyarrow]"),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "xarray": lambda frame: xr.DataArray(frame, dims=("row", "feature")),
    "mapping of columns": lambda frame: frame.to_dict("list"),
    "records": lambda frame: frame.to_dict("records"),
    "records, each in an order of its own": lambda frame: tuple(
        dict(list(row.items())[:: (-1) ** i]) for i, row in enumerate(frame.to_dict("records"))
    ),
    "named tuples": lambda frame: list(frame.itertuples(index=False)),
    "structs of polars": lambda frame: pl.from_pandas(frame).to_struct("row"),
    "rows of pandas": lambda frame: [row for _, row in frame.iterrows()],
}
NAMED: dict[str, Callable[[np.ndarray], Any]] = {
    kind: lambda X, convert=convert: convert(pd.DataFrame(X, columns=NAMES))
    for kind, convert in FROM_FRAME.items()
}
UNNAMED: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy": lambda X: X,
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "xarray without names": lambda X: xr.DataArray(X, dims=("row", "feature")),
    "numbered pandas": lambda X: pd.DataFrame(X),
    "masked": lambda X: np.ma.masked_array(X, mask=False),
}


@pytest.mark.parametrize("kind", [*NAMED, *UNNAMED])
def test_every_kind_of_table_gives_the_same_fit(kind: str) -> None:
    table = {**NAMED, **UNNAMED}[kind](NUMBERS)
    clf = bp.QuadraticDiscriminantAnalysis().fit(table, LABELS)
    by_array = bp.QuadraticDiscriminantAnalysis().fit(NUMBERS, LABELS)
    np.testing.assert_array_equal(clf.predict_log_proba(table), by_array.predict_log_proba(NUMBERS))
    assert clf.n_features_in_ == 3
    names = NAMES if kind in NAMED else ["x0", "x1", "x2"]
    assert hasattr(clf, "feature_names_in_") == (kind in NAMED)
    estimates = clf.estimates()
    assert estimates["mean"].coords["feature"].values.tolist() == names
    assert estimates["mean"].coords["class"].values.tolist() == ["thick", "thin"]


@pytest.mark.parametrize(
    ("fit_kind", "predict_kind"),
    # every kind beside pandas, which all others are made of, and beside the next one
    sorted(
        {(kind, other) for kind, after in pairwise([*NAMED, *NAMED]) for other in ("pandas", after)}
        | {("pandas", kind) for kind in NAMED}
    ),
)
def test_columns_are_found_by_name_in_any_order(fit_kind: str, predict_kind: str) -> None:
    clf = bp.GaussianNB().fit(NAMED[fit_kind](NUMBERS), LABELS)
    permuted = NAMED["pandas"](NUMBERS)[["depth", "length", "width"]]
    other = FROM_FRAME[predict_kind](permuted)
    np.testing.assert_allclose(clf.predict_proba(other), clf.predict_proba(NUMBERS), rtol=1e-12)
    np.testing.assert_array_equal(clf.partial_fit(other, LABELS).class_count_, [30.0, 30.0])


@pytest.mark.parametrize("kind", NAMED)
def test_missing_and_surplus_columns_are_refused_by_name(kind: str) -> None:
    clf = bp.GaussianNB().fit(NAMED[kind](NUMBERS), LABELS)
    frame = NAMED["pandas"](NUMBERS)
    for method in (clf.predict, clf.predict_proba, lambda X: clf.partial_fit(X, LABELS)):
        with pytest.raises(ValueError, match="missing column 'width'"):
            method(frame[["length", "depth"]])
        with pytest.raises(ValueError, match="unknown column 'height'"):
            method(frame.assign(height=1.0))
        with pytest.raises(ValueError, match="X has 2 features, but GaussianNB is expecting 3"):
            method(NUMBERS[:, :2])


def test_a_fit_without_names_goes_by_position() -> None:
    clf = bp.GaussianNB().fit(NUMBERS, LABELS)
    np.testing.assert_array_equal(clf.predict_proba(NAMED["polars"](NUMBERS)), clf.predict_proba(NUMBERS))
    assert not hasattr(clf.fit(NAMED["pandas"](NUMBERS), LABELS).fit(NUMBERS, LABELS), "feature_names_in_")


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_every_sparse_layout(layout: str, container: Callable[[np.ndarray], Any]) -> None:
    binary = (NUMBERS > 0).astype(float)
    sparse = container(binary).asformat(layout)
    clf = bp.BernoulliNB().fit(sparse, LABELS)
    np.testing.assert_allclose(
        clf.predict_log_proba(sparse), bp.BernoulliNB().fit(binary, LABELS).predict_log_proba(binary), rtol=1e-12
    )


def test_sparse_is_refused_where_every_cell_counts() -> None:
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        bp.GaussianNB().fit(sp.csr_array(NUMBERS), LABELS)


def test_missing_cells_are_missing_in_every_table() -> None:
    holes = NUMBERS.copy()
    holes[::7, 1] = np.nan
    expected = bp.GaussianNB().fit(holes, LABELS).predict_proba(holes)
    frame = pd.DataFrame(holes, columns=NAMES)
    tables = [
        frame.convert_dtypes(),
        frame.astype(object).where(frame.notna(), None),
        frame.astype(object).where(frame.notna(), pd.NA),
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        np.ma.masked_array(np.nan_to_num(holes, nan=9.9), mask=np.isnan(holes)),
        xr.DataArray(holes, dims=("row", "feature")),
    ]
    for table in tables:
        np.testing.assert_allclose(bp.GaussianNB().fit(table, LABELS).predict_proba(table), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (NUMBERS[:, 0], "Expected 2D array, got 1D array"),
        (3.0, "Expected 2D array, got 0D"),
        (["free prize", "see you", "call"], "got texts instead.*CountVectorizer"),
        (pd.Series(["free prize", "see you", "call"]), "got texts instead.*CountVectorizer"),
        (
            pd.Series({"colour": "red", "size": 2.0}),
            r"series of texts and numbers .* single row, .* X.iloc\[\[0\]\]",
        ),
        ([1.0, "red"], "got a list or series of texts and numbers"),
        ([[1, 2], [3, [4]]], "found a list or an array in a cell"),
        (np.zeros(3, dtype=[("a", float), ("b", int)]), "structured array"),
        (pl.LazyFrame({"a": [1.0]}), "lazy"),
        ({"a": 1.0, "b": 2.0}, "makes no table .*a list of dicts, one for each row"),
        ({"a": [1.0, 2.0], "b": [2.0]}, "columns of equal length"),
        ([{"a": 1.0, "b": 2.0}, {"a": 1.0}], "have the names 'a', 'b', found row 1 with the names 'a'; complete"),
        ([{"a": 1.0}, {"a": 1.0, "b": 2.0}], "found row 1 with the names 'a', 'b'"),
        ([{"a": 1.0}, [1.0]], "found row 1 with cells without names"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "unique"),
        (xr.DataArray([[1.0, 2.0]], dims=("row", "x"), coords={"x": ["a", "a"]}), "unique, found 'a', 'a'"),
    ],
)
def test_what_is_no_table_is_refused(table: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        as_table(table)


def test_half_named_columns_are_refused() -> None:
    with pytest.raises(TypeError, match="'a', 3"):
        as_table(pd.DataFrame({"a": [1.0], 3: [2.0]}))


@pytest.mark.parametrize(
    ("cell", "error", "reason"),
    [
        ("12", ValueError, "column 'a' holds the text '12' in row 1"),
        (1 + 2j, TypeError, "column 'a' holds"),
        ([1], TypeError, "column 'a' holds"),
        (pd.Timestamp("2020-01-01"), TypeError, "column 'a' holds"),
    ],
)
def test_cells_that_are_no_numbers_are_refused(cell: Any, error: type[Exception], reason: str) -> None:
    column = pd.Series([1.0, cell, 3.0], dtype=object)
    with pytest.raises(error, match=reason):
        bp.GaussianNB().fit(pd.DataFrame({"a": column}), [0, 1, 1])


@pytest.mark.parametrize(
    ("cells", "blamed"),
    [
        (["39.1", "40", None, "n/a", "x"], "'n/a' in row 3"),
        (["39.1", 40, 38.5, b"n/a", 39], "b'n/a' in row 3"),
        ([37, "39.1", "40", "41", "42"], "'39.1' in row 1"),
    ],
)
def test_the_text_that_is_blamed_is_the_one_that_is_no_number(cells: list[Any], blamed: str) -> None:
    with pytest.raises(ValueError, match=f"column 'a' holds the text {blamed}"):
        bp.GaussianNB().fit(pd.DataFrame({"a": pd.Series(cells, dtype=object)}), [0, 0, 1, 1, 1])


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinities_are_refused_by_name(value: float) -> None:
    frame = NAMED["pandas"](NUMBERS).copy()
    clf = bp.GaussianNB().fit(frame, LABELS)
    frame.loc[4, "width"] = value
    for method in (clf.predict, lambda X: clf.fit(X, LABELS)):
        with pytest.raises(ValueError, match=f"'width' holds {value:g} in row 4"):
            method(frame)


LABELLED: dict[str, Any] = {
    "list of text": ["b", "a", "b"],
    "fixed width": np.array(["b", "a", "b"]),
    "objects": np.array(["b", "a", "b"], dtype=object),
    "pandas": pd.Series(["b", "a", "b"]),
    "pandas categories": pd.Series(["b", "a", "b"], dtype="category"),
    "pandas strings": pd.Series(["b", "a", "b"], dtype="string"),
    "polars": pl.Series(["b", "a", "b"]),
    "polars categories": pl.Series(["b", "a", "b"], dtype=pl.Categorical),
    "polars enum": pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "z", "a"])),
    "pyarrow": pa.chunked_array([["b"], ["a", "b"]]),
    "pyarrow dictionary": pa.chunked_array([pa.array(["b", "a", "b"]).dictionary_encode()]),
    "xarray": xr.DataArray(["b", "a", "b"], dims="row"),
}


@pytest.mark.parametrize("kind", LABELLED)
def test_text_labels(kind: str) -> None:
    classes, codes = encode_labels(LABELLED[kind])
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]
    declared, codes = encode_labels(LABELLED[kind], ["c", "b", "a"])
    assert declared.tolist() == ["a", "b", "c"]
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([7, -2, 7, 5]),
        np.array([10**12, -(10**12), 10**12, 0]),
        np.array([2**64 - 1, 0, 2**64 - 1, 5], dtype=np.uint64),
        np.array([127, -128, 127, 0], dtype=np.int8),
        np.array([3.0, 1.0, 3.0, 2.0], dtype=np.float32),
        np.array([True, False, True, True]),
        pd.Series([3, 1, 3, 2], dtype="Int64"),
        pd.Series([True, False, True, True], dtype="boolean"),
        pl.Series([3, 1, 3, 2], dtype=pl.UInt8),
        np.array([3, 1, 3, 2], dtype=object),
    ],
    ids=str,
)
def test_numbers_and_truth_values_as_labels(labels: Any) -> None:
    classes, codes = encode_labels(labels)
    expected, expected_codes = np.unique(np.asarray(labels), return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, expected_codes)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([1, "a"], "different types"),
        (np.array([1, "a"], dtype=object), r"different types.*\(int, str\)"),
        ([True, 2], r"different types.*\(bool, int\)"),
        ([True, "a"], "different types"),
        (pd.MultiIndex.from_tuples([(0, 1), (1, 1)]), r"different types.*\(tuple\)"),
        ([None, "a"], "missing label in row 0"),
        (["a", np.nan], "missing label in row 1"),
        (np.array([0.0, np.nan]), "missing label in row 1"),
        (pd.Series(["a", "b", pd.NA], dtype="string"), "missing label in row 2"),
        (pl.Series([1, None]), "missing label in row 1"),
        (pd.Series(["a", None], dtype="category"), "missing label in row 1"),
        ([0.5, 1.0], "continuous"),
        (np.array([0.0, np.inf]), "infinity"),
        ([[0, 1], [1, 0]], "one label per row"),
        (["a", "b", "z"], "label 'z' is not among the declared classes"),
    ],
    ids=str,
)
def test_labels_that_are_no_classes_are_refused(labels: Any, reason: str) -> None:
    declared = ["a", "b"] if "declared" in reason else None
    with pytest.raises(ValueError, match=reason):
        encode_labels(labels, declared)


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [0, 1], [False, True], pd.Categorical(["no", "yes"])],
    ids=["text", "int", "bool", "cat"],
)
def test_labels_come_back_as_coords(labels: Any) -> None:
    values = list(labels)
    y = pd.Series(pd.Categorical(values * 15)) if isinstance(labels, pd.Categorical) else values * 15
    clf = bp.GaussianNB().fit(NUMBERS, y)
    assert clf.predict(NUMBERS).tolist() == [values[k] for k in clf.predict_proba(NUMBERS).argmax(1)]
    for result in (
        clf.estimates(),
        clf.log_evidence(),
        clf.to_datatree(draws=5, chains=1)["posterior"].to_dataset(),
    ):
        assert result.coords["class"].values.tolist() == values
        assert result.coords["feature"].values.tolist() == ["x0", "x1", "x2"]


def test_consecutive_sparse_rows_stay_in_the_memory_of_the_whole():
    X = sp.random_array((50, 8), density=0.3, format="csr", rng=np.random.default_rng(0))
    table = as_table(X)
    for rows in (slice(0, 50), slice(7, 31), slice(49, 50), slice(5, 5), slice(40, 99)):
        taken = table.take(rows).numeric()
        np.testing.assert_array_equal(taken.toarray(), X.toarray()[rows])
        assert taken.nnz == 0 or np.shares_memory(taken.data, X.data)


@pytest.mark.parametrize("kind", ["mapping of columns", "records", "named tuples", "structs of polars"])
def test_integers_beside_gaps_stay_integers_in_records(kind: str) -> None:
    y = list("aaaabbbb")
    for cells, clf in (
        ([1, 2, None, 3, 9, 8, 7, 12], bp.MixedNB(integers="poisson")),
        ([2**53, 2**53 + 1, None, 2**53 + 1, 2**53, 2**53, 2**53 + 1, 2**53], bp.CategoricalNB()),
    ):
        plain = pd.DataFrame({"v": pd.array(cells, dtype="Int64")})
        named = {
            "mapping of columns": {"v": cells},
            "records": [{"v": cell} for cell in cells],
            "named tuples": [namedtuple("Row", ["v"])(cell) for cell in cells],
            "structs of polars": pl.DataFrame({"v": cells}).to_struct("row"),
        }[kind]
        np.testing.assert_array_equal(
            clone(clf).fit(named, y).predict_proba(named), clf.fit(plain, y).predict_proba(plain)
        )


@pytest.mark.parametrize("fitted", [[0, 1, 2], [2, 0, 1]])
def test_columns_with_numbers_are_found_by_these_and_those_of_arrays_by_position(fitted: list[int]) -> None:
    frame = pd.DataFrame(NUMBERS)
    expected = bp.GaussianNB().fit(NUMBERS, LABELS).predict_proba(NUMBERS)
    clf = bp.GaussianNB().fit(frame[fitted], LABELS)
    assert hasattr(clf, "feature_names_in_") == (fitted != [0, 1, 2])
    for columns in ([0, 1, 2], [2, 0, 1], [1, 0, 2]):
        np.testing.assert_allclose(clf.predict_proba(frame[columns]), expected, rtol=1e-12)
    np.testing.assert_allclose(clf.predict_proba(frame[fitted].to_numpy()), expected, rtol=1e-12)
    by_array = bp.GaussianNB().fit(NUMBERS, LABELS)
    np.testing.assert_allclose(by_array.predict_proba(frame[fitted]), expected, rtol=1e-12)
    mixed = frame.assign(third=1).rename(columns={"third": 3}).astype({3: int})
    clf = bp.MixedNB(integers="gaussian").fit(mixed[[*fitted, 3]], LABELS)
    for columns in ([0, 1, 2, 3], [3, 2, 0, 1]):
        np.testing.assert_allclose(
            clf.predict_proba(mixed[columns]), clf.predict_proba(mixed[[*fitted, 3]]), rtol=1e-12
        )


@pytest.mark.parametrize(
    "names",
    [[2019, 2020, 2021], [0.5, 1.5, 2.5], list(pd.date_range("2020", periods=3)), [3, 0, 1], [True, False, None]],
)
def test_numbers_and_dates_that_do_not_count_are_names(names: list[Any]) -> None:
    frame = pd.DataFrame(NUMBERS, columns=names)
    clf = bp.GaussianNB().fit(frame, LABELS)
    assert clf.feature_names_in_.tolist() == list(map(str, names))
    for new in (frame[names[::-1]], frame.set_axis(list(map(str, names)), axis=1), NUMBERS):
        np.testing.assert_array_equal(clf.predict_proba(new), clf.predict_proba(frame))
    with pytest.raises(ValueError, match=f"missing column '{names[1]}'"):
        clf.predict(frame[[names[0], names[2]]])


def test_masks_of_a_list_of_rows_are_gaps() -> None:
    X, y = bp.datasets.load("iris")
    X = X.to_numpy()
    rows = np.ma.masked_less(X[50:53], 3.3)
    clf = bp.GaussianNB().fit(X, y)
    assert rows.mask.any()
    np.testing.assert_array_equal(clf.predict_proba(list(rows)), clf.predict_proba(rows))


@pytest.mark.parametrize(
    ("cells", "clf"),
    [
        ([1, 2, 5, 3, 9, 8, 7, 12], bp.MixedNB(integers="poisson")),
        ([1, 2, 5, 3, 9, 8, 7, 12], bp.GaussianNB()),
        ([2**53, 2**53 + 1] * 4, bp.CategoricalNB()),
        ([True, False, True, True, False, False, False, True], bp.MixedNB()),
        (list("aabbabbb"), bp.MixedNB()),
    ],
    ids=["counts", "numbers", "levels beyond 2^53", "truth values", "text"],
)
@pytest.mark.parametrize("masked", [[], [2]], ids=["none masked", "one masked"])
def test_cells_of_a_masked_array_keep_their_type(cells: list[Any], clf: Any, masked: list[int]) -> None:
    y = list("aaaabbbb")
    array = np.ma.masked_array(np.asarray(cells)[:, None], mask=np.isin(np.arange(8), masked)[:, None])
    records = [{"x0": None if row in masked else cell} for row, cell in enumerate(cells)]
    found = clone(clf).fit(array, y)
    expected = clone(clf).fit(records, y)
    assert type(found.fitted_.model.family) is type(expected.fitted_.model.family)
    np.testing.assert_allclose(found.predict_proba(array), expected.predict_proba(records), rtol=1e-12)
    if clf.__class__ is bp.MixedNB:
        assert list(found.fitted_.model.family.blocks) == list(expected.fitted_.model.family.blocks)


def test_truth_values_in_words_are_refused_with_what_to_write() -> None:
    clf = bp.BernoulliNB().fit(pd.DataFrame({"a": [True, False, True]}), list("uvu"))
    with pytest.raises(ValueError, match=r"the text 'False' in row 0 .*truth values by X\[name\] == 'True'"):
        clf.predict(pd.DataFrame({"a": ["False", "True"]}))
