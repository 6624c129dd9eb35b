"""NOTES3B and CH20: linear, quadratic and naive discriminants, on iris, and on persons by height and weight.

Those of iris are scored by exact leave-one-out, beside a table of bins. CH20 has no data on persons (20.5.2).
Eight are those of the article "Naive Bayes classifier" of Wikipedia (section "Person classification"), the
smallest data set on which the rules differ. What becomes of the differences with more persons is shown on
simulated ones, height and weight correlated within each sex, with round numbers for parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesppl.datasets import load
from bayesppl.errors import UndefinedEstimateError
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.families import Gaussian
from bayesppl.families.gaussian import Covariance
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.rules import RULES
from bayesppl.reproduce import short_texts
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.known import WEAK_PRIORS
from bayesppl.reproduce.studies.study import Study, Tables, drawn_in, held_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STRUCTURES: dict[str, Covariance] = {"linear (LDA)": "tied", "quadratic (QDA)": "full", "naive": "diag"}


def scored(name: str, columns: str, clf: BayesClassifier) -> dict[str, object]:
    loo = clf.loo()
    (accuracy, accuracy_se), (score, score_se) = loo.accuracy, loo.log_score
    return {
        "model": name,
        "columns": columns,
        "accuracy": accuracy,
        "± ": accuracy_se,
        "log score": score,
        "±": score_se,
        "log evidence": float(clf.log_evidence()["total"]),
    }


def iris_tables(inputs: Inputs) -> Tables:
    X, y = load("iris")
    rows = [
        scored(name, columns, GenerativeClassifier(Gaussian(structure, WEAK_PRIORS[structure])).fit(table, y))
        for columns, table in (("sepals", X.iloc[:, :2]), ("all four", X))
        for name, structure in STRUCTURES.items()
    ]
    rows.append(scored("table of 3 × 3 bins", "sepals", short_texts.table()))
    shared = [
        {"covariance": name, "accuracy": accuracy, "log score": score}
        for name, which in (("pooled within the classes", "pooled"), ("of all rows, as in the source", "total"))
        for accuracy, score in [short_texts.scores(which)]
    ]
    return {
        "exact leave-one-out, ± standard error (the evidence of bins is of another kind of data)": pd.DataFrame(
            rows
        ),
        "linear discriminant with the right and the wrong covariance (E9), on the rows of the fit": pd.DataFrame(
            shared
        ),
    }


@drawn_in(1, 3, 13.8, 4.0)
def iris_figure(axes: Array, inputs: Inputs) -> None:
    """Draw the three discriminants of the sepals, with ellipses of one and two standard deviations."""
    from bayesppl.plots import plot_decision_boundary

    X, y = load("iris")
    sepals = X.iloc[:, :2]
    for ax, (title, structure) in zip(axes, STRUCTURES.items(), strict=True):
        classifier = GenerativeClassifier(Gaussian(structure)).fit(sepals, y)
        plot_decision_boundary(classifier, sepals, y, draws=25, random_state=inputs.seed, ax=ax)
        theta = classifier.posterior_.theta("mean")
        covariance = theta["covariance"] if "covariance" in theta else theta["variance"][:, None] * np.eye(2)
        for k, mean in enumerate(theta["mean"]):
            ellipses(ax, mean, np.broadcast_to(covariance, (3, 2, 2))[k], k)
        ax.set_title(title)
    for ax in axes[:-1]:
        ax.get_legend().remove()


def ellipses(ax: Axes, mean: Array, covariance: Array, k: int, radii: Sequence[float] = (1, 2)) -> None:
    """Draw where a density is as high as so many standard deviations from its mean."""
    from bayesppl.plots.style import colour, line_style

    angle = np.linspace(0, 2 * np.pi, 181)
    ring = np.linalg.cholesky(covariance) @ [np.cos(angle), np.sin(angle)]
    for radius in radii:
        ax.plot(*(mean[:, None] + radius * ring), color=colour(k), linestyle=line_style(k), linewidth=1.2)


IRIS = Study(
    "iris",
    "Linear, quadratic or naive (NOTES3B, CH20)? Iris, by leave-one-out and by evidence.",
    iris_tables,
    iris_figure,
)


HEIGHT, WEIGHT = "height (ft)", "weight (lb)"
PERSONS = pd.DataFrame(
    {
        HEIGHT: [6.0, 5.92, 5.58, 5.92, 5.0, 5.5, 5.42, 5.75],
        WEIGHT: [180.0, 190.0, 170.0, 165.0, 100.0, 150.0, 130.0, 150.0],
    }
)
SEX = np.repeat(["male", "female"], 4)
SOMEBODY = pd.DataFrame({HEIGHT: [6.0], WEIGHT: [130.0]})


#: Simulated heights in cm and weights in kg of women and men.
POPULATION: Theta = {
    "mean": np.array([[163.0, 68.0], [176.0, 82.0]]),
    "covariance": np.array([[[42.0, 35.0], [35.0, 144.0]], [[49.0, 45.0], [45.0, 144.0]]]),
}
SIZES = (4, 10, 100, 1000)
N_TEST = 20_000


def simulate(n_each: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Array]:
    """Simulate as many women as men."""
    codes = np.repeat([0, 1], n_each)
    X = Gaussian("full").simulate(POPULATION, codes, rng)
    return pd.DataFrame(X, columns=["height (cm)", "weight (kg)"]), np.array(["female", "male"])[codes]


def eight_persons() -> pd.DataFrame:
    rows = []
    for name, structure in STRUCTURES.items():
        clf = GenerativeClassifier(Gaussian(structure, WEAK_PRIORS[structure]), class_weights="uniform").fit(
            PERSONS, SEX
        )
        found: dict[str, object] = {"model": name}
        for rule in RULES:
            try:
                found[rule] = float(clf.probabilities(SOMEBODY, rule)[0, 1])
            except UndefinedEstimateError:
                found[rule] = "undefined"
        interval = clf.predict_proba_interval(SOMEBODY, draws=4000, random_state=0).sel(
            {"class": "male", "row": 0}
        )
        rows.append({**found, "lower": float(interval["lower"]), "upper": float(interval["upper"])})
    return pd.DataFrame(rows)


def more_persons(inputs: Inputs) -> pd.DataFrame:
    rng = np.random.default_rng(inputs.seed)
    X_test, y_test = simulate(N_TEST // 2, rng)
    rows = []
    for size in SIZES:
        X, y = simulate(size, rng)
        for name, structure in STRUCTURES.items():
            clf = GenerativeClassifier(Gaussian(structure, WEAK_PRIORS[structure]), class_weights="uniform").fit(
                X, y
            )
            plug_in = held_out(clf, X_test, y_test, "mle")["log score"]
            rows.append(
                {
                    "persons of each sex": size,
                    "model": name,
                    **held_out(clf, X_test, y_test),
                    "log score of mle": plug_in,
                }
            )
    return pd.DataFrame(rows)


def persons_tables(inputs: Inputs) -> Tables:
    return {
        "eight persons: probability that somebody of 6 ft and 130 lb is male, by rule": eight_persons(),
        f"simulated persons: scores on {N_TEST:,} others": more_persons(inputs),
    }


@drawn_in(2, 2, 11, 8)
def persons_figure(axes: Array, inputs: Inputs) -> None:
    """Draw the four densities of the source, and the boundaries of the naive and the quadratic rule."""
    from bayesppl.plots import plot_class_densities, plot_decision_boundary

    X, y = simulate(100, np.random.default_rng(inputs.seed))
    (upper, lower) = axes
    for ax, column in zip(upper, X.columns, strict=True):
        one = X[[column]]
        clf = GenerativeClassifier(Gaussian("diag")).fit(one, y)
        plot_class_densities(clf, one, y, random_state=inputs.seed, ax=ax)
    for ax, name in zip(lower, ("naive", "quadratic (QDA)"), strict=True):
        clf = GenerativeClassifier(Gaussian(STRUCTURES[name], WEAK_PRIORS[STRUCTURES[name]])).fit(X, y)
        plot_decision_boundary(clf, X, y, draws=25, random_state=inputs.seed, ax=ax)
        ax.set_title(name)


HEIGHT_WEIGHT = Study(
    "height-weight",
    "The sex of a person from height and weight (CH20): eight persons and four rules, then more persons.",
    persons_tables,
    persons_figure,
)
