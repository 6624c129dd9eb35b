"""Naive Bayes in the literature: beside logistic regression, where it is optimal, and beside bnclassify.

NG-JORDAN: naive Bayes and logistic regression as the number of training rows grows. DOMINGOS-PAZZANI: naive Bayes
decides rightly where its assumption, and its probabilities, are wrong. BNCLASSIFY: naive Bayes on the car
evaluation data, by maximum likelihood, and the predictive beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bayesppl.datasets import load
from bayesppl.estimators.discriminant_analysis import LinearDiscriminantAnalysis
from bayesppl.estimators.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from bayesppl.evaluation.held_out import each_class_first
from bayesppl.families import Bernoulli
from bayesppl.inference.progress import counted
from bayesppl.kernels.arrays import Array
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.known import probabilities
from bayesppl.reproduce.studies.study import Study, Tables, drawn_in, held_out

_DATA = {"breast_cancer": (10, 20, 40, 80, 160, 320), "wine": (9, 15, 30, 60, 100)}
_REPEATS = 20

_MODELS: dict[str, Callable[[], Any]] = {
    "naive Bayes": GaussianNB,
    "linear discriminant": LinearDiscriminantAnalysis,
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}


def errors(inputs: Inputs) -> pd.DataFrame:
    """Average the test error of every model by the number of training rows, the same random rows for all."""
    rng, difference = np.random.default_rng(inputs.seed), "± of the difference of the last from naive Bayes"
    rows = []
    for name, sizes in _DATA.items():
        X, y = load(name)
        table, labels = X.to_numpy(), y.to_numpy()
        for size in np.repeat(sizes, _REPEATS).tolist():
            order = rng.permutation(len(labels))
            train = each_class_first(order, labels)[:size]
            test = np.setdiff1d(order, train)
            row = {"data": name, "rows": size}
            for model, make in _MODELS.items():
                predicted = make().fit(table[train], labels[train]).predict(table[test])
                row[model] = float(np.mean(predicted != labels[test]))
            rows.append({**row, difference: row["logistic regression"] - row["naive Bayes"]})
    by_size = pd.DataFrame(rows).groupby(["data", "rows"], sort=False)
    return by_size.mean().assign(**{difference: by_size[difference].std() / np.sqrt(_REPEATS)}).reset_index()


def error_tables(inputs: Inputs) -> Tables:
    return {f"mean error on the rows left, {_REPEATS} random training sets of each size": errors(inputs)}


@drawn_in(1, len(_DATA), 9, 4)
def error_figure(axes: Array, inputs: Inputs) -> None:
    from bayesppl.plots.style import colour, line_style

    found = errors(inputs)
    for ax, (name, part) in zip(axes, found.groupby("data", sort=False), strict=True):
        for k, model in enumerate(_MODELS):
            ax.plot(part["rows"], part[model], color=colour(k), linestyle=line_style(k), marker="o", label=model)
        ax.set(xscale="log", title=str(name), xlabel="training rows", ylabel="error")
        ax.set_ylim(0, None)
    ax.legend(frameon=False)


NG_JORDAN = Study(
    "ng-jordan",
    "Generative or discriminative (NG-JORDAN)? Naive Bayes nears its limit after few rows; logistic regression "
    "may need more, and has the lower error in the end.",
    error_tables,
    error_figure,
)


_ATTRIBUTES, _GRID = 8, 200


def concepts() -> pd.DataFrame:
    """Compute the share of all rows of eight attributes on which naive Bayes, fitted to all, is right."""
    X = np.array(list(itertools.product([0, 1], repeat=_ATTRIBUTES)))
    found = []
    for size in range(1, _ATTRIBUTES + 1):
        true = X[:, :size].sum(axis=1)
        labels = {"and": true == size, "or": true > 0, "two at least": true > 1, "an odd number": true % 2 == 1}
        row: dict[str, float] = {"literals": size}
        for name, label in labels.items():
            if label.any():
                clf = BernoulliNB(class_weights="empirical", rule="mle").fit(X, label)
                row[name] = float((clf.predict(X) == label).mean())
        found.append(row)
    return pd.DataFrame(found)


def chosen(p: Array, q: Array) -> tuple[Array, Array]:
    """Return whether naive Bayes and the true posterior choose the first class, where an attribute stands twice.

    The attributes A and C are present, P(A | first) = ``p`` = 1 - P(A | second), P(C | first) = ``q`` = 1 - P(C |
    second), the classes are equally frequent, and a second attribute B always equals A.
    """
    first = np.stack([p, p, q], axis=-1).reshape(-1, 3)
    theta = {"class_weights": np.array([0.5, 0.5]), "probability": np.stack([first, 1 - first], axis=1)}
    naive = probabilities(Bernoulli(), theta, [[1, 1, 1]])[:, 0].argmax(1) == 0
    return naive.reshape(p.shape), p + q > 1


def region() -> tuple[Array, Array, Array]:
    """Return a grid over (p, q), and the two choices on it."""
    grid = (np.arange(_GRID) + 0.5) / _GRID
    p, q = np.meshgrid(grid, grid)
    naive, true = chosen(p, q)
    return grid, naive, true


def against_trees(inputs: Inputs) -> pd.DataFrame:
    """Compare ten-fold accuracy with that of a decision tree, and log scores with and without a temperature."""
    folds = StratifiedKFold(10, shuffle=True, random_state=inputs.seed)
    rows = []
    for name in ("iris", "wine", "breast_cancer"):
        X, y = load(name)
        found = []
        for train, test in folds.split(X, y):
            seen, new = (X.iloc[train], y.iloc[train]), (X.iloc[test], y.iloc[test])
            naive, mended = (held_out(GaussianNB(calibration=c).fit(*seen), *new) for c in (None, "temperature"))
            tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=inputs.seed).fit(*seen)
            found.append(
                {
                    "naive Bayes": naive["accuracy"],
                    "decision tree": tree.score(*new),
                    "log score": naive["log score"],
                    "calibrated": mended["log score"],
                }
            )
        rows.append({"data": name, **pd.DataFrame(found).mean().to_dict()})
    return pd.DataFrame(rows)


def optimality_tables(inputs: Inputs) -> Tables:
    _, naive, true = region()
    agreement = {
        "share of (p, q) in which naive Bayes decides as the true posterior": float((naive == true).mean()),
        "exactly": 5 / 4 - np.log(2) / 2,
    }
    return {
        f"share of all {2**_ATTRIBUTES} rows classified rightly: conjunctions and disjunctions always": concepts(),
        "an attribute that stands there twice": pd.DataFrame([agreement]),
        "ten-fold: accuracy, and log score of naive Bayes as it is and with a temperature": against_trees(inputs),
    }


@drawn_in(1, 1, 4.6, 4)
def optimality_figure(axes: Array, inputs: Inputs) -> None:
    from bayesppl.plots.style import colour

    grid, naive, true = region()
    (ax,) = axes
    ax.contourf(grid, grid, naive != true, levels=[0.5, 1], colors=[colour(1)], alpha=0.5)
    ax.plot(grid, 1 - grid, color="black", label="true posterior")
    ax.plot(grid, (1 - grid) ** 2 / (grid**2 + (1 - grid) ** 2), "--", color=colour(0), label="naive Bayes")
    ax.set(
        xlabel="p = P(A | first class)", ylabel="q = P(C | first class)", title="they differ in the shaded part"
    )
    ax.legend(frameon=False, loc="lower left")


DOMINGOS_PAZZANI = Study(
    "domingos-pazzani",
    "When is naive Bayes optimal (DOMINGOS-PAZZANI)? Its decisions are often right where its assumption is wrong; "
    "its probabilities are not.",
    optimality_tables,
    optimality_figure,
)


_COLUMNS = ("buying", "maint", "doors", "persons", "lug_boot", "safety", "class")
_SPLITS = 10

#: What the documentation of bnclassify prints.
PUBLISHED = {"log likelihood": -13503.688343, "ten-fold accuracy": 0.8582}


def load_car(path: Path) -> tuple[pd.DataFrame, pd.Series]:
    """Load attributes and class of ``car.data`` (UCI), which has no line of names."""
    file = path / "car.data" if path.is_dir() else path
    if not file.is_file():
        raise ValueError(f"there is no file {str(file)!r}; --car names the car evaluation data of UCI, car.data")
    table = pd.read_csv(file, names=list(_COLUMNS), dtype=str)
    if table.isna().any(axis=None):
        raise ValueError(
            f"column {table.columns[table.isna().any()][0]!r} of {str(file)!r} has empty cells; --car names the "
            f"car evaluation data of UCI, car.data, whose {len(_COLUMNS)} columns are {', '.join(_COLUMNS)}"
        )
    return table.drop(columns="class"), table["class"]


def log_likelihood(X: pd.DataFrame, y: pd.Series) -> float:
    """Compute the log likelihood of the rows and their labels, at its maximum."""
    clf = CategoricalNB(class_weights="empirical", rule="mle").fit(X, y)
    joint = clf.predict_joint_log_proba(X)
    return float(joint[np.arange(len(y)), np.searchsorted(clf.classes_, y)].sum())


def cross_validated(X: pd.DataFrame, y: pd.Series, seed: int) -> pd.DataFrame:
    """Average accuracy and log score over ten folds by rule, for several random divisions into folds."""
    rows = []
    for split in counted(range(_SPLITS), "dividing into folds"):
        folds = StratifiedKFold(10, shuffle=True, random_state=seed + split)
        for train, test in folds.split(X, y):
            clf = CategoricalNB().fit(X.iloc[train], y.iloc[train])
            rows += [
                {"rule": rule, "split": split, **held_out(clf, X.iloc[test], y.iloc[test], rule)}
                for rule in ("mle", "predictive")
            ]
    return pd.DataFrame(rows).groupby(["rule", "split"]).mean()


def car_tables(inputs: Inputs) -> Tables:
    assert inputs.car is not None
    X, y = load_car(inputs.car)
    found = cross_validated(X, y, inputs.seed)
    accuracy = found.loc["mle", "accuracy"]
    beside = [
        {
            "number": "log likelihood",
            "published": f"{PUBLISHED['log likelihood']:.6f}",
            "ours": f"{log_likelihood(X, y):.6f}",
        },
        {
            "number": "ten-fold accuracy",
            "published": f"{PUBLISHED['ten-fold accuracy']:.4f}",
            "ours": f"{accuracy.mean():.4f}, sd {accuracy.std():.4f} over {_SPLITS} divisions into folds",
        },
    ]
    return {
        "maximum likelihood": pd.DataFrame(beside),
        "the same folds by rule": found.groupby("rule").mean().reset_index(),
    }


BNCLASSIFY = Study(
    "bnclassify",
    "Naive Bayes on car evaluation (BNCLASSIFY): the log likelihood and the accuracy that bnclassify prints.",
    car_tables,
    needs="car",
)
