"""The joint density under a posterior known by draws."""

import pickle
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.model import posterior
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.sampled import Sampled

X, Y = load_iris(return_X_y=True)


def sampled_and_exact():
    exact = bp.GaussianNB().fit(X, Y).posterior_
    theta = exact.draws(2, 50, np.random.default_rng(0))
    nothing_reported = cast(Any, None)
    return Sampled(exact.model, exact.statistics, exact.prior, theta, nothing_reported), exact


def test_draws_are_averaged_in_any_portions(monkeypatch):
    sampled, _ = sampled_and_exact()
    every = {name: values.reshape(-1, *values.shape[2:]) for name, values in sampled.samples.items()}
    expected = logsumexp(sampled.model.log_joint(every)(X), axis=0) - np.log(100)
    # some log densities are near zero, and the terms that they are sums of are not
    np.testing.assert_allclose(sampled.log_joint_predictive()(X), expected, rtol=1e-12, atol=1e-13)
    monkeypatch.setattr(posterior, "CHUNK_CELLS", 7 * len(X) * 3)
    np.testing.assert_allclose(sampled.log_joint_predictive()(X), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(sampled.predictive_weights(), every[CLASS_WEIGHTS].mean(0), rtol=1e-12)


def test_the_average_over_exact_draws_is_the_closed_form():
    sampled, exact = sampled_and_exact()
    own = np.arange(len(Y)), Y
    gap = np.exp(sampled.log_joint_predictive()(X)[own]) - np.exp(exact.log_joint_predictive()(X)[own])
    every = {name: values.reshape(-1, *values.shape[2:]) for name, values in sampled.samples.items()}
    error = np.exp(sampled.model.log_joint(every)(X)).std(0)[own] / np.sqrt(100)
    np.testing.assert_array_less(np.abs(gap), 5 * error)


def test_what_rules_compute_from_is_made_once_and_stays_here():
    clf = bp.QuadraticDiscriminantAnalysis().fit(X, Y)
    exact = clf.posterior_
    before = pickle.dumps(exact)
    for rule in ("mle", "map", "mean", "predictive"):
        assert exact.scorer(rule) is exact.scorer(rule)
        log_joint = exact.scorer(rule).log_joint
        whole, part = log_joint(X), log_joint.kernel(X)
        np.testing.assert_allclose(softmax(part, axis=1), softmax(whole, axis=1), rtol=1e-9, atol=1e-12)
    assert pickle.dumps(exact) == before
    first = clf.predict_proba(X)
    clf.partial_fit(X[:10] + 1, Y[:10])
    assert clf.posterior_ is not exact
    assert not np.array_equal(clf.predict_proba(X), first)


@pytest.mark.filterwarnings("ignore:a few draws carry")
@pytest.mark.parametrize("power", [1.0, 0.3])
def test_the_monte_carlo_error_is_that_of_the_means_of_batches(power: float) -> None:
    exact = bp.GaussianNB(bp.NormalInverseGamma(5.0, 0.01, 1.0, 0.2)).fit(X[::10], Y[::10]).posterior_
    theta = exact.draws(2, 53, np.random.default_rng(0))
    sampled = Sampled(exact.model, exact.statistics, exact.prior, theta, cast(Any, None))
    found = sampled.predictive_mcse([(power, X)])
    density = np.exp(exact.model.log_joint(theta)(X))
    # seven batches of each chain; four draws that are left over belong to the first
    cuts = [0, *range(11, 54, 7)]
    means = np.array([chain[a:b].mean(0) for chain in density for a, b in pairwise(cuts)])
    weights = np.array([chain[a:b].mean(0) for chain in theta["class_weights"] for a, b in pairwise(cuts)])
    for i in range(0, len(X), 7):
        total, weight = means[:, i].mean(0), weights.mean(0)
        share = total**power * theta["class_weights"].mean((0, 1)) ** (1 - power)
        share = share / share.sum()
        of_logs = np.hstack([power * np.diag(1 / total), (1 - power) * np.diag(1 / weight)])
        jacobian = (np.diag(share) - np.outer(share, share)) @ of_logs
        covariance = np.cov(np.hstack([means[:, i], weights]).T, ddof=1)
        expected = np.sqrt(np.diagonal(jacobian @ covariance @ jacobian.T) / len(means))
        np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-15)


def test_a_posterior_shows_its_parameters_and_not_its_numbers():
    X, y = load_iris(return_X_y=True)
    posterior = bp.GaussianNB().fit(X, y).posterior_
    assert (
        repr(posterior)
        == "Exact posterior of class_weights (class), mean (class, feature), variance (class, feature)"
    )
    assert "<tr><th>mean</th><td>class: 3 × feature: 4</td></tr>" in posterior._repr_html_()


def test_rows_whose_average_density_few_draws_carry_are_warned_of() -> None:
    """Of three rows a class the predictive density is a Student t, of which draws of normals miss the tail."""
    rows, labels = np.array([0.0, 0.4, 1.0, 2.0, 2.2, 3.0])[:, None], list("aaabbb")
    exact = bp.GaussianNB().fit(rows, labels).posterior_
    theta = exact.draws(4, 1000, np.random.default_rng(0))
    sampled = Sampled(exact.model, exact.statistics, exact.prior, theta, cast(Any, None))
    new = np.array([[0.5], [300.0], [2.5]])
    with pytest.warns(bp.errors.ConvergenceWarning, match="class in 1 of 3 rows, such as row 1: neither"):
        error = sampled.predictive_mcse([(1.0, new)])
    found, expected = (softmax(one.log_joint_predictive()(new), axis=1) for one in (sampled, exact))
    assert (np.abs(found - expected)[[0, 2]] < 5 * error[[0, 2]]).all()
