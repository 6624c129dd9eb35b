"""Approximations say that they are such, and are as far from the closed form as theory says."""

import logging
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pymc as pm
import pytest
from pymc.distributions import transforms
from scipy.special import gammaln
from sklearn.datasets import load_iris, load_wine

import bayesppl as bp
from bayesppl.inference import approximate
from bayesppl.inference.approximate import _rising
from bayesppl.inference.laplace import mode_and_root

RNG = np.random.default_rng(2)
BITS, LABELS = RNG.integers(0, 2, size=(60, 2)), RNG.integers(0, 2, size=60)


def _stirling(a):
    """Laplace's approximation of log Γ(a) as an integral over the logarithm of its variable."""
    return (a - 0.5) * np.log(a) - a + 0.5 * np.log(2 * np.pi)


def _log_beta(alpha, log_gamma):
    return log_gamma(alpha).sum(-1) - log_gamma(alpha.sum(-1))


def test_laplace_evidence_is_off_by_stirling_s_remainder_for_probabilities():
    """The integrals of beta and Dirichlet distributions are ratios of gamma functions, approximated alike."""
    exact = bp.BernoulliNB(bp.Beta(2.0, 3.0)).fit(BITS, LABELS)
    clf = bp.BernoulliNB(bp.Beta(2.0, 3.0), inference="laplace").fit(BITS, LABELS)
    belief = exact.posterior_.belief.parts
    integrals = [
        belief["class_weights"].concentration,
        np.stack([belief["features"].alpha, belief["features"].beta], -1),
    ]
    error = sum((_log_beta(a, _stirling) - _log_beta(a, gammaln)).sum() for a in integrals)
    found = clf.posterior_.record["log_marginal_likelihood"] - float(exact.log_evidence()["total"])
    np.testing.assert_allclose(found, error, rtol=1e-4)
    assert abs(error) > 0.01  # and not because there is nothing to see


@pytest.mark.parametrize(
    "units",
    [np.array([1e5, 1e-5, 1.0, 1.0]), pytest.param(1.0, marks=pytest.mark.slow)],
    ids=["rescaled", "as they are"],
)
def test_laplace_evidence_is_off_by_stirling_s_remainder_for_gaussians(units):
    """Of mean and log variance together: Γ(a) is approximated at its maximum of a + 1/2."""
    X, y = load_iris(return_X_y=True)
    exact = bp.GaussianNB(class_weights="uniform").fit(X * units, y)
    clf = bp.GaussianNB(class_weights="uniform", inference="laplace").fit(X * units, y)
    a = exact.posterior_.belief.parts["features"].a
    error = ((a - 0.5) * np.log(a + 0.5) - (a + 0.5) + 0.5 * np.log(2 * np.pi) - gammaln(a)).sum()
    found = clf.posterior_.record["log_marginal_likelihood"] - float(exact.log_evidence()["total"])
    np.testing.assert_allclose(found, error, rtol=1e-3)
    np.testing.assert_array_equal(clf.posterior_.samples["class_weights"], np.full((1, 2000, 3), 1 / 3))


@pytest.mark.parametrize(
    "estimator",
    [
        *(
            pytest.param(cls, marks=pytest.mark.slow)
            for cls in (bp.GaussianNB, bp.QuadraticDiscriminantAnalysis, bp.LinearDiscriminantAnalysis)
        ),
        bp.BernoulliNB,
    ],
)
def test_laplace_draws_are_near_the_posterior_where_rows_are_many(estimator):
    """Means within 0.1 posterior sd and sds within 4 %: both are off by a few times 1/√n and 1/n, n ≈ 1500.

    Monte-Carlo error of 4000 draws adds 4.5/√4000 = 0.07 to a mean and 4.5/√8000 = 5 % to a sd.
    """
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=3000)
    X = rng.normal(size=(3000, 2)) @ [[1.0, 0.4], [0.0, 1.0]] + y[:, None]
    if estimator is bp.BernoulliNB:
        X = (X > 0.5).astype(int)
    exact = estimator().fit(X, y)
    clf = estimator(inference=bp.Laplace(draws=4000, random_state=1)).fit(X, y)
    reference = exact.posterior_.draws(1, 100_000, rng)
    for name, draws in clf.posterior_.samples.items():
        sd = reference[name].std((0, 1))
        assert (np.abs(draws.mean((0, 1)) - reference[name].mean((0, 1))) < (0.1 + 0.07) * sd).all()
        np.testing.assert_allclose(draws.std((0, 1)), sd, rtol=0.04 + 0.05)
    tree = clf.to_datatree()
    assert tree.attrs["approximation"].startswith("normal at the mode")
    again = estimator(inference=bp.Laplace(draws=4000, random_state=1)).fit(X, y).posterior_.samples
    for name, draws in clf.posterior_.samples.items():
        np.testing.assert_array_equal(again[name], draws)


def test_laplace_of_a_declared_prior_finds_the_normal_posterior():
    """Known: the mean of a normal under a normal prior, its variance so certain that it is a number."""
    import pymc as pm

    rng = np.random.default_rng(4)
    X, y = rng.normal(1.0, 2.0, size=(40, 1)), np.arange(40) % 2
    family = bp.Gaussian("diag", mean=pm.Normal.dist(0.0, 0.5), sd=pm.LogNormal.dist(np.log(2.0), 1e-4))
    clf = bp.GenerativeClassifier(family, inference=bp.Laplace(draws=8000, random_state=1)).fit(X, y)
    draws = clf.posterior_.samples["mean"][0, :, :, 0]
    precision = 1 / 0.5**2 + 20 / 2.0**2
    expected = np.array([X[y == k].sum() for k in (0, 1)]) / 2.0**2 / precision
    sd = 1 / np.sqrt(precision)
    assert (np.abs(draws.mean(0) - expected) < 4.5 * sd / np.sqrt(8000)).all()
    np.testing.assert_allclose(draws.std(0), sd, rtol=4.5 / np.sqrt(2 * 8000))


def test_leave_one_out_is_of_the_model_where_it_has_a_closed_form():
    exact = bp.BernoulliNB(bp.Beta(2.0, 3.0)).fit(BITS, LABELS).loo()
    found = bp.BernoulliNB(bp.Beta(2.0, 3.0), inference="laplace").fit(BITS, LABELS).loo()
    np.testing.assert_allclose(found.log_score, exact.log_score, rtol=1e-12)
    assert found.approximation is None


@pytest.mark.slow
def test_a_density_without_a_mode_is_refused():
    with pytest.raises(bp.UndefinedEstimateError, match="no mode that can be found"):
        mode_and_root(lambda point: (float(point.sum()), np.ones(len(point))), np.zeros(2))


@pytest.mark.filterwarnings("ignore:Numba will use object mode")  # of older versions of PyTensor
def test_a_prior_without_draws_is_refused_by_particles():
    with pytest.raises(NotImplementedError, match="begin as draws of the prior, and PyMC has none"):
        bp.LinearDiscriminantAnalysis(inference=bp.SMC(draws=10)).fit([[0.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1])


def test_a_density_that_is_not_a_number_is_refused_by_particles():
    X, y = [[1, 0], [1, 1], [1, 0], [0, 1], [0, 0]], [0, 0, 0, 1, 1]
    with pytest.raises(ValueError, match="not a number at some draws of the prior"):
        bp.BernoulliNB(bp.Beta(0.01, 0.01), inference=bp.SMC(draws=50, random_state=1)).fit(X, y)


def test_pathfinder_is_refused():
    with pytest.raises(ValueError, match="only through pymc-extras"):
        bp.BernoulliNB(inference="pathfinder").fit([[0], [1]], [0, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "inference",
    [
        bp.SMC(draws=2000, random_state=4),
        bp.ADVI(iterations=10_000, random_state=4),
        bp.ADVI(iterations=10_000, random_state=4, full_rank=True),
    ],
)
def test_approximations_know_what_they_are(inference, caplog):
    caplog.set_level(logging.INFO, logger="pymc")
    exact = bp.BernoulliNB(bp.Beta(2.0, 3.0)).fit(BITS, LABELS)
    clf = bp.BernoulliNB(bp.Beta(2.0, 3.0), inference=inference).fit(BITS, LABELS)
    assert caplog.records == []
    assert logging.getLogger("pymc").level == logging.INFO
    tree = clf.to_datatree()
    assert "approximation" in tree.attrs
    # the bulk of the posterior is where it should be: means within a quarter of a posterior sd
    sd = exact.posterior_.draws(1, 4000, np.random.default_rng(0))["probability"].std((0, 1))
    assert (
        np.abs(clf.posterior_.mean()["probability"] - exact.posterior_.mean()["probability"]) < 0.25 * sd
    ).all()
    if isinstance(inference, bp.SMC):
        evidence = np.asarray(clf.posterior_.record["log_marginal_likelihood"])
        assert np.abs(evidence - float(exact.log_evidence()["total"])).max() < 0.3


@pytest.mark.slow
@pytest.mark.parametrize(("units", "full_rank"), [(1e3, False), (1.0, True)])
def test_the_closest_normal_is_found_in_any_units(units, full_rank):
    """Means within 0.15 posterior sd, of which half is Monte-Carlo error, and a bound of the evidence.

    Parameters of naive Bayes are independent given the data but for a mean and its variance, and so a normal with
    independent coordinates is close: each of 78 of them loses about a tenth over the number of rows.
    """
    X, y = load_wine(return_X_y=True)
    exact = bp.GaussianNB(class_weights="uniform").fit(X * units, y)
    inference = bp.ADVI(random_state=1, draws=4000, full_rank=full_rank)
    clf = bp.GaussianNB(class_weights="uniform", inference=inference).fit(X * units, y)
    reference = exact.posterior_.draws(1, 20_000, np.random.default_rng(0))
    for name in ("mean", "variance"):
        sd = reference[name].std((0, 1))
        draws = clf.posterior_.samples[name]
        assert (np.abs(draws.mean((0, 1)) - reference[name].mean((0, 1))) < 0.15 * sd).all()
        np.testing.assert_allclose(draws.std((0, 1)), sd, rtol=0.15)
    gap = float(exact.log_evidence()["total"]) - clf.posterior_.record["elbo"]
    assert 0 < gap < 2


@pytest.mark.slow
def test_the_search_for_the_closest_normal_begins_near_it_in_any_units():
    X, y = load_iris(return_X_y=True)
    inference = bp.ADVI(iterations=100, random_state=1)
    clf, same = (bp.GaussianNB(inference=inference).fit(X * units, y) for units in (1e3, 1.0))
    exact = bp.GaussianNB().fit(X * 1e3, y)
    reference = exact.posterior_.draws(1, 5000, np.random.default_rng(0))["mean"]
    away = np.abs(clf.posterior_.samples["mean"].mean((0, 1)) - reference.mean((0, 1)))
    assert (away < 0.25 * reference.std((0, 1))).all()
    np.testing.assert_allclose(clf.posterior_.samples["mean"], 1e3 * same.posterior_.samples["mean"], rtol=1e-5)


@pytest.mark.slow
def test_a_search_that_cannot_begin_at_a_mode_is_reported(monkeypatch):
    def without_mode(density, start):
        raise bp.UndefinedEstimateError("no mode")

    monkeypatch.setattr(approximate, "mode_and_root", without_mode)
    clf = bp.BernoulliNB(inference=bp.ADVI(iterations=20, random_state=1))
    with pytest.warns(
        bp.ConvergenceWarning, match="no mode in unconstrained coordinates.*Compare with inference='nuts'"
    ):
        clf.fit(BITS, LABELS)


@pytest.mark.slow
def test_particles_begin_as_draws_of_the_prior_and_not_at_initial_values():
    """The log evidence of both chains within 0.3 of the exact one, of which its estimates spread 0.1."""

    def prior(name, dims):
        return pm.Beta(name, 2.0, 3.0, dims=dims, initval=np.full((2, BITS.shape[1]), 0.98))

    exact = bp.BernoulliNB(bp.Beta(2.0, 3.0)).fit(BITS, LABELS)
    clf = bp.GenerativeClassifier(bp.Bernoulli(prior), inference=bp.SMC(draws=2000, random_state=4)).fit(
        BITS, LABELS
    )
    evidence = np.asarray(clf.posterior_.record["log_marginal_likelihood"])
    assert np.abs(evidence - float(exact.log_evidence()["total"])).max() < 0.3


def _ordered(name, dims):
    found = pm.Beta(name, 2.0, 2.0, dims=dims)
    pm.Potential("order", pm.math.switch(found[0, 0] < found[1, 0], 0.0, -50.0))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (_ordered, "the potential 'order' is a factor of the prior, which is not normalised"),
        (
            lambda name, dims: pm.Beta(name, 2.0, 2.0, dims=dims, default_transform=transforms.Interval(0.1, 0.9)),
            "the transform Interval confines the prior of 'probability', which is not normalised",
        ),
    ],
    ids=["potential", "transform"],
)
def test_under_a_prior_that_is_cut_there_is_no_evidence(prior, words):
    inference = bp.Laplace(draws=50, random_state=1)
    clf = bp.GenerativeClassifier(bp.Bernoulli(prior), inference=inference).fit(BITS, LABELS)
    assert "log_marginal_likelihood" not in clf.posterior_.record
    assert clf.to_datatree().attrs["no_evidence"] == words
    assert f"undefined: {words}" in " ".join(str(clf.summary()).split())
    usual = bp.GenerativeClassifier(bp.Bernoulli(pm.Beta.dist(2.0, 2.0)), inference=inference).fit(BITS, LABELS)
    assert np.isfinite(usual.posterior_.record["log_marginal_likelihood"])


def test_a_prior_that_a_transform_confines_is_refused_by_particles():
    def prior(name, dims):
        return pm.Beta(name, 2.0, 3.0, dims=dims, transform=transforms.Interval(0.2, 0.9))

    family = bp.Bernoulli(prior)
    with pytest.raises(bp.NotConjugateError, match="ChainedTransform confines the prior of 'probability'"):
        bp.GenerativeClassifier(family, inference=bp.SMC(draws=20)).fit(BITS, LABELS)


def test_a_single_chain_of_particles_is_warned_of():
    with pytest.warns(bp.ConvergenceWarning, match="single chain of particles.*use chains=2"):
        bp.BernoulliNB(inference=bp.SMC(draws=20, chains=1, random_state=1)).fit(BITS, LABELS)


@pytest.mark.slow
def test_fits_in_threads_leave_the_logger_of_pymc_as_it_was():
    level = logging.getLogger("pymc").level
    inference = bp.ADVI(iterations=20, draws=20, random_state=1)
    with ThreadPoolExecutor(2) as pool:
        fits = [pool.submit(bp.BernoulliNB(inference=inference).fit, BITS, LABELS) for _ in range(2)]
    assert all(future.exception() is None for future in fits)
    assert logging.getLogger("pymc").level == level


def test_a_bound_that_still_rises_is_reported():
    bounds = np.random.default_rng(0).normal(np.linspace(-50, -40, 5000), 3.0)
    (problem,) = _rising(bounds)
    assert problem.startswith("the lower bound of the log evidence still rises, by 1")
    assert _rising(bounds - np.linspace(-50, -40, 5000)) == []


@pytest.mark.slow
def test_particles_that_did_not_arrive_are_reported():
    X, y = load_iris(return_X_y=True)
    family = bp.families.StudentT(4.0, pm.Normal.dist(0.0, 100.0), pm.LogNormal.dist(0.0, 3.0))
    with pytest.warns(
        bp.ConvergenceWarning, match="log evidences of the chains differ by .* Raise draws"
    ) as caught:
        clf = bp.GenerativeClassifier(family, inference=bp.SMC(draws=300, random_state=1)).fit(X, y)
    assert "R-hat" in str(caught[0].message)
    assert "tune" not in str(caught[0].message)
    assert clf.diagnostics()["scale"].sel(measure="r_hat").max() > 1.01


def test_a_mode_is_found_to_the_end_however_large_the_density_is_beside_its_changes():
    """A search that compares densities stops where they agree to nine digits; Newton's steps do not."""
    mode = np.array([2.7, -3.3])

    def density(x):
        return -1e15 - (np.cosh(x - mode) - 1).sum(), -np.sinh(x - mode)

    found, root = mode_and_root(density, np.zeros(2))
    np.testing.assert_allclose(found, mode, atol=1e-5)
    np.testing.assert_allclose(root, np.eye(2), atol=1e-5)
