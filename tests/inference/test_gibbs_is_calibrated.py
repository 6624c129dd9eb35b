"""Simulation-based calibration of Gibbs sampling (Talts et al. 2018), and coverage of its intervals.

NUTS is checked with it where labels are missing for a reason.

Parameters are drawn from the prior and rows given them; among thinned draws of the posterior of these rows the
rank of the true parameter is uniform. Tables that the data alone decide to leave out change nothing of that.
"""

import warnings

import numpy as np
import pytest
from scipy.special import entr, expit
from scipy.stats import chi2, invwishart

import bayesppl as bp
from bayesppl.errors import ConvergenceWarning

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::bayesppl.UnlabelledWarning")]

ALPHA = 0.001
NIW = bp.NormalInverseWishart(location=0.0, kappa=0.5, nu=7.0, psi=[1.0, 2.0])
NIG = bp.NormalInverseGamma(location=0.0, kappa=0.1, a=4.0, b=3.0)


def draws_of(family, names, n_kept, thin, seed, *, fit=None, sampler=bp.Gibbs, **options):
    """Thinned draws of the class weight of the first class and of the parameters named: (n_kept, n_values)."""
    tune = 2 * thin if sampler is bp.Gibbs else 300
    sampler = sampler(draws=thin * n_kept, tune=tune, chains=1, random_state=seed)
    clf = bp.GenerativeClassifier(
        family,
        class_weights=bp.Dirichlet(2.0),
        inference=sampler,
        classes=[0, 1],
        unlabelled_weight=1.0,
        **options,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few draws are thinned, not averaged
        samples = fit(clf).posterior_.samples
    kept = [samples[name][0, ::thin].reshape(n_kept, -1) for name in names]
    return np.column_stack([samples["class_weights"][0, ::thin, 0], *kept])


def labels_and_bits(rng, n_rows, n_columns):
    weight, truth = rng.beta(2.0, 2.0), rng.beta(2.0, 1.5, (2, n_columns))
    labels = (rng.random(n_rows) > weight).astype(int)
    return weight, truth, labels, (rng.random((n_rows, n_columns)) < truth[labels]).astype(int)


BITS = bp.Bernoulli(bp.Beta(2.0, 1.5))


def half_of_the_labels(rng, seed):
    weight, truth, labels, X = labels_and_bits(rng, 16, 3)
    y = [int(label) if i % 2 else None for i, label in enumerate(labels)]
    drawn = draws_of(BITS, ["probability"], 9, 20, seed, fit=lambda clf: clf.fit(X, y), unlabelled="learn")
    return np.r_[weight, truth.ravel()], drawn


def annotators(rng, seed):
    """Two annotators, one of whom skips every third row, with confusion matrices of their own."""
    weight, truth, labels, X = labels_and_bits(rng, 16, 2)
    noise = bp.LabelNoise(0.8, 6.0)
    first = rng.beta(4.8, 1.2, (2, 2))
    errors = np.stack(
        [np.stack([first[:, 0], 1 - first[:, 0]], -1), np.stack([1 - first[:, 1], first[:, 1]], -1)], 1
    )
    votes = [[int(rng.random() > errors[a, label, 0]) for a in (0, 1)] for label in labels]
    votes = [[one, None if i % 3 == 0 else other] for i, (one, other) in enumerate(votes)]
    drawn = draws_of(
        BITS,
        ["probability", "confusion"],
        9,
        20,
        seed,
        label_noise=noise,
        fit=lambda clf: clf.fit(X, annotations=votes),
    )
    return np.r_[weight, truth.ravel(), errors.ravel()], drawn


def gaps(rng, seed):
    """Correlated columns, a third of whose cells are missing."""
    weight = rng.beta(2.0, 2.0)
    covariance = invwishart(7.0, np.diag([1.0, 2.0])).rvs(2, random_state=rng)
    mean = np.stack([rng.multivariate_normal(np.zeros(2), one / 0.5) for one in covariance])
    labels = (rng.random(20) > weight).astype(int)
    X = np.stack([rng.multivariate_normal(mean[k], covariance[k]) for k in labels])
    holes = np.where(rng.random(X.shape) < 1 / 3, np.nan, X)
    if not np.isnan(holes).any():
        return None
    drawn = draws_of(
        bp.Gaussian("full", NIW), ["mean", "covariance"], 9, 10, seed, fit=lambda clf: clf.fit(holes, labels)
    )
    return np.r_[weight, mean.ravel(), covariance.ravel()], drawn


def missing_for_a_reason(rng, seed):
    weight, truth, labels, X = labels_and_bits(rng, 20, 2)
    beta = 5.0 * rng.standard_normal(2)
    given = np.prod(np.where(X[:, None] == 1, truth, 1 - truth), axis=-1) * [weight, 1 - weight]
    unclear = entr(given / given.sum(1, keepdims=True)).sum(1) / np.log(2)
    is_missing = rng.random(len(X)) < expit(beta[0] + beta[1] * unclear)
    if not is_missing.any():
        return None
    y = [None if gone else int(label) for gone, label in zip(is_missing, labels, strict=True)]
    drawn = draws_of(
        BITS,
        ["probability", "missingness"],
        9,
        10,
        seed,
        sampler=bp.NUTS,
        unlabelled="informative",
        fit=lambda clf: clf.fit(X, y),
    )
    return np.r_[weight, truth.ravel(), beta], drawn


@pytest.mark.parametrize("simulate", [half_of_the_labels, annotators, gaps, missing_for_a_reason])
def test_ranks_are_uniform(simulate):
    rng, n_ranks = np.random.default_rng(11), 10
    found = [pair for seed in range(120) if (pair := simulate(rng, seed)) is not None]
    ranks = np.stack([(drawn < truth).sum(0) for truth, drawn in found])
    counts = np.stack([np.bincount(column, minlength=n_ranks) for column in ranks.T])
    expected = len(found) / n_ranks
    statistics = ((counts - expected) ** 2 / expected).sum(1)
    assert (chi2.sf(statistics, n_ranks - 1) > ALPHA / len(statistics)).all()


@pytest.mark.parametrize("share", [0.5, 0.9, 0.98])
def test_intervals_cover_with_labels_missing(share):
    """80 % intervals of class frequencies and means, between the fourth and the last but three of 39 draws."""
    rng, n_rows, repetitions = np.random.default_rng(int(100 * share)), 150, 150
    covered = []
    seed = 0
    while len(covered) < repetitions:
        seed += 1
        weight, variance = rng.beta(2.0, 2.0), 3.0 / rng.gamma(4.0, size=(2, 2))
        mean = rng.normal(size=(2, 2)) * np.sqrt(variance / 0.1)
        labels = (rng.random(n_rows) > weight).astype(int)
        X = mean[labels] + rng.normal(size=(n_rows, 2)) * np.sqrt(variance[labels])
        there = np.arange(n_rows) < round((1 - share) * n_rows)
        if len(np.unique(labels[there])) < 2:
            continue
        y = np.where(there, labels.astype(object), None)
        drawn = draws_of(
            bp.Gaussian("diag", NIG),
            ["mean"],
            39,
            5,
            seed,
            unlabelled="learn",
            fit=lambda clf, X=X, y=y: clf.fit(X, y),
        )
        ranks = (drawn < np.r_[weight, mean.ravel()]).sum(0)
        covered.append((ranks >= 4) & (ranks < 36))
    found = np.mean(covered, axis=0)
    # five parameters, each binomial
    assert (np.abs(found - 0.8) < 4 * np.sqrt(0.8 * 0.2 / repetitions)).all()
