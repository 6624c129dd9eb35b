"""Scores against scikit-learn, and against loops written from their definitions."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from bayesppl.analysis import scores


@pytest.fixture(params=[2, 3, 7], ids=lambda k: f"{k} classes")
def example(request):
    rng = np.random.default_rng(request.param)
    log_joint = 3 * rng.standard_normal((211, request.param))
    log_proba = log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True)
    return log_proba, rng.integers(0, request.param, 211)


def test_accuracy_is_that_of_scikit_learn(example):
    log_proba, codes = example
    assert scores.hits(log_proba, codes).mean() == accuracy_score(codes, log_proba.argmax(1))


def test_the_first_of_equally_probable_classes_counts():
    log_proba = np.log([[0.5, 0.5], [0.5, 0.5]])
    assert scores.hits(log_proba, np.array([0, 1])).tolist() == [1.0, 0.0]


def test_log_score_is_the_negative_log_loss_of_scikit_learn(example):
    log_proba, codes = example
    expected = -log_loss(codes, np.exp(log_proba), labels=range(log_proba.shape[1]))
    np.testing.assert_allclose(scores.log_scores(log_proba, codes).mean(), expected, rtol=1e-12)


def test_an_impossible_true_label_scores_minus_infinity():
    with np.errstate(divide="ignore"):
        log_proba = np.log([[1.0, 0.0], [0.5, 0.5]])
    assert scores.log_scores(log_proba, np.array([1, 0])).tolist() == [-np.inf, np.log(0.5)]


def test_log_score_of_a_probability_too_small_for_a_float():
    log_proba = np.array([[0.0, -5000.0]])
    assert scores.log_scores(log_proba, np.array([1])).tolist() == [-5000.0]


def test_brier_score_is_that_of_scikit_learn(example):
    log_proba, codes = example
    labels = range(log_proba.shape[1])
    proba = np.exp(log_proba) if len(labels) > 2 else np.exp(log_proba)[:, 1]
    expected = brier_score_loss(codes, proba, labels=labels, scale_by_half=False)
    np.testing.assert_allclose(scores.brier_scores(log_proba, codes).mean(), expected, rtol=1e-12)


def brute_force_calibration_error(proba, codes, bins):
    total = 0.0
    for m in range(bins):
        low, high = m / bins, (m + 1) / bins
        rows = [i for i in range(len(codes)) if low < proba[i].max() <= high]
        if rows:
            accuracy = np.mean([proba[i].argmax() == codes[i] for i in rows])
            confidence = np.mean([proba[i].max() for i in rows])
            total += len(rows) / len(codes) * abs(accuracy - confidence)
    return total


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_calibration_error_equals_a_loop_over_bins(example, bins):
    log_proba, codes = example
    expected = brute_force_calibration_error(np.exp(log_proba), codes, bins)
    np.testing.assert_allclose(scores.expected_calibration_error(log_proba, codes, bins), expected, rtol=1e-12)


def test_certain_and_right_is_perfectly_calibrated():
    with np.errstate(divide="ignore"):
        log_proba = np.log([[1.0, 0.0], [0.0, 1.0]])
    assert scores.expected_calibration_error(log_proba, np.array([0, 1])) == 0.0
    assert scores.expected_calibration_error(log_proba, np.array([1, 0])) == 1.0


def test_the_error_of_an_average_is_that_of_scipy():
    values = np.random.default_rng(0).normal(size=6)
    assert scores.weighted_average(values, np.full(6, 2.0)) == pytest.approx((values.mean(), stats.sem(values)))
    assert np.isnan(scores.weighted_average(values, np.eye(6)[0])[1])
    assert scores.weighted_average(np.ones(98), np.ones(98)) == (1.0, 0.0)


def test_paired_difference_is_the_one_sample_t_statistic_of_the_differences():
    from scipy.stats import ttest_1samp

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 50))
    difference, standard_error = scores.paired_difference(a, b)
    np.testing.assert_allclose(difference / standard_error, ttest_1samp(a - b, 0.0).statistic, rtol=1e-12)


def test_a_difference_with_an_infinite_score_has_no_standard_error():
    difference, standard_error = scores.paired_difference(np.array([-np.inf, -1.0]), np.array([-1.0, -1.0]))
    assert difference == -np.inf
    assert np.isnan(standard_error)


def test_both_infinite_leaves_nothing_to_compare():
    assert np.isnan(scores.paired_difference(np.array([-np.inf]), np.array([-np.inf]))).all()


def test_bootstrap_calibration_errors_equal_those_of_resampled_rows(example, monkeypatch):
    log_proba, codes = example
    other = np.roll(log_proba, 1, axis=0)
    gaps = [scores.calibration_gaps(p, codes) for p in (log_proba, other)]
    whole = scores.bootstrap_calibration_errors(gaps, np.random.default_rng(5), replicates=6)
    drawn = np.random.default_rng(5).integers(0, len(codes), (6, len(codes)))
    expected = [
        [brute_force_calibration_error(np.exp(p)[rows], codes[rows], scores.BINS) for p in (log_proba, other)]
        for rows in drawn
    ]
    np.testing.assert_allclose(whole, expected, rtol=1e-10)
    monkeypatch.setattr(scores, "_BLOCK_CELLS", 2 * len(codes))
    blocks = scores.bootstrap_calibration_errors(gaps, np.random.default_rng(5), replicates=6)
    np.testing.assert_array_equal(blocks, whole)


def test_bootstrap_spread_is_the_known_one_of_a_single_bin():
    # with one bin whose accuracy is far below its confidence, the error is the mean of confidence minus hit
    rng = np.random.default_rng(1)
    codes = (rng.random(400) < 0.7).astype(int)
    log_proba = np.log(np.tile([0.95, 0.05], (400, 1)))
    errors = scores.bootstrap_calibration_errors([scores.calibration_gaps(log_proba, codes)], rng, 4000)[:, 0]
    expected = np.std(codes) / np.sqrt(400)
    k_standard_errors = 5 / np.sqrt(2 * 4000)  # relative standard error of a standard deviation
    np.testing.assert_allclose(errors.std(), expected, rtol=k_standard_errors)


def test_a_confidence_on_the_edge_of_two_bins_belongs_to_the_lower():
    # (0.5, 0.5) hits, (0.75, 0.25) misses: in quarters, 0.5 lies in (0.25, 0.5] and 0.75 in (0.5, 0.75]
    gaps = scores.calibration_gaps(
        np.log([[0.5, 0.5], [0.75, 0.25], [1.0 - 1e-9, 1e-9]]), np.array([0, 1, 0]), bins=4
    )
    assert gaps.indices.tolist() == [1, 2, 3]
