"""NUTS against the closed form on real data: minutes, so marked slow."""

import numpy as np
import pytest
from arviz_stats.base.array import array_stats
from sklearn.datasets import load_digits, load_iris

import bayesppl as bp

LONG = bp.NUTS(draws=1500, tune=700, chains=2, random_state=20)


def _data(name):
    if name == "iris":
        return load_iris(return_X_y=True)
    images, labels = load_digits(n_class=4, return_X_y=True)
    return (images[:200, 18:30] > 7).astype(int), labels[:200]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (bp.GaussianNB, "iris"),
        (bp.LinearDiscriminantAnalysis, "iris"),
        (bp.QuadraticDiscriminantAnalysis, "iris"),
        (bp.BernoulliNB, "digits"),
    ],
)
def test_sampled_means_are_exact_means(estimator, name):
    """Every posterior mean within 4.5 standard errors, and these scores of the size they should be."""
    X, y = _data(name)
    sampled, exact = estimator(inference=LONG).fit(X, y), estimator().fit(X, y)
    assert not sampled.posterior_.sample_stats["diverging"].any()
    scores = []
    for parameter, expected in exact.posterior_.mean().items():
        draws = sampled.posterior_.samples[parameter]
        error = array_stats.mcse(draws, chain_axis=0, draw_axis=1, method="mean")
        scores.append(((draws.mean((0, 1)) - expected) / error).ravel())
    scores = np.concatenate(scores)
    print(
        f"{estimator.__name__}: {len(scores)} scores, rms {np.sqrt((scores**2).mean()):.2f}, most "
        f"{np.abs(scores).max():.2f}"
    )
    assert np.abs(scores).max() < 4.5
    assert 0.6 < np.sqrt((scores**2).mean()) < 1.6  # parameters depend on each other: wider than 1 ± 1/√(2n)
