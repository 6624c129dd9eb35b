"""Labels that are missing for a reason: against importance sampling, at random or not, and what is refused."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, xlogy

import bayesppl as bp
from bayesppl.errors import ConvergenceWarning, NotConjugateError

pytestmark = pytest.mark.filterwarnings("ignore::bayesppl.UnlabelledWarning")

RNG = np.random.default_rng(4)
X = RNG.integers(0, 2, (14, 2))
#: Rows of two equal cells are clearer than others, and have their labels.
Y = [int(a) if a == b else None for a, b in X.tolist()]
SPREAD = 5.0


def classifier(inference, unlabelled="informative", **options):
    return bp.GenerativeClassifier(
        bp.Bernoulli(bp.Beta(2.0, 1.5)),
        class_weights=bp.Dirichlet(2.0),
        inference=inference,
        unlabelled=unlabelled,
        classes=[0, 1],
        **options,
    )


def entropies(weights, probability, rows):
    """Of the class probabilities of rows, by draw: (n_draws, n_rows), in units of log 2."""
    joint = weights[:, None, :] * np.prod(
        np.where(rows[None, :, None, :] == 1, probability[:, None], 1 - probability[:, None]), axis=-1
    )
    proba = joint / joint.sum(-1, keepdims=True)
    return -xlogy(proba, proba).sum(-1) / np.log(2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_gibbs_agrees_with_importance_sampling():
    """Draws that take labels to be missing at random, weighed by the probability of those that are missing."""
    at_random = classifier(bp.Gibbs(draws=1600, tune=50, chains=2, random_state=1), "learn", unlabelled_weight=1.0)
    samples = at_random.fit(X, Y).posterior_.samples
    weights, probability = (
        samples[n].reshape(-1, *samples[n].shape[2:]) for n in ("class_weights", "probability")
    )
    beta = SPREAD * np.random.default_rng(0).standard_normal((len(weights), 40, 2))
    missing = np.asarray([label is None for label in Y])
    log_odds = beta[..., :1] + beta[..., 1:] * entropies(weights, probability, X)[:, None]
    importance = np.prod(expit(np.where(missing, log_odds, -log_odds)), axis=-1)
    found = classifier(bp.Gibbs(draws=800, tune=100, chains=2, random_state=2)).fit(X, Y)
    drawn = found.posterior_.samples
    for name, values in (
        ("missingness", beta),
        ("class_weights", weights[:, None]),
        ("probability", probability[:, None]),
    ):
        share = importance.reshape(*importance.shape, *[1] * (values.ndim - 2)) / importance.sum()
        expected = (share * values).sum((0, 1))
        # batches of draws, which depend on each other over a few steps
        batches = [
            (part * value).sum((0, 1)) / part.sum((0, 1))
            for part, value in zip(np.split(share, 40), np.split(values, 40), strict=True)
        ]
        ours = drawn[name].reshape(40, -1, *values.shape[2:]).mean(1)
        error = np.sqrt((np.var(batches, 0, ddof=1) + ours.var(0, ddof=1)) / 40)
        assert (np.abs(ours.mean(0) - expected) < 5 * error).all(), name
    # the test can fail: at random, the slope is not what the labels say
    assert found.label_missingness()["mean"].sel(coefficient="slope") > 1
    assert 0.05 < found.posterior_.record["acceptance"] < 1


def test_labels_missing_at_random_have_a_slope_around_zero_and_others_do_not():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 400)
    rows = rng.normal(size=(400, 2)) + 1.5 * truth[:, None]
    clear = np.abs(rows.sum(1) - 1.5) > 1.5
    for keep, zero in ((rng.random(400) < 0.5, True), (rng.random(400) < np.where(clear, 0.9, 0.1), False)):
        clf = bp.GaussianNB(
            unlabelled="informative", inference=bp.Gibbs(draws=150, tune=50, chains=2, random_state=0)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = clf.fit(rows, np.where(keep, truth.astype(object), None)).label_missingness(0.99)
        slope = found.sel(coefficient="slope")
        assert bool(slope["lower"] < 0 < slope["upper"]) is zero


def test_what_was_learned_is_saved(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = classifier(bp.Gibbs(draws=10, tune=5, chains=2, random_state=0)).fit(X, Y)
    clf.save(tmp_path / "fit.npz")
    again = bp.load(tmp_path / "fit.npz")
    assert again.label_missingness().equals(clf.label_missingness())
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_refusals():
    with pytest.raises(NotConjugateError, match=r"missing for a reason.*inference='gibbs'"):
        classifier("em").fit(X, Y)
    with pytest.raises(ValueError, match="takes the labels that are there for right"):
        classifier("gibbs", label_noise=bp.LabelNoise()).fit(X, Y)
    with pytest.raises(ValueError, match="missing at random: fit with unlabelled='informative'"):
        classifier("em", "learn", unlabelled_weight=1.0).fit(X, Y).label_missingness()
