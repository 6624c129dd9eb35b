"""Rows of few words out of many: only what they need is drawn, and memory does not grow with the draws."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import csr_array, issparse

import bayesppl as bp
from bayesppl.analysis.draws import narrowed, thetas
from bayesppl.conjugate.documents import sparse_multinomial

CLASSES, WORDS, LENGTH = 8, 20_000, 60


def _documents(n: int, seed: int = 0, words: int = WORDS) -> tuple[csr_array, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % CLASSES
    # every class favours a tenth of the vocabulary of its own
    own = rng.random((n, LENGTH)) < 0.3
    word = np.where(own, rng.integers(words // 10, size=(n, LENGTH)) + y[:, None] * words // 10, 0)
    word = np.where(own, word, rng.integers(words, size=(n, LENGTH)))
    counts = csr_array((np.ones(n * LENGTH), (np.repeat(np.arange(n), LENGTH), word.ravel())), shape=(n, words))
    counts.sum_duplicates()
    return counts, y


@pytest.fixture(scope="module")
def wide() -> Any:
    return bp.MultinomialNB(bp.Dirichlet(0.5)).fit(*_documents(400))


def _peak(action: Callable[[], Any]) -> float:
    """Megabytes allocated by numpy and Python at most, beyond what was held before."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "probability", [[0.2, 0.5, 0.0, 0.3, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0], [1e-3, 0.999, 0, 0, 0]]
)
def test_a_word_at_a_time_is_the_multinomial(probability: list[float]) -> None:
    rng = np.random.default_rng(0)
    drawn = sparse_multinomial(
        np.full(3000, 4), np.asarray([[0.2] * 5, probability]), np.ones(3000, dtype=int), rng
    )
    counts = drawn.toarray()
    assert (counts.sum(1) == 4).all()
    assert not counts[:, np.asarray(probability) == 0].any()
    # all cells of the joint distribution of counts of four words
    cells, found = np.unique(counts, axis=0, return_counts=True)
    expected = 3000 * np.exp(stats.multinomial(4, probability).logpmf(cells))
    keep = expected > 5
    rest = [[3000 - x[keep].sum()] for x in (found, expected)]
    found, expected = (np.r_[x[keep], r] for x, r in zip((found, expected), rest, strict=True))
    statistic = ((found - expected) ** 2 / np.maximum(expected, 1e-9))[expected > 1].sum()
    assert statistic < stats.chi2(max(1, (expected > 1).sum() - 1)).ppf(0.999)


def test_each_row_has_the_words_of_its_class_and_total() -> None:
    totals, codes = np.asarray([0, 3, 5, 0, 1]), np.asarray([0, 1, 0, 1, 1])
    drawn = sparse_multinomial(totals, np.asarray([[1.0, 0.0], [0.0, 1.0]]), codes, np.random.default_rng(0))
    assert drawn.toarray().tolist() == [[0, 0], [0, 3], [5, 0], [0, 0], [0, 1]]


def test_the_narrowed_posterior_has_the_moments_of_the_words_shown(wide: Any) -> None:
    X, _ = _documents(3, seed=1)
    posterior, rows = narrowed(wide.posterior_, X)
    assert rows.shape[1] < 3 * LENGTH + 2
    full, small = (p.belief.parts["features"].concentration for p in (wide.posterior_, posterior))
    shown = np.flatnonzero(np.asarray(X.sum(axis=0)).ravel())
    np.testing.assert_array_equal(small[:, :-1], full[:, shown])
    np.testing.assert_allclose(small.sum(1), full.sum(1), rtol=1e-12)
    np.testing.assert_array_equal(rows.toarray()[:, :-1], X.toarray()[:, shown])
    assert not rows.toarray()[:, -1].any()
    # the predictive of these rows, up to rounding, is the same
    np.testing.assert_allclose(
        posterior.log_joint_predictive()(rows), wide.posterior_.log_joint_predictive()(X), rtol=1e-12
    )


@pytest.mark.slow
def test_intervals_are_those_of_draws_of_all_words(wide: Any) -> None:
    X, _ = _documents(4, seed=2)
    draws = 400
    found = wide.predict_proba_interval(X, draws=draws, random_state=0)
    model = wide.posterior_.model
    p = []
    for theta in thetas(wide.posterior_, draws, np.random.default_rng(1)):
        log_joint = np.log(theta["class_weights"]) + X @ np.log(theta["probability"]).T
        p.append(np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True)))
    assert model.n_classes == CLASSES
    mean, sd = np.mean(p, axis=0), np.std(p, axis=0)
    error = np.sqrt((sd**2 + found["sd"].values ** 2) / draws)
    assert (abs(found["mean"].values - mean) < 4.5 * error + 1e-9).all()
    assert sd.max() > 0.01


def test_narrow_and_wide_blocks_stand_side_by_side() -> None:
    counts, y = _documents(60, words=2000)
    X = pd.DataFrame(counts.toarray(), columns=[f"w{j}" for j in range(2000)]).assign(size=1.0 * y)
    family = bp.Product({"words": (list(X.columns[:-1]), bp.Multinomial()), "n": (["size"], bp.Gaussian())})
    clf = bp.GenerativeClassifier(family).fit(X, y)
    encoded = clf.posterior_.model.family.bound.encode(clf.fitted_.columns.align(X[:4]))
    posterior, rows = narrowed(clf.posterior_, encoded)
    assert rows.parts["words"].shape[1] < 250
    np.testing.assert_allclose(
        posterior.log_joint_predictive()(rows), clf.posterior_.log_joint_predictive()(encoded), rtol=1e-12
    )
    assert clf.predict_proba_interval(X[:4], draws=20).sizes["row"] == 4


def test_p_values_of_documents_like_those_of_the_fit_are_uniform() -> None:
    words, n = 3000, 2000
    clf = bp.MultinomialNB().fit(*_documents(n, words=words))
    X, _ = clf.sample(150, random_state=1)
    p_values = clf.novelty(X, draws=300, random_state=2)["p_value"].values
    assert stats.kstest(p_values, "uniform").pvalue > 0.001
    assert issparse(
        clf.posterior_.model.family.simulate(
            clf.posterior_.theta("mean"),
            np.zeros(2, dtype=int),
            np.random.default_rng(0),
            {"total": np.full(2, 9.0)},
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "ask",
    [
        lambda clf, X: clf.novelty(X, draws=40),
        lambda clf, X: clf.predict_proba_interval(X, draws=500),
        lambda clf, X: clf.uncertainty(X, draws=500),
        lambda clf, X: clf.expected_error_rate(draws=20, rows=50),
    ],
    ids=["novelty", "predict_proba_interval", "uncertainty", "expected_error_rate"],
)
def test_memory_does_not_grow_with_the_draws(wide: Any, ask: Callable[[Any, Any], Any]) -> None:
    # one draw of the parameters is 1.3 megabytes, 500 are 640; what is promised is 32
    X, _ = _documents(20, seed=3)
    ask(wide, X)  # imports, tables made once
    assert _peak(lambda: ask(wide, X)) < 32


def test_a_tree_that_memory_cannot_hold_is_refused_with_its_size(wide: Any) -> None:
    with pytest.raises(
        ValueError, match=r"4000 draws of 160,008 parameters would be 0.6 billion.*\(draws=838, chains=1\)"
    ):
        wide.to_datatree()
    assert wide.to_datatree(draws=3, chains=1)["posterior"].sizes["draw"] == 3
