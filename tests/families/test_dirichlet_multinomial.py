"""Bursty counts: the compound itself, its limit, quadrature, enumeration of documents, and real texts."""

from math import lgamma, log

import mpmath
import numpy as np
import pytest
from scipy import integrate, sparse, stats
from sklearn.naive_bayes import ComplementNB

import bayesppl as bp
from bayesppl.data.labels import one_hot
from bayesppl.data.read_table import as_table
from bayesppl.families import DirichletMultinomial, closed_forms

_rng = np.random.default_rng(3)
LABELS = _rng.integers(0, 3, 40)
COUNTS = _rng.poisson(_rng.gamma(0.5, 2.0, (3, 6)))[LABELS] + _rng.poisson(0.4, (40, 6))


def bound(n_words, **options):
    return DirichletMultinomial(**options).bind(as_table(np.zeros((1, n_words), dtype=int)), ("a", "b"))


def log_mass(x, phi, concentration):
    theta = {"probability": np.asarray([phi, phi])}
    return bound(len(phi), concentration=concentration).log_likelihood(theta)(np.asarray([x]))[0, 0]


@pytest.mark.parametrize("x", [[1, 0, 0], [2, 1, 0], [3, 0, 4], [1, 1, 5]])
def test_it_is_the_compound_in_the_limit_of_rare_words(x):
    """Γ(a + x)/Γ(a) = a Γ(x) (1 + a (ψ(x) + γ) + O(a²)): the error is linear in the concentration of the words."""
    phi = np.array([0.5, 0.3, 0.2])
    gaps = []
    for concentration in (1e-3, 1e-4):
        exact = stats.dirichlet_multinomial.logpmf(x, concentration * phi, sum(x))
        # exponent min(1, (1 + c) / d) is not one where several words occur: compare q, of which the exponent is
        # one
        words = np.flatnonzero(x)
        exponent = min(1.0, (1 + concentration) / len(words))
        q = log_mass(x, phi, concentration) + (1 - exponent) * np.log(3 * phi[words]).sum()
        gaps.append(abs(q - exact))
        assert gaps[-1] < 4 * concentration * sum(x)
    assert gaps[1] < 0.11 * gaps[0] + 1e-12


def test_words_that_are_rare_but_many_have_the_mass_of_the_compound():
    """A vocabulary of words of which each is rare; no document is longer than its limit."""
    phi, c = np.full(20_000, 1 / 20_000), 60.0
    x = np.zeros(20_000, dtype=int)
    x[:30] = _rng.integers(1, 4, 30)
    exact = stats.dirichlet_multinomial.logpmf(x, c * phi, x.sum())
    found = bound(20_000, concentration=c).log_likelihood({"probability": phi[None]})(sparse.csr_array(x[None]))
    # the relative error of a word is at most a (ψ(3) + γ) with a = c φ, to first order
    assert abs(found[0, 0] - exact) < 30 * 1.5 * c / 20_000 * 1.01


def test_the_approximate_masses_of_all_documents_add_up_to_nearly_one():
    """Enumeration of the documents of four words, most of them of words that all differ."""
    phi, c = np.array([0.4, 0.35, 0.25]), 0.02
    total = 0.0
    for a in range(5):
        for b in range(5 - a):
            x = [a, b, 4 - a - b]
            words = np.flatnonzero(x)
            exponent = min(1.0, (1 + c) / len(words))
            total += np.exp(log_mass(x, phi, c) + (1 - exponent) * np.log(3 * phi[words]).sum())
    # the normaliser is Γ(4 + 1) Γ(c) / Γ(c + 4) times the coefficient of t⁴ in Π (1 - c φ_w log(1 - t)), by mpmath
    with mpmath.workdps(30):
        series = mpmath.taylor(lambda t: mpmath.fprod(1 - c * p * mpmath.log(1 - t) for p in phi), 0, 4)
        expected = mpmath.factorial(4) * mpmath.gamma(c) / mpmath.gamma(c + 4) * series[4]
    assert total == pytest.approx(float(expected), rel=1e-10)
    assert total == pytest.approx(1.0, abs=0.02)


def test_the_evidence_is_the_integral_over_the_simplex():
    X, c, alpha = np.array([[3, 1], [0, 2], [1, 4]]), 0.5, np.array([1.3, 0.8])
    clf = bp.DirichletMultinomialNB(bp.Dirichlet(alpha), c, classes=["a", "b"]).fit(X, ["a"] * 3)
    found = float(clf.log_evidence()["features"].sel({"class": "a"}))

    def joint(p):
        rows = bound(2, concentration=c).log_likelihood({"probability": np.array([[p, 1 - p]])})(X)
        return float(np.exp(rows[:, 0].sum())) * stats.beta.pdf(p, *alpha)

    expected, error = integrate.quad(joint, 0, 1, epsabs=0, epsrel=1e-9, limit=200)
    assert found == pytest.approx(log(expected), abs=1e-7 + error / expected)


def test_short_documents_are_scored_by_an_urn_of_the_words_they_show():
    """Up to 1 + c different words, classes differ as Dirichlet-multinomials of presence do, by scipy."""
    clf = bp.DirichletMultinomialNB(bp.Dirichlet(0.7), 10.0, class_weights="uniform").fit(COUNTS, LABELS)
    present = (COUNTS > 0).astype(int)
    urns = [stats.dirichlet_multinomial(0.7 + present[k == LABELS].sum(0), present.sum(1)) for k in range(3)]
    expected = np.stack([urn.logpmf(present) for urn in urns], axis=1)
    found = clf.predict_joint_log_proba(COUNTS)
    np.testing.assert_allclose(found - found[:, :1], expected - expected[:, :1], rtol=1e-9, atol=1e-10)


def test_no_document_is_worth_more_than_its_limit():
    """A document of every word counts as 1 + c words, and the word of one of a single word counts once."""
    family = bound(6, concentration=2.0)
    rows = closed_forms.sufficient_statistics(
        family, np.array([[9, 1, 1, 1, 5, 1], [0, 0, 7, 0, 0, 0]]), one_hot(np.array([0, 1]), 2)
    )
    np.testing.assert_allclose(rows.counts, [[0.5] * 6, [0, 0, 1, 0, 0, 0]])


def test_log_base_holds_what_no_parameter_is_in():
    x, c, v = [3, 0, 1], 0.5, 3
    exponent = min(1.0, (1 + c) / 2)
    expected = lgamma(5) + lgamma(c) - lgamma(c + 4) + 2 * log(c) - log(3) + 2 * (exponent - 1) * log(v)
    phi = np.array([0.5, 0.3, 0.2])
    assert log_mass(x, phi, c) == pytest.approx(expected + exponent * log(0.5 * 0.2), rel=1e-12)


def test_the_default_prior_is_worth_a_word_per_column_as_all_classes_have_them():
    clf = bp.DirichletMultinomialNB(concentration=10.0).fit(COUNTS, LABELS)
    shown = (COUNTS > 0).sum(0) + 1.0
    prior = clf.posterior_.prior.parts["features"].concentration
    np.testing.assert_allclose(prior, np.tile(6 * shown / shown.sum(), (3, 1)))


def test_batches_are_the_whole():
    whole = bp.DirichletMultinomialNB(concentration=2.0).fit(COUNTS, LABELS)
    parts = bp.DirichletMultinomialNB(concentration=2.0, classes=[0, 1, 2])
    for rows in (slice(0, 10), slice(10, 40)):
        parts.partial_fit(sparse.csr_array(COUNTS[rows]), LABELS[rows])
    np.testing.assert_allclose(parts.predict_proba(COUNTS), whole.predict_proba(COUNTS), rtol=1e-10)


def test_simulated_words_repeat_themselves_as_often_as_those_of_the_compound():
    """Covariances of the compound are those of a multinomial times (N + c)/(1 + c) (Mosimann 1962)."""
    phi, c, n, size = np.array([0.6, 0.3, 0.1]), 4.0, 20, 20_000
    theta = {"probability": np.array([phi, phi])}
    codes = np.zeros(size, dtype=int)
    rows = bound(3, concentration=c).simulate(
        theta, codes, np.random.default_rng(5), {"total": np.full(size, 20.0)}
    )
    assert (rows.sum(1) == n).all()
    squares = (rows - n * phi) ** 2
    expected = n * phi * (1 - phi) * (n + c) / (1 + c)
    assert (np.abs(squares.mean(0) - expected) < 5 * squares.std(0) / np.sqrt(size)).all()


@pytest.mark.parametrize("concentration", [0.5, 4.0, 60.0])
def test_few_words_of_a_large_vocabulary_are_those_of_the_compound(concentration):
    phi, size = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05]), 4000
    theta, codes = {"probability": np.array([np.full(6, 1 / 6), phi])}, np.ones(size, dtype=int)
    rows = bound(6, concentration=concentration).simulate(
        theta, codes, np.random.default_rng(7), {"total": np.tile([4.0, 0.0], size // 2)}
    )
    assert sparse.issparse(rows)
    counts = rows.toarray()
    assert (counts.sum(1) == np.tile([4, 0], size // 2)).all()
    cells, found = np.unique(counts[::2], axis=0, return_counts=True)
    expected = size / 2 * np.exp([stats.dirichlet_multinomial(concentration * phi, 4).logpmf(x) for x in cells])
    keep = expected > 5
    found = np.r_[found[keep], size / 2 - found[keep].sum()]
    expected = np.r_[expected[keep], size / 2 - expected[keep].sum()]
    assert stats.chisquare(found, expected).pvalue > 0.001


def test_weights_are_refused_with_the_reason():
    for clf in (bp.DirichletMultinomialNB(), bp.MultinomialNB()):
        with pytest.raises(ValueError, match=r"'x0' holds 0\.5 in row 0.*tf-idf, are no counts.*CountVectorizer"):
            clf.fit([[0.5, 1.0], [1.0, 0.0]], ["a", "b"])


@pytest.mark.parametrize("wrong", [0, -1.0, np.nan, np.inf])
def test_a_concentration_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="DirichletMultinomial: concentration must be positive and finite"):
        bp.DirichletMultinomialNB(concentration=wrong).fit(COUNTS, LABELS)


def test_a_prior_without_a_name_is_refused():
    with pytest.raises(ValueError, match="probability='jeffreys' is not known; choose one of 'overall'"):
        bp.DirichletMultinomialNB("jeffreys").fit(COUNTS, LABELS)


def test_a_large_vocabulary_stays_sparse():
    rng = np.random.default_rng(1)
    X = sparse.random_array(
        (300, 200_000), density=5e-4, rng=rng, data_sampler=lambda size: rng.integers(1, 5, size)
    )
    y = rng.integers(0, 3, 300)
    clf = bp.DirichletMultinomialNB(calibration="temperature").fit(X.tocsr(), y)
    assert np.isfinite(clf.predict_log_proba(X.tocsr())).all()
    assert clf.loo().accuracy[0] < 0.5  # labels that are noise


def test_messages_of_the_collection(shared_data):
    """Ham and spam by their words: no worse than scikit-learn's best for texts, and far surer of what it is right
    about."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    lines = (shared_data / "sms_spam" / "SMSSpamCollection").read_text(encoding="utf-8").rstrip("\n").split("\n")
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    X, y = CountVectorizer().fit_transform(texts), np.asarray(labels)
    half = np.random.default_rng(0).permutation(len(y)) % 2 == 0
    clf = bp.DirichletMultinomialNB(calibration="temperature").fit(X[half], y[half])
    tfidf = TfidfTransformer().fit(X[half])
    other = ComplementNB().fit(tfidf.transform(X[half]), y[half])
    codes = (y[~half] == "spam").astype(int)
    ours, theirs = clf.predict_log_proba(X[~half]), other.predict_log_proba(tfidf.transform(X[~half]))
    rows = np.arange(len(codes))
    assert (ours.argmax(1) == codes).mean() >= (theirs.argmax(1) == codes).mean()
    gain = ours[rows, codes] - theirs[rows, codes]
    assert gain.mean() > 2 * gain.std() / np.sqrt(len(gain))
