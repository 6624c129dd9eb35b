"""NUTS against the closed form on real data, and approximations against it: minutes, so marked slow."""

import logging

import numpy as np
import pytest
from arviz_stats.base.array import array_stats
from sklearn.datasets import load_digits, load_iris

import bayesppl as bp

LONG = bp.NUTS(draws=1500, tune=700, chains=2, random_seed=20)


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
    """Every posterior mean within 4.5 standard errors, and these scores of the size that standard errors promise."""
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
        f"{estimator.__name__}: {len(scores)} scores, rms {np.sqrt((scores**2).mean()):.2f}, most {np.abs(scores).max():.2f}"
    )
    assert np.abs(scores).max() < 4.5
    assert 0.6 < np.sqrt((scores**2).mean()) < 1.6  # parameters depend on each other: wider than 1 ± 1/√(2n)


@pytest.mark.slow
@pytest.mark.parametrize(
    "inference", [bp.SMC(draws=2000, random_seed=4), bp.ADVI(iterations=10_000, random_seed=4)]
)
def test_approximations_know_what_they_are(inference, caplog):
    caplog.set_level(logging.ERROR, logger="pymc")
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 2, size=(60, 2)), rng.integers(0, 2, size=60)
    exact = bp.BernoulliNB(bp.Beta(2.0, 3.0)).fit(X, y)
    clf = bp.BernoulliNB(bp.Beta(2.0, 3.0), inference=inference).fit(X, y)
    tree = clf.to_datatree()
    assert "approximation" in tree.attrs
    # the bulk of the posterior is where it should be: means within a tenth of a posterior sd or so
    sd = exact.posterior_.draws(1, 4000, rng)["probability"].std((0, 1))
    assert (
        np.abs(clf.posterior_.mean()["probability"] - exact.posterior_.mean()["probability"]) < 0.25 * sd
    ).all()
    if isinstance(inference, bp.SMC):
        evidence = np.asarray(clf.posterior_.record["log_marginal_likelihood"])
        assert np.abs(evidence - float(exact.log_evidence()["total"])).max() < 0.3


def test_laplace_and_pathfinder_are_refused():
    for name in ("laplace", "pathfinder"):
        with pytest.raises(ValueError, match="only through pymc-extras"):
            bp.BernoulliNB(inference=name).fit([[0], [1]], [0, 1])
