"""A maximum is found where the slope is zero, beyond the digits of the values."""

import numpy as np
import pytest

from bayesppl.kernels.maximise import maximise

BOUNDS = [(-10.0, 10.0)] * 3
STEPS = 100


def _rounded(point):
    """Level within 1e-12 of everything that differs by less than about 1e-6: its maximum is at log 2, log 3, log
    4."""
    smooth = (np.arange(2, 5) * point - np.exp(point)).sum()
    return float(np.round(smooth, 12))


@pytest.mark.parametrize("start", [np.zeros(3), np.array([3.0, -4.0, 1.0])])
def test_a_maximum_is_found_to_more_digits_than_its_value_has(start):
    path = [start]
    found = maximise(_rounded, start, [0, 1, 2], BOUNDS, STEPS, path.append)
    assert found.converged
    np.testing.assert_allclose(path[-1], found.at)
    # slopes over twice .01 leave out the third derivative, which is as large as the second: .01² / 6 of it
    np.testing.assert_allclose(found.at, np.log([2, 3, 4]), atol=2e-5)
    other = maximise(
        lambda point: _rounded(point) + 1e-12 * np.sin(1e9 * point.sum()), start, [0, 1, 2], BOUNDS, STEPS, id
    )
    np.testing.assert_allclose(other.at, found.at, atol=1e-9)


def test_only_what_is_free_moves_and_bounds_are_kept():
    start = np.array([0.0, 5.0, 0.0])
    found = maximise(_rounded, start, [0, 2], [(-10, 0.5), (-10, 10), (-10, 10)], STEPS, id)
    assert found.converged
    np.testing.assert_allclose(found.at, [0.5, 5.0, np.log(4)], atol=2e-5)


def test_a_search_without_steps_left_has_not_converged():
    found = maximise(_rounded, np.full(3, -9.0), [0, 1, 2], BOUNDS, 1, id)
    assert not found.converged
    assert "LIMIT" in found.message
