"""Columns that depend on each other are put together, and independent ones are not."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import multigammaln

import bayesppl as bp
from bayesppl.conjugate.moments import Moments, moments
from bayesppl.data.labels import one_hot
from bayesppl.families.covariance_prior import hierarchical_prior, log_evidence_of_correlation


def dependent_columns(n_rows=120, seed=0):
    """Two numbers and two categories that go together, one of each that does not, in units far apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    length = rng.normal(size=n_rows) + y
    first = rng.integers(0, 3, n_rows)
    copy = np.where(rng.random(n_rows) < 0.8, first, rng.integers(0, 3, n_rows))
    X = pd.DataFrame(
        {"length": length, "noise": rng.normal(size=n_rows), "mass": 1e6 * (length + rng.normal(size=n_rows))}
    )
    return X.assign(
        first=np.array(list("abc"))[first], other=rng.choice(["u", "v"], n_rows), copy=np.array(list("xyz"))[copy]
    ), y


def test_blocks_are_the_columns_that_depend_on_each_other():
    X, y = dependent_columns()
    clf = bp.MixedNB(columns="blocks").fit(X, y)
    assert {name: columns for name, (columns, _) in clf.families_.items()} == {
        "numbers_1": ("length", "mass"),
        "gaussian": ("noise",),
        "categories_1": ("first", "copy"),
        "categorical": ("other",),
    }
    # every other way to put three columns of a kind together has less evidence
    numbers = ["length", "noise", "mass"]
    evidence = {
        tuple(map(tuple, blocks)): sum(
            float(bp.GenerativeClassifier(bp.Gaussian("full")).fit(X[block], y).log_evidence()["features"].sum())
            for block in blocks
        )
        for blocks in (
            [["length"], ["noise"], ["mass"]],
            [["length", "noise"], ["mass"]],
            [["length", "mass"], ["noise"]],
            [["noise", "mass"], ["length"]],
            [numbers],
        )
    }
    assert max(evidence, key=evidence.get) == (("length", "mass"), ("noise",))


def test_units_and_gaps_do_not_matter_for_which_blocks_are_proposed():
    X, y = dependent_columns()
    blocks = {name: columns for name, (columns, _) in bp.MixedNB(columns="blocks").fit(X, y).families_.items()}
    moved = X.assign(mass=1e-9 * X["mass"] + 3, length=-1000 * X["length"])
    assert {n: c for n, (c, _) in bp.MixedNB(columns="blocks").fit(moved, y).families_.items()} == blocks
    gaps = X.assign(mass=X["mass"].where(np.arange(len(X)) > 3), copy=X["copy"].where(np.arange(len(X)) > 3))
    found = bp.MixedNB(columns="blocks").fit(gaps, y).families_
    assert {name: columns for name, (columns, _) in found.items()} == {
        "gaussian": ("length", "noise", "mass"),
        "categorical": ("first", "other", "copy"),
    }


def two_numbers(rng, n_rows, n_classes, correlation=0.0):
    """Statistics of two numbers, whose means and variances differ between the classes as chance has it."""
    codes = rng.integers(0, n_classes, n_rows)
    one, noise = rng.normal(size=(2, n_rows))
    both = np.column_stack([one, correlation * one + np.sqrt(1 - correlation**2) * noise])
    x = rng.normal(size=(n_classes, 2))[codes] + rng.lognormal(size=(n_classes, 2))[codes] * both
    return moments(x, one_hot(codes, n_classes), matrix=True, tied=False)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_rows", [30, 200, 2000])
def test_independent_numbers_lose_by_being_put_together(n_rows, n_classes):
    rng = np.random.default_rng(n_rows + n_classes)
    found = np.array([log_evidence_of_correlation(two_numbers(rng, n_rows, n_classes)) for _ in range(60)])
    assert found.mean() + 3 * found.std() / np.sqrt(len(found)) < 0
    assert (found > 0).mean() < 1 / 3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_correlated_numbers_gain_by_being_put_together(n_classes):
    rng = np.random.default_rng(n_classes)
    found = [log_evidence_of_correlation(two_numbers(rng, 300, n_classes, 0.5)) for _ in range(30)]
    assert min(found) > 0


def test_the_bayes_factor_of_one_class_is_a_ratio_of_wishart_normalisers():
    n = 40
    x = np.random.default_rng(0).multivariate_normal([0, 0, 0], np.eye(3) + 0.5, n)
    codes = one_hot(np.zeros(n, dtype=int), 1)
    correlation = np.corrcoef(x.T)
    standard = Moments(np.array([float(n)]), np.zeros((1, 3)), (n - 1) * correlation[None])
    prior = hierarchical_prior(standard, False, ["a", "b", "c"])

    def log_marginal(d, scatter):
        # a marginal of an inverse Wishart matrix has as many degrees of freedom less as there are columns less
        nu, psi = float(prior.nu[0]) - (3 - d), prior.psi[0, :d, :d]
        log_dets = nu * np.linalg.slogdet(psi)[1] - (nu + n) * np.linalg.slogdet(psi + scatter)[1]
        return multigammaln((nu + n) / 2, d) - multigammaln(nu / 2, d) + 0.5 * log_dets

    expected = log_marginal(3, (n - 1) * correlation) - 3 * log_marginal(1, (n - 1) * np.eye(1))
    found = log_evidence_of_correlation(moments(x, codes, matrix=True, tied=False))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("n_rows", [30, 200, 2000])
def test_independent_categories_lose_by_sharing_a_table(n_rows):
    rng = np.random.default_rng(n_rows)
    found = []
    for _ in range(60):
        y = rng.integers(0, 2, n_rows)
        X = np.column_stack([(rng.random(n_rows) < 0.3 + 0.3 * y) * 1, rng.integers(0, 4, n_rows)])
        levels = {"x0": range(2), "x1": range(4)}
        apart = bp.CategoricalNB(levels=levels).fit(X, y).log_evidence()["features"].sum()
        table = (
            bp.JointCategoricalNB(bp.Dirichlet(4 / 8), levels=levels).fit(X, y).log_evidence()["features"].sum()
        )
        found.append(float(table - apart))
    assert np.mean(found) + 3 * np.std(found) / np.sqrt(len(found)) < 0


def test_many_independent_columns_stay_alone_and_correlated_ones_are_found():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame(rng.normal(size=(400, 16)), columns=[f"x{j}" for j in range(16)])
    X["x9"] += 0.5 * X["x3"]
    blocks = bp.MixedNB(columns="blocks").fit(X, y).families_
    assert blocks["numbers_1"][0] == ("x3", "x9")
    assert len(blocks["gaussian"][0]) == 14
