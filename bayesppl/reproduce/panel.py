"""The default answer on real data beside scikit-learn's: log scores, accuracy, calibration on held-out halves."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

from bayesppl.analysis.scores import expected_calibration_error, hits, log_scores
from bayesppl.data.labels import encode_labels
from bayesppl.estimators.auto import AutoClassifier
from bayesppl.kernels.arrays import Array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Sets that come with scikit-learn.
EMBEDDED = ("breast_cancer", "digits", "iris", "wine")

_SIMULATIONS = 400

# A rival that holds the true label impossible is charged this much, in nats, and not infinity
_LEAST_LOG_SCORE = float(np.log(1e-15))


# Codes of an ordinal encoder: room for levels that only the other half shows
_UNSEEN = 1000


def _mixed(numbers: Any, levels: Any) -> Any:
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_exclude="number")),
        sparse_threshold=0,
    )


def _dense() -> Any:
    """Numbers standardised, gaps filled with the median; levels as indicators."""
    levels = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    return _mixed(make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), levels)


def _levels() -> Any:
    """Numbers in five bins, all as codes."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=_UNSEEN)
    bins = KBinsDiscretizer(5, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")
    levels = make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), codes)
    return _mixed(make_pipeline(SimpleImputer(strategy="median"), bins), levels)


GENERATIVE: dict[str, Any] = {
    "GaussianNB": make_pipeline(_dense(), GaussianNB()),
    "LDA": make_pipeline(_dense(), LinearDiscriminantAnalysis()),
    "LDA, Ledoit-Wolf": make_pipeline(_dense(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    "QDA, reg_param=0.1": make_pipeline(_dense(), QuadraticDiscriminantAnalysis(reg_param=0.1)),
    "QDA, reg_param=0.5": make_pipeline(_dense(), QuadraticDiscriminantAnalysis(reg_param=0.5)),
    "bins, CategoricalNB": make_pipeline(_levels(), CategoricalNB(min_categories=_UNSEEN + 1)),
}

DISCRIMINATIVE: dict[str, Any] = {
    "logistic regression": make_pipeline(_dense(), LogisticRegression(max_iter=2000)),
    "gradient boosting": make_pipeline(
        _mixed(
            "passthrough",
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
        ),
        HistGradientBoostingClassifier(random_state=0),
    ),
}


def rivals() -> dict[str, Any]:
    """All of them, not fitted."""
    return {name: clone(model) for name, model in (GENERATIVE | DISCRIMINATIVE).items()}


@dataclass(frozen=True)
class DataSet:
    """A named table and its labels."""

    name: str
    X: Any
    y: Array


def data_sets(sources: Sequence[str], most_rows: int) -> Iterator[DataSet]:
    """The sets that the sources name, of at most so many rows, drawn at random.

    Parameters
    ----------
    sources : sequence of str
        A folder of CSV files with a column ``class``, such a file, ``openml:ID``, or the name of an embedded set.
    most_rows : int

    Raises
    ------
    ValueError
        For a source that is none of these.
    """
    for source in sources:
        for name, X, y in _read(source):
            chosen = np.arange(len(y))
            if len(y) > most_rows:
                chosen = np.random.default_rng(0).choice(len(y), most_rows, replace=False)
            labels, counts = np.unique(y[chosen], return_counts=True)
            chosen = chosen[np.isin(y[chosen], labels[counts >= 2])]  # a class of one row cannot be halved
            yield DataSet(name, X.iloc[chosen].reset_index(drop=True), y[chosen])


def _read(source: str) -> Iterator[tuple[str, pd.DataFrame, Array]]:
    import pandas as pd

    path = Path(source)
    if source in EMBEDDED:
        import sklearn.datasets

        X, y = getattr(sklearn.datasets, f"load_{source}")(return_X_y=True, as_frame=True)
        yield source, X, y.astype(str).to_numpy(dtype=object)
    elif source.startswith("openml:"):
        from sklearn.datasets import fetch_openml

        found = fetch_openml(data_id=int(source.removeprefix("openml:")), as_frame=True)
        yield found.details["name"], found.data, found.target.astype(str).to_numpy(dtype=object)
    elif path.is_dir() or path.is_file():
        files = sorted(path.glob("*.csv*")) if path.is_dir() else [path]
        for file in files:
            table = pd.read_csv(file, **_exact_numbers())
            if "class" not in table:
                raise ValueError(f"{str(file)!r} has no column 'class' that holds the labels")
            yield file.name.split(".")[0], table.drop(columns="class"), table["class"].astype(str).to_numpy(object)
    else:
        raise ValueError(
            f"there is no data {source!r}: give a folder of CSV files with a column 'class', such a file, "
            f"openml:ID, or one of {', '.join(EMBEDDED)}"
        )


def score_set(data: DataSet, splits: int, seed: int) -> dict[str, Any]:
    """One row of the table: averages over stratified halves."""
    from sklearn.model_selection import StratifiedShuffleSplit

    halves = StratifiedShuffleSplit(splits, test_size=0.5, random_state=seed)
    found = [_score_split(data, train, test, seed) for train, test in halves.split(data.X, data.y)]
    row: dict[str, Any] = {"set": data.name, "rows": len(data.y), "columns": data.X.shape[1]}
    row["classes"] = len(np.unique(data.y))
    row["log score"] = _mean(found, "log score", "stack")
    row["by left-out labels"] = float(np.mean([split["promised"] for split in found]))
    best = max(GENERATIVE, key=lambda name: _mean(found, "log score", name))
    row["best generative"] = best
    for title, name in (("generative", best), *((name, name) for name in DISCRIMINATIVE)):
        differences = [split["log score"]["stack"] - split["log score"][name] for split in found]
        row[f"− {title}"] = float(np.mean([values.mean() for values in differences]))
        row[f"± {title}"] = float(np.mean([values.std(ddof=1) / np.sqrt(len(values)) for values in differences]))
    row["accuracy"] = _mean(found, "accuracy", "stack")
    hit = {name: [split["accuracy"][name] for split in found] for name in ("stack", *GENERATIVE)}
    most = max(GENERATIVE, key=lambda name: _mean(found, "accuracy", name))
    row["accuracy, best generative"] = _mean(found, "accuracy", most)
    row["± accuracy"] = float(
        np.mean([(a - b).std(ddof=1) / np.sqrt(len(a)) for a, b in zip(hit["stack"], hit[most], strict=True)])
    )
    for name in ("ECE", "ECE from", "ECE to"):
        row[name] = float(np.mean([split[name] for split in found]))
    row["halves in range"] = float(np.mean([s["ECE from"] <= s["ECE"] <= s["ECE to"] for s in found]))
    return row


def _mean(found: Sequence[dict[str, Any]], score: str, name: str) -> float:
    return float(np.mean([split[score][name].mean() for split in found]))


def _score_split(data: DataSet, train: Array, test: Array, seed: int) -> dict[str, Any]:
    X, X_test, y, y_test = data.X.iloc[train], data.X.iloc[test], data.y[train], data.y[test]
    stack = AutoClassifier().fit(X, y)
    out: dict[str, Any] = {"log score": {}, "accuracy": {}, "promised": stack.stack_.log_score}
    codes = encode_labels(y_test, stack.classes_.tolist())[1]
    log_proba = stack.predict_log_proba(X_test)
    out["log score"]["stack"], out["accuracy"]["stack"] = log_scores(log_proba, codes), hits(log_proba, codes)
    out["ECE"] = expected_calibration_error(log_proba, codes)
    out["ECE from"], out["ECE to"] = np.quantile(_simulated_errors(log_proba, seed), [0.025, 0.975])
    for name, model in rivals().items():
        log_rival = log_proba_of_rival(model, X, y, X_test, len(stack.classes_))
        out["log score"][name], out["accuracy"][name] = log_scores(log_rival, codes), hits(log_rival, codes)
    return out


def log_proba_of_rival(model: Any, X: Any, y: Array, X_test: Any, n_classes: int) -> Array:
    """Predictions of a rival; one that refuses the rows is given the lowest score."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # collinear columns, few bins, steps of the optimiser: the rivals' own
        try:
            proba = model.fit(X, y).predict_proba(X_test)
        except (ValueError, np.linalg.LinAlgError):  # fewer rows of a class than columns
            return np.full((len(X_test), n_classes), _LEAST_LOG_SCORE)
        return np.maximum(np.log(proba), _LEAST_LOG_SCORE)


def _simulated_errors(log_proba: Array, seed: int) -> Array:
    """Compute calibration errors of labels drawn from the probabilities themselves: those of noise alone."""
    rng = np.random.default_rng(seed)
    proba = np.exp(log_proba)
    upto = np.cumsum(proba / proba.sum(1, keepdims=True), axis=1)
    last = upto.shape[1] - 1
    draws = ((rng.random((len(upto), 1)) > upto).sum(1).clip(max=last) for _ in range(_SIMULATIONS))
    return np.asarray([expected_calibration_error(log_proba, codes) for codes in draws])


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """On how many sets the stack wins or ties, within one standard error of the held-out difference."""
    import pandas as pd

    claims = {
        f"log score, {name}": (table[f"− {name}"], table[f"± {name}"]) for name in ("generative", *DISCRIMINATIVE)
    }
    gained = table["accuracy"] - table["accuracy, best generative"]
    claims["accuracy, generative"] = gained, table["± accuracy"]
    rows = [
        {
            "against": name,
            "better": int((difference > 0).sum()),
            "within one SE or better": int((difference >= -error).sum()),
            "sets": len(table),
        }
        for name, (difference, error) in claims.items()
    ]
    inside = int((table["halves in range"] >= 0.5).sum())
    rows.append(
        {
            "against": "calibrated within noise",
            "better": inside,
            "within one SE or better": inside,
            "sets": len(table),
        }
    )
    return pd.DataFrame(rows)


def picture(table: pd.DataFrame) -> Figure:
    """Differences of log scores, and the calibration error in the range that noise alone would give."""
    from matplotlib.figure import Figure

    from bayesppl.plots.style import colour, tidy

    ordered = table.sort_values("− generative", ignore_index=True)
    at = np.arange(len(ordered))
    figure = Figure(figsize=(10, 1.5 + 0.3 * len(ordered)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for place, name in enumerate(("generative", *DISCRIMINATIVE)):
        left.errorbar(
            ordered[f"− {name}"],
            at + 0.2 * (place - 1),
            xerr=ordered[f"± {name}"],
            fmt="osD"[place],
            color=colour(place),
            markersize=4,
            label=f"less {'best ' if not place else ''}{name}",
        )
    left.axvline(0, color="0.6", linewidth=1)
    left.set_xscale("symlog", linthresh=0.1)
    left.set_yticks(at, ordered["set"])
    left.set_xlabel("log score of AutoClassifier, nats per row, right is better")
    left.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    right.hlines(
        at, ordered["ECE from"], ordered["ECE to"], color="0.75", linewidth=5, label="95 % of noise alone"
    )
    right.plot(ordered["ECE"], at, "o", color=colour(0), label="attained")
    right.set_xlabel("expected calibration error")
    right.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    for ax in (left, right):
        tidy(ax)
    return figure


def _exact_numbers() -> dict[str, Any]:
    """Return options of ``pandas.read_csv`` that give the nearest floating-point number of every text.

    By default versions before 3.1 drop the digits beyond the fifteenth, which moves a number by up to 1e-12 of
    itself, and what is fitted to it with the version of pandas; later ones read every number exactly, and
    deprecate the option. (Beside a mark of thousands, pandas 3.1 still rounds the last digit.)
    """
    import pandas as pd

    major, minor, *_ = pd.__version__.split(".")
    return {} if (int(major), int(minor)) >= (3, 1) else {"float_precision": "round_trip"}
