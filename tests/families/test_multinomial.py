"""Count vectors: textbook values, scipy, scikit-learn, exact urns, and sparse input that stays sparse."""

import tracemalloc
from fractions import Fraction
from math import log

import numpy as np
import pytest
from scipy import sparse, special, stats
from sklearn.naive_bayes import MultinomialNB

import bayesppl as bp
from bayesppl.conjugate import words as rising
from bayesppl.kernels import class_sums as kernel
from bayesppl.kernels.numba_loops import Engine

# Manning, Raghavan & Schütze (2008), "Introduction to Information Retrieval", table 13.1
WORDS = ["Chinese", "Beijing", "Shanghai", "Macao", "Tokyo", "Japan"]
DOCUMENTS = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
IN_CHINA = ["yes", "yes", "yes", "no"]
D5 = "Chinese Chinese Chinese Tokyo Japan"


def bag(*documents):
    return np.array([[document.split().count(word) for word in WORDS] for document in documents])


MANNING = bag(*DOCUMENTS)
_rng = np.random.default_rng(7)
LABELS = _rng.integers(0, 3, 50)
COUNTS = _rng.poisson(_rng.gamma(1.0, 2.0, (3, 6)))[LABELS] + _rng.poisson(0.7, (50, 6)) * _rng.integers(
    0, 9, (50, 6)
)


@pytest.mark.parametrize(
    ("weights", "rule", "expected"),
    [
        ("empirical", "mean", [0.3102414, 0.6897586]),
        ("empirical", "predictive", [0.38801712, 0.61198288]),
        (bp.Dirichlet(1.0), "predictive", [0.4874552, 0.5125448]),
    ],
)
def test_manning_multinomial(weights, rule, expected):
    clf = bp.MultinomialNB(class_weights=weights).fit(MANNING, IN_CHINA)
    assert clf.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(clf.predict_proba(bag(D5), rule)[0], expected, atol=5e-8)


def test_manning_bernoulli():
    clf = bp.BernoulliNB(class_weights="empirical").fit(MANNING > 0, IN_CHINA)
    found = np.exp(clf.predict_joint_log_proba(bag(D5) > 0)[0])
    np.testing.assert_allclose(found, [0.0219478738, 0.005184], rtol=1e-8)


def test_predictive_of_three_small_classes():
    X = [[1, 1, 0], [0, 1, 1]]
    clf = bp.MultinomialNB(class_weights="uniform", classes=["a", "b", "none"]).fit(X, ["a", "b"])
    found = clf.predict_joint_log_proba([[1, 1, 0]])[0] - log(1 / 3)
    # the posterior is Dirichlet(2, 2, 1): 2 · (2 · 2)/(5 · 6), and likewise for the others
    np.testing.assert_allclose(found, np.log([4 / 15, 2 / 15, 1 / 6]), rtol=1e-12)
    np.testing.assert_allclose(found, [-1.3217559, -2.014903, -1.7917595], atol=5e-8)


def test_agrees_with_scipy():
    clf = bp.MultinomialNB(bp.Dirichlet(0.6), class_weights="uniform").fit(COUNTS, LABELS)
    predictive, mean = clf.predict_joint_log_proba(COUNTS), clf.predict_joint_log_proba(COUNTS, "mean")
    totals = COUNTS.sum(1)
    for k in range(3):
        alpha = 0.6 + COUNTS[k == LABELS].sum(0)
        expected = [stats.dirichlet_multinomial.logpmf(x, alpha, n) for x, n in zip(COUNTS, totals, strict=True)]
        np.testing.assert_allclose(predictive[:, k] - log(1 / 3), expected, rtol=1e-9)
        expected = stats.multinomial.logpmf(COUNTS, totals, alpha / alpha.sum())
        np.testing.assert_allclose(mean[:, k] - log(1 / 3), expected, rtol=1e-9)


def test_posterior_mean_is_the_smoothing_of_scikit_learn():
    clf = bp.MultinomialNB(bp.Dirichlet(0.6), class_weights="empirical").fit(COUNTS, LABELS)
    reference = MultinomialNB(alpha=0.6).fit(COUNTS, LABELS)
    np.testing.assert_allclose(clf.predict_proba(COUNTS, "mean"), reference.predict_proba(COUNTS), rtol=1e-9)


def test_evidence_is_that_of_an_urn():
    # Pólya's urn, word after word, in exact arithmetic; the coefficient counts the orders of the words of a row
    evidence = Fraction(1)
    for label in ("no", "yes"):
        urn = [Fraction(1, 2)] * len(WORDS)
        for document in (d for d, y in zip(DOCUMENTS, IN_CHINA, strict=True) if y == label):
            for word in document.split():
                j = WORDS.index(word)
                evidence *= urn[j] / sum(urn)
                urn[j] += 1
    orders = 3 * 3 * 2 * 6
    clf = bp.MultinomialNB(bp.Dirichlet(0.5)).fit(MANNING, IN_CHINA)
    assert float(clf.log_evidence()["features"].sum()) == pytest.approx(log(evidence) + log(orders), rel=1e-12)


def test_a_column_of_two_is_binomial():
    heads = np.array([[3, 1], [2, 2], [0, 4], [1, 3]])
    multinomial = bp.MultinomialNB(bp.Dirichlet([2.0, 0.7])).fit(heads, [0, 0, 1, 1])
    binomial = bp.BinomialNB(4, bp.Beta(2.0, 0.7)).fit(heads[:, :1], [0, 0, 1, 1])
    for rule in ("mle", "map", "mean", "predictive"):
        np.testing.assert_allclose(
            multinomial.predict_joint_log_proba(heads, rule),
            binomial.predict_joint_log_proba(heads[:, :1], rule),
            rtol=1e-10,
        )
    np.testing.assert_allclose(multinomial.log_evidence()["total"], binomial.log_evidence()["total"], rtol=1e-12)


@pytest.mark.parametrize("rule", ["mle", "mean", "predictive"])
@pytest.mark.parametrize(
    "convert", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array], ids=lambda c: c.__name__
)
def test_sparse_is_dense(convert, rule):
    weights = _rng.gamma(1.0, 1.0, len(LABELS))
    dense = bp.MultinomialNB().fit(COUNTS, LABELS, weights)
    clf = bp.MultinomialNB().fit(convert(COUNTS), LABELS, weights)
    np.testing.assert_allclose(
        clf.predict_joint_log_proba(convert(COUNTS), rule), dense.predict_joint_log_proba(COUNTS, rule), rtol=1e-10
    )
    np.testing.assert_allclose(clf.loo().log_joint, dense.loo().log_joint, rtol=1e-10)


def test_cells_stored_twice_or_as_zeros_count_once():
    row, column, count = [0, 0, 0, 1, 1], [0, 0, 1, 1, 2], [1, 2, 3, 0, 2]
    messy = sparse.csr_array((np.array(count), np.array(column), np.array([0, 3, 5])), shape=(2, 3))
    tidy = np.zeros((2, 3))
    np.add.at(tidy, (row, column), count)
    clf = bp.MultinomialNB().fit(tidy, [0, 1])
    np.testing.assert_allclose(clf.predict_joint_log_proba(messy), clf.predict_joint_log_proba(tidy), rtol=1e-12)
    np.testing.assert_allclose(
        bp.MultinomialNB().fit(messy, [0, 1]).log_evidence()["total"], clf.log_evidence()["total"], rtol=1e-12
    )


def test_coefficients_of_counts_of_any_size_add_up():
    rng = np.random.default_rng(8)
    for largest in (3, 255, 256, 10_000):
        X, y = rng.integers(0, largest + 1, (60, 5)), np.arange(60) % 2
        X[0, 0] = largest
        found = bp.MultinomialNB().fit(sparse.csr_array(X), y).posterior_.statistics.parts["features"].log_base
        expected = special.gammaln(X.sum(1) + 1) - special.gammaln(X + 1).sum(1)
        np.testing.assert_allclose(found, [expected[y == k].sum() for k in range(2)], rtol=1e-12)


def test_a_fit_copies_no_sparse_matrix():
    rng = np.random.default_rng(9)
    X = sparse.csr_array((np.ones(3_000_000), rng.integers(500, size=3_000_000), np.arange(0, 3_000_001, 30)))
    X.sum_duplicates()
    y = np.arange(X.shape[0]) % 2
    bp.MultinomialNB().fit(X[:100], y[:100])
    tracemalloc.start()
    try:
        bp.MultinomialNB().fit(X, y)
        extra = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert extra < 8 * 2**20 < X.data.nbytes / 2


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.longdouble, bool])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_the_type_of_counts_changes_nothing(convert, dtype, monkeypatch):
    """Not even where sums over rows, and their factorials, are no numbers of that type."""
    monkeypatch.setattr(kernel, "engine", Engine(kernel.engine._function))
    monkeypatch.setattr(kernel.engine, "_done", 10**12)
    for X in (np.minimum(100 * COUNTS, 255), COUNTS * (2_000_001 if dtype is not np.uint8 else 1)):
        X = X.astype(dtype)
        found, expected = bp.MultinomialNB(), bp.MultinomialNB()
        found.fit(convert(X), LABELS), expected.fit(X.astype(np.float64), LABELS)
        np.testing.assert_allclose(found.log_evidence().total, expected.log_evidence().total, rtol=1e-12)
        for one, other in ((found, expected), (expected, found)):
            np.testing.assert_allclose(
                one.predict_joint_log_proba(convert(X)),
                other.predict_joint_log_proba(X.astype(np.float64)),
                rtol=1e-12,
                atol=1e-9,
            )


def test_an_empty_row_has_the_class_weights():
    clf = bp.MultinomialNB().fit(COUNTS, LABELS)
    expected = (1 + np.bincount(LABELS)) / (3 + len(LABELS))
    np.testing.assert_allclose(clf.predict_proba(np.zeros((1, 6))), [expected], rtol=1e-12)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (-1, "column 'x1' holds -1 in row 2, but the multinomial family models counts"),
        (0.5, "column 'x1' holds 0.5 in row 2"),
        (np.inf, "column 'x1' holds inf in row 2"),
        (np.nan, "column 'x1' is missing in row 2, .* models a row as a whole.*neither zero"),
    ],
)
def test_cells_that_are_no_counts_are_refused(cell, message):
    X = COUNTS.astype(float)
    X[2, 1] = cell
    for make in (np.asarray, sparse.csr_array):
        expected = "sparse matrix holds NaN" if make is not np.asarray and np.isnan(cell) else message
        with pytest.raises(ValueError, match=expected):
            bp.MultinomialNB().fit(make(X), LABELS)
        with pytest.raises(ValueError, match=expected):
            bp.MultinomialNB().fit(COUNTS, LABELS).predict(make(X))


@pytest.mark.parametrize("estimator", [bp.MultinomialNB(), bp.BernoulliNB()], ids=["multinomial", "bernoulli"])
def test_a_large_vocabulary_stays_sparse(estimator):
    n_rows, n_words = 5_000, 20_000
    rng = np.random.default_rng(0)
    X = sparse.random_array((n_rows, n_words), density=0.0025, format="csr", rng=rng)
    X.data = np.ones(X.nnz) if isinstance(estimator, bp.BernoulliNB) else rng.geometric(0.5, X.nnz).astype(float)
    y = rng.integers(0, 2, n_rows)
    assert 8 * n_rows * n_words == 800e6  # bytes of the dense matrix
    tracemalloc.start()
    try:
        estimator.fit(X, y)
        for rule in ("mean", "predictive"):
            estimator.predict_proba(X, rule)
        estimator.loo() if isinstance(estimator, bp.MultinomialNB) else None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    matrix, parameters = 12 * X.nnz, 8 * 2 * n_words
    assert peak < 10 * matrix + 40 * parameters, f"{peak / 1e6:.0f} MB"


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("table", [1 << 21, 40, 1])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
def test_rising_factorials_of_all_counts(monkeypatch, n_classes, table, dtype):
    monkeypatch.setattr(rising, "_TABLE", table)
    rng = np.random.default_rng(8)
    alpha = rng.gamma(1.0, 5.0, (n_classes, 9)) + 1e-3
    X = rng.poisson(rng.choice([0, 0, 1, 3, 100], (40, 9))).astype(dtype)
    counts = sparse.csr_array(X)
    counts.data[::7] = 0  # a zero may be stored
    X = counts.toarray().astype(float)
    expected = (special.gammaln(alpha + X[:, None]) - special.gammaln(alpha)).sum(-1)
    np.testing.assert_allclose(rising.rising_sums(alpha)(rising.Words(counts)), expected, rtol=1e-12, atol=1e-12)
    apart = rising.rising_sums(alpha, contrast=n_classes == 2)(rising.Words(counts))
    np.testing.assert_allclose(apart - apart[:, :1], expected - expected[:, :1], rtol=1e-10, atol=1e-10)


def test_few_rows_of_large_totals_and_many_rows_of_small_ones_say_the_same():
    rows = np.array([[2, 0, 1], [0, 5, 900]])
    clf = bp.MultinomialNB().fit(COUNTS[:, :3], LABELS)
    many = clf.predict_joint_log_proba(np.concatenate([rows[:1]] * 30))
    np.testing.assert_allclose(many, np.repeat(clf.predict_joint_log_proba(rows)[:1], 30, axis=0), rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "convert"),
    [(bp.MultinomialNB, np.asarray), (bp.MultinomialNB, sparse.csr_array), (bp.PoissonNB, np.asarray)],
)
@pytest.mark.parametrize(
    ("dtype", "wrong", "shown"),
    [
        (np.uint64, 2**63 + 5, "9.22337e+18"),
        (np.int64, 2**53 + 1, "9.0072e+15"),
        (float, 1e19, "1e+19"),
        (float, 1e308, "1e+308"),
    ],
)
def test_counts_that_are_no_exact_numbers_are_refused(make, convert, dtype, wrong, shown):
    X = np.ones((4, 3), dtype=dtype)
    X[2, 1] = wrong
    message = f"column 'x1' holds {shown} in row 2, but the .* family models counts".replace("+", r"\+")
    with pytest.raises(ValueError, match=message):
        make().fit(convert(X), list("abab"))
    clf = make().fit(np.ones((4, 3)), list("abab"))
    with pytest.raises(ValueError, match=message):
        clf.predict(convert(X))


def test_the_largest_count_of_all_is_fitted():
    X = np.ones((4, 3))
    X[2, 1] = 2.0**53
    assert bp.MultinomialNB().fit(X, list("abab")).predict(X).tolist() == ["b", "b", "a", "b"]


def test_the_prior_of_all_rows_serves_a_class_of_few_documents():
    """5 documents of one class and 50 of another, 200 words: under the uniform prior most of the 5 look wrong."""
    scores, called = {"uniform": [], "overall": []}, {"uniform": [], "overall": []}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        shares = (rng.dirichlet(np.full(200, 0.5)) + 1e-4) * np.exp(rng.normal(0, 0.5, (2, 200)))
        shares /= shares.sum(1, keepdims=True)
        y, truth = np.repeat([0, 1], [5, 50]), rng.choice(2, 200, p=[1 / 11, 10 / 11])
        X, new = (rng.multinomial(50, shares[labels]) for labels in (y, truth))
        for name, prior in {"uniform": bp.Dirichlet(1.0), "overall": "overall"}.items():
            clf = bp.MultinomialNB(prior).fit(X, y)
            scores[name].append(clf.predict_log_proba(new)[np.arange(200), truth].mean())
            found = clf.suspicious_rows()
            called[name].append(((found["wrong"] > 0.5) & (found["label"] == 0)).sum() / 5)
    gain = np.subtract(scores["overall"], scores["uniform"])
    assert gain.mean() > 4 * gain.std(ddof=1) / np.sqrt(8)
    assert np.mean(called["uniform"]) > 0.8
    assert np.mean(called["overall"]) < 0.1


def test_the_prior_of_all_rows_is_worth_a_word_for_each_column():
    prior = bp.MultinomialNB("overall").fit(MANNING, IN_CHINA).posterior_.prior.parts["features"]
    shown = MANNING.sum(0) + 1
    np.testing.assert_allclose(prior.concentration, [6 * shown / shown.sum()] * 2, rtol=1e-13)
    with pytest.raises(ValueError, match="probability='jeffreys' is not known; choose one of 'overall'"):
        bp.MultinomialNB("jeffreys").fit(MANNING, IN_CHINA)
