"""Von Mises class densities: against scipy, with every period, and a fit of hours around midnight."""

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesppl as bp
from bayesppl.data.labels import one_hot
from bayesppl.data.read_table import as_table
from bayesppl.families import closed_forms

RNG = np.random.default_rng(6)
ANGLES = np.concatenate([RNG.vonmises(3.0, 4.0, (60, 1)), RNG.vonmises(-0.5, 1.0, (60, 1))])
Y = np.repeat(["a", "b"], 60)
MU, KAPPA = np.array([[3.0], [-0.5]]), np.array([[4.0], [1.0]])
THETA = {"cosine": KAPPA * np.cos(MU), "sine": KAPPA * np.sin(MU)}


def bound(family):
    return family.bind(as_table(ANGLES), ("a", "b"))


def test_density_is_that_of_scipy():
    found = bound(bp.VonMises()).log_likelihood(THETA)(ANGLES)
    np.testing.assert_allclose(found, stats.vonmises.logpdf(ANGLES, KAPPA[:, 0], MU[:, 0]), rtol=1e-12)


@pytest.mark.parametrize("period", [12.0, 24.0, 360.0])
def test_values_return_after_the_period(period):
    family, x = bound(bp.VonMises(period)), ANGLES * period / (2 * np.pi)
    found = family.log_likelihood(THETA)(x)
    expected = stats.vonmises.logpdf(ANGLES, KAPPA[:, 0], MU[:, 0]) + np.log(2 * np.pi / period)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    np.testing.assert_allclose(family.log_likelihood(THETA)(x + 3 * period), found, rtol=1e-9)


def test_large_concentrations_do_not_overflow():
    theta = {"cosine": np.full((2, 1), 5000.0), "sine": np.zeros((2, 1))}
    found = bound(bp.VonMises()).log_likelihood(theta)(np.array([[0.01]]))
    # as normal as it gets: variance 1 / κ, with an error of the order of 1 / κ
    np.testing.assert_allclose(found, stats.norm.logpdf(0.01, scale=5000**-0.5), atol=1e-3)


def test_simulated_rows_have_the_moments_of_the_family():
    family = bound(bp.VonMises(24.0))
    hours = family.simulate(THETA, np.repeat([0, 1], 4000), np.random.default_rng(1))
    assert hours.min() >= 0
    assert hours.max() < 24
    for k in range(2):
        angles = hours[4000 * k : 4000 * (k + 1), 0] * 2 * np.pi / 24
        mean = stats.vonmises.expect(np.cos, args=(KAPPA[k, 0],), lb=-np.pi, ub=np.pi) * np.cos(MU[k, 0])
        error = np.cos(angles).std() / np.sqrt(4000)
        assert abs(np.cos(angles).mean() - mean) < 5 * error


@pytest.mark.parametrize("period", [0.0, -24.0, np.nan, np.inf, "24", None])
def test_the_period_is_a_positive_number(period):
    with pytest.raises((TypeError, ValueError), match=r"period must be .*positive and finite, found"):
        bp.GenerativeClassifier(bp.VonMises(period), inference="laplace").fit(ANGLES, Y)


def default_sd(angles, y, n_classes):
    family = bp.VonMises().bind(as_table(angles), tuple(range(n_classes)))
    statistics = closed_forms.sufficient_statistics(family, angles, one_hot(y, n_classes))
    return family.resolve_prior(statistics).priors["cosine"].owner.inputs[-1].eval().ravel()


@pytest.mark.parametrize("n_rows", [10, 400])
def test_the_default_prior_exceeds_the_concentration_however_narrow_the_classes_are(n_rows):
    """Narrow angles are nearly normal: 2κ(n - R) is about χ² of n - 1 degrees of freedom in each class."""
    kappas, y = np.array([50.0, 3e3, 1e7]), np.repeat([0, 1, 2], n_rows)
    angles = np.random.default_rng(0).vonmises(y[:, None], kappas[y][:, None])
    found = default_sd(angles, y, 3) - 1
    lengths = np.abs(np.exp(1j * angles).reshape(3, -1).sum(1))
    own, within = (n_rows - 1) / (2 * (n_rows - lengths)), 3 * (n_rows - 1) / (2 * (3 * n_rows - lengths.sum()))
    expected = np.exp(((n_rows - 1) * np.log(own) + 2 * np.log(within)) / (n_rows + 1))
    np.testing.assert_allclose(found, expected, rtol=0.02)  # Banerjee's estimate of κ is 1/(2(1 - r)) up to 1/κ
    low, high = stats.chi2(n_rows - 1).interval(1 - 1e-6) / np.float64(n_rows - 1)
    assert (found[1:] < kappas[1:] / low).all()
    assert (found > kappas / high / 20).all()


def test_classes_that_no_row_has_change_no_prior():
    y = np.repeat([0, 1], 60)
    few, many = default_sd(ANGLES, y, 2), default_sd(ANGLES, y, 30)
    np.testing.assert_allclose(many[:2], few, rtol=1e-12)
    assert (few.min() <= many[2:]).all()
    assert (many[2:] <= few.max()).all()


def test_equal_angles_and_single_rows_have_a_prior():
    found = default_sd(np.array([[1.0], [1.0], [1.0], [2.0]]), np.array([0, 0, 0, 1]), 2)
    assert (np.isfinite(found) & (found > 1)).all()


def test_a_class_of_equal_angles_shows_no_width():
    """It is no wider than the others: nobody else is nearer to noon than a class that is always noon."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 20)
    hours = np.concatenate([np.full(20, 12.0), 12.1 + 0.1 * rng.normal(size=20)])[:, None]
    found = default_sd(hours * np.pi / 12, y, 2) - 1
    own = 19 / (2 * (20 - np.abs(np.exp(1j * hours[20:] * np.pi / 12).sum())))
    np.testing.assert_allclose(found, [2 * own, np.exp((19 * np.log(own) + 2 * np.log(2 * own)) / 21)], rtol=0.01)
    noon = bp.GenerativeClassifier(bp.VonMises(24), inference=bp.Laplace(random_state=1)).fit(hours, y)
    proba = noon.predict_proba([[12.0], [13.0]])[:, 0]
    assert proba[0] > 0.7
    assert proba[1] < 0.01


@pytest.mark.parametrize("hour", [2.0, 3.0, 9.0, 21.0])
def test_many_equal_angles_are_equal_whatever_their_sum_rounds_to(hour):
    y = np.repeat([0, 1], [100_000, 200])
    hours = hour + np.r_[np.zeros(100_000), 0.3 * np.random.default_rng(0).normal(size=200)]
    few = default_sd(hours[99_990:, None] * np.pi / 12, y[99_990:], 2)
    many = default_sd(hours[:, None] * np.pi / 12, y, 2)
    np.testing.assert_allclose((many[0] - 1) / (few[0] - 1), 100_198 / 208, rtol=0.01)  # of κ about 1/(2(1 - r))


def test_one_class_of_no_direction_leaves_the_others_narrow():
    rng = np.random.default_rng(0)
    y, new = np.repeat([0, 1, 2], 20), np.repeat([0, 1, 2], 200)
    mean, kappa = np.array([0.0, 0.1, 1.0]), np.array([2000.0, 2000.0, 1.0])
    angles, later = (rng.vonmises(mean[labels], kappa[labels])[:, None] for labels in (y, new))
    circular = bp.GenerativeClassifier(bp.VonMises(), inference=bp.Laplace(random_state=1)).fit(angles, y)
    score = circular.predict_log_proba(later)[np.arange(600), new]
    density = stats.vonmises.logpdf(later, kappa, mean)
    truth = (density - np.logaddexp.reduce(density, axis=1, keepdims=True))[np.arange(600), new]
    assert score.mean() > truth.mean() - 0.05


@pytest.mark.parametrize("kappa", [0.5, 9e7, 2e8, 1e12])
def test_the_normalising_constant_of_large_concentrations(kappa):
    """Against mpmath, for scipy has none beyond 2^30."""
    found = bound(bp.VonMises()).log_likelihood({"cosine": np.full((2, 1), kappa), "sine": np.zeros((2, 1))})
    with mpmath.workdps(40):
        exact = -mpmath.log(2 * mpmath.pi * mpmath.besseli(0, kappa)) + kappa
    np.testing.assert_allclose(found(np.zeros((1, 1)))[0], float(exact), rtol=1e-9, atol=2 * np.spacing(kappa))


def test_narrow_classes_are_told_apart_as_by_normal_densities():
    rng = np.random.default_rng(3)
    y, new = np.repeat([0, 1], 10), np.repeat([0, 1], 100)
    degrees, later = (4.0 * labels - 2 + rng.normal(size=len(labels)) for labels in (y, new))
    circular = bp.GenerativeClassifier(
        bp.VonMises(360), inference=bp.Laplace(random_state=1), class_weights="uniform"
    )
    found = circular.fit(degrees[:, None] % 360, y).predict_proba(later[:, None] % 360)
    # under scales that are as little known: a flat prior of the mean, and of the log of the variance
    normal = bp.GaussianNB("jeffreys", class_weights="uniform").fit(degrees[:, None], y)
    score, expected = (
        np.log(proba[np.arange(200), new]).mean() for proba in (found, normal.predict_proba(later[:, None]))
    )
    assert abs(score - expected) < 0.05


@pytest.mark.slow
def test_a_fit_finds_directions_on_both_sides_of_the_cut():
    inference = bp.Laplace(draws=400, random_state=1)
    clf = bp.GenerativeClassifier(bp.VonMises(), inference=inference).fit(ANGLES, Y)
    draws, mean = clf.posterior_.samples, clf.posterior_.mean()
    for name, values in THETA.items():
        np.testing.assert_array_less(np.abs(mean[name] - values), 4 * draws[name].std((0, 1)))
    turned = bp.GenerativeClassifier(bp.VonMises(), inference=inference).fit(ANGLES + 2.0, Y)
    # the prior prefers no direction
    proba = clf.predict_proba(ANGLES, "map")
    np.testing.assert_allclose(turned.predict_proba(ANGLES + 2.0, "map"), proba, atol=1e-5)


@pytest.mark.parametrize("period", [1.0, 24.0])
def test_the_density_of_the_declared_model_is_that_of_scipy(period):
    """With the normalising constant, which is not one over the constant of angles where the period is another."""
    from pytensor.compile.mode import Mode

    angles = np.array([0.1, 0.4, -1.0, 2.0, 2.5, 3.1])[:, None]
    y = np.array([0, 0, 0, 1, 1, 1])
    clf = bp.GenerativeClassifier(bp.VonMises(period), class_weights="uniform", inference="laplace")
    model = clf.fit(np.mod(angles, 2 * np.pi) * period / (2 * np.pi), y).to_pymc("rows")
    rng = np.random.default_rng(1)
    point = {v.name: rng.normal(size=v.type.shape) for v in model.value_vars}
    cosine, sine = (model[name] for name in ("cosine", "sine"))
    values = [point[model.rvs_to_values[variable].name][y] for variable in (cosine, sine)]
    expected = stats.vonmises.logpdf(angles, np.hypot(*values), np.arctan2(*values[::-1])) + np.log(
        2 * np.pi / period
    )
    found = model.compile_fn(model.logp(vars=[model["x"]], sum=False)[0], mode=Mode("py", None))(point)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
def test_gaps_are_filled_by_the_average_on_the_circle():
    """Hours about midnight: within an hour of it, of which twenty standard errors of 200 draws are a part."""
    rng = np.random.default_rng(6)
    hours = np.mod(np.r_[rng.normal(0.0, 1.0, 60), rng.normal(12.0, 1.0, 60)], 24.0)
    X = pd.DataFrame({"hour": hours, "size": np.r_[rng.normal(0, 1, 60), rng.normal(9, 1, 60)]})
    blocks = {"hours": (["hour"], bp.families.VonMises(24.0)), "sizes": (["size"], bp.Gaussian("diag"))}
    clf = bp.MixedNB(blocks, inference=bp.Laplace(random_state=1)).fit(X, np.repeat(["night", "day"], 60))
    filled = clf.impute(pd.DataFrame({"hour": [np.nan, np.nan], "size": [0.0, 9.0]}), random_state=0)["hour"]
    assert np.abs((filled.to_numpy() - [0.0, 12.0] + 12.0) % 24.0 - 12.0).max() < 1.0
    assert (filled >= 0).all()
    about_zero = pd.DataFrame({"hour": [-3.0, np.nan, np.nan], "size": [0.0, 0.0, 9.0]})
    again = clf.impute(about_zero, random_state=0)["hour"].to_numpy()[1:]
    assert np.abs(again).max() <= 12.0
    assert abs(again[0]) < 1.0
