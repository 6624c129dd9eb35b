"""Fast passes over rows against the plain formulas they stand for."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.pairs import pairwise

from bayesppl.data.labels import one_hot
from bayesppl.kernels import cell_moments, numba_loops, student
from bayesppl.kernels import class_sums as counts_module
from bayesppl.kernels import class_sums as sums_module
from bayesppl.kernels import products as tiles_module
from bayesppl.kernels.cell_moments import diagonal
from bayesppl.kernels.class_moments import products
from bayesppl.kernels.class_sums import class_sums
from bayesppl.kernels.lookups import bit_sums
from bayesppl.kernels.mahalanobis import squared_distances, weighted_squares
from bayesppl.kernels.missing import by_gaps
from bayesppl.kernels.numba_loops import Engine
from bayesppl.kernels.products import multiply, row_products, tiles
from bayesppl.kernels.student import weighted_log1p_squares

N_ROWS = 5000


def labelled(n_classes, weighted, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, N_ROWS) + 0.5 * (rng.random(N_ROWS) < 0.5) if weighted else None
    return one_hot(rng.integers(n_classes, size=N_ROWS), n_classes, weights)


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


@pytest.fixture
def eager_counts(monkeypatch):
    eager = Engine(numba_loops.count_entries._function)
    eager._done = numba_loops.PRICE
    monkeypatch.setattr(counts_module, "engine", eager)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("rows_at_once", [1 << 22, 700])
def test_compiled_sums_of_counts_are_those_of_numpy(monkeypatch, eager_counts, dtype, rows_at_once):
    monkeypatch.setattr(counts_module, "_ROWS", rows_at_once)
    rng = np.random.default_rng(13)
    X = csr_array(np.minimum(rng.negative_binomial(0.3, 0.02, (N_ROWS, 40)), 255).astype(dtype))
    members = MEMBERSHIPS["labels"]
    found = counts_module.count_sums(X, members.indices, members.shape[1])
    np.testing.assert_array_equal(found.sums, class_sums(members, X))
    np.testing.assert_array_equal(found.totals, X.sum(axis=1))
    of_entries = members.indices[X.tocoo().row]
    for k, sizes in enumerate(found.sizes):
        own = np.minimum(X.data[of_entries == k].astype(int), 256)
        np.testing.assert_array_equal(sizes, np.bincount(own, minlength=257))


@pytest.mark.parametrize(
    "odd", [np.nan, np.inf, -np.inf, -1.0, 0.5, 255.5, 256.0, 257.0, 2.0**31, 2.0**32 + 1, 1e300]
)
def test_the_compiled_sums_leave_other_numbers_to_numpy(eager_counts, odd):
    X = csr_array(np.ones((9, 5)))
    X.data[7] = odd
    assert counts_module.count_sums(X, np.zeros(9, np.int32), 2) is None


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


@pytest.mark.parametrize(
    ("n_features", "dtype", "order"),
    pairwise([1, 2, 20, 300], [np.float64, np.float32, np.int64], ["C", "F"]),
)
def test_compiled_diagonal_moments_have_the_same_bits(monkeypatch, n_features, dtype, order):
    rng = np.random.default_rng(11)
    X = 100 * rng.standard_normal((N_ROWS, n_features)) + 1e6
    if dtype != np.int64 and n_features > 1:
        X[-1, 0] = np.nan  # a block with a gap takes the same way in both
    X = np.asarray(X, dtype=dtype, order=order)
    plain = diagonal(X, MEMBERSHIPS["labels"])
    eager = Engine(numba_loops.lane_sums._function)
    eager._done = numba_loops.PRICE
    monkeypatch.setattr(cell_moments, "engine", eager)
    for mine, expected in zip(diagonal(X, MEMBERSHIPS["labels"]), plain, strict=True):
        np.testing.assert_array_equal(mine, expected)
    assert eager.loop(0) is not None


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


@pytest.mark.parametrize("n_missing", [12, 50_000], ids=["a few rows", "more than a block"])
@pytest.mark.parametrize("n_classes", [1, 2, 100])
def test_first_rows_with_missing_cells_cost_no_digits(n_classes, n_missing):
    rng = np.random.default_rng(5)
    codes = np.arange(n_missing + 600 * n_classes) % n_classes
    far = 1e8 * (codes == 0)  # one class lies far from zero and from all others
    X = far[:, None] + rng.standard_normal((len(codes), 2))
    X[:n_missing, 0] = np.nan
    X[0, 1] = np.nan
    scatter = diagonal(X, one_hot(codes, n_classes))[2]
    for d in range(2):
        values = X[(codes == 0) & ~np.isnan(X[:, d]), d]
        # subtracting a number of like size is exact, so that this reference keeps its digits
        centred = values - values[0]
        assert scatter[0, d] / ((centred - centred.mean()) ** 2).sum() == pytest.approx(1, abs=1e-11)


def test_classes_that_come_late_have_their_own_pivot():
    rng = np.random.default_rng(6)
    codes = np.repeat(np.arange(100), 500)
    X = rng.standard_normal((50_000, 2)) + 1e9 * codes[:, None]
    scatter = diagonal(X, one_hot(codes, 100))[2]
    for k in (0, 1, 50, 99):
        centred = X[codes == k] - X[codes == k][0]
        expected = ((centred - centred.mean(0)) ** 2).sum(0)
        np.testing.assert_allclose(scatter[k], expected, rtol=1e-12)


# --- sums under the densities --------------------------------------------------------------------------------


def gaps(X, location, scale):
    """Standardised deviations, (n_classes, n_rows, n_features), zero where a cell is missing."""
    z = (X[None] - location[:, None]) / scale[:, None]
    return np.where(np.isnan(z), 0.0, z)


def problem(n_rows=3000, n_features=21, n_classes=4, spread=1.0, seed=7):
    rng = np.random.default_rng(seed)
    location = spread * rng.standard_normal((n_classes, n_features))
    scale = rng.uniform(0.5, 2, (n_classes, n_features))
    X = location[rng.integers(n_classes, size=n_rows)] + rng.standard_normal((n_rows, n_features))
    return X, location, scale


@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_weighted_squares(spread, dtype):
    X, location, scale = problem(spread=spread)
    X = X.astype(dtype)
    expected = (gaps(X, location, scale) ** 2).sum(-1).T
    # the product form loses as many digits as the squared distance from the origin (at most 100 sd) has
    np.testing.assert_allclose(
        weighted_squares(X, location, scale)[0], expected, rtol=1e-11, atol=21 * 1e4 * 1e-15
    )


@pytest.mark.parametrize("dof", [1.0, 30.0, 1e4, 1e8, 1e12])
def test_log1p_of_squares_keeps_its_digits_for_any_degrees_of_freedom(dof):
    X, location, scale = problem()
    exponents = np.full(location.shape, -(dof + 1) / 2)
    expected = np.einsum("knd,kd->nk", np.log1p(gaps(X, location, scale) ** 2 / dof), exponents)
    found, _ = weighted_log1p_squares(X, location, scale * np.sqrt(dof), exponents)
    np.testing.assert_allclose(found, expected, rtol=2e-14)


def test_log1p_of_squares_with_an_exponent_of_each_feature():
    X, location, scale = problem()
    exponents = -np.random.default_rng(8).uniform(1, 5, location.shape)
    expected = np.einsum("knd,kd->nk", np.log1p(gaps(X, location, scale) ** 2), exponents)
    np.testing.assert_allclose(weighted_log1p_squares(X, location, scale, exponents)[0], expected, rtol=1e-13)


@pytest.mark.parametrize("kernel", ["squares", "log1p", "log1p with an exponent of each feature"])
def test_missing_cells_add_nothing(kernel):
    X, location, scale = problem()
    X[np.random.default_rng(9).random(X.shape) < 0.02] = np.nan
    X[5] = np.nan
    z2 = gaps(X, location, scale) ** 2
    exponents = -np.ones(location.shape) if kernel == "log1p" else -np.linspace(1, 2, location.size).reshape(4, 21)
    if kernel == "squares":
        (found, odd), expected = weighted_squares(X, location, scale), z2.sum(-1).T
    else:
        found, odd = weighted_log1p_squares(X, location, scale, exponents)
        expected = np.einsum("knd,kd->nk", np.log1p(z2), exponents)
    np.testing.assert_array_equal(odd, np.flatnonzero(np.isnan(X).any(1)))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    assert (found[5] == 0).all()


@pytest.mark.parametrize("far", [1e20, 1e100, 1e200, 1e307])
def test_squares_beyond_the_largest_number_have_logarithms(far):
    X, location, scale = problem(n_rows=50)
    X[7, 3:9] = far
    X[8, :] = -far / 2
    z = np.abs(gaps(X, location, scale))
    expected = -2 * np.where(z > 1e10, 2 * np.log(np.maximum(z, 1)), np.log1p(np.minimum(z, 1e11) ** 2)).sum(-1).T
    found, _ = weighted_log1p_squares(X, location, scale, np.full(location.shape, -2.0))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_product_of_large_squares_is_put_aside_before_it_overflows(monkeypatch):
    monkeypatch.setattr("bayesppl.kernels.student.engine.loop", lambda cells: None)
    X, location, scale = np.full((5, 64), 1e20), np.zeros((2, 64)), np.ones((2, 64))
    found, odd = weighted_log1p_squares(X, location, scale, np.ones((2, 64)))
    assert not len(odd)  # no row is left to the plain formula
    np.testing.assert_allclose(found, 64 * 2 * np.log(1e20), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_compiled_loop_gives_the_same_bits(monkeypatch, dtype, order):
    X, location, scale = problem(n_rows=1001)
    X[3, 4] = np.nan
    X[4] = 1e30
    X[6, 2] = 1e200 if dtype == np.float64 else 1e30
    X = np.asarray(X, dtype=dtype, order=order)
    exponents = np.full(location.shape, -3.0)
    plain, gaps_of_plain = weighted_log1p_squares(X, location, scale, exponents)
    eager = Engine(numba_loops.log_products._function)
    eager._done = numba_loops.PRICE
    monkeypatch.setattr(student, "engine", eager)
    found, odd = weighted_log1p_squares(X, location, scale, exponents)
    np.testing.assert_array_equal(found, plain)
    np.testing.assert_array_equal(odd, gaps_of_plain)
    assert eager.loop(0) is not None


def test_a_compiled_loop_waits_until_it_pays(monkeypatch):
    built = []
    engine = Engine(print)
    monkeypatch.setattr(numba_loops, "compile_loop", lambda function: built.append(function) or function)
    monkeypatch.setitem(numba_loops.sys.modules, "numba", None)
    monkeypatch.delitem(numba_loops.sys.modules, "numba")
    assert engine.loop(numba_loops.PRICE // 2) is None
    assert engine.loop(numba_loops.PRICE // 2 - 1) is None
    assert engine.loop(1) is not None
    assert engine.loop(1) is not None
    assert built == [print]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("n_features", [1, 7, 90])
@pytest.mark.parametrize("spread", [3.0, 1e7])
def test_squared_distances(tied, n_features, spread):
    rng = np.random.default_rng(10)
    location = spread * rng.standard_normal((4, n_features))
    X = location[rng.integers(4, size=4000)] + rng.standard_normal((4000, n_features))
    A = rng.standard_normal((1 if tied else 4, n_features, 2 * n_features + 3))
    covariance = A @ np.swapaxes(A, -1, -2)
    found = np.empty((4, len(X)))
    squared_distances(location, np.linalg.inv(np.linalg.cholesky(covariance)))(X, found)
    for k in range(4):
        Z = X - location[k]
        expected = (Z * np.linalg.solve(covariance[k % len(covariance)], Z.T).T).sum(1)
        # classes that lie near each other are expanded about their centre: the error is that of the distance to it
        atol = 1e-14 * expected.max() if tied and spread < 10 else 0.0
        np.testing.assert_allclose(found[k], expected, rtol=1e-10 if spread < 10 else 1e-8, atol=atol)


@pytest.mark.parametrize(
    ("dtype", "shape", "order"),
    pairwise(
        [np.float64, np.float32, np.int64, np.uint8, bool],
        [(0, 3), (1, 3), (5000, 1), (5000, 33), (3, 200_000)],
        ["C", "F"],
    ),
)
def test_tiles_are_the_rows(dtype, shape, order):
    n_rows, n_features = shape
    X = np.asarray(100 * np.random.default_rng(0).random((n_rows, n_features)), dtype=dtype, order=order)
    origin = np.linspace(-1, 1, n_features)
    found = np.full((n_features, n_rows), np.nan)
    for rows, tile in tiles(X, origin):
        assert tile.dtype == np.float64
        found[:, rows] = tile
    np.testing.assert_array_equal(found, (X.astype(float) - origin).T)


@pytest.mark.parametrize("n_strips", [1, 2, 3, 7, 400])
@pytest.mark.parametrize("shape", [(5, 300), (300, 40), (1, 9)])
def test_products_in_strips_are_the_product(n_strips, shape):
    rng = np.random.default_rng(0)
    A, tile = rng.standard_normal((n_strips, shape[0])), rng.standard_normal(shape)
    out = np.empty((n_strips, shape[1]))
    multiply(A, tile, out)
    np.testing.assert_allclose(out, A @ tile, rtol=1e-12, atol=1e-12)


def test_no_product_is_large_enough_to_wake_threads(monkeypatch):
    shapes = []
    monkeypatch.setattr(tiles_module.np, "matmul", lambda a, b, out: shapes.append((*a.shape, b.shape[1])))
    for n_classes, n_features in ((2, 20), (3, 20), (11, 100), (10, 784), (3000, 20), (100, 5000)):
        rows = max(1, tiles_module.TILE_CELLS // n_features)
        tile = np.zeros((n_features, rows))
        multiply(np.zeros((n_classes, n_features)), tile, np.zeros((n_classes, rows)))
    assert shapes
    assert all(np.prod(shape) <= 1.3 * tiles_module.ONE_THREAD for shape in shapes)
    assert all(shape[0] > 1 for shape in shapes)


@pytest.mark.parametrize(
    ("dtype", "shape", "order"),
    pairwise(
        [np.float64, np.float32, np.int64, np.uint8, bool],
        [(0, 4, 2), (1, 4, 1), (3000, 33, 10), (3000, 33, 200), (70, 9000, 3)],
        ["C", "F"],
    ),
)
def test_row_products(dtype, shape, order):
    n_rows, n_columns, n_vectors = shape
    rng = np.random.default_rng(12)
    X = np.asarray(2 * rng.random((n_rows, n_columns)), dtype=dtype, order=order)
    weights = rng.standard_normal((n_vectors, n_columns))
    found = row_products(X, weights)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, X.astype(float) @ weights.T, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("shape", "dtype", "order"),
    pairwise(
        [(0, 5), (1, 1), (300, 8), (300, 9), (70_000, 30), (40, 20_000), (3, 0)], [np.uint8, bool], ["C", "F"]
    ),
)
def test_bit_sums(shape, dtype, order):
    n_rows, n_columns = shape
    rng = np.random.default_rng(14)
    X = np.asarray(rng.random((n_rows, n_columns)) < 0.4, dtype=dtype, order=order)
    weights = rng.standard_normal(n_columns)
    np.testing.assert_allclose(bit_sums(weights)(X), X.astype(float) @ weights, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("far", [0.0, 1e6])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("n_vectors", [1, 3, 200])
def test_row_products_of_deviations(far, squared, n_vectors):
    rng = np.random.default_rng(11)
    X, origin = far + rng.standard_normal((3000, 7)), far + rng.random(7)
    weights, of_squares = rng.standard_normal((2, n_vectors, 7))
    expected = np.einsum("nd,kd->nk", X - origin, weights)
    if squared:
        expected += np.einsum("nd,kd->nk", (X - origin) ** 2, of_squares)
    found = row_products(X, weights, origin, of_squares if squared else None)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_rows_that_lack_the_same_columns_are_found_together():
    missing = np.array([[0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=bool)
    found = {tuple(columns.tolist()): rows.tolist() for rows, columns in by_gaps(missing)}
    assert found == {(2,): [0, 3], (0, 1): [2], (0, 1, 2): [4]}
    assert not list(by_gaps(missing[1:2]))
