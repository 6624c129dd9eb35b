"""Columns of pyarrow that hold places in a dictionary: a missing cell is missing, not the last level."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesppl as bp
from bayesppl.data.read_table import as_table

CELLS = {
    "text": ["a", None, "c", "a", "c", None],
    "whole numbers": [5, None, 7, 5, 5, None],
    "fractions": [0.5, None, 7.0, 7.0, 0.5, None],
}
Y = ["u", "u", "u", "v", "v", "v"]


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
def test_missing_cells_stay_missing(cells):
    parts = pa.chunked_array([pa.array(cells[:3]).dictionary_encode(), pa.array(cells[3:]).dictionary_encode()])
    for table in (pa.table({"k": parts}), pa.table({"k": parts}).to_pandas(types_mapper=pd.ArrowDtype)):
        found = as_table(table).column("k").tolist()
        assert [None if pd.isna(cell) else cell for cell in found] == cells
        clf = bp.CategoricalNB().fit(table, Y)
        same = bp.CategoricalNB().fit(pd.DataFrame({"k": pd.Series(cells, dtype=object)}), Y)
        np.testing.assert_array_equal(clf.predict_proba(table), same.predict_proba(table))


def test_numbers_of_a_dictionary_have_gaps():
    table = pa.table({"k": pa.array(CELLS["fractions"]).dictionary_encode()})
    np.testing.assert_array_equal(as_table(table).numeric()[:, 0], [0.5, np.nan, 7.0, 7.0, 0.5, np.nan])


def test_a_missing_label_of_a_dictionary_is_refused():
    labels = pa.chunked_array([pa.array(["u", None, "v", "v"]).dictionary_encode()])
    with pytest.raises(ValueError, match="a missing label in row 1 is no class"):
        bp.GaussianNB().fit([[0.0], [1.0], [2.0], [3.5]], labels)


def test_categories_with_gaps_come_back_from_parquet(tmp_path):
    frame = pd.DataFrame({"k": pd.Categorical(CELLS["text"]), "size": np.arange(6.0) ** 2, "y": Y})
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet")
    found = bp.MixedNB().fit_parquet(tmp_path / "rows.parquet", "y", columns=["k", "size"])
    X = frame[["k", "size"]]
    np.testing.assert_allclose(found.predict_proba(X), bp.MixedNB().fit(X, Y).predict_proba(X), rtol=1e-12)
