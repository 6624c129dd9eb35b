"""Columns that copy each other, or nearly: against fifty digits, and whatever the order and the units of the
columns."""

from itertools import permutations

import mpmath as mp
import numpy as np
import pandas as pd
import pytest

import bayesppl as bp
from bayesppl.kernels.definite import is_positive_definite

MODELS = [bp.QuadraticDiscriminantAnalysis, bp.LinearDiscriminantAnalysis]
RULES = ["map", "mean", "predictive"]


def table(seed, noise=0.0):
    """Columns x, y and x + y (+ noise) of random sizes, far from zero or near it, and labels of two or three
    classes."""
    rng = np.random.default_rng(seed)
    n_classes, n_rows = rng.integers(2, 4), rng.integers(8, 60)
    y = np.arange(n_rows) % n_classes
    units = 10.0 ** rng.integers(-3, 4, 2)
    X = (rng.normal(size=(n_rows, 2)) + y[:, None] + rng.choice([0, 0, 10, 1000])) * units
    third = X.sum(1) + noise * units.max() * rng.normal(size=n_rows)
    return np.column_stack([X, third]), y


# --- an oracle of fifty digits --------------------------------------------------------------------------------


def scatter_of(X):
    n, d = X.rows, X.cols
    mean = mp.matrix([mp.fsum(X[i, j] for i in range(n)) / n for j in range(d)])
    return (
        n,
        mean,
        mp.matrix(
            [
                [mp.fsum((X[i, a] - mean[a]) * (X[i, b] - mean[b]) for i in range(n)) for b in range(d)]
                for a in range(d)
            ]
        ),
    )


def smallest_eigenvalue(matrix):
    d = matrix.rows
    correlation = mp.matrix(
        [[matrix[a, b] / mp.sqrt(matrix[a, a] * matrix[b, b]) for b in range(d)] for a in range(d)]
    )
    return min(mp.eigsy(correlation, eigvals_only=True))


def multigamma(d, a):
    return d * (d - 1) / mp.mpf(4) * mp.log(mp.pi) + mp.fsum(mp.loggamma(a - mp.mpf(j) / 2) for j in range(d))


def normal_inverse_wishart_evidence(X, y, tied):
    """Log evidence of the features by the formulas of Murphy (2007), and a bound of the rounding error of ours."""
    labels = np.unique(y)
    n_classes, d = len(labels), X.shape[1]
    n_rows, location, total = scatter_of(mp.matrix(X.tolist()))
    kappa, nu = mp.mpf("0.01"), d + 2

    def posteriors(psi):
        after = []
        for label in labels:
            n, mean, scatter = scatter_of(mp.matrix(X[y == label].tolist()))
            gap = mean - location
            after.append((n, scatter + kappa * n / (kappa + n) * gap * gap.T))
        if tied:
            return [(n_rows, [n for n, _ in after], psi + sum((s for _, s in after), mp.zeros(d)))]
        return [(n, [n], psi + s) for n, s in after]

    covariance = total / (n_rows - 1)
    for scale in (covariance, mp.diag([covariance[j, j] for j in range(d)])):
        psi = scale / mp.mpf(n_classes) ** (mp.mpf(2) / d)
        after = posteriors(psi)
        smallest = min([smallest_eigenvalue(psi), *(smallest_eigenvalue(matrix) for _, _, matrix in after)])
        if smallest > 1e-10:
            break
    evidence = mp.mpf(0)
    for n, counts, matrix in after:
        evidence += multigamma(d, mp.mpf(nu + n) / 2) - multigamma(d, mp.mpf(nu) / 2)
        evidence += mp.mpf(nu) / 2 * mp.log(mp.det(psi)) - mp.mpf(nu + n) / 2 * mp.log(mp.det(matrix))
        evidence += mp.fsum(mp.mpf(d) / 2 * mp.log(kappa / (kappa + m)) for m in counts)
        evidence -= mp.mpf(n) * d / 2 * mp.log(mp.pi)
    # sums of n products are wrong by n ε of the product of their scales at most, a log determinant by that over
    # the smallest eigenvalue of the correlations, d times; it enters with the weight (ν + n)/2, before and after
    eps = float(np.finfo(float).eps)
    bound = 4 * n_rows * eps * d * (nu + n_rows) / float(smallest) + 1e-12 * float(abs(evidence))
    return float(evidence), bound, float(smallest)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-8, 1e-6, 3e-5, 1e-4, 1e-2])
def test_evidence_to_fifty_digits(make, noise):
    with mp.workdps(50):
        for seed in range(8):
            X, y = table(seed, noise)
            expected, bound, smallest = normal_inverse_wishart_evidence(
                X, y, make is bp.LinearDiscriminantAnalysis
            )
            assert abs(smallest / 1e-10 - 1) > 1e-3  # else rounding could decide
            found = float(make("fraley-raftery").fit(X, y).log_evidence()["features"].sum())
            assert abs(found - expected) < bound


# --- order and units ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("make", MODELS)
def test_neither_order_nor_units_of_collinear_columns_change_an_answer(make):
    for seed in range(30):
        X, y = table(seed)
        rng = np.random.default_rng(seed)
        new = X[rng.integers(0, len(X), 5)] + 0.3 * X.std(0) * rng.normal(size=(5, 3))
        clf = make().fit(X, y)
        expected = [clf.predict_proba(new, rule=rule) for rule in RULES]
        evidence, loo = float(clf.log_evidence().total), clf.loo().proba
        for order in list(permutations(range(3)))[1:]:
            other = make().fit(X[:, order], y)
            found = [other.predict_proba(new[:, order], rule=rule) for rule in RULES]
            np.testing.assert_allclose(found, expected, atol=1e-9)
            np.testing.assert_allclose(other.loo().proba, loo, atol=1e-9)
            np.testing.assert_allclose(float(other.log_evidence().total), evidence, rtol=1e-10, atol=1e-8)
        units = 10.0 ** rng.integers(-6, 7, 3) * 1.7
        scaled = make().fit(X * units, y)
        np.testing.assert_allclose(
            [scaled.predict_proba(new * units, rule=rule) for rule in RULES], expected, atol=1e-9
        )
        # a density of other units: every row's is divided by their product
        moved = float(scaled.log_evidence().total) + len(X) * np.log(units).sum()
        np.testing.assert_allclose(moved, evidence, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("structure", ["full", "tied"])
def test_estimates_and_vague_priors_are_refused_whatever_the_order_of_collinear_columns(structure):
    for seed in range(12):
        X, y = table(seed)
        for order in permutations(range(3)):
            clf = bp.GenerativeClassifier(bp.Gaussian(structure)).fit(X[:, order], y)
            with pytest.raises(bp.UndefinedEstimateError, match=r"covariance .* is singular"):
                clf.predict(X[:, order], rule="mle")
            for prior in ("jeffreys", "flat"):
                with pytest.raises(bp.ImproperError, match="do not copy each other"):
                    bp.GenerativeClassifier(bp.Gaussian(structure, prior)).fit(X[:, order], y)


def test_leaving_out_a_row_of_collinear_columns_is_a_refit_without_it():
    for seed in range(5):
        X, y = table(seed)
        clf = bp.QuadraticDiscriminantAnalysis("fraley-raftery").fit(X, y)
        prior = clf.posterior_.prior.parts["features"]
        declared = bp.NormalInverseWishart(prior.location, prior.kappa, prior.nu, prior.psi)
        loo = clf.loo()
        for row in range(0, len(y), 7):
            kept = np.arange(len(y)) != row
            refit = bp.QuadraticDiscriminantAnalysis(declared).fit(X[kept], y[kept])
            np.testing.assert_allclose(loo.proba[row], refit.predict_proba(X[[row]])[0], atol=1e-9)


# --- what the tolerance decides -------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", ["hierarchical", "fraley-raftery"])
def test_columns_that_copy_each_other_within_a_class_only_have_a_posterior(prior):
    # over all rows the third column adds something, three parts in a hundred thousand; within a class nothing at
    # all
    for seed in range(20):
        X, y = table(seed)
        X[:, 2] += 3e-5 * y * X[:, 2].std()
        for order in permutations(range(3)):
            clf = bp.QuadraticDiscriminantAnalysis(prior).fit(X[:, order], y)
            assert np.isfinite(clf.predict_proba(X[:, order])).all()
            assert np.isfinite(clf.log_evidence().total)
            assert np.isfinite(clf.loo().proba).all()


@pytest.mark.parametrize("structure", ["full", "tied"])
def test_a_prior_too_weak_for_collinear_columns_is_refused_by_name(structure):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    named = {"a": X[:, 0], "b": X[:, 1], "c": X[:, :2].sum(1), "d": X[:, 2]}
    family = bp.Gaussian(structure, bp.NormalInverseWishart(0, 1, 6, 1e-18))
    with pytest.raises(bp.ImproperError, match=r"columns 'a', 'b', 'c'( in class 0)? is singular.*larger psi"):
        bp.GenerativeClassifier(family).fit(pd.DataFrame(named), y)
    clf = bp.GenerativeClassifier(family).partial_fit(pd.DataFrame(named), y, classes=np.unique(y))
    with pytest.raises(bp.ImproperError, match="is singular"):
        clf.predict(pd.DataFrame(named))


def test_a_scale_matrix_that_is_singular_to_ten_digits_is_refused():
    with pytest.raises(
        ValueError, match="positive definite matrix, whose correlations have no eigenvalue below 1e-10"
    ):
        bp.NormalInverseWishart(psi=[[1, 1 - 1e-12], [1 - 1e-12, 1]])
    bp.NormalInverseWishart(psi=[[1, 1 - 1e-8], [1 - 1e-8, 1]])


def test_definite_is_decided_by_the_smallest_eigenvalue_of_the_correlations():
    # two columns of correlation r have the eigenvalues 1 ± r
    for gap, expected in ((0.99e-10, False), (1.01e-10, True)):
        matrix = np.array([[1.0, 1 - gap], [1 - gap, 1.0]])
        for units in ([1, 1], [1e-150, 1e100], [3e7, 1e-9]):
            assert is_positive_definite(matrix * np.outer(units, units)) == expected
    several = np.array(
        [np.eye(2), np.ones((2, 2)), [[1, 2], [2, 1]], np.diag([1, 0]), np.diag([1, -1]), np.diag([1, np.inf])]
    )
    assert is_positive_definite(several).tolist() == [True, False, False, False, False, False]
