"""Families that are a product over cells skip missing cells exactly: the contract holds on rows with holes."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.examples import EXAMPLES
from support.pymc_density import pymc_log_density

import bayesppl as bp
from bayesppl.evaluation import contract as testing
from bayesppl.families import closed_forms

NAMES = [
    "bernoulli",
    "binomial",
    "binomial, trials by row",
    "poisson",
    "poisson, exposure",
    "gamma",
    "negative binomial",
    "gaussian diag",
    "gaussian tied_diag",
    "gaussian spherical",
    "lognormal",
    "lognormal spherical",
]
#: Whose PyMC model is compiled in the quick tests too: bits, counts with known numbers beside them, real numbers.
COMPILED = ["bernoulli", "poisson, exposure", "gaussian diag"]
CHECKS = [
    testing.check_statistics_add_up,
    testing.check_weight_two_is_a_duplicate,
    testing.check_candidates_formula,
    testing.check_predictive_is_an_evidence_ratio,
    testing.check_leave_one_out,
    testing.check_draw_axes,
    testing.check_mode_is_highest,
]


def with_holes(name):
    example = EXAMPLES[name]
    case = testing.make_case(example.family, example.X, example.y)
    X, n_features = case.X.astype(float), len(case.family.bound.coords["feature"])
    holes = np.random.default_rng(11).random((len(X), n_features)) < 0.2
    X[:, :n_features][holes] = np.nan
    assert np.isnan(X[:3]).any()
    return case._replace(X=X, completed=X)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_contract_with_holes(name, check):
    check(with_holes(name))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in COMPILED else pytest.mark.slow) for name in NAMES]
)
def test_the_density_of_pymc_with_holes(name):
    testing.check_pymc_density(with_holes(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_row_without_cells_has_density_one(name):
    example = EXAMPLES[name]
    case = testing.make_case(example.family, example.X, example.y)
    X, n_features = case.X[:2].astype(float), len(case.family.bound.coords["feature"])
    X[:, :n_features] = np.nan
    np.testing.assert_allclose(closed_forms.log_predictive(case.family, case.posterior)(X), 0.0, atol=1e-13)
    np.testing.assert_allclose(case.family.log_likelihood(case.posterior.mean())(X), 0.0, atol=1e-13)


def test_pymc_observes_every_cell_of_sparse_rows():
    X = np.random.default_rng(1).integers(0, 2, size=(12, 3))
    y = np.arange(12) % 2
    point = {
        "class_weights": np.asarray([0.3, 0.7]),
        "probability": np.asarray([[0.2, 0.3, 0.9], [0.6, 0.7, 0.1]]),
    }
    dense, sparse = (bp.BernoulliNB().fit(rows, y) for rows in (X, csr_array(X)))
    found = pymc_log_density(sparse, "rows", point)
    assert found == pytest.approx(pymc_log_density(dense, "rows", point), rel=1e-12)
