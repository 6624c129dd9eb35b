"""Tables of many columns: each column is read once for a pass over few rows, however many columns there are."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp
from bayesppl.data.frames import FrameTable
from bayesppl.kernels.ranges import row_ranges

#: More cells than one range holds where its rows are not at least so many as are read with a column.
N_ROWS, N_COLUMNS = 500, 1100
CELLS = np.array(["a", "b", "c"], dtype=object)[np.random.default_rng(6).integers(0, 3, (N_ROWS, N_COLUMNS))]
X = pd.DataFrame(CELLS, columns=[f"c{j}" for j in range(N_COLUMNS)])
Y = np.arange(N_ROWS) % 2


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [bp.CategoricalNB, bp.MixedNB])
def test_columns_of_few_rows_are_read_once(estimator, monkeypatch):
    clf = estimator().fit(X, Y)
    reads: Counter[object] = Counter()
    column = FrameTable.column
    monkeypatch.setattr(FrameTable, "column", lambda self, name: (reads.update([name]), column(self, name))[1])
    found = clf.predict_proba(X)
    assert set(reads.values()) == {1}
    assert len(reads) == N_COLUMNS
    np.testing.assert_allclose(found[:5], clf.predict_proba(X[:5]), rtol=1e-9)


def test_columns_of_few_rows_are_left_out_in_one_pass(monkeypatch):
    clf = bp.CategoricalNB().fit(X, Y)
    reads: Counter[object] = Counter()
    column = FrameTable.column
    monkeypatch.setattr(FrameTable, "column", lambda self, name: (reads.update([name]), column(self, name))[1])
    clf.loo()
    assert len(reads) == N_COLUMNS
    assert set(reads.values()) == {2}  # that they are the rows of the fit is checked first


def test_ranges_of_many_columns_have_a_least_number_of_rows():
    assert [rows.stop - rows.start for rows in row_ranges(1000, 1 << 18)] == [2] * 500
    assert [rows.stop - rows.start for rows in row_ranges(1000, 1 << 18, least_rows=400)] == [400, 400, 200]
    assert row_ranges(1000, 1, least_rows=400) == [slice(0, 1000)]
