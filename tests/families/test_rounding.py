"""The step of rounded values, in any unit."""

import numpy as np
import pytest
from sklearn.base import clone

import bayesppl as bp
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


@pytest.mark.parametrize("shift", [5e6, 1e7, 1.7e9])
def test_values_far_from_zero_are_no_multiples_of_their_magnitude(shift):
    assert rounding_of(shift + np.random.default_rng(3).normal(size=80)) == 0


def test_steps_are_found_far_from_zero():
    np.testing.assert_allclose(rounding_of(1e8 + np.arange(10)), 1, rtol=1e-12)
    np.testing.assert_allclose(rounding_of(5e6 + np.arange(10) / 4), 0.25, rtol=1e-12)


def test_rounding_errors_make_no_step():
    np.testing.assert_allclose(rounding_of(np.array([0.1 + 0.2, 0.3, 0.1])), 0.1, rtol=1e-12)


@pytest.mark.parametrize("shift", [1e7, 1e9])
@pytest.mark.parametrize(
    "model", [bp.GenerativeClassifier(bp.Histogram()), bp.MixedNB(), bp.AutoClassifier()], ids=repr
)
def test_probabilities_do_not_depend_on_the_origin(model, shift):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 90)
    X = rng.normal(size=(90, 3)) + y[:, None] * [1, 0, 0.5]
    X = (X + 1e9) - 1e9  # the digits that are left far from zero
    here, there = (clone(model).fit(X + shift, y).predict_proba(X + shift) for shift in (0, shift))
    np.testing.assert_allclose(there, here, atol=1e-5)
