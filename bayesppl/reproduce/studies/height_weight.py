"""CH20 20.5.2: the sex of a person from height and weight.

The source has no data. Eight persons are those of the article "Naive Bayes classifier" of Wikipedia (section
"Person classification"), the smallest data set on which the rules differ. What becomes of the differences with
more persons is shown on simulated ones, height and weight correlated within each sex, with round numbers for
parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesppl.errors import UndefinedEstimateError
from bayesppl.estimators import GenerativeClassifier
from bayesppl.families import Gaussian
from bayesppl.families.gaussian import Covariance
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.rules import RULES
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.known import WEAK_PRIORS
from bayesppl.reproduce.studies.base import Study, Tables, held_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT, WEIGHT = "height (ft)", "weight (lb)"
PERSONS = pd.DataFrame(
    {
        HEIGHT: [6.0, 5.92, 5.58, 5.92, 5.0, 5.5, 5.42, 5.75],
        WEIGHT: [180.0, 190.0, 170.0, 165.0, 100.0, 150.0, 130.0, 150.0],
    }
)
SEX = np.repeat(["male", "female"], 4)
SOMEBODY = pd.DataFrame({HEIGHT: [6.0], WEIGHT: [130.0]})

STRUCTURES: dict[str, Covariance] = {"naive": "diag", "linear (LDA)": "tied", "quadratic (QDA)": "full"}

#: Simulated heights in cm and weights in kg of women and men.
POPULATION: Theta = {
    "mean": np.array([[163.0, 68.0], [176.0, 82.0]]),
    "covariance": np.array([[[42.0, 35.0], [35.0, 144.0]], [[49.0, 45.0], [45.0, 144.0]]]),
}
SIZES = (4, 10, 100, 1000)
N_TEST = 20_000


def simulate(n_each: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Array]:
    """As many women as men."""
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


def tables(inputs: Inputs) -> Tables:
    return {
        "eight persons: probability that somebody of 6 ft and 130 lb is male, by rule": eight_persons(),
        f"simulated persons: scores on {N_TEST:,} others": more_persons(inputs),
    }


def figure(inputs: Inputs) -> Figure:
    """The four densities of the source, and the boundaries of the naive and the quadratic rule."""
    from matplotlib.figure import Figure

    from bayesppl.plots import plot_class_densities, plot_decision_boundary

    X, y = simulate(100, np.random.default_rng(inputs.seed))
    picture = Figure(figsize=(11, 8), layout="constrained")
    (upper, lower) = picture.subplots(2, 2)
    for ax, column in zip(upper, X.columns, strict=True):
        one = X[[column]]
        clf = GenerativeClassifier(Gaussian("diag")).fit(one, y)
        plot_class_densities(clf, one, y, random_state=inputs.seed, ax=ax)
    for ax, name in zip(lower, ("naive", "quadratic (QDA)"), strict=True):
        clf = GenerativeClassifier(Gaussian(STRUCTURES[name], WEAK_PRIORS[STRUCTURES[name]])).fit(X, y)
        plot_decision_boundary(clf, X, y, draws=25, random_state=inputs.seed, ax=ax)
        ax.set_title(name)
    return picture


STUDY = Study(
    "height-weight",
    "The sex of a person from height and weight (CH20): eight persons and four rules, then more persons.",
    tables,
    figure,
)
