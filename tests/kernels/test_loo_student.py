"""Sums over features at the class of each row, against the plain formula in extended precision."""

import numpy as np
import pytest

from bayesppl.kernels import numba_loops, student
from bayesppl.kernels.numba_loops import Engine
from bayesppl.kernels.student import less_own_log1p_squares, own_log1p_squares, own_log1p_sum


def problem(n_features, leverage, n_rows=3000, seed=0):
    """Rows whose squares take at most a share ``leverage`` away from one, and of some owners add to it instead."""
    rng = np.random.default_rng(seed)
    owners = rng.integers(4, size=n_rows)
    location = 3 * rng.standard_normal((4, n_features))
    X = location[owners] + rng.uniform(-1, 1, (n_rows, n_features))
    factors = leverage * rng.uniform(0.5, 1, (4, n_features)) * np.array([[-1], [-1], [1], [0]])
    return X, owners, location, factors


def plain(X, owners, location, factors, exponents):
    X, location, factors = (values.astype(np.longdouble) for values in (X, location, factors))
    terms = exponents[owners] * np.log1p(factors[owners] * (X - location[owners]) ** 2)
    return np.nansum(terms, axis=1).astype(float)


@pytest.mark.parametrize("n_features", [1, 20, 32, 33, 300])
@pytest.mark.parametrize("leverage", [1e-12, 1e-6, 1e-2, 0.5, 0.9999])
def test_logarithms_keep_their_digits_for_any_leverage(n_features, leverage):
    X, owners, location, factors = problem(n_features, leverage)
    exponents = np.repeat([[1.0 / leverage], [2.0], [30.0], [4.0]], n_features, axis=1)
    expected = plain(X, owners, location, factors, exponents)
    # 1 + u may lose three digits before rows are summed cell by cell
    found = own_log1p_squares(X, owners, location, factors, exponents)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (found[owners == 3] == 0).all()


def test_exponents_of_each_feature():
    X, owners, location, factors = problem(7, 0.3)
    exponents = np.random.default_rng(1).uniform(1, 9, factors.shape)
    found = own_log1p_squares(X, owners, location, factors, exponents)
    np.testing.assert_allclose(found, plain(X, owners, location, factors, exponents), rtol=1e-13)


@pytest.mark.parametrize("even", [True, False])
def test_missing_cells_add_nothing_and_what_is_taken_away_whole_is_not_finite(even):
    X, owners, location, factors = problem(40, 0.1)
    X[np.random.default_rng(9).random(X.shape) < 0.02] = np.nan
    X[5] = np.nan
    exponents = np.full(factors.shape, 3.0) if even else np.linspace(1, 3, 40) + np.zeros(factors.shape)
    found = own_log1p_squares(X, owners, location, factors, exponents)
    np.testing.assert_allclose(found, plain(X, owners, location, factors, exponents), rtol=1e-12)
    assert found[5] == 0
    row = int(np.flatnonzero(owners == 0)[0])
    for distance in (1.0, 2.0):
        X[row, 3] = location[0, 3] + distance / np.sqrt(-factors[0, 3])
        assert not own_log1p_squares(X, owners, location, factors, exponents)[row] > -30


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_features", [1, 45])
def test_the_compiled_loop_gives_the_same_bits(monkeypatch, dtype, order, n_features):
    X, owners, location, factors = problem(n_features, 0.4, n_rows=1001)
    X = np.asarray(X, dtype=dtype, order=order)
    if dtype != np.int64:
        X[3, 0], X[4] = np.nan, 1e30
    exponents = np.full(location.shape, 3.0)
    expected = own_log1p_squares(X, owners, location, factors, exponents)
    eager = Engine(numba_loops.log_products._function)
    eager._done = numba_loops.PRICE
    monkeypatch.setattr(student, "engine", eager)
    np.testing.assert_array_equal(own_log1p_squares(X, owners, location, factors, exponents), expected)
    assert eager.loop(0) is not None


def other_classes(X, location, seed=4):
    """Places and factors of classes, far enough in one of them for products beyond the largest number."""
    rng = np.random.default_rng(seed)
    centres = np.stack([location[0], location[1] + 0.1, location[2] + 1e8])
    return centres, rng.uniform(0.1, 1, centres.shape)


def plain_less_own(X, owners, centres, added, location, taken, exponents):
    X, *others = (values.astype(np.longdouble) for values in (X, centres, added, location, taken))
    centres, added, location, taken = others
    own = taken[owners] * (X - location[owners]) ** 2
    terms = [np.log1p(c * (X - m) ** 2 - own) for m, c in zip(centres, added, strict=True)]
    return np.stack([(exponents[owners] * term).sum(1) for term in terms], axis=1).astype(float)


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("n_features", [1, 33, 90])
@pytest.mark.parametrize("leverage", [1e-9, 0.5, 0.9999])
def test_classes_that_lose_what_the_own_class_loses(n_features, leverage, even):
    X, owners, location, factors = problem(n_features, leverage, n_rows=1000)
    centres, added = other_classes(X, location)
    exponents = np.full(factors.shape, 30.0) if even else np.random.default_rng(1).uniform(1, 9, factors.shape)
    found = less_own_log1p_squares(X, owners, centres, added, location, np.abs(factors), exponents)
    expected = plain_less_own(X, owners, centres, added, location, np.abs(factors), exponents)
    # sums of terms of either sign: what they are made of sets the scale
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14 * exponents.max() * n_features)


@pytest.mark.parametrize("n_features", [1, 40])
def test_one_logarithm_of_a_sum(n_features):
    X, owners, location, factors = problem(n_features, 0.9 / n_features)
    exponents = np.full(factors.shape, 5.0)
    squares = factors.astype(np.longdouble)[owners] * (X - location[owners]) ** 2
    expected = (5 * np.log1p(squares.sum(1))).astype(float)
    np.testing.assert_allclose(own_log1p_sum(X, owners, location, factors, exponents), expected, rtol=1e-12)
    assert not np.isfinite(own_log1p_sum(X, owners, location, 9 * n_features * factors, exponents)).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_features", [1, 45])
def test_the_compiled_loop_of_other_classes_gives_the_same_bits(monkeypatch, order, n_features):
    X, owners, location, factors = problem(n_features, 0.4, n_rows=1001)
    X = np.asarray(X, order=order)
    centres, added = other_classes(X, location)
    given = X, owners, centres, added, location, np.abs(factors), np.full(location.shape, 3.0)
    expected = less_own_log1p_squares(*given)
    eager = Engine(numba_loops.log_products._function)
    eager._done = numba_loops.PRICE
    monkeypatch.setattr(student, "engine", eager)
    np.testing.assert_array_equal(less_own_log1p_squares(*given), expected)
    assert eager.loop(0) is not None
