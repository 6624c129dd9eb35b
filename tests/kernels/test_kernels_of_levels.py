"""Levels of categories: counted, found and looked up, against plain loops over the cells."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp
from bayesppl.data.labels import one_hot
from bayesppl.kernels import integer_levels, numba_loops
from bayesppl.kernels.integer_levels import Places, distinct_integers, extremes, outcome_counts, smallest_type
from bayesppl.kernels.lookups import level_sums
from bayesppl.kernels.numba_loops import Engine

SIZES = (3, 1, 130, 5)
N_ROWS = 4000


def coded(missing, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(size, size=N_ROWS) for size in SIZES], axis=1)
    codes[rng.random(codes.shape) < missing] = -1
    return codes.astype(smallest_type(max(SIZES)))


def memberships():
    rng = np.random.default_rng(1)
    classes = rng.integers(3, size=N_ROWS)
    return {
        "labels": one_hot(classes, 3),
        "weighted": one_hot(classes, 3, rng.integers(0, 3, N_ROWS) / 2),
        "one row each": one_hot(np.arange(N_ROWS), N_ROWS),
    }


def plain_counts(responsibilities, codes):
    marked = np.concatenate(
        [codes[:, [j]] == np.arange(size) for j, size in enumerate(SIZES)], axis=1
    )  # a missing cell marks no outcome
    return responsibilities.T @ marked.astype(float)


@pytest.mark.parametrize("name", ["labels", "weighted", "one row each"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_counts_of_outcomes_are_the_product_with_their_indicators(name, missing):
    codes, responsibilities = coded(missing), memberships()[name]
    found = outcome_counts(responsibilities, codes, SIZES)
    np.testing.assert_allclose(found, plain_counts(responsibilities, codes), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_compiled_loop_counts_the_same(monkeypatch, missing):
    codes, responsibilities = coded(missing), memberships()["labels"]
    plain = outcome_counts(responsibilities, codes, SIZES)
    eager = Engine(numba_loops.count_codes._function)
    eager._done = numba_loops.PRICE
    monkeypatch.setattr(integer_levels, "engine", eager)
    np.testing.assert_array_equal(outcome_counts(responsibilities, codes, SIZES), plain)
    assert eager.loop(0) is not None


@pytest.mark.parametrize("n_tables", [1, 30])
@pytest.mark.parametrize("impossible", [False, True])
def test_sums_over_tables_look_every_level_up(n_tables, impossible):
    rng, codes = np.random.default_rng(2), coded(0.2)
    tables = rng.standard_normal((n_tables, sum(SIZES)))
    if impossible:
        tables[0, [0, 5]] = -np.inf
    starts = np.cumsum((0, *SIZES))
    expected = np.array(
        [
            [
                sum(table[starts[j] + code] for j, code in enumerate(row) if code >= 0)
                for row in codes[:200].tolist()
            ]
            for table in tables
        ]
    )
    np.testing.assert_allclose(level_sums(tables, SIZES)(codes[:200]), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 2, 40, 5000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_extremes_are_those_of_every_column(n_rows, order):
    X = np.asarray(np.random.default_rng(3).integers(-50, 50, (n_rows, 7)), order=order)
    low, high = extremes(X)
    np.testing.assert_array_equal(low, X.min(0))
    np.testing.assert_array_equal(high, X.max(0))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64])
def test_distinct_values_wherever_they_first_occur(dtype):
    X = np.full((60_000, 4), 5, dtype=dtype)
    X[-1, 0] = 1  # below all others, in the last block
    X[20_000, 1] = 100  # a gap between the levels
    X[::2, 2] = 6
    found = distinct_integers(X)
    assert [values.tolist() for values in found] == [[1, 5], [5, 100], [5, 6], [5]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_distinct_values_are_those_of_each_column_alone(dtype, order):
    rng = np.random.default_rng(6)
    for _ in range(100):
        n_rows, n_columns, top = rng.integers(1, 40), rng.integers(1, 5), rng.integers(1, 100)
        starts = rng.integers(0, 28, n_columns)
        X = np.asarray(starts + rng.integers(0, top, (n_rows, n_columns)), dtype=dtype, order=order)
        found = distinct_integers(X)
        assert [values.tolist() for values in found] == [np.unique(column).tolist() for column in X.T]


def test_distinct_values_beyond_what_a_float_can_hold():
    for dtype in (np.int64, np.uint64):
        X = np.array([[2**60 + 1, 2**60], [2**60 + 3, 2**60 + 1]], dtype=dtype)
        found = distinct_integers(X)
        assert [values.tolist() for values in found] == [[2**60 + 1, 2**60 + 3], [2**60, 2**60 + 1]]


def test_values_far_apart_are_not_counted():
    assert distinct_integers(np.array([[0], [1 << 40]])) is None
    assert distinct_integers(np.array([[0], [(1 << 64) - 1]], dtype=np.uint64)) is None
    assert Places.of([[0, 1 << 40]], [2]) is None


@pytest.mark.parametrize("known", [[4, 5, 6], [4, 9, 5], [7], []])
def test_numbers_have_the_code_of_their_level(known):
    X = np.random.default_rng(4).integers(-3, 20, (3000, 2))
    X[0] = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    places = Places.of([known, [1, 2]], [len(known), 2])
    out = np.empty(X.shape, dtype=np.int8)
    assert places.look_up(X, out)
    for column, levels_of_column in zip(range(2), (known, [1, 2]), strict=True):
        expected = [
            levels_of_column.index(value) if value in levels_of_column else len(levels_of_column)
            for value in X[:, column].tolist()
        ]
        assert out[:, column].tolist() == expected


@pytest.mark.parametrize("n_rows", [100_000, 400_000])
def test_memory_of_a_fit_does_not_grow_with_the_columns_times_rows(n_rows):
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 8, (n_rows, 20)), rng.integers(3, size=n_rows)
    tracemalloc.start()
    try:
        bp.CategoricalNB().fit(X, y)
        extra = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert extra < 32 * 2**20


def test_rows_that_the_caller_changes_after_the_fit_stay_as_they_were():
    frame = pd.DataFrame({"size": [0.1, 0.4, 2.0, 2.9, 1.5], "place": list("aabbb")})
    y = [0, 0, 1, 1, 1]
    family = bp.Product({"size": (["size"], bp.Gaussian()), "place": (["place"], bp.Categorical())})
    clf = bp.GenerativeClassifier(family).fit(frame, y)
    before = bp.GenerativeClassifier(family).fit(frame.copy(), y).loo()
    frame["size"] = 7.0
    frame.loc[0, "place"] = "b"
    np.testing.assert_array_equal(clf.loo().log_predictive, before.log_predictive)
