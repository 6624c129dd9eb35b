"""The quick closed forms of Gaussian pairs against the generic formula, which needs the pair and single rows
only."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bayesppl.conjugate import NormalInverseGamma, NormalInverseWishart
from bayesppl.conjugate.correlated_normals import log_density_of_vectors
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import NumberRows
from bayesppl.conjugate.normal_means import NormalMeans
from bayesppl.conjugate.pair_forms import (
    generic_average,
    generic_log_predictive,
    inclusion_averaged,
    leave_one_out,
    log_predictive,
    own_class_without,
)
from bayesppl.data.labels import one_hot

N_ROWS, N_CLASSES, N_FEATURES = 40, 3, 4
SHAPE = (N_CLASSES, N_FEATURES)

PAIRS = {
    "a variance each": (
        NormalInverseGamma(0.5, 0.3, 2.0, 1.5),
        lambda p, n: p.sized((n, N_FEATURES)),
        False,
        False,
    ),
    "a variance of all classes": (
        NormalInverseGamma(0.5, 0.3, 2.0, 1.5),
        lambda p, n: p.sized((n, N_FEATURES), (-2,)),
        False,
        False,
    ),
    "a variance of all columns": (
        NormalInverseGamma(0.5, 0.3, 2.0, 1.5),
        lambda p, n: p.sized((n, N_FEATURES), (-1,)),
        False,
        False,
    ),
    "known variances": (
        NormalMeans(0.5, 0.3, [2.0, 0.5, 1.0, 3.0]),
        lambda p, n: p.sized((n, N_FEATURES)),
        False,
        False,
    ),
    "a matrix each": (
        NormalInverseWishart(0.5, 0.3, 7.0, 1.5),
        lambda p, n: p.sized((n, N_FEATURES), False),
        True,
        False,
    ),
    "a matrix of all classes": (
        NormalInverseWishart(0.5, 0.3, 7.0, 1.5),
        lambda p, n: p.sized((n, N_FEATURES), True),
        True,
        True,
    ),
    "regressions": (
        MatrixNormalInverseWishart(0.5, 0.3, 7.0, 1.5, 0.1, 2.0, 0.2),
        lambda p, n: p.sized((n, N_FEATURES - 1), 1, False),
        True,
        False,
    ),
    "tied regressions": (
        MatrixNormalInverseWishart(0.5, 0.3, 7.0, 1.5, 0.1, 2.0, 0.2),
        lambda p, n: p.sized((n, N_FEATURES - 1), 1, True),
        True,
        True,
    ),
}


def problem(name, weighted=False):
    rng = np.random.default_rng(0)
    prior, sized, is_matrix, is_tied = PAIRS[name]
    codes = rng.integers(N_CLASSES, size=N_ROWS)
    weights = rng.choice([1.0, 2.0, 0.5], N_ROWS) if weighted else np.ones(N_ROWS)
    X = rng.standard_normal((N_ROWS, N_FEATURES)) @ rng.standard_normal((N_FEATURES, N_FEATURES)) + codes[:, None]
    rows = NumberRows(X, is_matrix, is_tied)
    statistics = rows.sum_rows(one_hot(codes, N_CLASSES, weights))
    posterior, common = sized(prior, N_CLASSES).update(statistics), sized(prior, 1).update(statistics.pooled())
    return posterior, common, statistics, rows, Membership(codes, weights)


@pytest.mark.parametrize("name", PAIRS)
def test_the_predictive(name):
    posterior, _, _, rows, _ = problem(name)
    quick, generic = log_predictive(posterior, N_CLASSES), generic_log_predictive(posterior, N_CLASSES)
    np.testing.assert_allclose(quick(rows), generic(rows), rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name in PAIRS if "tied" not in name and "of all classes" not in name])
def test_leaving_rows_of_classes_out_that_share_nothing(name, weighted):
    posterior, _, statistics, rows, members = problem(name, weighted)
    fitted, without = leave_one_out(posterior, statistics, rows, members, N_CLASSES)
    np.testing.assert_allclose(fitted, log_predictive(posterior, N_CLASSES)(rows), rtol=1e-12)
    expected = members.replaced(fitted, own_class_without(posterior, rows, members))
    np.testing.assert_allclose(without, expected, rtol=1e-9)


@pytest.mark.parametrize("name", PAIRS)
def test_leaving_rows_out_is_a_fit_without_them(name):
    posterior, _, statistics, rows, members = problem(name)
    _, without = leave_one_out(posterior, statistics, rows, members, N_CLASSES)
    prior, sized, is_matrix, is_tied = PAIRS[name]
    for row in range(0, N_ROWS, 7):
        kept = np.arange(N_ROWS) != row
        others = NumberRows(rows.X[kept], is_matrix, is_tied)
        refit = sized(prior, N_CLASSES).update(others.sum_rows(one_hot(members.codes[kept], N_CLASSES)))
        one = NumberRows(rows.X[[row]], is_matrix, is_tied)
        np.testing.assert_allclose(without[[row]], generic_log_predictive(refit, N_CLASSES)(one), rtol=1e-9)


@pytest.mark.parametrize("name", PAIRS)
def test_the_average_over_what_depends_on_the_class(name):
    posterior, common, _, rows, _ = problem(name)
    separate = "feature" in posterior.factor_dims
    log_odds = np.linspace(-1, 2, N_FEATURES) if separate else np.asarray(0.7)
    quick = inclusion_averaged(posterior, common, {"": log_odds}, N_CLASSES)(rows)
    generic = generic_average(posterior, common, log_odds, N_CLASSES)(rows)
    np.testing.assert_allclose(quick - quick[:, :1], generic - generic[:, :1], rtol=1e-8, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [1, 400], ids=["few rows", "many rows"])
@pytest.mark.parametrize("tied", [False, True])
def test_densities_under_draws_of_the_parameters(n_rows, tied):
    rng, n_draws = np.random.default_rng(0), 5
    mean = rng.normal(size=(n_draws, *SHAPE))
    root = rng.normal(size=(n_draws, *(() if tied else (N_CLASSES,)), N_FEATURES, 2 * N_FEATURES))
    covariance, X = root @ np.swapaxes(root, -1, -2), rng.normal(size=(n_rows, N_FEATURES))
    X[0, 1] = np.nan
    found = log_density_of_vectors(mean, covariance, tied).of(lambda rows: rows)(X)
    expected = np.empty((n_draws, n_rows, N_CLASSES))
    for s, i, k in np.ndindex(expected.shape):
        at, matrix = ~np.isnan(X[i]), covariance[s] if tied else covariance[s, k]
        expected[s, i, k] = multivariate_normal(mean[s, k, at], matrix[np.ix_(at, at)]).logpdf(X[i, at])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
