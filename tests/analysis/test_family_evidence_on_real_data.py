"""Evidence chooses between families on real columns, and exact leave-one-out agrees with its choice."""

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesppl as bp

WORDS = 100


@pytest.fixture(scope="module")
def pima(shared_data):
    names = ["pregnancies", "glucose", "pressure", "skin", "insulin", "bmi", "pedigree", "age", "diabetic"]
    table = pd.read_csv(shared_data / "pima" / "pima-indians-diabetes.data", header=None, names=names)
    labels = table.pop("diabetic").to_numpy()
    return table.astype(float).mask(table == 0), labels  # a zero stands for a missing value


@pytest.fixture(scope="module")
def sms(shared_data):
    """How often each of the commonest words occurs in each message, and how many words there are in all."""
    text = (shared_data / "sms_spam" / "SMSSpamCollection").read_text(encoding="utf-8")
    lines = [line.split("\t", 1) for line in text.rstrip("\n").split("\n")]
    messages = [Counter(re.findall(r"[a-z]+|\d|[£!?]", message.lower())) for _, message in lines]
    total = Counter(word for message in messages for word in message.elements())
    vocabulary = [word for word, _ in total.most_common(WORDS)]
    table = pd.DataFrame([[message[word] for word in vocabulary] for message in messages], columns=vocabulary)
    return table, np.asarray([label for label, _ in lines]), [max(message.total(), 1) for message in messages]


def fits(families, X, y):
    return {name: bp.GenerativeClassifier(family).fit(X, y) for name, family in families.items()}


@pytest.mark.parametrize(
    ("column", "skew", "best"),
    [
        ("insulin", 2.17, "lognormal"),
        ("pedigree", 1.92, "lognormal"),
        ("age", 1.13, "lognormal"),
        ("pressure", 0.13, "gaussian"),
    ],
)
def test_skewed_columns_are_lognormal(pima, column, skew, best):
    table, labels = pima
    assert table[column].skew() == pytest.approx(skew, abs=0.01)
    found = fits({"gaussian": bp.Gaussian(), "lognormal": bp.LogNormal()}, table[[column]], labels)
    evidence = {name: float(clf.log_evidence()["total"]) for name, clf in found.items()}
    left_out = {name: clf.loo().log_predictive.sum() for name, clf in found.items()}
    assert max(evidence, key=evidence.get) == max(left_out, key=left_out.get) == best
    # the difference in evidence is that of the densities of new rows, within a few nats for the priors
    names = ("lognormal", "gaussian")
    assert evidence[names[0]] - evidence[names[1]] == pytest.approx(
        left_out[names[0]] - left_out[names[1]], abs=15
    )


def test_words_vary_more_than_poisson_counts(sms):
    table, labels, _ = sms
    families = {"poisson": bp.Poisson(), "negative binomial": bp.NegativeBinomial(0.5)}
    found = fits(families, table, labels)
    evidence = {name: clf.log_evidence()["features"].sum("class") for name, clf in found.items()}
    gain = (evidence["negative binomial"] - evidence["poisson"]).values
    assert gain.sum() > 1000
    # by the moments: variance over mean is far above one for the words that gain most, about one for those that
    # lose
    dispersion = (table.groupby(labels).var() / table.groupby(labels).mean()).max().to_numpy()
    assert dispersion[gain > 50].min() > 1.2
    assert stats.spearmanr(gain, dispersion).statistic > 0.5
    score = {name: clf.loo().log_score for name, clf in found.items()}
    difference = score["negative binomial"][0] - score["poisson"][0]
    assert difference > 3 * np.hypot(score["negative binomial"][1], score["poisson"][1])


def test_counts_of_words_are_relative_to_their_number(sms):
    table, labels, words = sms
    per_message = bp.PoissonNB().fit(table, labels)
    counted = table.assign(**{"number of words": words})
    per_word = bp.PoissonNB(exposure="number of words").fit(counted, labels)
    share = bp.BinomialNB("number of words").fit(counted, labels)
    evidence = [float(clf.log_evidence()["total"]) for clf in (per_message, per_word, share)]
    assert evidence[1] > evidence[0] + 1000
    assert (per_word.predict(counted) == share.predict(counted)).mean() > 0.995  # rare words: the Poisson limit
    # the estimates are the plain ratios
    spam = labels == "spam"
    expected = table[spam].sum() / np.sum(np.asarray(words)[spam])
    for clf, parameter in ((per_word, "rate"), (share, "probability")):
        np.testing.assert_allclose(
            clf.estimates(["mle"])[parameter].sel({"class": "spam"})[0], expected, rtol=1e-12
        )
