"""Messages without a label, after Nigam et al. 2000: ``python -m benchmarks.unlabelled_texts OUT.csv FOLDER``.

FOLDER holds 20newsgroups/20news-bydate.tar.gz and sms_spam/SMSSpamCollection. Of the training half (of the
short messages: half, drawn at random) so many messages keep their label, spread evenly over the classes; the
rest, 10,000 at most, lose it, and count by leave-one-out, or, of the newsgroups, by a weight that is given.
Words that are in two training messages are counted, common English ones left out. The test half is scored.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.semi_supervised import SelfTrainingClassifier

import bayesppl as bp
from bayesppl.analysis.scores import hits, log_scores
from bayesppl.reproduce.studies.newsgroups import load
from benchmarks.real_data import sms
from benchmarks.unlabelled import ALL, ALONE, COLUMNS, LEARNT, SELF, TEMPERED

UNLABELLED = 10_000
LABELS = {"sms": (10, 40, 100, 400), "newsgroups": (300, 1000, 3000)}
WEIGHTS: dict[str, Any] = {"sms": "loo", "newsgroups": 0.1}


def texts(folder: Path, name: str) -> tuple[Any, Any, Any, Any]:
    """Counts of the words and codes of the classes, of both halves."""
    if name == "sms":
        train, own, test, other = sms(folder)
    else:
        halves = load(folder / "20newsgroups")
        (train, own), (test, other) = halves["train"], halves["test"]
    count = CountVectorizer(min_df=2, stop_words="english")
    classes, y = np.unique(own, return_inverse=True)
    return count.fit_transform(train), y, count.transform(test), np.searchsorted(classes, other)


def models(told: Any, weight: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield a method, its model, and the rows that it is fitted to."""
    known, learn = np.flatnonzero(told >= 0), {"unlabelled": "learn", "unlabelled_label": -1, "inference": "em"}
    yield ALONE, bp.MultinomialNB(), known
    yield TEMPERED, bp.MultinomialNB(calibration="temperature"), known
    yield SELF, SelfTrainingClassifier(bp.MultinomialNB()), slice(None)
    yield ALL, bp.MultinomialNB(**learn, unlabelled_weight=1.0), slice(None)
    name = LEARNT if weight == "loo" else f"unlabelled, weight {weight}"
    yield name, bp.MultinomialNB(**learn, unlabelled_weight=weight), slice(None)


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seeds", default=1)
@click.option("--most", default=10_000, help="Labels at most.")
@click.option("--only", multiple=True, type=click.Choice(list(LABELS)), help="A table; all by default.")
def main(out: Path, folder: Path, seeds: int, most: int, only: Any) -> None:
    """Measure, and append each result to OUT.csv."""
    warnings.simplefilter("ignore")
    if not out.exists():
        out.write_text(",".join(COLUMNS) + "\n")
    for name in only or LABELS:
        X, y, X_test, own = texts(folder, name)
        for labels in (number for number in LABELS[name] if number <= most):
            for seed in range(seeds):
                order = np.random.default_rng(seed).permutation(len(y))
                place = pd.Series(y[order]).groupby(y[order]).cumcount().to_numpy()
                order = order[np.argsort(place, kind="stable")][: labels + UNLABELLED]
                told = np.where(np.arange(len(order)) < labels, y[order], -1)
                for method, model, rows in models(told, WEIGHTS[name]):
                    start = time.process_time()
                    model.fit(X[order][rows], told[rows])
                    seconds = time.process_time() - start
                    log_proba = model.predict_log_proba(X_test)
                    weight = model.unlabelled_gain().weight if method.startswith("unlabelled") else np.nan
                    found = [
                        log_scores(log_proba, own).mean(),
                        hits(log_proba, own).mean(),
                        weight,
                        np.nan,
                        seconds,
                    ]
                    line = pd.DataFrame([[name, "MultinomialNB", labels, seed, method, *found]])
                    line.to_csv(out, mode="a", header=False, index=False, float_format="%.6g")
                    click.echo(line.to_csv(header=False, index=False).strip())


if __name__ == "__main__":
    main()
