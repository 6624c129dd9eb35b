"""The temperature of a set of left-out predictions."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from bayesppl.analysis.temperature import Scores, temper

N_ROWS, N_CLASSES = 4000, 3


def rows_of_temperature(temperature, seed=0, n_rows=N_ROWS):
    """Densities, and labels drawn from them at this temperature."""
    rng = np.random.default_rng(seed)
    density = rng.normal(0, 4, (n_rows, N_CLASSES)) - rng.gamma(5.0, 20.0, (n_rows, 1))
    log_weights = np.log(rng.dirichlet(np.full(N_CLASSES, 4.0)))
    proba = np.exp(log_softmax(density / temperature + log_weights, axis=1))
    codes = (rng.random((n_rows, 1)) > proba.cumsum(1)).sum(1)
    return density, log_weights, codes, np.ones(n_rows)


def penalty(log_t):
    """Of normal halves about T = 1; below it, where densities are trusted more, that of 0.2 besides."""
    return log_t**2 / 2 + np.minimum(log_t, 0) ** 2 / (2 * 0.2**2)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0, 20.0])
def test_the_temperature_is_the_maximum_of_the_penalised_score(temperature):
    density, log_weights, codes, weights = rows_of_temperature(temperature)

    def loss(log_t):
        scores = log_softmax(density * np.exp(-log_t) + log_weights, axis=1)[np.arange(N_ROWS), codes]
        return -(weights * scores).sum() + penalty(log_t)

    best = minimize_scalar(loss, bounds=(-3, 6), method="bounded", options={"xatol": 1e-9}).x
    assert np.log(temper(density, log_weights, codes, weights)) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0, 20.0])
def test_the_temperature_of_the_labels_is_found(temperature):
    density, log_weights, codes, weights = rows_of_temperature(temperature, seed=1)
    found = temper(density, log_weights, codes, weights)
    scored = Scores.of(density[:, :, None], log_weights, codes, weights)
    spread = 1 / np.sqrt((scored.gradients(1 / found) ** 2).sum())  # the information of rows that follow the model
    assert abs(np.log(found / temperature)) < 4 * spread


def test_slopes_are_derivatives_of_the_score():
    density, *others = rows_of_temperature(2.0)
    scored = Scores.of(density[:, :, None], *others)
    step = 1e-5
    by_steps = (scored.log_scores(np.exp(-step)) - scored.log_scores(np.exp(step))) / (2 * step)
    np.testing.assert_allclose(-scored.gradients(1.0)[0], by_steps, rtol=1e-5, atol=1e-7)


def test_a_row_of_weight_two_is_two_rows():
    density, log_weights, codes, weights = rows_of_temperature(2.0, n_rows=200)
    weights[:50], again = 2.0, np.r_[np.arange(200), np.arange(50)]
    twice = temper(density[again], log_weights, codes[again], np.ones(250))
    assert temper(density, log_weights, codes, weights) == pytest.approx(twice, rel=1e-8)


def test_class_weights_may_differ_by_row():
    density, log_weights, codes, weights = rows_of_temperature(2.0, n_rows=100)
    rows = np.broadcast_to(log_weights, density.shape)
    assert temper(density, rows, codes, weights) == temper(density, log_weights, codes, weights)


def test_rows_that_no_temperature_can_score_do_not_count():
    density, log_weights, codes, weights = rows_of_temperature(2.0, n_rows=100)
    known = temper(density, log_weights, codes, weights)
    impossible, partly, unweighted = density[:3] + 0.0, density[:3] + 0.0, density[:3] + 50.0
    impossible[:] = -np.inf
    partly[np.arange(3), codes[:3]] = -np.inf
    more = np.concatenate([density, impossible, partly, unweighted])
    with np.errstate(invalid="raise"):
        found = temper(more, log_weights, np.r_[codes, np.tile(codes[:3], 3)], np.r_[np.ones(106), np.zeros(3)])
    assert found == known


def test_classes_that_are_excluded_stay_excluded():
    density, log_weights, codes, weights = rows_of_temperature(2.0, n_rows=100)
    more = np.c_[density, np.full(100, -np.inf)]
    assert temper(more, np.r_[log_weights, np.log(0.5)], codes, weights) == pytest.approx(
        temper(density, log_weights, codes, weights), rel=1e-9
    )


@pytest.mark.parametrize("scale", [1e-3, 3e-2, 0.3])
def test_of_several_maxima_the_highest_is_found(scale):
    """Of log odds far too small and always right, the score has one maximum near T = 1 and one near zero."""
    codes = np.arange(60) % 2
    log_odds = scale * (2 * codes - 1)

    def height(log_t):
        return -30 * np.log1p(np.exp(-np.abs(log_odds) * np.exp(-log_t))).sum() - penalty(log_t)

    grid = np.linspace(-19, 19, 38_001)
    best = grid[np.argmax([height(log_t) for log_t in grid])]
    density = np.stack([np.zeros(60), log_odds], axis=1)
    assert np.log(temper(density, np.log([0.5, 0.5]), codes, np.full(60, 30.0))) == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("scale", [1e-10, 1e-12, 1e-14])
def test_densities_that_hardly_differ_have_a_temperature(scale):
    codes = np.arange(200) % 2
    density = np.stack([np.zeros(200), scale * (2 * codes - 1)], axis=1)
    assert 0 < temper(density, np.log([0.5, 0.5]), codes, np.full(200, 10.0)) <= 1.0


@pytest.mark.parametrize("n_rows", [60, 150])
def test_labels_that_are_all_right_do_not_make_a_true_model_surer(n_rows):
    """Classes four standard deviations apart: few rows lie near a boundary, and say little of T."""
    means, places = np.array([[0, 0], [4, 0], [0, 4.0]]), np.arange(n_rows) % 3
    for seed in range(10):
        X = means[places] + np.random.default_rng(seed).normal(size=(n_rows, 2))
        density = -0.5 * ((X[:, None] - means) ** 2).sum(2)
        assert 0.5 < temper(density, np.log(np.full(3, 1 / 3)), places, np.ones(n_rows)) < 3


def test_equal_densities_leave_it_at_one():
    assert temper(np.zeros((20, 2)), np.log([0.5, 0.5]), np.arange(20) % 2, np.ones(20)) == pytest.approx(1.0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rows_without_an_error_and_rows_without_a_hit_have_a_temperature(scale):
    density = scale * np.array([[1.0, 0.0], [0.0, 1.0]] * 10)
    right, wrong = np.arange(20) % 2, 1 - np.arange(20) % 2
    assert 0 < temper(density, np.log([0.5, 0.5]), right, np.ones(20)) < np.inf
    assert 1 <= temper(density, np.log([0.5, 0.5]), wrong, np.ones(20)) < np.inf
