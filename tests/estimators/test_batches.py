"""Batches and Parquet files give the posterior of all rows at once, in bounded memory."""

import datetime
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import bayesppl as bp
from bayesppl.data import lazy
from bayesppl.model.declaration import GenerativeModel


def test_files_and_lazy_rows_of_one_class_are_refused(tmp_path):
    X = pd.DataFrame({"a": np.arange(60.0)})
    X.assign(y="no").to_parquet(tmp_path / "one.parquet")
    with pytest.raises(ValueError, match="the target holds one class only, 'no'"):
        bp.GaussianNB().fit_parquet(tmp_path / "one.parquet", "y")
    assert bp.GaussianNB(classes=["no", "yes"]).fit_parquet(tmp_path / "one.parquet", "y").classes_.size == 2
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"the target holds one class only, 1\.0"):
        bp.GaussianNB().fit(da.from_array(X.to_numpy(), chunks=(30, 1)), da.from_array(np.ones(60), chunks=30))


def table(n_rows=5000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_rows)
    X = rng.standard_normal((n_rows, 4)) + y[:, None] + 1e4
    frame = pd.DataFrame(X, columns=list("abcd"))
    return frame.assign(label=np.array(["x", "y", "z"])[y], weight=rng.integers(0, 3, n_rows))


def assert_same_fit(found, expected):
    assert found.classes_.tolist() == expected.classes_.tolist()
    for parameter, value in expected.posterior_.mean().items():
        np.testing.assert_allclose(found.posterior_.mean()[parameter], value, rtol=1e-9)
    assert found.log_evidence()["total"].item() == pytest.approx(
        expected.log_evidence()["total"].item(), rel=1e-10
    )


@pytest.fixture
def files(tmp_path):
    frame = table()
    for i, start in enumerate(range(0, len(frame), 1700)):
        pq.write_table(pa.Table.from_pandas(frame[start : start + 1700]), tmp_path / f"{i}.parquet")
    return tmp_path, frame


@pytest.mark.parametrize("estimator", [bp.GaussianNB, bp.LinearDiscriminantAnalysis])
def test_batches_are_the_whole(estimator):
    frame = table()
    X, y = frame[list("abcd")], frame["label"]
    batches = ((X[i : i + 77], y[i : i + 77]) for i in range(0, len(X), 77))
    assert_same_fit(bp.fit_batches(estimator(), batches, classes=["x", "y", "z"]), estimator().fit(X, y))


def test_a_large_first_batch_is_summed_once(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20_000, 5)), np.arange(20_000) % 2
    summed, summarise = [], GenerativeModel.summarise
    monkeypatch.setattr(
        GenerativeModel, "summarise", lambda *args: summed.append(len(args[1])) or summarise(*args)
    )
    clf = bp.GaussianNB().partial_fit(X[:12_000], y[:12_000], classes=[0, 1]).partial_fit(X[12_000:], y[12_000:])
    assert summed == [12_000, 8_000]
    np.testing.assert_allclose(
        clf.predict_proba(X[:9]), bp.GaussianNB().fit(X, y).predict_proba(X[:9]), rtol=1e-10
    )


def test_batches_with_weights():
    frame = table()
    X, y, w = frame[list("abcd")], frame["label"], frame["weight"]
    batches = [(X[i::3], y[i::3], w[i::3]) for i in range(3)]
    found = bp.fit_batches(bp.GaussianNB(classes=["x", "y", "z"]), batches)
    assert_same_fit(found, bp.GaussianNB().fit(X, y, w))


def test_an_improper_prior_waits_for_enough_rows():
    frame = table(60)
    X, y = frame[list("abcd")], frame["label"]
    batches = ((X[i : i + 1], y[i : i + 1]) for i in range(60))
    found = bp.fit_batches(bp.GaussianNB("jeffreys"), batches, classes=["x", "y", "z"])
    expected = bp.GaussianNB("jeffreys").fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-6)
    with pytest.raises(bp.ImproperError):
        bp.fit_batches(bp.GaussianNB("jeffreys"), [(X[:2], y[:2])], classes=["x", "y", "z"])


def test_an_error_leaves_the_estimator_as_it_was():
    frame = table(100)
    X, y = frame[list("abcd")], frame["label"]
    clf = bp.GaussianNB().fit(X, y)
    before = clf.predict_proba(X)
    bad = X.assign(b=np.inf)
    with pytest.raises(ValueError, match="column 'b' holds inf"):
        bp.fit_batches(clf, [(X, y), (bad, y)], classes=["x", "y", "z"])
    np.testing.assert_array_equal(clf.predict_proba(X), before)


def test_what_is_learned_of_rows_is_learned_of_the_first_that_count(tmp_path):
    frame = table(200).assign(city=np.resize(["A", "B", "C"], 200))
    X, y = frame[["a", "b", "city"]], frame["label"].astype(object)
    y[:60] = None  # the newest rows, on top
    clf = bp.MixedNB(unlabelled="drop")
    expected = bp.MixedNB(unlabelled="drop").fit(X, y).predict_proba(X)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    dd = pytest.importorskip("dask.dataframe")
    lazy_rows = [dd.from_pandas(rows, npartitions=4) for rows in (X, y)]
    batches = [(X[at : at + 50], y[at : at + 50]) for at in range(0, 200, 50)]
    for fit in (
        lambda: clf.fit_parquet(tmp_path / "rows.parquet", "y"),
        lambda: clf.fit(*lazy_rows),
        lambda: bp.fit_batches(clf, batches, classes=["x", "y", "z"]),
    ):
        np.testing.assert_allclose(fit().predict_proba(X), expected, rtol=1e-9)


def test_minus_one_beside_classes_is_pointed_out_in_files_and_lazy_rows(tmp_path):
    X, y = table(60)[["a", "b"]], pd.Series(np.resize([-1, 0, 1], 60))
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    dd = pytest.importorskip("dask.dataframe")
    for fit in (
        lambda clf: clf.fit_parquet(tmp_path / "rows.parquet", "y"),
        lambda clf: clf.fit(*(dd.from_pandas(rows, npartitions=2) for rows in (X, y))),
    ):
        with pytest.warns(UserWarning, match="-1 is taken for a class, beside 0 to 1"):
            fit(bp.GaussianNB())
        assert fit(bp.GaussianNB(unlabelled="drop", unlabelled_label=-1)).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("classes", [None, ["x", "y"]])
def test_rows_without_any_label_are_refused_in_the_same_words(tmp_path, classes):
    X, y = table(40)[["a", "b"]], pd.Series([None] * 40, dtype=object)
    clf = bp.GaussianNB(unlabelled="drop", classes=classes)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    dd = pytest.importorskip("dask.dataframe")
    for fit in (
        lambda: clf.fit(X, y),
        lambda: clf.fit_parquet(tmp_path / "rows.parquet", "y"),
        lambda: clf.fit(*(dd.from_pandas(rows, npartitions=2) for rows in (X, y))),
        lambda: bp.fit_batches(clf, [(X, y)], classes=["x", "y"]),
    ):
        with pytest.raises(ValueError, match="no row has a label and a weight above zero, so there is nothing to"):
            fit()


@pytest.mark.parametrize("estimator", [bp.MixedNB, bp.TreeNB])
def test_a_stream_does_not_begin_with_a_batch_that_teaches_nothing(estimator):
    X = pd.DataFrame({"a": np.resize([0, 1, 2], 10)})
    clf = estimator(classes=["x", "y"], unlabelled="drop")
    for y, weight in (([None] * 10, None), (["x", "y"] * 5, np.zeros(10))):
        with pytest.raises(ValueError, match=r"no row has a label and a weight .* begin with a batch"):
            clf.partial_fit(X, y, sample_weight=weight)


def test_refusals_of_batches():
    with pytest.raises(ValueError, match="batches is empty"):
        bp.fit_batches(bp.GaussianNB(), [], classes=[0, 1])
    with pytest.raises(ValueError, match="classes must be passed"):
        bp.fit_batches(bp.GaussianNB(), [([[0.0]], [1])])


@pytest.mark.parametrize("source", ["folder", "files", "dataset"])
def test_parquet_is_the_frame(files, source, monkeypatch):
    folder, frame = files
    monkeypatch.setattr(lazy, "_BATCH_ROWS", 500)
    path = {
        "folder": folder,
        "files": [str(file) for file in folder.iterdir()],
        "dataset": ds.dataset(folder, format="parquet"),
    }[source]
    found = bp.GaussianNB().fit_parquet(path, "label", columns=list("abcd"))
    assert_same_fit(found, bp.GaussianNB().fit(frame[list("abcd")], frame["label"]))
    assert found.feature_names_in_.tolist() == list("abcd")


def test_labels_in_parquet_that_are_dates_are_dates(tmp_path):
    days = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)] * 3
    frame = pd.DataFrame({"u": [0.0, 5.0, 1.0, 6.0, 2.0, 7.0], "day": np.array(days, dtype=object)})
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    clf = bp.GaussianNB().fit_parquet(tmp_path / "rows.parquet", "day")
    assert clf.score(frame[["u"]], frame["day"]) == 1.0


def test_parquet_with_weights_uses_all_other_columns(files, capsys):
    folder, frame = files
    found = bp.GaussianNB().fit_parquet(folder, target="label", sample_weight="weight", progress=True)
    assert_same_fit(found, bp.GaussianNB().fit(frame[list("abcd")], frame["label"], frame["weight"]))
    assert "5000/5000" in capsys.readouterr().err


def test_an_index_of_pandas_is_a_column_if_it_has_a_name(tmp_path):
    frame = table(60)
    frame.set_index("a").to_parquet(tmp_path / "named.parquet")
    frame[frame["a"] > 1e4].to_parquet(tmp_path / "unnamed.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "unnamed.parquet").names
    for name in ("named", "unnamed"):
        found = bp.GaussianNB().fit_parquet(tmp_path / f"{name}.parquet", "label", sample_weight="weight")
        assert sorted(found.feature_names_in_) == list("abcd")


@pytest.mark.parametrize("lacking", [0, 1])
def test_parquet_files_have_the_same_columns(lacking, tmp_path):
    for i in range(2):
        columns = {"a": [0.0, 1.0, 5.0, 6.0], "b": [1.0, 2.0, 1.0, 3.0], "label": list("xxyy")}
        if i == lacking:
            del columns["b"]
        pq.write_table(pa.table(columns), tmp_path / f"{i}.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet' and the first file do not have the same columns: .*'b'"):
        bp.GaussianNB().fit_parquet(tmp_path, "label")
    chosen = ds.dataset(tmp_path, schema=pa.schema({"a": pa.float64(), "label": pa.string()}))
    assert bp.GaussianNB().fit_parquet(chosen, "label").class_count_.tolist() == [4, 4]


def test_columns_that_are_not_read_may_differ_between_parquet_files(tmp_path):
    columns = {"a": [0.0, 1.0, 5.0, 6.0], "label": list("xxyy")}
    pq.write_table(pa.table({**columns, "note": [1, 2, 3, 4]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({**columns, "note": list("pqrs"), "more": list("pqrs")}), tmp_path / "1.parquet")
    found = bp.GaussianNB().fit_parquet(tmp_path, "label", columns=["a"])
    assert found.class_count_.tolist() == [4, 4]
    with pytest.raises(ValueError, match="only one of them has 'more'"):
        bp.GaussianNB().fit_parquet(tmp_path, "label")


@pytest.mark.parametrize("clf", [bp.AutoClassifier(), bp.GaussianNB, "gaussian-nb"])
def test_what_does_not_learn_from_batches_is_refused(clf):
    with pytest.raises(TypeError, match=r"clf must be one declared classifier, .* found a value of"):
        bp.fit_batches(clf, [([[0.0], [1.0]], ["a", "b"])], classes=["a", "b"])


def test_rows_in_place_of_batches_are_refused():
    frame = table(20)
    with pytest.raises(TypeError, match=r"batches must hold \(X, y\) or .* found a value of <class 'pandas"):
        bp.fit_batches(bp.GaussianNB(), (frame[["a"]], frame["label"]), classes=list("xyz"))


def test_files_that_are_not_there_or_not_parquet_are_named(tmp_path):
    (tmp_path / "m.csv").write_text("a,label\n1,x\n")
    with pytest.raises(ValueError, match=r"m\.csv' is no Parquet file, nor a folder of them"):
        bp.GaussianNB().fit_parquet(tmp_path / "m.csv", "label")
    with pytest.raises(FileNotFoundError, match="there is no file 'nowhere'"):
        bp.GaussianNB().fit_parquet("nowhere", "label")


def test_a_single_name_in_place_of_a_list_of_columns_is_refused(files):
    with pytest.raises(TypeError, match=r"columns must be a list of names, found 'a'; write \['a'\]"):
        bp.GaussianNB().fit_parquet(files[0], "label", columns="a")


def test_a_folder_without_parquet_files_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"holds no Parquet files; give a file, or a folder that has some"):
        bp.GaussianNB().fit_parquet(tmp_path, "label")


NUMBERS = np.random.default_rng(0).normal(3.0, 1.0, 40)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (NUMBERS.astype(np.float32), NUMBERS * 1e7),
        (np.arange(40), NUMBERS),
        (np.arange(40, dtype=np.int32), np.arange(40) + 2**35),
        (np.arange(40), np.where(NUMBERS > 3, np.nan, NUMBERS)),
        (pa.nulls(40), NUMBERS),
    ],
)
def test_a_parquet_column_has_the_type_that_holds_the_cells_of_all_files(first, second, tmp_path):
    for i, cells in enumerate((first, second)):
        pq.write_table(pa.table({"a": cells, "label": ["x", "y"] * 20}), tmp_path / f"{i}.parquet")
    whole = pd.concat([pd.read_parquet(tmp_path / f"{i}.parquet") for i in range(2)])
    expected = bp.GaussianNB().fit(whole[["a"]].astype(float), whole["label"])
    assert_same_fit(bp.GaussianNB().fit_parquet(tmp_path, "label"), expected)


def test_parquet_columns_of_types_none_of_which_holds_the_other_are_refused(tmp_path):
    for i, cells in enumerate((NUMBERS > 3, np.arange(40))):
        pq.write_table(pa.table({"a": cells, "label": ["x", "y"] * 20}), tmp_path / f"{i}.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet'.* as different types: .*Field a .*bool vs int64"):
        bp.GaussianNB().fit_parquet(tmp_path, "label")


def test_parquet_folders_name_a_column(tmp_path):
    for i, region in enumerate(("north", "south")):
        folder = tmp_path / f"region={region}"
        folder.mkdir()
        pq.write_table(pa.table({"a": NUMBERS + i, "label": ["x", "y"] * 20}), folder / "part.parquet")
    found = bp.GaussianNB().fit_parquet(tmp_path, "region", columns=["a"])
    assert_same_fit(
        found, bp.GaussianNB().fit(np.r_[NUMBERS, NUMBERS + 1][:, None], np.repeat(["north", "south"], 40))
    )
    assert bp.GaussianNB().fit_parquet(folder / "part.parquet", "label").feature_names_in_.tolist() == ["a"]
    family = bp.Product(
        {
            "a": (["a"], bp.Gaussian("diag")),
            "b": (["region"], bp.Categorical(levels={"region": ["north", "south"]})),
        }
    )
    assert bp.GenerativeClassifier(family).fit_parquet(tmp_path, "label").n_features_in_ == 2


def test_refusals_of_parquet(files, tmp_path):
    folder, _ = files
    with pytest.raises(ValueError, match="missing column 'colour'"):
        bp.GaussianNB().fit_parquet(folder, "colour")
    with pytest.raises(ValueError, match="'label' is named more than once among target"):
        bp.GaussianNB().fit_parquet(folder, "label", columns=["a", "label"])
    empty = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.float64()), "label": pa.array([], pa.string())}), empty)
    with pytest.raises(ValueError, match="no row has a label"):
        bp.GaussianNB().fit_parquet(empty, "label")


def test_memory_does_not_grow_with_the_files(tmp_path):
    rng = np.random.default_rng(0)
    peaks = []
    for n_rows in (200_000, 600_000):
        columns = {f"x{j}": rng.standard_normal(n_rows) for j in range(10)}
        file = tmp_path / f"{n_rows}.parquet"
        pq.write_table(pa.table({**columns, "y": rng.integers(2, size=n_rows)}), file, row_group_size=50_000)
        tracemalloc.start()
        try:
            bp.GaussianNB().fit_parquet(file, "y")
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert max(peaks) < 32 * 2**20
    assert peaks[1] < 1.1 * peaks[0] + 2**20
