"""DAKE 3 to 4 on the SMS spam collection: words present, counted one by one, and counted together.

The binomial model of the source takes every word of a message as a trial, and one word at a time as a success: a
beta-binomial for each word. The multinomial takes all words together; its parameters add up to one.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesppl.errors import ImpossibleRowWarning
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.estimators.naive_bayes import BernoulliNB, BinomialNB, MultinomialNB
from bayesppl.kernels.arrays import Array
from bayesppl.model.rules import RuleName
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.studies.study import Study, Tables, drawn_in, held_out

#: A word is a feature if that many messages of the training half hold it.
MIN_MESSAGES = 5
WORD = "free"
LENGTH = "number of words"
RULES: tuple[RuleName, ...] = ("mle", "mean", "predictive")


def load(source: Path) -> tuple[pd.Series, Array]:
    """Load texts and labels, from the file of the collection (a label, a tab, a text per line) or its folder.

    Raises
    ------
    ValueError
        If the file has another form.
    """
    file = source / "SMSSpamCollection" if source.is_dir() else source
    if not file.exists():
        raise ValueError(
            f"there is no file {str(file)!r}; --sms names the SMS Spam Collection, a label and a text per line"
        )
    table = pd.read_csv(file, sep="\t", quoting=3, names=["label", "text"], encoding="utf-8")
    found = set(table["label"])
    if found != {"ham", "spam"} or table["text"].isna().any():
        raise ValueError(f"{str(file)!r} must hold 'ham' or 'spam', a tab and a text per line")
    return table["text"], table["label"].to_numpy(dtype=str)


def halves(inputs: Inputs) -> tuple[Any, Array, Any, Array, list[str]]:
    """Count the words of both halves, and return labels and words: those of the training half."""
    from sklearn.feature_extraction.text import CountVectorizer

    assert inputs.sms is not None
    text, label = load(inputs.sms)
    half = np.random.default_rng(inputs.seed).permutation(len(text)) % 2 == 0
    vectorizer = CountVectorizer(min_df=MIN_MESSAGES).fit(text[half])
    counts = vectorizer.transform(text)
    return counts[half], label[half], counts[~half], label[~half], vectorizer.get_feature_names_out().tolist()


def models() -> dict[str, BayesClassifier]:
    return {
        "Bernoulli": BernoulliNB(),
        "binomial": BinomialNB(trials=LENGTH),
        "multinomial": MultinomialNB(),
    }


def features(name: str, counts: Any, words: list[str]) -> Any:
    """Return word counts as a model takes them."""
    if name == "Bernoulli":
        return counts > 0
    if name == "binomial":
        dense = pd.DataFrame(counts.toarray(), columns=words)
        return dense.assign(**{LENGTH: dense.sum(axis=1)})
    return counts


def tables(inputs: Inputs) -> Tables:
    train, y, test, y_test, words = halves(inputs)
    rows = []
    for name, model in models().items():
        model.fit(features(name, train, words), y)
        X_test = features(name, test, words)
        for rule in RULES:
            # the log score of -inf shows them
            with warnings.catch_warnings(action="ignore", category=ImpossibleRowWarning):
                predicted, scores = model.predict(X_test, rule), held_out(model, X_test, y_test, rule)
            is_spam = y_test == "spam"
            rows.append(
                {
                    "words as": name,
                    "rule": rule,
                    **scores,
                    "spam found": float((predicted[is_spam] == "spam").mean()),
                    "ham called spam": float((predicted[~is_spam] == "spam").mean()),
                }
            )
    return {
        f"{len(y_test):,} messages not seen, {len(words):,} words": pd.DataFrame(rows),
        f"one word: probability of spam by how often a message of 20 words says “{WORD}”": one_word(
            train, y, words
        ),
    }


def one_word(train: Any, y: Array, words: list[str]) -> pd.DataFrame:
    """Repeat the source's first example on real messages: a single binomial feature."""
    counts = train.toarray()
    X = pd.DataFrame({WORD: counts[:, words.index(WORD)], LENGTH: counts.sum(1)})
    clf = BinomialNB(trials=LENGTH).fit(X, y)
    queries = pd.DataFrame({WORD: np.arange(5), LENGTH: 20})
    interval = clf.predict_proba_interval(queries, random_state=0).sel({"class": "spam"})
    return pd.DataFrame(
        {
            "times": queries[WORD],
            "p(spam)": clf.probabilities(queries)[:, 1],
            "lower": interval["lower"].values,
            "upper": interval["upper"].values,
        }
    )


@drawn_in(1, 2, 11, 4.6)
def figure(axes: Array, inputs: Inputs) -> None:
    from bayesppl.plots import plot_relevance, plot_reliability

    train, y, test, y_test, words = halves(inputs)
    (left, right) = axes
    for name, model in models().items():
        model.fit(features(name, train, words), y)
        plot_reliability(model, features(name, test, words), y_test, label=name, ax=left)
    left.set_title("half of the messages, not seen")
    present = pd.DataFrame(train.toarray() > 0, columns=words)
    plot_relevance(BernoulliNB().fit(present, y), most=20, ax=right)
    right.set_title("words whose presence depends on the class")


STUDY = Study(
    "spam",
    "Spam by words present, words counted one by one, and words counted together (DAKE), on the SMS Spam "
    "Collection.",
    tables,
    figure,
    needs="sms",
)
