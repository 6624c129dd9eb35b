"""Conjugate beliefs against scipy.stats, mpmath and the formulas' limits."""

import mpmath
import numpy as np
import pytest
from scipy import stats

import bayesppl as bp
from bayesppl.conjugate import Beta, Dirichlet, Fixed, Gamma, NormalInverseGamma, NormalInverseWishart
from bayesppl.conjugate.moments import Moments, moments
from bayesppl.conjugate.statistics import Counts, Events, Successes
from bayesppl.data.labels import one_hot
from bayesppl.errors import UndefinedEstimateError

RNG = np.random.default_rng(0)


def test_beta_density_is_scipys():
    p = RNG.uniform(size=(4, 2, 3))
    belief = Beta(2.5, 0.7).sized((2, 3))
    np.testing.assert_allclose(belief.log_prob({"probability": p}), stats.beta(2.5, 0.7).logpdf(p).sum((1, 2)))


def test_gamma_density_is_scipys():
    rate = RNG.gamma(2, size=(4, 2, 3))
    belief = Gamma(2.5, 0.7).sized((2, 3))
    np.testing.assert_allclose(
        belief.log_prob({"rate": rate}), stats.gamma(2.5, scale=1 / 0.7).logpdf(rate).sum((1, 2))
    )


def test_dirichlet_density_is_scipys_for_simplices_side_by_side():
    belief = Dirichlet([0.5, 2.0, 3.0, 1.5, 1.0]).sized((2, 5), sizes=(3, 2))
    p = np.concatenate([RNG.dirichlet([1, 1, 1], (4, 2)), RNG.dirichlet([1, 1], (4, 2))], axis=-1)
    expected = [
        sum(
            stats.dirichlet([0.5, 2.0, 3.0]).logpdf(p[s, k, :3]) + stats.dirichlet([1.5, 1.0]).logpdf(p[s, k, 3:])
            for k in range(2)
        )
        for s in range(4)
    ]
    np.testing.assert_allclose(belief.log_prob({"probability": p}), expected)


def test_normal_inverse_gamma_density_is_scipys():
    belief = NormalInverseGamma(1.0, 0.3, 2.5, 1.7).sized((2, 3))
    mean, variance = RNG.normal(size=(4, 2, 3)), RNG.gamma(3, size=(4, 2, 3))
    expected = stats.invgamma(2.5, scale=1.7).logpdf(variance) + stats.norm(1.0, np.sqrt(variance / 0.3)).logpdf(
        mean
    )
    np.testing.assert_allclose(belief.log_prob({"mean": mean, "variance": variance}), expected.sum((1, 2)))


@pytest.mark.parametrize("tied", [False, True])
def test_normal_inverse_wishart_density_is_scipys(tied):
    psi = np.array([[2.0, 0.3], [0.3, 1.0]])
    belief = NormalInverseWishart(1.0, 0.3, 4.7, psi).sized((2, 2), tied=tied)
    mean = RNG.normal(size=(2, 2))
    covariance = stats.invwishart(5, psi).rvs(2, random_state=1)
    covariance = covariance[0] if tied else covariance
    matrices = [covariance] if tied else covariance
    expected = sum(stats.invwishart(4.7, psi).logpdf(matrix) for matrix in matrices)
    for k in range(2):
        expected += stats.multivariate_normal([1.0, 1.0], matrices[0 if tied else k] / 0.3).logpdf(mean[k])
    found = belief.log_prob({"mean": mean[None], "covariance": covariance[None]})
    np.testing.assert_allclose(found, [expected])


@pytest.mark.parametrize("tied", [False, True])
def test_bartlett_draws_have_the_moments_of_the_inverse_wishart(tied):
    psi, nu, size = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 0.4]]), 12.3, 20_000
    belief = NormalInverseWishart(0.0, 0.5, nu, psi).sized((2, 3), tied=tied)
    draws = belief.draw(size, np.random.default_rng(3))
    covariance = draws["covariance"] if tied else draws["covariance"][:, 0]
    expected = psi / (nu - 3 - 1)
    # Var(Σ_ij) of the inverse Wishart (von Rosen 1988), hence the standard error of the average
    m = nu - 3
    diagonal = np.diag(psi)
    variance = ((m + 1) * psi**2 + (m - 1) * np.outer(diagonal, diagonal)) / (m * (m - 1) ** 2 * (m - 3))
    np.testing.assert_array_less(np.abs(covariance.mean(0) - expected), 4.5 * np.sqrt(variance / size))
    np.testing.assert_allclose(covariance.std(0), np.sqrt(variance), rtol=0.1)
    np.testing.assert_allclose(draws["mean"][:, 0].var(0), np.diag(expected) / 0.5, rtol=0.1)


def test_variances_of_a_class_without_rows_are_finite_under_a_tiny_shape():
    clf = bp.GaussianNB(bp.NormalInverseGamma(0.0, 1.0, 0.001, 0.001), classes=["a", "b", "c"])
    posterior = clf.fit([[0.0], [1.0], [2.0], [4.0]], list("aabb")).posterior_
    variances = posterior.draws(1, 4000, np.random.default_rng(0))["variance"]
    low, high = np.quantile(variances[0, :, 2, 0], [0.05, 0.95])
    assert low < 1e100 < high < np.inf


def test_dirichlet_draws_do_not_underflow_for_tiny_concentrations():
    belief = Dirichlet(1e-3).sized((4,))
    draws = belief.draw(4000, np.random.default_rng(5))["probability"]
    assert np.isfinite(draws).all()
    np.testing.assert_allclose(draws.sum(-1), 1)
    # Var(p) of a Dirichlet with total A = 0.004 is (1/4)(3/4)/(1 + A)
    error = np.sqrt(0.1875 / 1.004 / 4000)
    np.testing.assert_array_less(np.abs(draws.mean(0) - 0.25), 4 * error)


def test_log_normalizers_to_fifty_digits():
    mpmath.mp.dps, eps = 50, np.finfo(float).eps
    a, b, kappa = 1e5 + 0.5, 3.25, 0.0625
    exact = mpmath.loggamma(a) - a * mpmath.log(b) + mpmath.log(2 * mpmath.pi / kappa) / 2
    found = NormalInverseGamma(0.0, kappa, a, b).sized((1, 1)).log_normalizer()
    assert abs(float(found[0, 0]) / float(exact) - 1) < 1e-13
    exact = mpmath.log(mpmath.beta(0.5, 1e4))
    assert abs(float(Beta(0.5, 1e4).sized((1, 1)).log_normalizer()[0, 0]) - float(exact)) < eps * abs(
        float(mpmath.loggamma(1e4))
    )


def test_one_column_wishart_is_the_inverse_gamma():
    wishart = NormalInverseWishart(0.2, 0.7, 5.0, 3.0).sized((2, 1))
    gamma = NormalInverseGamma(0.2, 0.7, 2.5, 1.5).sized((2, 1))
    theta = {"mean": RNG.normal(size=(3, 2, 1)), "variance": RNG.gamma(2, size=(3, 2, 1))}
    found = wishart.log_prob({"mean": theta["mean"], "covariance": theta["variance"][..., None]})
    np.testing.assert_allclose(found, gamma.log_prob(theta))
    np.testing.assert_allclose(wishart.mode()["covariance"][..., 0], gamma.mode()["variance"])
    np.testing.assert_allclose(wishart.mean()["covariance"][..., 0], gamma.mean()["variance"])


def test_known_learns_nothing():
    belief = Fixed(np.array([0.3, 0.7]), "class_weights")
    assert belief.update(None) is belief
    assert belief.log_normalizer() == 0
    np.testing.assert_array_equal(belief.draw(2, RNG)["class_weights"], [[0.3, 0.7]] * 2)


@pytest.mark.parametrize(
    ("belief", "message"),
    [
        (Beta(0.5, 2.0).sized((1, 2)), "no single mode .*alpha ≥ 1"),
        (Beta(1.0, 1.0).sized((1, 2)), "no single mode"),
        (Gamma(0.5, 1.0).sized((1, 2)), "no mode .*shape ≥ 1"),
        (Dirichlet(0.5).sized((1, 2)), "no single mode .*concentration"),
        (Dirichlet(1.0).sized((1, 2)), "no single mode"),
        (NormalInverseGamma.improper((1, 2), (), power=1), "no mode"),
        (NormalInverseWishart.improper((1, 2), False, power=1.5), "no mode"),
    ],
)
def test_a_mode_that_does_not_exist_is_refused(belief, message):
    with pytest.raises(UndefinedEstimateError, match=message):
        belief.mode()


@pytest.mark.parametrize(
    ("belief", "message"),
    [
        (NormalInverseGamma(0.0, 1.0, 1.0, 1.0).sized((1, 2)), "'variance' is infinite .*found 1"),
        (
            NormalInverseWishart(0.0, 1.0, 3.0, 1.0).sized((1, 2)),
            "'covariance' is infinite .*nu > n_features \\+ 1 = 3",
        ),
    ],
)
def test_a_mean_that_is_infinite_is_refused(belief, message):
    with pytest.raises(UndefinedEstimateError, match=message):
        belief.mean()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beta(-1.0, 1.0).sized((2, 3)), "Beta: alpha must be positive and finite, found -1"),
        (lambda: Beta(1.0, np.nan).sized((2, 3)), "Beta: beta must be positive and finite, found nan"),
        (
            lambda: Beta(np.ones(4), 1.0).sized((2, 3)),
            r"alpha has shape \(4,\), which does not broadcast to \(2, 3\)",
        ),
        (lambda: Gamma(0.0, 1.0).sized((2, 3)), "Gamma: shape must be positive"),
        (lambda: Dirichlet([1.0, 0.0]).sized((2,)), r"concentration must be positive.*index \(1,\)"),
        (lambda: NormalInverseGamma(0, 0, 1, 1).sized((2, 3)), "kappa must be positive"),
        (lambda: NormalInverseWishart(0, 1, 1.5, 1.0).sized((2, 3)), "nu = 1.5"),
        (lambda: NormalInverseWishart(0, 1, 5, [[1, 2], [2, 1]]).sized((2, 2)), "positive definite"),
    ],
)
def test_hyperparameters_that_make_no_prior_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Beta(-1, 2),
            "Beta: alpha must be positive and finite, found -1 .*A small positive number is a weak prior",
        ),
        (lambda: Beta(1, [1, np.inf]), r"Beta: beta must be positive and finite, found inf first at index \(1,\)"),
        (lambda: Gamma(0, 1), "Gamma: shape must be positive and finite, found 0"),
        (lambda: Gamma(1, -2), "Gamma: rate must be positive and finite, found -2"),
        (lambda: Dirichlet(0), "Dirichlet: concentration must be positive and finite, found 0"),
        (lambda: NormalInverseGamma(np.nan), "location must be finite, found nan"),
        (lambda: NormalInverseGamma(b=0), "b must be positive and finite, found 0"),
        (lambda: NormalInverseWishart(kappa=-1), "kappa must be positive and finite, found -1"),
        (lambda: NormalInverseWishart(nu=2, psi=[1, 1, 1]), "nu = 2, n_features = 3"),
        (lambda: NormalInverseWishart(psi=[1, -1]), "psi must be positive and finite, found -1"),
        (lambda: NormalInverseWishart(psi=[[1, 2], [2, 1]]), "psi must be a symmetric, positive definite matrix"),
        (lambda: NormalInverseWishart(psi=[[1, 2, 3], [2, 1, 4]]), "psi must be a symmetric, positive definite"),
    ],
)
def test_they_are_refused_where_they_are_declared(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_hyperparameters_are_numbers():
    with pytest.raises(TypeError, match="Beta: alpha must be a number or an array of numbers, found 'one'"):
        Beta("one", 1)
    with pytest.raises(TypeError, match=r"Gamma: rate must be a number or an array.*declared in PyMC as a whole"):
        Gamma(1, lambda name, dims: None)
    with pytest.raises(TypeError, match=r"Gamma: rate goes by position, .* found a dict with labels"):
        Gamma(1, {"length": 2.0})


LARGE = 1e13  # so large that the logarithms of the normalisers themselves hold no decimal


def test_increments_keep_their_digits_under_large_hyperparameters():
    mpmath.mp.dps = 60
    big, lg = mpmath.mpf(LARGE), mpmath.loggamma
    one = np.ones((1, 1))

    def log_beta(a, b):
        return lg(a) + lg(b) - lg(a + b)

    successes = Successes(3 * one, 2 * one, 0 * one)
    exact = log_beta(big + 3, big / 2 + 2) - log_beta(big, big / 2)
    assert Beta(LARGE, LARGE / 2).sized((1, 1)).log_increment(successes) == pytest.approx(float(exact), rel=1e-13)

    events = Events(3 * one, 2 * one, 0 * one)
    exact = lg(big + 3) - (big + 3) * mpmath.log(big / 2 + 2) - lg(big) + big * mpmath.log(big / 2)
    assert Gamma(LARGE, LARGE / 2).sized((1, 1)).log_increment(events) == pytest.approx(float(exact), rel=1e-12)

    counts = Counts(np.array([[3.0, 0.0, 2.0]]), np.zeros(1))
    exact = lg(big + 3) + lg(big + 2) - 2 * lg(big) - lg(3 * big + 5) + lg(3 * big)
    assert Dirichlet(LARGE).sized((1, 3)).log_increment(counts) == pytest.approx(float(exact), rel=1e-13)

    rows = Moments(3 * one, 2 * one, 5 * one)
    kappa, squares = mpmath.mpf("0.25"), 5 + mpmath.mpf(3) / 4 / (3 + mpmath.mpf("0.25")) * 4
    exact = lg(big + 1.5) - lg(big) + big * mpmath.log(big) - (big + 1.5) * mpmath.log(big + squares / 2)
    exact += mpmath.log(kappa / (kappa + 3)) / 2
    found = NormalInverseGamma(0.0, 0.25, LARGE, LARGE).sized((1, 1)).log_increment(rows)
    assert found == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("tied", [False, True])
def test_increments_are_differences_of_normalizers(tied):
    rng = np.random.default_rng(9)
    codes = np.r_[0, 1, 1, rng.integers(2, size=20)]
    rows = moments(rng.normal(size=(23, 3)), one_hot(codes, 2), matrix=True, tied=tied)
    belief = NormalInverseWishart(0.2, 0.7, 5.0, 3.0).sized((2, 3), tied)
    expected = belief.update(rows).log_normalizer() - belief.log_normalizer()
    np.testing.assert_allclose(belief.log_increment(rows), expected, rtol=1e-12)
    probabilities = Dirichlet(np.arange(1.0, 6.0)).sized((2, 5), sizes=(2, 3))
    counts = Counts(rng.integers(9, size=(2, 5)).astype(float), np.zeros(2))
    expected = probabilities.update(counts).log_normalizer() - probabilities.log_normalizer()
    np.testing.assert_allclose(probabilities.log_increment(counts), expected, rtol=1e-12)
