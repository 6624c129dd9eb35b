"""20 Newsgroups by date: what the groups are told apart by, on messages written later than those of the fit.

Every number of a model is chosen on the training half, by exact leave-one-out; the test half is scored once.
Left-out messages are easier than later ones, for the others hold messages of the same threads.
"""

from __future__ import annotations

import tarfile
import warnings
from functools import partial
from operator import mul
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from bayesppl.errors import OverconfidentWarning
from bayesppl.estimators.auto import AutoClassifier
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.estimators.naive_bayes import BernoulliNB, DirichletMultinomialNB, MultinomialNB
from bayesppl.kernels.arrays import Array
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.studies.study import Halves, Study, Tables, scores

ARCHIVE = "20news-bydate.tar.gz"
CONCENTRATIONS = (15.0, 30.0, 60.0, 120.0, 240.0)
#: Words that a message is worth to scikit-learn's models of shares.
WORDS_PER_MESSAGE = 60.0


def load(source: Path) -> dict[str, tuple[list[str], Array]]:
    """Load texts with their headers, and newsgroups, of the halves "train" and "test".

    Raises
    ------
    ValueError
        If the archive is not there, is none, or lacks a half.
    """
    file = source / ARCHIVE if source.is_dir() else source
    if not file.exists():
        raise ValueError(f"there is no file {str(file)!r}; --newsgroups names {ARCHIVE}, or its folder")
    found: dict[str, list[tuple[str, str, str]]] = {"train": [], "test": []}
    if not tarfile.is_tarfile(file):
        raise ValueError(f"{str(file)!r} is no tar archive; --newsgroups names {ARCHIVE}, or its folder")
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


def messages(inputs: Inputs) -> Halves:
    """Count the words of the training half, as scikit-learn splits them by default, in every message."""
    from sklearn.feature_extraction.text import CountVectorizer

    assert inputs.newsgroups is not None
    halves = load(inputs.newsgroups)
    vectorizer = CountVectorizer()
    train = vectorizer.fit_transform(halves["train"][0])
    return Halves(train, halves["train"][1], vectorizer.transform(halves["test"][0]), halves["test"][1])


def models() -> dict[str, tuple[Any, bool]]:
    """Declare every model, and whether it is shown the words present in place of their counts."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.naive_bayes import ComplementNB
    from sklearn.naive_bayes import MultinomialNB as SklearnMultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer

    scale = FunctionTransformer(partial(mul, WORDS_PER_MESSAGE))
    complement = make_pipeline(TfidfTransformer(), ComplementNB())
    tempered = CalibratedClassifierCV(complement, method="temperature", ensemble=False)
    multinomial_of_shares = make_pipeline(Binarizer(), Normalizer("l1"), scale, SklearnMultinomialNB())
    complement_of_shares = make_pipeline(Binarizer(), Normalizer("l1"), scale, ComplementNB())
    by_evidence = {
        "dirichlet multinomial": DirichletMultinomialNB(tuning="evidence"),
        "multinomial": MultinomialNB(tuning="evidence"),
    }
    calibrated: dict[str, Any] = {"calibration": "temperature"}
    return {
        "scikit-learn: ComplementNB, tf-idf": (complement, False),
        "the same, temperature by 5 folds": (tempered, False),
        "scikit-learn: MultinomialNB, shares of words present": (multinomial_of_shares, False),
        "scikit-learn: ComplementNB, shares of words present": (complement_of_shares, False),
        "Bernoulli": (BernoulliNB(**calibrated), True),
        "multinomial": (MultinomialNB(**calibrated), False),
        "multinomial, prior by evidence": (MultinomialNB(tuning="evidence", **calibrated), False),
        "multinomial of words present": (MultinomialNB(tuning="evidence", **calibrated), True),
        "Dirichlet multinomial, not calibrated": (DirichletMultinomialNB(), False),
        "Dirichlet multinomial": (DirichletMultinomialNB(**calibrated), False),
        "Dirichlet multinomial, prior by evidence": (
            DirichletMultinomialNB(tuning="evidence", **calibrated),
            False,
        ),
        "stack of the last and the multinomial": (AutoClassifier(by_evidence), False),
    }


def concentrations() -> dict[str, tuple[Any, bool]]:
    """Declare one model by its concentration."""
    named = {f"{c:g}": c for c in CONCENTRATIONS} | {"no limit": 1e9}
    return {
        name: (DirichletMultinomialNB(concentration=c, calibration="temperature"), False)
        for name, c in named.items()
    }


def tables(inputs: Inputs) -> Tables:
    data = messages(inputs)
    n_messages, n_words = data.X_train.shape
    size = f"{n_messages:,} messages, {n_words:,} words; {len(data.y_test):,} later messages"
    return {
        f"models: {size}": _table("model", models(), data),
        "by the concentration, chosen by the left-out log score": _table("concentration", concentrations(), data),
    }


def _table(title: str, named: dict[str, tuple[Any, bool]], data: Halves) -> pd.DataFrame:
    """Score what every model says of left-out and of later messages."""
    codes = np.searchsorted(np.unique(data.y_train), data.y_test)
    rows = []
    for name, (clf, by_presence) in named.items():
        train, test = (data.X_train > 0, data.X_test > 0) if by_presence else (data.X_train, data.X_test)
        is_ours = isinstance(clf, BayesClassifier | AutoClassifier)
        with warnings.catch_warnings(action="ignore", category=OverconfidentWarning):  # the table has the score
            start = perf_counter()
            clf.fit(train, data.y_train)
            middle = perf_counter()
            log_proba = clf.predict_log_proba(test) if is_ours else np.log(clf.predict_proba(test))
            end = perf_counter()
            row = {title: name, "left-out accuracy": np.nan, "left-out log score": np.nan, "temperature": np.nan}
            if isinstance(clf, AutoClassifier):
                row["left-out log score"] = clf.stack_.log_score
            elif is_ours:
                loo = clf.loo()
                row["left-out accuracy"], row["left-out log score"] = loo.accuracy[0], loo.log_score[0]
                row["temperature"] = loo.temperature
        seconds = {"seconds to fit": middle - start, "to predict": end - middle}
        rows.append({**row, **scores(log_proba, codes), **seconds})
    return pd.DataFrame(rows)


STUDY = Study(
    "newsgroups",
    "Which model tells newsgroups apart, and is right about how sure it is: 20 Newsgroups by date, headers "
    "included.",
    tables,
    needs="newsgroups",
)
