"""Priors declared by PreliZ and by pymc-extras are those of PyMC that they stand for."""

import numpy as np
import pymc as pm
import pytest

import bayesppl as bp

X = np.random.default_rng(2).normal([[0.0, 1.0]], 1.0, (12, 2))
Y = np.repeat(["a", "b"], 6)


def log_density(clf):
    """Of the declared model at its start, and one step from it."""
    model = clf.to_pymc(likelihood="statistics")
    start = model.initial_point(0)
    function = model.compile_logp(mode="FAST_COMPILE")
    return [float(function({name: value + step for name, value in start.items()})) for step in (0.0, 0.3)]


def declared(mean, sd, weights):
    family = bp.Gaussian("diag", mean=mean, sd=sd)
    clf = bp.GenerativeClassifier(family, class_weights=weights, inference=bp.Laplace(draws=50, random_state=1))
    return clf.fit(X, Y)


#: PyMC keeps a written constant in 32 bits where these lose nothing, and libraries hand over numbers of 64.
RTOL = 1e-8

BY_PYMC = (lambda: pm.Normal.dist(0.5, 2.0), lambda: pm.HalfNormal.dist(1.5), lambda: bp.Dirichlet(2.0))


@pytest.mark.slow  # PreliZ takes five seconds to be imported
def test_distributions_of_preliz():
    pz = pytest.importorskip("preliz")
    given = declared(pz.Normal(0.5, 2.0), pz.HalfNormal(1.5), bp.Dirichlet(2.0))
    expected = declared(*(make() for make in BY_PYMC))
    np.testing.assert_allclose(log_density(given), log_density(expected), rtol=RTOL)
    np.testing.assert_allclose(given.predict_proba(X), expected.predict_proba(X), rtol=1e-6)
    assert "Normal" in str(given.provenance()["prior"])


def test_a_distribution_of_preliz_that_leaves_the_space_is_refused():
    pz = pytest.importorskip("preliz")
    with pytest.raises(ValueError, match="sd"):
        declared(pz.Normal(0.5, 2.0), pz.Normal(0.0, 1.0), bp.Dirichlet(2.0))


def test_a_distribution_of_preliz_without_parameters_is_refused():
    pz = pytest.importorskip("preliz")
    with pytest.raises(ValueError, match="'sd', a HalfNormal of PreliZ, lacks parameters"):
        declared(pz.Normal(0.5, 2.0), pz.HalfNormal(), bp.Dirichlet(2.0))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_priors_of_pymc_extras():
    prior = pytest.importorskip("pymc_extras.prior").Prior
    given = declared(prior("Normal", mu=0.5, sigma=2.0), prior("HalfNormal", sigma=1.5), bp.Dirichlet(2.0))
    expected = declared(*(make() for make in BY_PYMC))
    np.testing.assert_allclose(log_density(given), log_density(expected), rtol=RTOL)
