"""Accuracy and log score of the four rules on real data, next to scikit-learn pipelines.

    python benchmarks/real_data.py [FOLDER]

FOLDER (or the environment variable BAYESPPL_DATA) holds the data sets in sub-folders: SMSSpamCollection,
penguins.csv, house-votes-84.data, adult.data.gz with adult.test.gz, and car.data, as the UCI repository and
palmerpenguins give them. Half of the rows, drawn with a fixed seed and stratified, train; the other half test
(adult has files of its own). The log score is the mean log probability of the true class, in nats; one row that is
given probability zero makes it −∞.
"""

from __future__ import annotations

import gzip
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

import bayesppl as bp
from bayesppl.model.rules import RULES

SEED = 0


class Split(NamedTuple):
    """Rows to learn from and rows to predict."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def halves(X: Any, y: Any) -> Split:
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=SEED, stratify=y)
    return Split(X, y, X_test, y_test)


# --- data ---------------------------------------------------------------------------------------------------


def sms(folder: Path) -> Split:
    lines = (folder / "sms_spam" / "SMSSpamCollection").read_text(encoding="utf-8").rstrip("\n").split("\n")
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    return halves(np.asarray(texts), np.asarray(labels))


def penguins(folder: Path) -> Split:
    table = pd.read_csv(folder / "penguins" / "penguins.csv").drop(columns="year")
    return halves(table.drop(columns="species"), table["species"].to_numpy())


def votes(folder: Path) -> Split:
    table = pd.read_csv(folder / "votes" / "house-votes-84.data", header=None, na_values="?")
    return halves(table.iloc[:, 1:].set_axis([f"vote {j}" for j in range(1, 17)], axis=1), table[0].to_numpy())


def car(folder: Path) -> Split:
    names = ["buying", "maintenance", "doors", "persons", "boot", "safety", "rating"]
    table = pd.read_csv(folder / "car" / "car.data", header=None, names=names, dtype=str)
    return halves(table.drop(columns="rating"), table["rating"].to_numpy())


ADULT = [
    "age", "workclass", "weight", "education", "years of education", "marital "
    "status", "occupation", "relationship",
    "race", "sex", "capital gain", "capital loss", "hours per week", "country", "income",
]  # fmt: skip


def adult(folder: Path) -> Split:
    def read(name: str, skip: int) -> tuple[pd.DataFrame, np.ndarray]:
        with gzip.open(folder / "adult" / name, "rt") as file:
            table = pd.read_csv(
                file, header=None, names=ADULT, skiprows=skip, na_values="?", skipinitialspace=True
            )
        return table.drop(columns="income"), table["income"].str.rstrip(".").to_numpy()

    return Split(*read("adult.data.gz", 0), *read("adult.test.gz", 1))


# --- models -------------------------------------------------------------------------------------------------


def numbers_and_categories(numeric: Any, categorical: Any) -> Any:
    """Columns of numbers through one step, all others through another."""
    return make_column_transformer(
        (numeric, make_column_selector(dtype_include="number")),
        (categorical, make_column_selector(dtype_exclude="number")),
        sparse_threshold=0,
    )


def most_frequent() -> SimpleImputer:
    return SimpleImputer(strategy="most_frequent")


def ordinal() -> OrdinalEncoder:
    return OrdinalEncoder(handle_unknown="error")


def binned(n_bins: int, strategy: str) -> Any:
    """Numbers in bins, by the strategy that scores best on the data set; gaps filled in."""
    bins = KBinsDiscretizer(
        n_bins,
        encode="ordinal",
        strategy=strategy,
        quantile_method="averaged_inverted_cdf",
        subsample=None,
        random_state=SEED,
    )
    return make_pipeline(SimpleImputer(strategy="median"), bins)


def one_hot() -> Any:
    return make_pipeline(most_frequent(), OneHotEncoder(handle_unknown="ignore", sparse_output=False))


def gaps_as_levels() -> Any:
    return make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), ordinal())


ADULT_BLOCKS = {
    "measures": (["age", "weight", "years of education", "hours per week"], bp.Gaussian("diag")),
    "capital": (["capital gain", "capital loss"], bp.Categorical()),  # zero for most, and few other amounts
    "levels": (
        ["workclass", "education", "marital status", "occupation", "relationship", "race", "sex", "country"],
        bp.Categorical(),
    ),
}


class Contest(NamedTuple):
    """A data set, our declarations, and the pipelines that a user of scikit-learn would write."""

    load: Callable[[Path], Split]
    ours: dict[str, Any]
    theirs: dict[str, Any]


CONTESTS = {
    "sms": Contest(
        sms,
        {
            "words, MultinomialNB()": make_pipeline(CountVectorizer(), bp.MultinomialNB()),
            "words present, BernoulliNB()": make_pipeline(CountVectorizer(binary=True), bp.BernoulliNB()),
        },
        {
            "words, MultinomialNB()": make_pipeline(CountVectorizer(), MultinomialNB()),
            "words present, BernoulliNB()": make_pipeline(CountVectorizer(binary=True), BernoulliNB()),
        },
    ),
    "penguins": Contest(
        penguins,
        {"MixedNB()": bp.MixedNB()},
        {
            "imputed, one-hot, GaussianNB": make_pipeline(
                numbers_and_categories(SimpleImputer(strategy="median"), one_hot()), GaussianNB()
            ),
            "binned, CategoricalNB": make_pipeline(
                numbers_and_categories(binned(10, "quantile"), gaps_as_levels()), CategoricalNB(min_categories=10)
            ),
        },
    ),
    "votes": Contest(
        votes,
        {
            "CategoricalNB()": bp.CategoricalNB(levels=["n", "y"]),
            "'?' a level, CategoricalNB()": make_pipeline(gaps_as_levels(), bp.CategoricalNB(levels=[0, 1, 2])),
        },
        {
            "imputed, BernoulliNB": make_pipeline(most_frequent(), ordinal(), BernoulliNB()),
            "'?' a level, CategoricalNB": make_pipeline(gaps_as_levels(), CategoricalNB(min_categories=3)),
        },
    ),
    "car": Contest(
        car,
        {"CategoricalNB()": bp.CategoricalNB()},
        {"CategoricalNB": make_pipeline(ordinal(), CategoricalNB())},
    ),
    "adult": Contest(
        adult,
        {
            "MixedNB(integers='gaussian')": bp.MixedNB(integers="gaussian"),
            "MixedNB, capital as levels": bp.MixedNB(ADULT_BLOCKS),
        },
        {
            "imputed, one-hot, GaussianNB": make_pipeline(
                numbers_and_categories(SimpleImputer(strategy="median"), one_hot()), GaussianNB()
            ),
            "binned, CategoricalNB": make_pipeline(
                numbers_and_categories(binned(20, "kmeans"), gaps_as_levels()), CategoricalNB(min_categories=50)
            ),
        },
    ),
}


# --- scores -------------------------------------------------------------------------------------------------


def scores(model: Any, split: Split, **options: Any) -> str:
    """Accuracy and log score on the rows to predict."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.errors.ImpossibleRowWarning)
        log_proba = model.predict_log_proba(split.X_test, **options)
    own = np.searchsorted(model.classes_, split.y_test)
    accuracy = (log_proba.argmax(1) == own).mean()
    return f"{accuracy:8.4f} {log_proba[np.arange(len(own)), own].mean():9.4f}"


def rows(contest: Contest, split: Split) -> Iterator[tuple[str, str, str]]:
    for name, model in contest.theirs.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # fewer bins than asked for, where most values are zero
            model.fit(split.X, split.y)
        yield f"scikit-learn: {name}", "", scores(model, split)
    for name, model in contest.ours.items():
        start = perf_counter()
        model.fit(split.X, split.y)
        seconds = perf_counter() - start
        for rule in RULES:
            try:
                yield f"bayesppl: {name}", rule, scores(model, split, rule=rule)
            except bp.errors.UndefinedEstimateError as undefined:
                yield f"bayesppl: {name}", rule, f"undefined: {str(undefined)[:60]}…"
        yield f"bayesppl: {name}", "", f"fit in {1e3 * seconds:.1f} ms"


def main() -> None:
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("BAYESPPL_DATA", default))
    for name, contest in CONTESTS.items():
        split = contest.load(folder)
        print(f"\n{name}: {len(split.y)} rows to learn from, {len(split.y_test)} to predict")
        print(f"{'':46} {'rule':11} {'accuracy':>8} {'log score':>9}")
        for model, rule, found in rows(contest, split):
            print(f"{model:46} {rule:11} {found}")


if __name__ == "__main__":
    main()
