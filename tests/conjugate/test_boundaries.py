"""Answers on the edge of where they exist: modes at the boundary, priors improper in one part, sums that round
below zero."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import bayesppl as bp
from bayesppl.conjugate import Beta, Dirichlet, Gamma, NormalInverseGamma, NormalInverseWishart
from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.conjugate.moments import Moments
from bayesppl.conjugate.statistics import Successes
from bayesppl.data.labels import one_hot
from bayesppl.errors import UndefinedEstimateError
from bayesppl.kernels.cell_moments import diagonal
from bayesppl.kernels.class_moments import products
from bayesppl.kernels.student import weighted_log1p_squares

NEXT = float(np.nextafter(1.0, 0.0))

# --- modes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "beta", "mode"), [(1, 2, 0.0), (2, 1, 1.0), (1, 1 + 2**-40, 0.0), (3, 1, 1.0), (2, 3, 1 / 3)]
)
def test_a_beta_density_may_peak_at_its_boundary(alpha, beta, mode):
    assert Beta(alpha, beta).sized((1, 1)).mode()["probability"].item() == mode


@pytest.mark.parametrize(("alpha", "beta"), [(NEXT, 2), (2, NEXT), (1, 1), (NEXT, NEXT)])
def test_a_beta_density_without_a_single_peak_is_refused(alpha, beta):
    with pytest.raises(UndefinedEstimateError, match="no single mode"):
        Beta(alpha, beta).sized((1, 1)).mode()


def test_the_mode_of_a_beta_density_is_the_nearest_number():
    rng = np.random.default_rng(0)
    alpha, beta = 1 + rng.exponential(20, 2000), 1 + rng.exponential(20, 2000)
    beta[:1000] = 1.0  # the mode is one
    found = Beta(alpha, beta).sized((1, 2000)).mode()["probability"][0]
    assert (found[:1000] == 1).all()
    for a, b, mode in zip(alpha, beta, found, strict=True):
        exact = Fraction(a - 1) / (Fraction(a - 1) + Fraction(b - 1))  # both differences are exact
        assert abs(Fraction(mode) / exact - 1) < 2 * np.finfo(float).eps
        assert 0 <= mode <= 1


def test_a_gamma_density_may_peak_at_zero():
    assert Gamma(1, 3).sized((1, 1)).mode()["rate"].item() == 0
    with pytest.raises(UndefinedEstimateError, match="no mode"):
        Gamma(NEXT, 3).sized((1, 1)).mode()


def test_a_dirichlet_density_may_peak_at_a_corner():
    assert Dirichlet([1, 3, 1]).sized((3,)).mode()["probability"].tolist() == [0, 1, 0]
    for concentration in ([1, 1, 1], [NEXT, 3, 1], [NEXT, NEXT, 9]):
        with pytest.raises(UndefinedEstimateError, match="no single mode"):
            Dirichlet(concentration).sized((3,)).mode()


def test_a_variance_has_a_mode_wherever_the_exponent_of_its_density_is_positive():
    # the density of a variance with one mean falls as σ^−2(a + 3/2); from rows under a prior (σ²)^−power, a = n/2
    # + power − 3/2
    flat = NormalInverseGamma.improper((1, 1), (), power=0)
    with pytest.raises(UndefinedEstimateError, match="no mode"):
        flat.mode()
    with pytest.raises(UndefinedEstimateError, match="no mode"):
        replace_unchecked(flat, b=np.ones((1, 1))).mode()  # the exponent is zero
    with pytest.raises(UndefinedEstimateError, match="no mode"):
        replace_unchecked(flat, a=np.ones((1, 1))).mode()  # the scale is zero
    row = Moments(np.ones((1, 1)), np.zeros((1, 1)), np.full((1, 1), 6.0))
    assert flat.update(row).mode()["variance"].item() == 6


@pytest.mark.parametrize("tied", [False, True])
def test_a_covariance_has_a_mode_wherever_the_exponent_of_its_density_is_positive(tied):
    prior = NormalInverseWishart.improper((1, 2), tied, power=0)
    definite = replace_unchecked(prior, psi=prior.psi + np.eye(2))
    with pytest.raises(UndefinedEstimateError, match="no mode"):
        definite.mode()
    for exponent in (0.25, 4.0):
        more = replace_unchecked(definite, nu=definite.nu + exponent)
        np.testing.assert_allclose(more.mode()["covariance"].reshape(2, 2), np.eye(2) / exponent)


@pytest.mark.parametrize("tied", [False, True])
def test_covariances_too_large_to_be_numbers_are_not_drawn(tied):
    belief = NormalInverseWishart(nu=2.01).sized((3, 3), tied)
    with pytest.raises(UndefinedEstimateError, match=r"'covariance' are too large .* nu exceeds .* 0\.01 after"):
        belief.draw(1000, np.random.default_rng(0))


# --- priors improper in one part ------------------------------------------------------------------------------


def test_one_part_of_a_prior_may_be_improper():
    kappa = np.array([[1.0, 1.0], [1.0, 0.0]])
    gammas = NormalInverseGamma(0, 1, 1, 1)
    each = replace_unchecked(gammas.sized((2, 2)), kappa=kappa)
    assert each.is_proper().tolist() == [[True, True], [True, False]]
    by_class = replace_unchecked(gammas.sized((2, 2), (-1,)), kappa=kappa)
    assert by_class.is_proper().tolist() == [True, False]
    by_column = replace_unchecked(gammas.sized((2, 2), (-2,)), kappa=kappa)
    assert by_column.is_proper().tolist() == [True, False]
    for name in ("a", "b"):
        odd = replace_unchecked(gammas.sized((1, 2)), **{name: np.array([[1.0, 0.0]])})
        assert odd.is_proper().tolist() == [[True, False]]

    wisharts = NormalInverseWishart(0, 1, 5, 1.0)
    assert replace_unchecked(wisharts.sized((2, 2)), kappa=kappa[1]).is_proper().tolist() == [True, False]
    assert not replace_unchecked(wisharts.sized((2, 2), tied=True), kappa=kappa[1]).is_proper()
    assert replace_unchecked(wisharts.sized((2, 2)), nu=np.array([1.0, 1.1])).is_proper().tolist() == [False, True]


def test_a_prior_that_is_improper_in_one_part_is_not_declared():
    for part in ({"kappa": np.array([[1.0, 0.0]])}, {"b": np.array([[1.0, 0.0]])}):
        prior = replace_unchecked(NormalInverseGamma(0, 1, 1, 1).sized((1, 2)), **part)
        with pytest.raises(bp.ImproperError, match="this NormalInverseGamma prior is improper"):
            prior.declare({"mean": ("class", "feature"), "variance": ("class", "feature")})


@pytest.mark.parametrize("structure", ["full", "diag", "spherical"])
def test_too_few_rows_in_one_class_alone_are_refused(structure):
    X = np.random.default_rng(0).normal(size=(21, 2))
    y = np.r_[np.zeros(20), 1]
    with pytest.raises(bp.ImproperError, match=r"the posterior is improper.*0.0: 20, 1.0: 1"):
        bp.GenerativeClassifier(bp.Gaussian(structure, "jeffreys")).fit(X, y)


@pytest.mark.parametrize(
    ("structure", "where"),
    [("full", "class 1"), ("diag", "class 1"), ("tied", "every class"), ("tied_diag", "every class")],
)
def test_a_column_that_leaves_a_posterior_improper_is_named(structure, where):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    X[y == 1 if where == "class 1" else y < 2, 1] = 3.0
    with pytest.raises(bp.ImproperError, match=f"0: 20, 1: 20; within {where} 'x1' is constant"):
        bp.GenerativeClassifier(bp.Gaussian(structure, "jeffreys")).fit(X, y)


def test_columns_that_copy_each_other_are_named():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    X[:, 2] = 2 * X[:, 0]
    with pytest.raises(bp.ImproperError, match=r"within class 0 'x0', 'x2' are constant, or copies"):
        bp.GenerativeClassifier(bp.Gaussian("full", "jeffreys")).fit(X, y)


def test_numbers_beside_gaps_are_counted_by_column():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    X[y == 1, 1] = np.nan
    X[1, 1] = 0.0
    with pytest.raises(bp.ImproperError, match=r"numbers of column 'x1' found: 0: 10, 1: 1\)"):
        bp.GaussianNB("jeffreys").fit(X, y)


def test_one_improper_block_leaves_no_evidence_and_no_draws_of_the_prior():
    X = np.random.default_rng(0).normal(size=(40, 2))
    blocks = {"sure": (["x0"], bp.Gaussian("diag")), "vague": (["x1"], bp.Gaussian("diag", "jeffreys"))}
    clf = bp.GenerativeClassifier(bp.Product(blocks)).fit(X, np.arange(40) % 2)
    assert not clf.posterior_.prior.is_proper().all()
    with pytest.raises(bp.ImproperError, match="improper prior"):
        clf.log_evidence()
    with pytest.raises(bp.ImproperError, match="prior is improper"):
        clf.to_pymc()


# --- sums of squares ------------------------------------------------------------------------------------------


def _weightless_head(value, rng):
    """Rows of one number, after a few of another that weigh next to nothing: the pivot is far from the mean."""
    X = np.r_[np.zeros(9), np.full(int(rng.integers(20, 90)), value)][:, None]
    weights = np.r_[np.full(9, 1e-40), rng.uniform(0.1, 3, len(X) - 9)]
    return X, one_hot(np.zeros(len(X), int), 1, weights)


def test_sums_of_squares_do_not_round_below_zero():
    rng, negative = np.random.default_rng(0), 0
    for _ in range(100):
        value = rng.normal()
        X, responsibilities = _weightless_head(value, rng)
        weights = responsibilities.data
        plain = (weights * X[:, 0] ** 2).sum() - (weights * X[:, 0]).sum() ** 2 / weights.sum()
        negative += plain < 0
        assert diagonal(X, responsibilities)[2].item() >= 0
        assert products(X, responsibilities, tied=False)[2].item() >= 0
    assert negative > 10  # as they do without care


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("outlier", [-1e9, 1e9])
@pytest.mark.parametrize("place", [0, 3, 8])
def test_an_outlier_among_the_first_rows_costs_no_digits_of_the_others(matrix, place, outlier):
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(500, 2)), rng.uniform(0.5, 2, 500)
    # it weighs nothing, but must not be what the others are measured from
    X[place], weights[place] = outlier, 1e-60
    responsibilities = one_hot(np.zeros(500, int), 1, weights)
    kept = np.arange(500) != place
    expected = np.cov(X[kept].T, aweights=weights[kept], ddof=0) * weights[kept].sum()
    scatter = (products(X, responsibilities, tied=True) if matrix else diagonal(X, responsibilities))[2]
    np.testing.assert_allclose(
        scatter if matrix else scatter[0], expected if matrix else np.diagonal(expected), rtol=1e-11
    )


@pytest.mark.parametrize("outlier", [-1e9, 1e9])
def test_an_outlier_in_the_first_row_costs_no_digits_where_a_cell_is_missing(outlier):
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(500, 2)), rng.uniform(0.5, 2, 500)
    X[0], weights[0], X[1, 1] = outlier, 1e-60, np.nan
    count, mean, scatter = diagonal(X, one_hot(np.zeros(500, int), 1, weights))
    for j, first in enumerate((1, 2)):
        own, x = weights[first:], X[first:, j]
        expected = np.average(x, weights=own)
        np.testing.assert_allclose([count[0, j], mean[0, j]], [own.sum(), expected], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(scatter[0, j], (own * (x - expected) ** 2).sum(), rtol=1e-11)


def test_sums_of_squares_that_were_never_added_are_not_subtracted():
    ones = np.ones((1, 1))
    few, many = Moments(5 * ones, 0 * ones, ones), Moments(2 * ones, 0 * ones, 2 * ones)
    with pytest.raises(ValueError, match="a sum of squares would become negative"):
        few - many
    matrices = [Moments(m.count[0], m.mean, m.scatter[None]) for m in (few, many)]
    with pytest.raises(ValueError, match="a sum of squares would become negative"):
        matrices[0] - matrices[1]


# --- logarithms of squares ------------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [1e149, 1e150, 1e151, 1e154, 1e155, 1e160, 1e300])
def test_logarithms_of_squares_on_both_sides_of_the_largest_number(far):
    X = np.array([[far, np.nan, 1.0], [0.5, -far, far], [1.0, 2.0, 3.0]])
    location, scale = np.zeros((2, 3)), np.array([[1.0, 2.0, 0.5], [3.0, 1.0, 1.0]])
    with mpmath.workdps(40):
        for exponents in (np.full((2, 3), -1.5), np.array([[-1.0, -2.0, -0.5], [-3.0, -1.0, -2.0]])):
            expected = [
                [
                    float(
                        sum(
                            mpmath.mpf(e) * mpmath.log1p((mpmath.mpf(x) / s) ** 2)
                            for x, s, e in zip(row, scales, powers, strict=True)
                            if x == x
                        )
                    )
                    for scales, powers in zip(scale, exponents, strict=True)
                ]
                for row in X.tolist()
            ]
            found, odd = weighted_log1p_squares(X, location, scale, exponents)
            np.testing.assert_allclose(found, expected, rtol=1e-14)
            assert 0 in odd
            assert 2 not in odd


@pytest.mark.parametrize("far", [1e5, 1e12, 1e20, 1e29])
def test_products_of_many_squares_are_put_aside_before_they_overflow(far):
    X = np.full((3, 60), far)
    found, odd = weighted_log1p_squares(X, np.zeros((2, 60)), np.ones((2, 60)), np.full((2, 60), -1.0))
    np.testing.assert_allclose(found, -60 * np.log1p(far**2), rtol=1e-14)
    assert not len(odd)  # no row had to be taken cell by cell


# --- increments of large counts -------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-8, 0.5, 3.0, 1e5, 1e10])
@pytest.mark.parametrize("beta", [0.5, 2e6, 1e12])
def test_increments_of_a_beta_belief_keep_their_digits_under_large_counts(alpha, beta):
    counts = [0.0, 1.5, 40.0, 9999.0, 10_001.0, 1e6, 1e11, 1e15]
    with mpmath.workdps(60):

        def log_beta(a, b):
            return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)

        before = log_beta(mpmath.mpf(alpha), mpmath.mpf(beta))
        for s in counts:
            for f in counts:
                exact = float(log_beta(mpmath.mpf(alpha) + s, mpmath.mpf(beta) + f) - before)
                # relative to the smallest of the three sums that it can be written as
                size = min(s + f, alpha + s, beta + f) * np.log(2 + max(alpha, beta, s, f))
                ones = np.ones((1, 1))
                found = Beta(alpha, beta).sized((1, 1)).log_increment(Successes(s * ones, f * ones, 0 * ones))
                floor = 1e4 * np.log(1e15) if s + f <= 1e4 else 0.0
                assert abs(found.item() - exact) <= 4e-16 * (8 * max(size, floor) + 8 * abs(exact) + 64)


@pytest.mark.parametrize("size", [1e-20, 0.3, 1.5, 40.0, 1e5, 1e9])
@pytest.mark.parametrize("level", [3, 1e4, 1e8, 1e11, 1e15])
def test_negative_binomial_evidence_and_predictive_to_fifty_digits(size, level):
    counts = np.floor(level * np.random.default_rng(0).uniform(0.5, 1.5, 8))
    clf = bp.GenerativeClassifier(bp.NegativeBinomial(size, probability=bp.Beta())).fit(
        counts[:, None], [0] * 7 + [1]
    )

    def exact(rows):
        with mpmath.workdps(50):
            r, rows = mpmath.mpf(size), [mpmath.mpf(x) for x in rows]
            base = mpmath.fsum(mpmath.loggamma(x + r) - mpmath.loggamma(r) - mpmath.loggamma(x + 1) for x in rows)
            a, b = 1 + len(rows) * r, 1 + mpmath.fsum(rows)
            return base + mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)

    first = counts[:7].tolist()
    assert clf.log_evidence()["features"].values[0, 0] == pytest.approx(float(exact(first)), rel=1e-11, abs=1e-11)
    found = clf.predict_joint_log_proba(counts[7:, None])[0, 0] - np.log(8 / 10)
    assert found == pytest.approx(float(exact([*first, counts[7]]) - exact(first)), rel=1e-11, abs=2e-9)


@pytest.mark.parametrize(
    ("trials", "successes"), [(1e11, 3.0), (1e11, 1e11 - 3), (1e15, 1e15), (40.0, 40.0), (1e6, 0.0)]
)
def test_rare_successes_and_rare_failures_keep_the_digits_of_the_evidence(trials, successes):
    clf = bp.GenerativeClassifier(bp.Binomial([trials])).fit([[successes], [1.0]], [0, 1])
    # under a uniform prior every number of successes is as probable as any other
    np.testing.assert_allclose(clf.log_evidence()["features"], -np.log(trials + 1), rtol=1e-12)


@pytest.mark.parametrize("shared", [("zz",), "class", -2, (0,), [-2]])
def test_variances_are_shared_over_axes_that_there_are(shared):
    with pytest.raises(ValueError, match=r"NormalInverseGamma: shared must be one of \(\), \(-2,\), \(-1,\)"):
        bp.NormalInverseGamma(shared=shared)


def test_a_prior_shares_no_variances_that_its_family_does_not():
    prior, X, y = bp.NormalInverseGamma(shared=(-2,)), [[0.0], [1.0], [4.0], [5.0]], list("aabb")
    with pytest.raises(ValueError, match=r"shares variances over \(\), found shared=\(-2,\); leave it out"):
        bp.GaussianNB(prior).fit(X, y)
    tied = bp.GenerativeClassifier(bp.Gaussian("tied_diag", prior)).fit(X, y)
    assert tied.estimates("mean")["variance"].dims == ("estimate", "feature")
