"""Rows a range at a time: same bits on any number of threads, bounded memory, refusals that name the right row."""

import multiprocessing
import tracemalloc

import joblib
import numpy as np
import pytest
from support.examples import EXAMPLES

import bayesppl as bp
from bayesppl.errors import ImpossibleRowWarning
from bayesppl.kernels import ranges

N_ROWS = 60_000

ESTIMATORS = {
    "diagonal": bp.GaussianNB,
    "full": bp.QuadraticDiscriminantAnalysis,
    "tied": bp.LinearDiscriminantAnalysis,
    "bernoulli": bp.BernoulliNB,
}


def data(name, n_rows=N_ROWS, n_columns=40):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n_rows)
    X = rng.standard_normal((n_rows, n_columns)) + 0.3 * y[:, None]
    return (X > 0.4, y) if name == "bernoulli" else (X, y)


def numbers(clf, X):
    """Everything that a fit and its predictions are made of."""
    posterior = clf.posterior_
    return [
        *posterior.mean().values(),
        clf.predict_proba(X),
        clf.predict_log_proba(X, rule="mean"),
        clf.predict(X),
        clf.loo().log_proba,
        clf.predict_proba_interval(X[:1000], draws=400, random_state=0).to_array(),
        clf.uncertainty(X[:1000], draws=400, random_state=0).to_array(),
    ]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_number_of_threads_changes_no_bit(name):
    X, y = data(name)
    one, *others = (numbers(ESTIMATORS[name](n_jobs=n_jobs).fit(X, y), X) for n_jobs in (None, 2, 4))
    for other in others:
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_threads_inside_joblib():
    X, y = data("diagonal", 30_000)
    alone = bp.GaussianNB().fit(X, y).predict_proba(X)
    fits = joblib.Parallel(n_jobs=2, backend="threading")(
        joblib.delayed(lambda: bp.GaussianNB(n_jobs=2).fit(X, y).predict_proba(X))() for _ in range(4)
    )
    for other in fits:
        np.testing.assert_array_equal(other, alone)


def _probabilities(X, y):
    return bp.GaussianNB(n_jobs=2).fit(X, y).predict_proba(X)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_threads_after_fork():
    X, y = data("diagonal", 30_000)
    before = _probabilities(X, y)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        after = pool.apply_async(_probabilities, (X, y)).get(timeout=60)
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("name", EXAMPLES)
def test_ranges_agree_with_all_rows_at_once(name, monkeypatch):
    example = EXAMPLES[name]
    whole = bp.GenerativeClassifier(example.family).fit(example.X, example.y)
    monkeypatch.setattr(ranges, "RANGE_CELLS", 2 * example.X.shape[1])
    monkeypatch.setattr(ranges.row_ranges, "__defaults__", (2 * example.X.shape[1], 0))
    pieces = bp.GenerativeClassifier(example.family).fit(example.X, example.y)
    for parameter, value in whole.posterior_.mean().items():
        np.testing.assert_allclose(pieces.posterior_.mean()[parameter], value, rtol=1e-10, atol=1e-12)
    for rule in ("mean", "predictive"):
        np.testing.assert_allclose(
            pieces.predict_log_proba(example.X, rule),
            whole.predict_log_proba(example.X, rule),
            rtol=1e-9,
            atol=1e-9,
        )


def test_a_refusal_names_the_row_of_the_whole_table():
    X, y = data("diagonal")
    clf = bp.GaussianNB().fit(X, y)
    X = X.copy()
    X[50_123, 7] = np.inf
    with pytest.raises(ValueError, match="column 'x7' holds inf in row 50123"):
        clf.predict(X)
    with pytest.raises(ValueError, match="column 'x7' holds inf in row 50123"):
        clf.fit(X, y)


def test_one_warning_for_the_impossible_rows_of_all_ranges():
    X = np.zeros((100_000, 10), dtype=bool)
    y = np.arange(100_000) % 2
    clf = bp.BernoulliNB(n_jobs=2).fit(X, y)
    X[[5, 70_000, 99_999]] = True
    with pytest.warns(ImpossibleRowWarning, match="3 of 100000 rows") as caught:
        clf.predict_proba(X, rule="mle")
    assert len(caught) == 1


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("rule", ["mean", "predictive"])
def test_memory_beyond_the_output_does_not_grow_with_the_rows(name, rule):
    X, y = data(name, 100_000)
    clf = ESTIMATORS[name]().fit(X[:1000], y[:1000])
    clf.predict_proba(X[:10], rule)
    tracemalloc.start()
    try:
        result = clf.predict_proba(X, rule)
        extra = tracemalloc.get_traced_memory()[1] - result.nbytes
    finally:
        tracemalloc.stop()
    assert extra < 32 * 2**20


@pytest.mark.parametrize("name", ESTIMATORS)
def test_memory_of_a_fit_does_not_grow_with_the_columns_times_rows(name):
    X, y = data(name, 100_000)
    ESTIMATORS[name]().fit(X[:1000], y[:1000])
    tracemalloc.start()
    try:
        ESTIMATORS[name]().fit(X, y)
        extra = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert extra < 16 * 2**20  # the codes and weights of the rows included


def test_n_jobs_counts_as_in_scikit_learn():
    cores = joblib.cpu_count()
    assert ranges.thread_count(None) == 1
    assert ranges.thread_count(3) == 3
    assert ranges.thread_count(-1) == cores
    assert ranges.thread_count(-2) == max(1, cores - 1)
    with pytest.raises(ValueError, match="n_jobs == 0 in Parallel has no meaning"):
        ranges.thread_count(0)


@pytest.mark.parametrize(
    "family",
    [
        bp.Bernoulli(),
        bp.Categorical(),
        bp.Gaussian(),
        *(pytest.param(f, marks=pytest.mark.slow) for f in (bp.Poisson(), bp.Binomial(1), bp.Multinomial())),
    ],
)
def test_memory_of_bytes_stays_as_small(family):
    """There are more of them in a range than of doubles."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (9000, 1000), dtype=np.uint8), rng.integers(0, 2, 9000)
    clf = bp.GenerativeClassifier(family).fit(X[:500], y[:500])
    clf.predict_proba(X[:10])
    tracemalloc.start()
    try:
        clf.fit(X, y)
        of_fit = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        for rule in ("mean", "predictive"):
            clf.predict_proba(X, rule)
        of_prediction = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert max(of_fit, of_prediction) < 32 * 2**20


@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_rows_have_no_predictions(name):
    X, y = data(name, 1000)
    clf = ESTIMATORS[name]().fit(X, y)
    assert clf.predict(X[:0]).shape == (0,)
    assert clf.predict_proba(X[:0]).shape == clf.predict_joint_log_proba(X[:0]).shape == (0, len(clf.classes_))
