"""Sufficient statistics: accuracy against exact arithmetic, and refusals."""

from fractions import Fraction

import numpy as np
import pytest

from bayesppl.conjugate.moments import NumberRows, moments
from bayesppl.conjugate.row_statistics import sum_each, sum_shares
from bayesppl.conjugate.statistics import Counts
from bayesppl.data.labels import one_hot
from bayesppl.kernels import class_moments


def exact_variance(values):
    """Population variance in rational arithmetic, free of rounding."""
    numbers = [Fraction(float(value)) for value in values]
    mean = sum(numbers) / len(numbers)
    return float(sum((number - mean) ** 2 for number in numbers) / len(numbers))


def split(X, codes, n_classes, pieces, **structure):
    parts = [
        moments(X[rows], one_hot(codes[rows], n_classes), **structure)
        for rows in np.array_split(np.arange(len(codes)), pieces)
    ]
    return sum(parts[1:], parts[0])


# mean/sd and the largest relative error of a variance that is allowed there
@pytest.mark.parametrize(("offset", "bar"), [(0.0, 1e-12), (1e6, 1e-10), (1e8, 1e-6)])
@pytest.mark.parametrize("pieces", [1, 2, 7])
@pytest.mark.parametrize("matrix", [False, True])
def test_variance_keeps_its_digits_far_from_zero(offset, bar, pieces, matrix):
    rng = np.random.default_rng(1)
    X = offset + rng.standard_normal((600, 2))
    X[:, 1] *= -3
    codes = rng.integers(2, size=600)
    found = split(X, codes, 2, pieces, matrix=matrix, tied=False)
    for k in range(2):
        for d in range(2):
            exact = exact_variance(X[codes == k, d])
            scatter = found.scatter[k, d, d] if matrix else found.scatter[k, d]
            assert abs(scatter / (codes == k).sum() / exact - 1) < bar


@pytest.mark.parametrize("n_light", [5, 300])
@pytest.mark.parametrize(("matrix", "tied"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize(("far", "light"), [(1e7, 1e-15), (1e70, 1e-145)])
def test_rows_that_hardly_count_cost_no_digits(matrix, tied, n_light, far, light):
    """Deviations are taken from a typical row, whatever it weighs; where it is not typical, from the mean."""
    rng = np.random.default_rng(4)
    x, weights = rng.standard_normal(600), rng.random(600)
    x[:n_light], weights[:n_light] = x[:n_light] + far, weights[:n_light] * light
    of_class = one_hot(np.zeros(600, int), 1, weights)
    found = moments(np.column_stack([x, -x]), of_class, matrix=matrix, tied=tied)
    numbers, shares = [Fraction(v) for v in x.tolist()], [Fraction(w) for w in weights.tolist()]
    mean = sum(w * v for w, v in zip(shares, numbers, strict=True)) / sum(shares)
    exact = sum(w * (v - mean) ** 2 for w, v in zip(shares, numbers, strict=True))
    assert found.scatter.ravel()[[0, -1]] == pytest.approx([float(exact)] * 2, rel=1e-13)
    assert found.mean[0] == pytest.approx([float(mean), float(-mean)], rel=1e-13)


def test_classes_far_apart_do_not_disturb_each_other():
    rng = np.random.default_rng(2)
    codes = np.repeat([0, 1], 500)
    X = (rng.standard_normal(1000) + np.where(codes == 0, -1e9, 1e9))[:, None]
    found = moments(X, one_hot(codes, 2), matrix=False, tied=False)
    for k in range(2):
        exact = exact_variance(X[codes == k, 0])
        assert abs(found.scatter[k, 0] / 500 / exact - 1) < 1e-12


def test_float32_rows_are_summed_in_float64():
    X = (1e4 + np.random.default_rng(3).standard_normal((10_000, 1))).astype(np.float32)
    found = moments(X, one_hot(np.zeros(10_000, int), 1), matrix=False, tied=False)
    assert abs(found.scatter[0, 0] / 10_000 / exact_variance(X[:, 0]) - 1) < 1e-10


def test_moments_agree_with_numpy_cov_with_weights():
    rng = np.random.default_rng(4)
    X, codes, weights = rng.standard_normal((200, 3)), rng.integers(3, size=200), rng.uniform(0, 2, 200)
    found = moments(X, one_hot(codes, 3, weights), matrix=True, tied=False)
    for k in range(3):
        mine = codes == k
        expected = np.cov(X[mine].T, aweights=weights[mine], ddof=0) * weights[mine].sum()
        np.testing.assert_allclose(found.scatter[k], expected, rtol=1e-12)
        np.testing.assert_allclose(found.mean[k], np.average(X[mine], axis=0, weights=weights[mine]))
    tied = moments(X, one_hot(codes, 3, weights), matrix=True, tied=True)
    np.testing.assert_allclose(tied.scatter, found.scatter.sum(0), rtol=1e-12)


def test_missing_cells_are_skipped():
    X = np.array([[1.0, np.nan], [3.0, 5.0], [np.nan, 7.0]])
    found = moments(X, one_hot(np.zeros(3, int), 1), matrix=False, tied=False)
    np.testing.assert_allclose(found.count, [[2, 2]])
    np.testing.assert_allclose(found.mean, [[2, 6]])
    np.testing.assert_allclose(found.scatter, [[2, 2]])


@pytest.mark.parametrize(("matrix", "tied"), [(False, False), (True, False), (True, True)])
def test_pooled_is_the_moments_of_all_rows_as_one_class(matrix, tied):
    rng = np.random.default_rng(5)
    X, codes = rng.standard_normal((50, 3)) + 5, rng.integers(4, size=50)
    pooled = moments(X, one_hot(codes, 4), matrix=matrix, tied=tied).pooled()
    expected = moments(X, one_hot(np.zeros(50, int), 1), matrix=matrix, tied=tied)
    np.testing.assert_allclose(pooled.mean, expected.mean)
    np.testing.assert_allclose(pooled.scatter, expected.scatter)


def test_a_class_whose_rows_are_all_subtracted_is_empty():
    rng = np.random.default_rng(6)
    X, codes = rng.standard_normal((30, 2)) + 1e3, np.repeat([0, 1], 15)
    whole = moments(X, one_hot(codes, 2), matrix=False, tied=False)
    second = moments(X[15:], one_hot(codes[15:], 2), matrix=False, tied=False)
    left = whole - second
    assert (left.count[1] == 0).all()
    assert (left.mean[1] == 0).all()
    assert (left.scatter[1] == 0).all()


def test_rows_that_were_never_added_cannot_be_subtracted():
    few, many = Counts(np.array([1.0, 2.0]), np.zeros(2)), Counts(np.array([3.0, 0.0]), np.zeros(2))
    with pytest.raises(ValueError, match="never added: a count would become -2"):
        few - many
    X = np.zeros((4, 1))
    one = moments(X[:1], one_hot(np.zeros(1, int), 1), matrix=False, tied=False)
    with pytest.raises(ValueError, match="never added"):
        one - moments(X, one_hot(np.zeros(4, int), 1), matrix=False, tied=False)


@pytest.mark.parametrize(("matrix", "tied"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_constant_column_pools_to_itself(matrix, tied):
    rng = np.random.default_rng(8)
    for _ in range(50):
        counts, value = rng.integers(2, 30, size=4), rng.normal() * 10.0 ** rng.integers(-3, 6)
        codes = np.repeat(np.arange(4), counts)
        X = np.column_stack([rng.normal(size=len(codes)), np.full(len(codes), value)])
        pooled = moments(X, one_hot(codes, 5), matrix=matrix, tied=tied).pooled()
        assert pooled.mean[0, 1] == value
        assert np.all(pooled.within[..., 1] == 0)


def test_what_is_left_of_fractions_is_nothing_and_not_a_rounding_error():
    rng = np.random.default_rng(4)
    X, weights = rng.normal(size=(3, 2)), np.array([0.1, 0.2, 0.3])
    whole = moments(X, one_hot(np.zeros(3, int), 2, weights), matrix=False, tied=False)
    for row in range(3):
        whole = whole - moments(X[[row]], one_hot(np.zeros(1, int), 2, weights[[row]]), matrix=False, tied=False)
    assert not whole.count.any()
    assert not whole.mean.any()
    assert not whole.scatter.any()


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("is_matrix", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rows_shared_out_are_summed_at_once_as_class_by_class(is_matrix, is_tied, offset):
    rng = np.random.default_rng(0)
    rows = NumberRows(rng.normal(size=(300, 3)) + offset, is_matrix, is_tied)
    shares = rng.dirichlet(np.ones(3), 300)
    found, expected = sum_shares(rows, shares), sum_each([rows] * 3, shares.T)
    for name in ("count", "mean", "scatter"):
        left, right = getattr(found, name), getattr(expected, name)
        assert left.shape == right.shape
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12 * np.abs(right).max())
    third = np.cov(rows.X.T, aweights=shares[:, 2], ddof=0) * shares[:, 2].sum()
    if not is_tied:
        np.testing.assert_allclose(found.scatter[2], third if is_matrix else np.diag(third), rtol=1e-8)


@pytest.mark.parametrize("is_matrix", [False, True])
def test_classes_far_apart_keep_their_digits(is_matrix):
    """About a common pivot ten million deviations away, no digit of a variance would be left."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + 1e7 * np.repeat([0, 1], 100)[:, None]
    shares = np.full((200, 2), 1e-30)
    shares[:100, 0] = shares[100:, 1] = 1.0
    found = sum_shares(NumberRows(X, is_matrix, False), shares)
    variances = np.einsum("kdd->kd", found.scatter) if is_matrix else found.scatter
    np.testing.assert_allclose(variances[1], 100 * X[100:].var(0), rtol=1e-6)
    holes = np.where(np.arange(400).reshape(200, 2) == 7, np.nan, X)
    assert class_moments.shared(holes, shares, is_matrix, False) is None


def test_holes_in_rows_that_count_nothing_change_no_sum():
    rows = NumberRows(np.array([[np.nan, 1.0], [2.0, np.nan]]), is_matrix=False, is_tied=False)
    found = sum_shares(rows, np.zeros((2, 3)))
    assert not found.count.any()
    assert not found.mean.any()
    assert not found.scatter.any()
