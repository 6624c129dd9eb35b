"""Weights of models from left-out scores, against general optimisers and quadrature."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from bayesppl.analysis.stack_weights import stack


def left_out_scores(n_models: int, n_rows: int, seed: int) -> np.ndarray:
    """Probabilities of true labels by models of different merit."""
    rng = np.random.default_rng(seed)
    return np.log(rng.beta(np.linspace(1, 3, n_models)[:, None], 1.5, (n_models, n_rows)))


@pytest.mark.parametrize(("n_models", "n_rows"), [(2, 5), (3, 40), (6, 500), (4, 1)])
@pytest.mark.parametrize("concentration", [0.3, 1.0])
def test_weights_are_the_mode_in_log_ratios(n_models: int, n_rows: int, concentration: float) -> None:
    scores = left_out_scores(n_models, n_rows, n_rows)
    row_weights = np.random.default_rng(1).uniform(0, 3, n_rows)

    def loss(logs: np.ndarray) -> float:
        log_weights = log_softmax(logs)
        combined = logsumexp(scores + log_weights[:, None], axis=0)
        return -float(row_weights @ combined + concentration * log_weights.sum())

    best = minimize(loss, np.zeros(n_models), tol=1e-12)
    found = stack(scores, row_weights, concentration).weights
    assert loss(np.log(found)) <= best.fun + 1e-8
    np.testing.assert_allclose(found, np.exp(log_softmax(best.x)), atol=2e-4)


def two_models(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores, a fine grid of weights of the first model, the posterior on it, and p_i at each point."""
    scores = left_out_scores(2, n_rows, 3)
    grid = (np.arange(20_000) + 0.5) / 20_000
    likelihood = grid[:, None] * np.exp(scores[0]) + (1 - grid[:, None]) * np.exp(scores[1])
    logs = np.log(likelihood).sum(1)  # under a flat prior
    return scores, grid, np.exp(logs - logsumexp(logs)), likelihood


@pytest.mark.parametrize("n_rows", [3, 30, 300])
def test_draws_follow_the_posterior(n_rows: int) -> None:
    scores, grid, posterior, _ = two_models(n_rows)
    draws = stack(scores, np.ones(n_rows)).draws[:, 0]
    mean, upto = float(grid @ posterior), np.cumsum(posterior)
    sd = np.sqrt(float((grid - mean) ** 2 @ posterior))
    # importance resampling of 4000 proposals to 1000 draws: some 500 independent ones at least, and five standard
    # errors
    assert abs(draws.mean() - mean) < 5 * sd / np.sqrt(500)
    for share in (0.1, 0.5, 0.9):
        at = grid[np.searchsorted(upto, share)]
        assert abs((draws <= at).mean() - share) < 5 * np.sqrt(share * (1 - share) / 500)


@pytest.mark.parametrize("weight", [0.5, 1.0, 10.0])
def test_honest_scores_have_not_seen_the_row_whatever_its_weight(weight: float) -> None:
    scores, _, posterior, likelihood = two_models(20)
    found = stack(scores, np.full(20, weight))
    without = posterior[:, None] ** weight / likelihood**weight
    expected = np.log((without * likelihood).sum(0) / without.sum(0))
    np.testing.assert_allclose(found.honest_log_scores, expected, atol=0.02)
    assert found.honest_log_scores.mean() < found.log_scores.mean()


@pytest.mark.parametrize("weight", [1.0, 10.0, 100.0])
def test_the_score_of_a_row_of_great_weight_does_not_depend_on_it(weight: float) -> None:
    likelihood = np.stack([np.r_[0.9, np.full(19, 0.6)], np.r_[0.1, np.full(19, 0.8)]])
    found = stack(np.log(likelihood), np.r_[weight, np.ones(19)]).honest_log_scores[0]
    grid = (np.arange(20_000) + 0.5) / 20_000
    posterior = (0.6 * grid + 0.8 * (1 - grid)) ** 19
    posterior, p = posterior / posterior.sum(), 0.9 * grid + 0.1 * (1 - grid)
    average = posterior @ p
    # 1000 draws resampled by importance, or weighed by it: some 300 independent ones at least
    error = np.sqrt(posterior @ (p / average - 1) ** 2 / 300)
    assert abs(found - np.log(average)) < 4 * error < 0.2


def test_a_row_that_one_model_holds_impossible_is_scored_by_the_others() -> None:
    scores = left_out_scores(2, 30, 5)
    scores[0, :3] = -np.inf
    found = stack(scores, np.ones(30))
    assert np.isfinite(found.log_scores).all()
    assert found.weights[1] > stack(left_out_scores(2, 30, 5), np.ones(30)).weights[1]


def test_without_merit_the_weights_are_equal() -> None:
    np.testing.assert_allclose(stack(np.full((4, 10), -0.7), np.ones(10)).weights, 0.25)
    np.testing.assert_allclose(stack(np.full((1, 10), -0.7), np.ones(10)).weights, 1.0)
