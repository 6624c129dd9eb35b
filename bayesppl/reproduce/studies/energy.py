"""DAKE 1 to 3.4: who will be a big spender, from usage, temperature, month and season.

The source gives the normal distributions of usage and temperature difference, and names month and season without
saying how they differ; here big spenders come twice as often from the months of heating and cooling. Season is
known from the month. A product of columns that counts both hears the same evidence twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.families import Categorical, Family, Gaussian, Product
from bayesppl.kernels.arrays import Array
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.dake import AS_STATED, BIG, LOW
from bayesppl.reproduce.known import WEAK_PRIORS
from bayesppl.reproduce.studies.study import Study, Tables, drawn_in, held_out

USAGE, TEMPERATURE, MONTH, SEASON = "usage (kWh)", "temperature difference (°F)", "month", "season"
LABELS = np.array(["big", "low"])
SHARE_BIG = 0.2
SIZES = (30, 300)
N_TEST = 20_000
MONTHS = np.arange(1, 13)

#: The customer of section 3.4: 259.154 kWh, summer, August; and those of sections 1 and 2.
QUERIES = pd.DataFrame(
    {USAGE: [259.154, 250.0, 700.0], TEMPERATURE: 2.0, MONTH: ["8", "8", "8"], SEASON: ["2", "2", "2"]}
)


def month_weights() -> Array:
    """Return probabilities of the months of big and of low spenders: (2, 12)."""
    heating_or_cooling = np.isin(MONTHS, (12, 1, 2, 7, 8))
    big = np.where(heating_or_cooling, 2.0, 1.0)
    return np.stack([big / big.sum(), np.full(12, 1 / 12)])


def customers(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Array]:
    """Simulate customers and their labels; one in five is a big spender."""
    n_big = round(SHARE_BIG * n)
    codes = np.repeat([BIG, LOW], [n_big, n - n_big])
    numbers = Gaussian("diag").simulate(AS_STATED, codes, rng)
    weights = month_weights()
    month = np.array([rng.choice(MONTHS, p=weights[code]) for code in codes])
    table = pd.DataFrame(
        {
            USAGE: 100 * numbers[:, 0],
            TEMPERATURE: numbers[:, 1],
            MONTH: month.astype(str),
            SEASON: (month % 12 // 3).astype(str),
        }
    )
    return table, LABELS[codes]


def declarations() -> dict[str, tuple[list[str], Family]]:
    """Declare columns and family of every model compared."""
    both = [USAGE, TEMPERATURE]
    months = Categorical(levels=[str(month) for month in MONTHS])
    seasons = Categorical(levels=["0", "1", "2", "3"])

    def mixed(**blocks: Any) -> tuple[list[str], Family]:
        named = {"energy": ([USAGE, TEMPERATURE], Gaussian("diag")), **blocks}
        return [column for columns, _ in named.values() for column in columns], Product(named)

    return {
        "usage": ([USAGE], Gaussian("diag")),
        "usage and temperature, independent": (both, Gaussian("diag")),
        "usage and temperature, full covariance": (both, Gaussian("full", WEAK_PRIORS["full"])),
        "and season": mixed(season=([SEASON], seasons)),
        "and month": mixed(month=([MONTH], months)),
        "and month and season (counted twice)": mixed(month=([MONTH], months), season=([SEASON], seasons)),
    }


def tables(inputs: Inputs) -> Tables:
    rng = np.random.default_rng(inputs.seed)
    X_test, y_test = customers(N_TEST, rng)
    scores, answers = [], []
    for size in SIZES:
        X, y = customers(size, rng)
        for name, (columns, family) in declarations().items():
            clf = GenerativeClassifier(family).fit(X[columns], y)
            scores.append({"columns": name, "customers": size, **held_out(clf, X_test[columns], y_test)})
            interval = clf.predict_proba_interval(QUERIES[columns], random_state=inputs.seed).sel({"class": "big"})
            for i, proba in enumerate(clf.probabilities(QUERIES[columns])[:, 0]):
                bounds = {name: float(interval[name][i]) for name in ("lower", "upper")}
                usage = float(QUERIES[USAGE][i])
                answers.append(
                    {"columns": name, "customers": size, "kWh": usage, "p(big)": float(proba), **bounds}
                )
    return {
        f"{N_TEST:,} other customers": pd.DataFrame(scores),
        "three customers in August, 2 °F warmer to come": pd.DataFrame(answers),
    }


@drawn_in(1, 3, 15.5, 4.2)
def figure(axes: Array, inputs: Inputs) -> None:
    from bayesppl.plots import plot_class_densities, plot_decision_boundary, plot_estimates

    X, y = customers(SIZES[-1], np.random.default_rng(inputs.seed))
    left, middle, right = axes
    one, both = X[[USAGE]], X[[USAGE, TEMPERATURE]]
    plot_class_densities(
        GenerativeClassifier(Gaussian("diag")).fit(one, y), one, y, random_state=inputs.seed, ax=left
    )
    full = GenerativeClassifier(Gaussian("full", WEAK_PRIORS["full"])).fit(both, y)
    plot_decision_boundary(full, both, y, random_state=inputs.seed, ax=middle)
    big: dict[str, Any] = {"class": "big"}
    months = GenerativeClassifier(Categorical(levels=[str(month) for month in MONTHS])).fit(X[[MONTH]], y)
    plot_estimates(months, "probability", random_state=inputs.seed, ax=right, **big)
    for ax, title in zip(axes, ("usage", "usage and temperature", "month, big spenders"), strict=True):
        ax.set_title(title)


STUDY = Study(
    "energy",
    "Who will be a big spender (DAKE)? One column, two, and columns of different kinds, after 30 and 300 "
    "customers.",
    tables,
    figure,
)
