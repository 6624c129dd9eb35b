"""Values that were rounded lie on edges of bins and a step apart: which bin they are in does not depend on their
unit."""

import numpy as np
import pytest

import bayesppl as bp

SCALES = 10.0 ** np.arange(-6, 7)


@pytest.mark.parametrize(
    "histogram",
    [
        bp.Histogram(2),
        bp.Histogram(6),
        bp.Histogram(),
        bp.Histogram(4, "quantile"),
        bp.Histogram(spacing="quantile"),
    ],
    ids=str,
)
def test_units_change_no_probability_of_rounded_values(histogram: bp.Histogram) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 40)
        X = np.rint(rng.normal(2 * y, 1.5 + seed)) + [-16.0, 0.0, 15.0][seed % 3]
        expected = bp.GenerativeClassifier(histogram).fit(X[:, None], y).predict_proba(X[:, None])
        for scale in SCALES:
            scaled = (X * scale)[:, None]
            found = bp.GenerativeClassifier(histogram).fit(scaled, y).predict_proba(scaled)
            np.testing.assert_allclose(found, expected, rtol=1e-9)
