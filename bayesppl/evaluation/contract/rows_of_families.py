"""Statistics of rows add up; simulated, narrowed and decoded rows are those of the family."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesppl.conjugate.statistics import numbers_of
from bayesppl.conjugate.weighted_rows import WeightedRows
from bayesppl.data.read_table import as_table
from bayesppl.evaluation.contract.case import Case, of_rows
from bayesppl.families import closed_forms
from bayesppl.kernels.arrays import select_draws


def check_statistics_add_up(case: Case) -> None:
    """Halves add up to the whole; what was added can be subtracted; the order of rows does not matter."""
    half = len(case.codes) // 2
    first, second = (of_rows(case, rows) for rows in (slice(None, half), slice(half, None)))
    order = case.rng.permutation(len(case.codes))
    _assert_same(first + second, case.statistics)
    _assert_same(second + first, case.statistics)
    _assert_same(case.statistics - second, first, rtol=1e-7, atol=1e-7)
    _assert_same(of_rows(case, order), case.statistics)


def check_weight_two_is_a_duplicate(case: Case) -> None:
    """A row of weight 2 counts as two rows, a row of weight 0 as none."""
    weights = case.rng.integers(0, 3, size=len(case.codes))
    weighted = of_rows(case, slice(None), weights.astype(float))
    _assert_same(weighted, of_rows(case, np.arange(len(case.codes)).repeat(weights)))
    _assert_same(case.statistics.scale(3.0), case.statistics + case.statistics + case.statistics)


def _assert_same(found: Any, expected: Any, rtol: float = 1e-9, atol: float = 1e-9) -> None:
    if isinstance(found, WeightedRows):  # equal up to the order of rows and to duplicates
        found, expected = found.merged(), expected.merged()
    for (path, left), (_, right) in zip(numbers_of(found), numbers_of(expected), strict=True):
        np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, err_msg=path)


def check_simulated_rows_keep_their_covariates(case: Case) -> None:
    """Simulated rows have the covariates that they are simulated with, given parameters or the data."""
    codes, given = case.codes[::-1], case.family.bound.covariates(case.X)
    assert given.keys() == case.family.bound.covariate_supports.keys()
    theta = select_draws(case.posterior.draw(1, case.rng), 0)
    for rows in (
        case.family.simulate(theta, codes, case.rng, given),
        closed_forms.simulate_predictive(case.family, case.posterior, codes, case.rng, given),
    ):
        assert rows.shape == case.X.shape
        found = case.family.bound.covariates(rows)
        assert found.keys() == given.keys()
        for name, values in found.items():
            np.testing.assert_array_equal(values, given[name])


def check_simulated_rows_have_the_density(case: Case) -> None:
    """Rows of class k are denser under k than under any other class, on average."""
    theta = select_draws(case.draw(1), 0)
    codes = np.repeat(np.arange(case.n_classes), 2000)
    log_density = case.family.log_likelihood(theta)(case.family.simulate(theta, codes, case.rng))
    gap = log_density[np.arange(len(codes)), codes][:, None] - log_density
    for k in range(case.n_classes):
        # the average of the gap is a Kullback–Leibler divergence, which is not negative
        own = gap[codes == k]
        error = own.std(0) / np.sqrt(len(own))
        np.testing.assert_array_less(-5 * error - 1e-12, own.mean(0))


def check_narrowed_rows_have_the_same_predictive(case: Case) -> None:
    """A smaller posterior and its rows have the densities of the whole."""
    posterior, rows = closed_forms.narrowed(case.family, case.posterior, case.X[:3])
    np.testing.assert_allclose(
        closed_forms.log_predictive(case.family, posterior)(rows),
        closed_forms.log_predictive(case.family, case.posterior)(case.X[:3]),
        rtol=1e-9,
        atol=1e-9,
    )


def check_decoded_rows_are_the_rows(case: Case) -> None:
    """Encoding what was decoded gives the same rows."""
    import pandas as pd

    again = case.family.bound.encode(as_table(pd.DataFrame(case.family.bound.decode(case.X))))
    np.testing.assert_array_equal(again, case.X)
