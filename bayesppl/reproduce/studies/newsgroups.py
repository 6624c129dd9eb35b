"""20 Newsgroups by date: what the groups are told apart by, on messages written later than those of the fit.

Every number of a model is chosen on the training half, by exact leave-one-out; the test half is scored once.
Left-out messages are easier than later ones, for the others hold messages of the same threads.
"""

from __future__ import annotations

import tarfile
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayesppl.errors import OverconfidentWarning
from bayesppl.estimators import BernoulliNB, DirichletMultinomialNB, MultinomialNB
from bayesppl.estimators.auto import AutoClassifier
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.kernels.arrays import Array
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.studies.base import Study, Tables, scores

ARCHIVE = "20news-bydate.tar.gz"
CONCENTRATIONS = (15.0, 30.0, 60.0, 120.0, 240.0)
#: Words that a message is worth to scikit-learn's models of shares.
WORDS_PER_MESSAGE = 60.0


class Messages(NamedTuple):
    """Word counts and labels of both halves."""

    train: Any
    y: Array
    test: Any
    y_test: Array


class Scored(NamedTuple):
    """What a model says of left-out and of later messages."""

    left_out: tuple[float, float]
    temperature: float
    log_proba: Array
    seconds: tuple[float, float]


Fit = Callable[[Messages], Scored]


def load(source: Path) -> dict[str, tuple[list[str], Array]]:
    """Texts with their headers, and newsgroups, of the halves "train" and "test".

    Raises
    ------
    ValueError
        If the archive is not there, or lacks a half.
    """
    file = source / ARCHIVE if source.is_dir() else source
    if not file.exists():
        raise ValueError(f"there is no file {str(file)!r}; --newsgroups names {ARCHIVE}, or its folder")
    found: dict[str, list[tuple[str, str, str]]] = {"train": [], "test": []}
    with tarfile.open(file) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                half, group, name = Path(member.name).parts[-3:]
                found[half.rpartition("-")[2]].append((group, name, content.read().decode("latin-1")))
    if not all(found.values()):
        raise ValueError(f"{str(file)!r} must hold the halves 20news-bydate-train and 20news-bydate-test")
    return {
        half: ([text for _, _, text in sorted(rows)], np.array([group for group, _, _ in sorted(rows)]))
        for half, rows in found.items()
    }


def messages(inputs: Inputs) -> Messages:
    """Count the words of the training half, as scikit-learn splits them by default, in every message."""
    from sklearn.feature_extraction.text import CountVectorizer

    assert inputs.newsgroups is not None
    halves = load(inputs.newsgroups)
    vectorizer = CountVectorizer()
    train = vectorizer.fit_transform(halves["train"][0])
    return Messages(train, halves["train"][1], vectorizer.transform(halves["test"][0]), halves["test"][1])


def ours(clf: BayesClassifier, *, presence: bool = False) -> Fit:
    def fit(data: Messages) -> Scored:
        train, test = (data.train > 0, data.test > 0) if presence else (data.train, data.test)
        start = perf_counter()
        clf.fit(train, data.y)
        middle = perf_counter()
        log_proba = clf.predict_log_proba(test)
        end = perf_counter()
        found = clf.loo()
        left_out = found.accuracy[0], found.log_score[0]
        return Scored(left_out, found.temperature, log_proba, (middle - start, end - middle))

    return fit


def stacked(candidates: dict[str, BayesClassifier]) -> Fit:
    def fit(data: Messages) -> Scored:
        start = perf_counter()
        clf = AutoClassifier(candidates).fit(data.train, data.y)
        middle = perf_counter()
        log_proba = clf.predict_log_proba(data.test)
        left_out = np.nan, clf.stack_.log_score
        return Scored(left_out, np.nan, log_proba, (middle - start, perf_counter() - middle))

    return fit


def theirs(clf: Any) -> Fit:
    def fit(data: Messages) -> Scored:
        start = perf_counter()
        clf.fit(data.train, data.y)
        middle = perf_counter()
        log_proba = np.log(clf.predict_proba(data.test))
        return Scored((np.nan, np.nan), np.nan, log_proba, (middle - start, perf_counter() - middle))

    return fit


def models() -> dict[str, Fit]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.naive_bayes import ComplementNB
    from sklearn.naive_bayes import MultinomialNB as SklearnMultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer

    def shares(clf: Any) -> Any:
        scale = FunctionTransformer(_times_words)
        return make_pipeline(Binarizer(), Normalizer("l1"), scale, clf)

    complement = make_pipeline(TfidfTransformer(), ComplementNB())
    calibrated: dict[str, Any] = {"calibration": "temperature"}
    return {
        "scikit-learn: ComplementNB, tf-idf": theirs(complement),
        "the same, temperature by 5 folds": theirs(
            CalibratedClassifierCV(complement, method="temperature", ensemble=False)
        ),
        "scikit-learn: MultinomialNB, shares of words present": theirs(shares(SklearnMultinomialNB())),
        "scikit-learn: ComplementNB, shares of words present": theirs(shares(ComplementNB())),
        "Bernoulli": ours(BernoulliNB(**calibrated), presence=True),
        "multinomial": ours(MultinomialNB(**calibrated)),
        "multinomial, prior by evidence": ours(MultinomialNB(tuning="evidence", **calibrated)),
        "multinomial of words present": ours(MultinomialNB(tuning="evidence", **calibrated), presence=True),
        "Dirichlet multinomial, not calibrated": ours(DirichletMultinomialNB()),
        "Dirichlet multinomial": ours(DirichletMultinomialNB(**calibrated)),
        "Dirichlet multinomial, prior by evidence": ours(DirichletMultinomialNB(tuning="evidence", **calibrated)),
        "stack of the last and the multinomial": stacked(
            {
                "dirichlet multinomial": DirichletMultinomialNB(tuning="evidence"),
                "multinomial": MultinomialNB(tuning="evidence"),
            }
        ),
    }


def concentrations() -> dict[str, Fit]:
    without = {"no limit": ours(DirichletMultinomialNB(concentration=1e9, calibration="temperature"))}
    return {
        f"{c:g}": ours(DirichletMultinomialNB(concentration=c, calibration="temperature")) for c in CONCENTRATIONS
    } | without


def tables(inputs: Inputs) -> Tables:
    data = messages(inputs)
    size = f"{data.train.shape[0]:,} messages, {data.train.shape[1]:,} words; {len(data.y_test):,} later messages"
    return {
        f"models: {size}": _table("model", models(), data),
        "by the concentration, chosen by the left-out log score": _table("concentration", concentrations(), data),
    }


def _table(title: str, fits: dict[str, Fit], data: Messages) -> pd.DataFrame:
    codes = np.searchsorted(np.unique(data.y), data.y_test)
    rows = []
    for name, fit in fits.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OverconfidentWarning)  # the table has the score
            scored = fit(data)
        rows.append(
            {
                title: name,
                "left-out accuracy": scored.left_out[0],
                "left-out log score": scored.left_out[1],
                "temperature": scored.temperature,
                **scores(scored.log_proba, codes),
                "seconds to fit": scored.seconds[0],
                "to predict": scored.seconds[1],
            }
        )
    return pd.DataFrame(rows)


def _times_words(shares: Any) -> Any:
    return shares * WORDS_PER_MESSAGE


STUDY = Study(
    "newsgroups",
    "Which model tells newsgroups apart, and is right about how sure it is: 20 Newsgroups by date, headers "
    "included.",
    tables,
    needs="newsgroups",
)
