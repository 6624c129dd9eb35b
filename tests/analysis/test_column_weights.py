"""The weights of columns from a set of left-out predictions."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax

from bayesppl.analysis.column_weights import (
    MOST_FACTORS,
    curvature,
    learn_weights,
    maximum,
    scores_of,
    without_rows,
)
from bayesppl.analysis.temperature import drawn_rows, temper

N_CLASSES = 3


def rows_of_weights(true, n_rows=600, seed=0):
    """Log joints of every unit, and labels drawn from them with these weights."""
    rng = np.random.default_rng(seed)
    density = rng.normal(0, 2, (len(true), n_rows, N_CLASSES))
    log_weights = np.log(rng.dirichlet(np.full(N_CLASSES, 5.0), n_rows))
    proba = np.exp(log_softmax(log_weights + np.tensordot(true, density, axes=1), axis=1))
    codes = (rng.random((n_rows, 1)) > proba.cumsum(1)).sum(1)
    return [(d + log_weights, log_weights) for d in density], codes, np.ones(n_rows)


def names(left_out):
    return tuple(f"x{b}" for b in range(len(left_out)))


def penalised(left_out, codes, row_weights, spread):
    """Less the penalised score, written out."""
    n_units = len(left_out)
    precision = np.linalg.inv(spread**2 * np.eye(n_units) + np.ones((n_units, n_units)))
    log_weights = left_out[0][1]

    def loss(u):
        eta = log_weights + sum(
            w * (joint - log_weights) for w, (joint, _) in zip(np.exp(u), left_out, strict=True)
        )
        score = row_weights @ log_softmax(eta, axis=1)[np.arange(len(codes)), codes]
        return 0.5 * u @ precision @ u + 0.5 * (np.maximum(u, 0) ** 2).sum() / 0.2**2 - score

    return loss


@pytest.mark.parametrize("spread", [0.1, 1.6])
def test_the_maximum_is_that_of_the_score_less_the_penalties(spread):
    rows = rows_of_weights([1.0, 0.5, 0.1, 1.5])
    found = maximum(scores_of(*rows), spread, np.zeros(4)).log_weights
    best = minimize(penalised(*rows, spread), np.zeros(4), options={"gtol": 1e-7})
    np.testing.assert_allclose(found, best.x, atol=2e-5)


@pytest.mark.parametrize("seed", [1, 2])
def test_of_several_maxima_the_highest_is_found(seed):
    """Columns of no use, far too sure, drown the one that is of use where all have one temperature."""
    rng = np.random.default_rng(seed)
    codes = np.arange(120) % 2
    useless = 1e4 * rng.normal(size=(4, 120))
    log_odds = [*useless, rng.normal(3 * (2 * codes - 1), 1.0)]
    even = np.log(np.full((120, 2), 0.5))
    rows = [(np.stack([np.zeros(120), odds], axis=1) + even, even) for odds in log_odds], codes, np.ones(120)
    found = learn_weights(names(rows[0]), *rows)
    at = maximum(scores_of(*rows), found.spread, np.r_[np.full(4, -12.0), 0.0])
    loss = penalised(*rows, found.spread)
    best = min(minimize(loss, start, options={"gtol": 1e-6}).fun for start in (at.log_weights, np.full(5, -9.0)))
    assert -at.height == pytest.approx(best, rel=1e-6)
    assert found.weights[-1] > 0.1
    assert np.exp(at.log_weights)[-1] / found.weights[-1] == pytest.approx(
        np.exp(at.log_weights)[0] / found.weights[0], rel=1e-2
    )


def test_slopes_and_curvature_are_derivatives_of_the_score():
    rows = rows_of_weights([1.0, 0.5, 0.1], n_rows=50)
    scores, u = scores_of(*rows), np.array([0.2, -0.5, -1.0])
    slope = scores.gradients(np.exp(u)) @ rows[2]
    by_steps = approx_fprime(u, lambda v: rows[2] @ scores.log_scores(np.exp(v)), 1e-7)
    np.testing.assert_allclose(slope, by_steps, rtol=1e-4, atol=1e-4)
    second = [approx_fprime(u, lambda v, b=b: scores.gradients(np.exp(v))[b] @ rows[2], 1e-7) for b in range(3)]
    np.testing.assert_allclose(curvature(scores, u), -np.array(second), rtol=1e-4, atol=1e-4)


def test_the_evidence_is_that_of_quadrature():
    rows = rows_of_weights([1.0, 0.3], n_rows=80)
    spread = 0.4
    point = maximum(scores_of(*rows), spread, np.zeros(2))
    loss = penalised(*rows, spread)
    grid = np.linspace(-3, 1.5, 91)
    values = np.array([[-loss(np.array([a, b])) for b in grid] for a in grid])
    covariance = spread**2 * np.eye(2) + 1
    log_integral = np.log(np.exp(values - values.max()).sum() * (grid[1] - grid[0]) ** 2) + values.max()
    # the normal density of the penalty; Laplace's approximation is of order 1/n
    expected = log_integral - np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * spread**2
    assert point.log_evidence == pytest.approx(expected, abs=0.15)


def test_weights_of_the_labels_are_found():
    true = np.array([1.0, 0.7, 0.3, 0.1])
    found = learn_weights(names(true), *rows_of_weights(true, n_rows=20_000))
    assert (np.abs(np.log(found.weights / true)) < 4 * found.log_sd).all()
    assert (found.log_sd < 0.1).all()


def test_standard_errors_are_the_spread_of_the_weights_over_samples():
    true = np.array([0.8, 0.3])
    found = [learn_weights(("a", "b"), *rows_of_weights(true, n_rows=400, seed=seed)) for seed in range(30)]
    spread = np.std([np.log(one.weights) for one in found], axis=0, ddof=1)
    claimed = np.sqrt(np.mean([one.log_sd**2 for one in found], axis=0))
    # a standard deviation of 30 numbers has a relative error of 1/√58
    np.testing.assert_allclose(spread / claimed, 1.0, atol=4 / np.sqrt(58))


def test_weights_without_a_row_are_those_of_a_fit_without_it():
    left_out, codes, row_weights = rows_of_weights([1.0, 0.5, 0.2], n_rows=60)
    scores = scores_of(left_out, codes, row_weights)
    point = maximum(scores, 0.4, np.zeros(3))
    approximate = without_rows(scores, point).T
    moved = scores.contrast.T @ np.exp(point.log_weights)
    for row in range(0, 60, 7):
        others = np.arange(60) != row
        part = scores_of([(a[others], b[others]) for a, b in left_out], codes[others], row_weights[others])
        exact = scores.contrast.T[row] @ np.exp(maximum(part, 0.4, point.log_weights).log_weights)
        # first order: what remains is small beside the change itself
        error, change = np.abs(approximate[row] - exact).max(), np.abs(exact - moved[row]).max()
        assert error < 0.25 * change + 2e-3


def test_columns_that_repeat_each_other_share_one_weight():
    left_out, codes, row_weights = rows_of_weights([1.0, 0.6], n_rows=5000)
    found = learn_weights(("a", "a again", "b"), [left_out[0], *left_out], codes, row_weights)
    assert found.weights[0] == pytest.approx(found.weights[1], rel=1e-4)
    assert found.weights[:2].sum() == pytest.approx(1.0, abs=0.15)
    assert found.log_score > found.log_score_uncalibrated


def test_units_that_need_one_temperature_have_nearly_that():
    left_out, codes, row_weights = rows_of_weights(np.full(6, 0.25), n_rows=2000)
    found = learn_weights(names(left_out), left_out, codes, row_weights)
    log_weights = left_out[0][1]
    density = sum(joint - log_weights for joint, _ in left_out)
    assert found.spread <= 0.2
    np.testing.assert_allclose(
        np.log(found.weights * temper(density, log_weights, codes, row_weights)), 0, atol=0.25
    )


def test_a_row_of_weight_two_counts_twice_and_of_weight_zero_not_at_all():
    left_out, codes, row_weights = rows_of_weights([1.0, 0.4], n_rows=300)
    spread, start = 0.4, np.zeros(2)
    again = np.r_[np.arange(300), np.arange(60)]
    weighted = row_weights + np.r_[np.ones(60), np.zeros(240)]
    repeated = scores_of([(a[again], b[again]) for a, b in left_out], codes[again], np.ones(360))
    expected = maximum(repeated, spread, start).log_weights
    found = maximum(scores_of(left_out, codes, weighted), spread, start).log_weights
    np.testing.assert_allclose(found, expected, atol=1e-6)
    more = [(np.r_[a, a[:5] + 100 * np.arange(3)], np.r_[b, b[:5]]) for a, b in left_out]
    unchanged = learn_weights(("a", "b"), more, np.r_[codes, codes[:5]], np.r_[row_weights, np.zeros(5)])
    np.testing.assert_allclose(unchanged.weights, learn_weights(("a", "b"), left_out, codes, row_weights).weights)


def test_impossible_classes_stay_impossible_and_rows_their_own_class_excludes_do_not_count():
    left_out, codes, row_weights = rows_of_weights([1.0, 0.4], n_rows=300)
    known = learn_weights(("a", "b"), left_out, codes, row_weights)
    none = np.full((300, 1), -np.inf)
    wider = [(np.hstack([a, none]), np.hstack([b, none])) for a, b in left_out]
    np.testing.assert_allclose(
        learn_weights(("a", "b"), wider, codes, row_weights).weights, known.weights, rtol=1e-6
    )
    excluded = [(np.vstack([a, np.full((2, 3), -np.inf)]), np.vstack([b, b[:2]])) for a, b in left_out]
    found = learn_weights(("a", "b"), excluded, np.r_[codes, 0, 1], np.ones(302))
    np.testing.assert_allclose(found.weights, known.weights, rtol=1e-6)


def test_without_rows_to_learn_from_the_model_is_taken_at_its_word():
    left_out, codes, _ = rows_of_weights([1.0, 0.4], n_rows=10)
    found = learn_weights(("a", "b"), left_out, codes, np.zeros(10))
    np.testing.assert_allclose(found.weights, 1.0)
    assert np.isnan(found.log_score)


def test_many_rows_are_drawn_from():
    some = drawn_rows(1000, 100)
    assert len(some) == 100 == len(np.unique(some))
    assert (np.diff(some) > 0).all()
    assert len(drawn_rows(100, 100)) == 100
    assert MOST_FACTORS >= 100
