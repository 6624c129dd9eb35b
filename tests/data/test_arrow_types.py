"""Columns of pyarrow in every type: the answer of the same cells in a plain data frame, or a refusal by name."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import bayesppl as bp

Y = ["u", "v", "u", "v", "u", "v", "v", "v"]
TEXTS = ["a", "b", None, "a", "c", "b", "a", "c"]
BYTES = [None if cell is None else cell.encode() for cell in TEXTS]
LONG = [None if cell is None else cell.encode() * 16 for cell in TEXTS]
WHOLE = [3, 1, None, 2, 2, 1, 1, 3]
FRACTIONS = [None if cell is None else cell / 4 for cell in WHOLE]
TRUTHS = [True, False, None, True, True, False, False, False]
DECIMALS = [None if cell is None else decimal.Decimal(cell) / 4 for cell in WHOLE]
VIEWS = pa.DictionaryArray.from_arrays(
    pa.array([None if cell is None else "abc".index(cell) for cell in TEXTS], pa.int8()),
    pa.array(["a", "b", "c"], pa.string_view()),
)

COLUMNS = {
    "views of text": (TEXTS, pa.array(TEXTS, pa.string_view())),
    "dictionary of views": (TEXTS, VIEWS),
    "runs of text": (TEXTS, pc.run_end_encode(pa.array(TEXTS))),
    "runs of whole numbers": (WHOLE, pc.run_end_encode(pa.array(WHOLE))),
    "runs of fractions": (FRACTIONS, pc.run_end_encode(pa.array(FRACTIONS))),
    "runs of truth values": (TRUTHS, pc.run_end_encode(pa.array(TRUTHS))),
    "dictionary of decimals": (DECIMALS, pa.array(DECIMALS, pa.decimal128(9, 2)).dictionary_encode()),
    "identifiers": (LONG, pa.ExtensionArray.from_storage(pa.uuid(), pa.array(LONG, pa.binary(16)))),
}


def in_containers(column):
    table = pa.table({"k": column})
    return [table, table.to_batches()[0]]


@pytest.mark.parametrize(("cells", "column"), COLUMNS.values(), ids=COLUMNS)
def test_every_container_gives_the_answer_of_plain_cells(cells, column):
    plain = pd.DataFrame({"k": pd.Series(cells, dtype=object)})
    makers = [bp.CategoricalNB] if isinstance(cells[0], str | bytes) else [bp.CategoricalNB, bp.GaussianNB]
    for maker in makers:
        expected = maker().fit(plain, Y).predict_proba(plain)
        for X in in_containers(column):
            np.testing.assert_allclose(maker().fit(X, Y).predict_proba(X), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["runs of truth values", "runs of fractions", "views of text"])
def test_families_are_picked_as_for_plain_cells(name):
    cells, column = COLUMNS[name]
    plain = pd.DataFrame({"k": pd.Series(cells, dtype=object)})
    expected = bp.MixedNB().fit(plain, Y).predict_proba(plain)
    for X in in_containers(column):
        np.testing.assert_allclose(bp.MixedNB().fit(X, Y).predict_proba(X), expected, rtol=1e-12)


@pytest.mark.parametrize("frame", [pa.table, pl.from_arrow, lambda columns: columns.to_pandas()])
@pytest.mark.parametrize(("scale", "family"), [(0, "categorical"), (2, "gaussian")])
def test_decimals_without_places_are_whole_numbers(frame, scale, family):
    cells = [None, *(decimal.Decimal(cell) + scale / decimal.Decimal(4) for cell in [1, 2, 0, 1, 2, 0, 1])]
    table = pa.table({"k": pa.array(cells, pa.decimal128(8, scale))})
    clf = bp.MixedNB(integers="categorical").fit(frame(table), Y)
    assert list(clf.families_) == [family]


def test_infinite_decimals_are_refused_as_other_infinities():
    X = pd.DataFrame({"d": [decimal.Decimal("Infinity"), *map(decimal.Decimal, ["1.5", "2.5", "3", "1.2"])]})
    with pytest.raises(ValueError, match="column 'd' holds inf in row 0"):
        bp.MixedNB().fit(X, list("aabba"))


def test_columns_of_a_record_batch_are_found_by_name():
    table = pa.table(
        {"a": [1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 2.0, 4.0], "b": [2.0, 1.0, 1.0, 0.0, 7.0, 5.0, 3.0, 3.0]}
    )
    clf = bp.GaussianNB().fit(table, Y)
    batch = table.select(["b", "a"]).to_batches()[0]
    np.testing.assert_array_equal(clf.predict_proba(batch), clf.predict_proba(table))
    assert bp.GaussianNB().fit(batch, Y).feature_names_in_.tolist() == ["b", "a"]


def test_integers_of_a_record_batch_are_not_rounded():
    batch = pa.RecordBatch.from_pydict({"k": pa.array([2**63 + 1, None, *range(6)], pa.uint64())})
    with pytest.raises(ValueError, match="column 'k' holds the integer 9223372036854775809 in row 0"):
        bp.GaussianNB().fit(batch, Y)


def test_a_dictionary_of_dates_is_refused_with_and_without_gaps():
    dates = pd.to_datetime(["2020-01-01", "2020-01-02"] * 4).date
    for cells in (list(dates), [None, *dates[1:]]):
        column = pa.array(cells, pa.date32()).dictionary_encode()
        with pytest.raises(TypeError, match="column 'k' holds dates"):
            bp.CategoricalNB().fit(pa.table({"k": column}), Y)


def test_a_polars_column_of_nothing_is_refused_as_elsewhere():
    for X in (pl.DataFrame({"k": [None] * 8}), pa.table({"k": pa.nulls(8)}), pd.DataFrame({"k": [None] * 8})):
        with pytest.raises(ValueError, match="column 'k' holds no value at all"):
            bp.MixedNB().fit(X, Y)


@pytest.mark.parametrize(
    "labels",
    [
        pa.array(Y, pa.string_view()),
        pc.run_end_encode(pa.array(Y)),
        pa.array(Y).dictionary_encode(),
    ],
    ids=["views", "runs", "dictionary"],
)
def test_labels_in_every_type(labels):
    X = np.arange(8.0)[:, None] ** 2
    expected = bp.GaussianNB().fit(X, Y).predict_proba(X)
    for y in (labels, pa.chunked_array([labels])):
        clf = bp.GaussianNB().fit(X, y)
        assert clf.classes_.tolist() == ["u", "v"]
        np.testing.assert_array_equal(clf.predict_proba(X), expected)


def test_a_missing_label_of_an_array_is_refused():
    labels = pa.array([None, *Y[1:]]).dictionary_encode()
    for y in (labels, pc.run_end_encode(pa.array([None, *Y[1:]]))):
        with pytest.raises(ValueError, match="a missing label in row 0 is no class"):
            bp.GaussianNB().fit(np.arange(8.0)[:, None], y)
