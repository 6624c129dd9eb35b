"""The numerical idioms of ``bayesppl.kernels.arrays`` against high precision."""

import mpmath
import numpy as np
import pytest
from scipy.sparse import csr_array

from bayesppl.kernels.arrays import dot_log, join_chains, log_contrast, log_rising, select_draws
from bayesppl.kernels.definite import inverses_of_triangles


@pytest.mark.parametrize("a", [1e-8, 0.3, 1.0, 15.999, 16.0, 17.5, 123.4, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("n", [0.0, 1.0, 0.25, 7.0, 1000.0, 1e8])
def test_log_rising_keeps_its_digits(a, n):
    with mpmath.workdps(50):
        exact = mpmath.loggamma(mpmath.mpf(a) + mpmath.mpf(n)) - mpmath.loggamma(mpmath.mpf(a))
    # the largest number that must appear on the way is of the size of the answer, or of log Γ near 16
    assert float(log_rising(np.asarray(a), np.asarray(n))) == pytest.approx(float(exact), rel=4e-15, abs=1e-14)


def test_log_rising_broadcasts():
    found = log_rising(np.asarray([[0.5], [40.0]]), np.asarray([0.0, 1.0, 2.0]))
    np.testing.assert_allclose(found, np.log([[1, 0.5, 0.75], [1, 40, 40 * 41]]), rtol=1e-14)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_zero_times_the_logarithm_of_zero_is_zero(sparse, dtype, n_classes):
    rng = np.random.default_rng(0)
    X = (rng.poisson(0.4, (300, 9)) * rng.integers(1, 120, (300, 9))).astype(dtype)
    logs = np.log(rng.random((n_classes, 9)))
    logs[0, [2, 3]] = logs[1, [3, 5]] = -np.inf
    with np.errstate(invalid="ignore"):
        expected = np.where(X[:, None] > 0, X[:, None] * logs, 0.0).sum(-1)
    assert np.isneginf(expected).any()
    for found in (dot_log(csr_array(X) if sparse else X, logs), log_contrast(logs)(X)):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_what_classes_share_may_be_left_out_of_sparse_rows(n_classes):
    rng = np.random.default_rng(1)
    X, logs = rng.poisson(0.4, (300, 9)).astype(float), np.log(rng.random((n_classes, 9)))
    found = log_contrast(logs)(csr_array(X))
    left_out = X @ logs.T - found
    np.testing.assert_allclose(left_out - left_out[:, :1], 0.0, atol=1e-12)


def test_chains_are_joined_one_after_the_other_also_where_there_are_no_columns():
    draws = np.arange(24.0).reshape(2, 3, 4)
    joined = join_chains({"class_weights": draws, "mean": np.empty((2, 3, 4, 0))})
    np.testing.assert_array_equal(joined["class_weights"], np.concatenate(draws))
    assert joined["mean"].shape == (6, 4, 0)
    np.testing.assert_array_equal(select_draws(joined, 4)["class_weights"], draws[1, 1])
    np.testing.assert_array_equal(select_draws(joined, slice(2))["class_weights"], draws[0, :2])


@pytest.mark.parametrize("shape", [(3, 2), (2000, 3, 4), (2, 40)])
def test_triangles_are_inverted_and_singular_ones_refused(shape):
    """One by one, and many small ones together."""
    lower = np.tril(np.random.default_rng(0).normal(size=(*shape, shape[-1])))
    np.einsum("...ii->...i", lower)[...] += 10.0
    inverse = inverses_of_triangles(lower)
    np.testing.assert_allclose(inverse @ lower, np.broadcast_to(np.eye(shape[-1]), lower.shape), atol=1e-12)
    assert (np.triu(inverse, 1) == 0).all()
    lower[(-1,) * lower.ndim] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        inverses_of_triangles(lower)
