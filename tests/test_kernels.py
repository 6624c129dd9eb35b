"""Fast passes over rows against the plain formulas they stand for."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayesppl.data import one_hot
from bayesppl.kernels import class_sums as sums_module
from bayesppl.kernels.class_sums import class_sums
from bayesppl.kernels.moments import diagonal, products

N_ROWS = 5000


def labelled(n_classes, weighted, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, N_ROWS) + 0.5 * (rng.random(N_ROWS) < 0.5) if weighted else None
    return one_hot(rng.integers(n_classes, size=N_ROWS), n_classes, weights)


def soft(n_classes, seed=1):
    return csr_array(np.random.default_rng(seed).dirichlet(np.ones(n_classes), N_ROWS))


def plain_moments(X, responsibilities):
    """Two passes: means, then deviations; missing cells skipped."""
    W = responsibilities.toarray()
    present, filled = ~np.isnan(X), np.nan_to_num(X)
    count = W.T @ present
    mean = W.T @ filled / count
    scatter = np.stack([(W[:, k, None] * present * (filled - mean[k]) ** 2).sum(0) for k in range(W.shape[1])])
    return count, mean, scatter


MEMBERSHIPS = {
    "labels": labelled(3, False),
    "weighted labels": labelled(3, True),
    "soft": soft(3),
    "many classes": labelled(40, False),
    "very many classes": labelled(100, False),
}


@pytest.mark.parametrize("name", MEMBERSHIPS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool, np.float32, np.float64])
def test_class_sums_are_the_product_with_the_responsibilities(name, dtype):
    X = (3 * np.random.default_rng(2).random((N_ROWS, 30))).astype(dtype)
    expected = MEMBERSHIPS[name].toarray().T @ X.astype(np.float64)
    found = class_sums(MEMBERSHIPS[name], X)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("largest", [1, 15, 16, 255])
@pytest.mark.parametrize("n_columns", [1, 7, 2000])
def test_bytes_are_counted_exactly(largest, n_columns):
    X = np.full((N_ROWS, n_columns), largest, dtype=np.uint8)
    counts = MEMBERSHIPS["labels"].toarray().sum(0)
    np.testing.assert_array_equal(
        class_sums(MEMBERSHIPS["labels"], X), largest * counts[:, None] * np.ones(n_columns)
    )


def test_bytes_take_the_short_way(monkeypatch):
    taken = []
    plain = sums_module._byte_sums
    monkeypatch.setattr(sums_module, "_byte_sums", lambda *args: taken.append(1) or plain(*args))
    class_sums(MEMBERSHIPS["labels"], np.ones((N_ROWS, 3), dtype=bool))
    class_sums(MEMBERSHIPS["weighted labels"], np.ones((N_ROWS, 3), dtype=bool))
    assert taken == [1]


@pytest.mark.parametrize("name", MEMBERSHIPS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_diagonal_moments_agree_with_two_passes(name, order, missing):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N_ROWS, 30)) * rng.uniform(0.1, 10, 30) + 5
    X[rng.random(X.shape) < missing] = np.nan
    found = diagonal(np.asarray(X, order=order), MEMBERSHIPS[name])
    for mine, expected in zip(found, plain_moments(X, MEMBERSHIPS[name]), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-11)


@pytest.mark.parametrize("name", MEMBERSHIPS)
@pytest.mark.parametrize("n_features", [3, 80])
def test_products_agree_with_two_passes(name, n_features):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((N_ROWS, n_features)) @ rng.standard_normal((n_features, n_features)) + 5
    R = MEMBERSHIPS[name]
    count, mean, scatter = products(X, R, tied=False)
    _, expected_mean, _ = plain_moments(X, R)
    np.testing.assert_allclose(count, R.toarray().sum(0), rtol=1e-12)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-10, atol=1e-12)
    for k in (0, R.shape[1] - 1):
        Z = X - expected_mean[k]
        expected = Z.T @ (R.toarray()[:, [k]] * Z)
        np.testing.assert_allclose(scatter[k], expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(products(X, R, tied=True)[2], scatter.sum(0), rtol=1e-9, atol=1e-9)


def test_first_rows_with_missing_cells_cost_no_digits():
    rng = np.random.default_rng(5)
    X = 1e8 + rng.standard_normal((600, 2))
    X[:12, 0] = np.nan
    X[0, 1] = np.nan
    R = one_hot(np.zeros(600, dtype=int), 1)
    scatter = diagonal(X, R)[2]
    for d in range(2):
        values = X[~np.isnan(X[:, d]), d]
        # subtracting a number of like size is exact, so that this reference keeps its digits
        centred = values - values[0]
        assert scatter[0, d] / ((centred - centred.mean()) ** 2).sum() == pytest.approx(1, abs=1e-12)


def test_classes_that_come_late_have_their_own_pivot():
    rng = np.random.default_rng(6)
    codes = np.repeat(np.arange(100), 500)
    X = rng.standard_normal((50_000, 2)) + 1e9 * codes[:, None]
    scatter = diagonal(X, one_hot(codes, 100))[2]
    for k in (0, 1, 50, 99):
        centred = X[codes == k] - X[codes == k][0]
        expected = ((centred - centred.mean(0)) ** 2).sum(0)
        np.testing.assert_allclose(scatter[k], expected, rtol=1e-12)
