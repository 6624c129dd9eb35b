"""The step of rounded values, in any unit."""

import numpy as np
import pytest

from bayesppl.families.choosing.column_cells import rounding_of


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.0, 2.5], 0.5),
        ([10.0, 300.0], 10.0),
        ([0.0, 0.0], 1.0),
        ([-0.25, 7.0], 0.25),
        ([np.pi], np.pi),
        ([16777216.0, 3.0], 1.0),
        ([123456.789, 0.001], 0.001),
        ([1.0, np.sqrt(2), np.pi], 0.0),
    ],
)
def test_rounding(values, step):
    np.testing.assert_allclose(rounding_of(np.asarray(values)), step, rtol=1e-12)


@pytest.mark.parametrize("unit", [2.54, 1 / 3, 0.01 / 3, np.pi, 1e-8 / 7, np.e * 1e12], ids=str)
def test_the_step_is_found_in_any_unit(unit):
    rng = np.random.default_rng(0)
    for _ in range(50):
        steps = rng.integers(-int(10 ** rng.uniform(1, 6)), 20_000, rng.integers(30, 300))
        np.testing.assert_allclose(rounding_of(steps * unit), np.gcd.reduce(steps) * unit, rtol=1e-9)


def test_values_on_no_grid_have_no_step():
    rng = np.random.default_rng(1)
    assert not any(rounding_of(rng.normal(size=rng.integers(3, 50))) for _ in range(500))


@pytest.mark.parametrize("digits", [1, 3])
def test_single_precision_keeps_the_step(digits):
    values = np.random.default_rng(2).normal(50, 10, 2000).round(digits).astype(np.float32)
    np.testing.assert_allclose(rounding_of(values.astype(float)), 10.0**-digits, rtol=1e-12)
