"""The numerical idioms of ``bayesppl.arrays`` against high precision."""

import mpmath
import numpy as np
import pytest

from bayesppl.arrays import log_rising


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
