"""What the caller does to an array after ``fit`` changes no answer in silence, whatever the container."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.files.saving import read_provenance

X, Y = (array[::5] for array in load_iris(return_X_y=True))
COUNTS = np.rint(X)
NAMES = list("abcd")


def scale(array):
    array *= 100


def swap_columns(array):
    array[:] = array[:, ::-1].copy()


def sort(array):
    array.sort(axis=0)


def touch_one_cell(array):
    array[17, 2] += 1e-9


def spoil(array):
    array[3, 1] = np.nan


ARRAY_CHANGES = [scale, swap_columns, sort, touch_one_cell, spoil]


def by_entries(matrix):
    matrix.data *= 100


def by_places(matrix):
    matrix.indices[:] = matrix.indices[::-1].copy()


def by_item(frame):
    frame.iloc[:, 0] = 0.0


def by_column(frame):
    frame["b"] = frame["b"] * 100


def of(make, *changes):
    return [pytest.param(make, change, id=f"{make.__name__}-{change.__name__}") for change in changes]


# containers (made of the array that the caller keeps) and what changes in them or beneath them
def c_order(array):
    return array, array


def fortran_order(array):
    array = np.asfortranarray(array)
    return array, array


def every_other_column(array):
    wide = np.repeat(array, 2, axis=1)
    return wide[:, ::2], wide[:, ::2]


def view(array):
    return array[:], array


def data_array(array):
    return xr.DataArray(array, dims=("row", "column"), coords={"column": NAMES}), array


def masked(array):
    masked = np.ma.masked_array(array, mask=array > 7.6)
    return masked, masked.data


def objects(array):
    array = array.astype(object)
    return array, array


def pandas_frame(array):
    frame = pd.DataFrame(array, columns=NAMES)
    return frame, frame


def pandas_frame_on_an_array(array):
    return pd.DataFrame(array, columns=NAMES, copy=False), array


def polars_frame_on_an_array(array):
    return pl.DataFrame({name: array[:, j] for j, name in enumerate(NAMES)}), array


def arrow_table_on_an_array(array):
    array = np.asfortranarray(array)  # arrow takes contiguous columns as they are
    return pa.table({name: pa.array(array[:, j]) for j, name in enumerate(NAMES)}), array


def csr(array):
    return (csr_array(array),) * 2


def old_csr(array):
    return (csr_matrix(array),) * 2


def csc(array):
    return (csc_array(array),) * 2


def coo(array):
    return (coo_array(array),) * 2


DENSE = [
    *of(c_order, *ARRAY_CHANGES),
    *of(fortran_order, scale),
    *of(every_other_column, scale),
    *of(view, scale),
    *of(data_array, scale, swap_columns),
    *of(masked, scale),
    *of(objects, scale),
    *of(pandas_frame, by_item, by_column),
    *of(pandas_frame_on_an_array, scale),
    *of(polars_frame_on_an_array, scale),
    *of(arrow_table_on_an_array, scale),
]
SPARSE = [*of(csr, by_entries, by_places), *of(old_csr, by_entries), *of(csc, by_entries), *of(coo, by_entries)]
CASES = [pytest.param(bp.GaussianNB(), X, *case.values, id=f"numbers-{case.id}") for case in DENSE]
CASES += [pytest.param(bp.MultinomialNB(), COUNTS, *case.values, id=f"counts-{case.id}") for case in SPARSE]


def tree_of(clf):
    tree = clf.to_datatree(
        draws=5, chains=1, random_state=1, groups=["observed_data", "log_likelihood"], log_likelihood="x"
    )
    return np.concatenate([tree["observed_data"]["x"].values.ravel(), tree["log_likelihood"]["x"].values.ravel()])


ANSWERS = {
    "loo": lambda clf: clf.loo().log_joint,
    "plug-in loo": lambda clf: clf.loo(rule="mean").log_joint,
    "tree": tree_of,
}


def data_hash(clf):
    return clf.provenance()["data_hash"]


@pytest.mark.parametrize(("clf", "numbers", "make", "change"), CASES)
def test_small_tables_are_copied(clf, numbers, make, change):
    rows, _ = make(numbers.copy())
    expected = {name: answer(clone(clf).fit(rows, Y)) for name, answer in ANSWERS.items()}
    hashed = data_hash(clone(clf).fit(rows, Y))
    rows, beneath = make(numbers.copy())
    fitted = clone(clf).fit(rows, Y)
    change(beneath)
    for name, answer in ANSWERS.items():
        np.testing.assert_array_equal(answer(fitted), expected[name], err_msg=name)
    assert data_hash(fitted) == hashed
    assert not hashed.startswith("unknown")


@pytest.mark.parametrize(("clf", "numbers", "make", "change"), CASES)
def test_changes_of_large_tables_are_refused_or_without_effect(clf, numbers, make, change, monkeypatch):
    monkeypatch.setattr("bayesppl.data.rows._MOST_COPIED", 0)
    rows, beneath = make(numbers.copy())
    fitted = clone(clf).fit(rows, Y)
    expected = {name: answer(fitted) for name, answer in ANSWERS.items()}
    fitted = clone(clf).fit(rows, Y)  # has answered nothing yet
    hashed = data_hash(clone(clf).fit(rows, Y))
    predicted = fitted.predict_log_proba(numbers)
    change(beneath)
    for name, answer in ANSWERS.items():
        try:
            found = answer(fitted)
        except bp.ChangedRowsError:
            continue
        np.testing.assert_array_equal(found, expected[name], err_msg=name)
    assert data_hash(fitted) in (hashed, "unknown, the rows were changed after the fit")
    np.testing.assert_array_equal(fitted.predict_log_proba(numbers), predicted)


@pytest.fixture
def large():
    """A fit whose rows are too many to be copied, and its array."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40_000, 4))
    labels = (rows[:, 0] + rng.normal(size=40_000) > 0).astype(int)
    return bp.GaussianNB().fit(rows, labels), rows, labels


def test_a_large_array_is_not_copied_and_its_changes_are_refused(large, tmp_path):
    clf, rows, labels = large
    assert np.shares_memory(clf.fitted_.rows.table.numeric(), rows)
    expected = clf.loo().log_joint
    kept = rows.copy()
    rows[39_999, 3] += 1e-6
    for question in (clf.loo, clf.to_pymc, lambda: clf.to_datatree(groups=["observed_data"])):
        with pytest.raises(bp.ChangedRowsError, match="rows given to fit have been changed in place"):
            question()
    tree = clf.to_datatree(draws=2, chains=1, groups="all")
    assert "observed_data: the rows given to fit have been changed" in tree.attrs["left_out"]
    assert tree.attrs["data_hash"] == "unknown, the rows were changed after the fit"
    clf.save(tmp_path / "model.nc")  # nothing fitted is lost
    assert read_provenance(tmp_path / "model.nc")["data_hash"] == "unknown, the rows were changed after the fit"
    np.testing.assert_array_equal(bp.load(tmp_path / "model.nc").predict_proba(kept), clf.predict_proba(kept))
    # the rows as they were, passed again or put back
    np.testing.assert_array_equal(clf.loo(kept, labels).log_joint, expected)
    rows[:] = kept
    np.testing.assert_array_equal(clf.loo().log_joint, expected)
    assert not clf.provenance()["data_hash"].startswith("unknown")


def test_a_hash_that_was_taken_before_the_change_stays(large):
    clf, rows, _ = large
    hashed = clf.provenance()["data_hash"]
    rows *= 2
    assert clf.provenance()["data_hash"] == hashed


def test_models_are_compared_on_rows_as_they_are(large):
    _, rows, labels = large
    table = bp.compare_models({"naive": bp.GaussianNB(), "tied": bp.LinearDiscriminantAnalysis()}, rows, labels)
    assert np.isfinite(table["elpd"]).all()


@pytest.mark.parametrize("most_copied", [0, 1 << 17])
def test_labels_and_weights_are_copied(most_copied, monkeypatch):
    monkeypatch.setattr("bayesppl.data.rows._MOST_COPIED", most_copied)
    labels, weights = Y.copy(), np.random.default_rng(0).gamma(1.0, size=len(Y))
    clf = bp.GaussianNB(classes=[0, 1, 2]).fit(X, labels, weights)
    expected = clf.loo().log_joint
    hashed = clf.provenance()["data_hash"]
    clf = bp.GaussianNB(classes=[0, 1, 2]).fit(X, labels, weights)
    labels[:] = 0
    weights[:] = weights[::-1].copy()
    np.testing.assert_array_equal(clf.loo().log_joint, expected)
    assert clf.provenance()["data_hash"] == hashed


def test_a_declared_prior_is_copied():
    location, weights = np.full(4, 4.0), np.array([0.2, 0.3, 0.5])
    clf = bp.GaussianNB(bp.NormalInverseGamma(location, 0.5, 2.0, 1.0), class_weights=weights).fit(X, Y)
    expected = clf.loo().log_joint, clf.log_evidence()["total"]
    location += 100
    weights[:] = [1, 0, 0]
    np.testing.assert_array_equal(clf.loo().log_joint, expected[0])
    assert clf.log_evidence()["total"] == expected[1]


def test_duplicates_of_a_sparse_matrix_stay_as_they_are() -> None:
    pairs = np.repeat(np.arange(40) % 3, 2), np.arange(0, 81, 2)
    X, y = csr_matrix((np.ones(80), *pairs), shape=(40, 3)), np.arange(40) % 2
    clf = bp.AutoClassifier().fit(X, y)
    assert clf.predict_proba(X).shape == (40, 2)
    assert X.nnz == 80


@pytest.mark.parametrize("options", [{"unlabelled": "drop"}, *({"inference": how} for how in ("em", "gibbs"))])
def test_a_refused_cell_is_named_with_its_row_whatever_rows_lack_a_label(options: dict[str, str]) -> None:
    X, labels = np.ones((12, 2)), ["a", "b"] * 6
    labels[:3], labels[8] = [None] * 3, None
    weights = np.where(np.arange(12) == 4, 0.0, 1.0)
    for row in [7, 10] if options.get("unlabelled") == "drop" else [1, 7, 8, 10]:
        X[row, 1] = -1.0
        clf = bp.PoissonNB(**{"unlabelled": "learn", **options})
        for given in (None, weights):
            with pytest.raises(ValueError, match=f"column 'x1' holds -1 in row {row},"):
                clf.fit(X, labels, given)
        X[row, 1] = 1.0
