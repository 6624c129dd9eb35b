"""AITCHISON and GEISSER: a normal density estimated by its predictive, and by maximum likelihood plugged in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import gammaln, psi

from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.families import Gaussian
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.studies.study import Study, Tables, drawn_in

if TYPE_CHECKING:
    from bayesppl.kernels.arrays import Array

#: Columns and rows of each sample.
COLUMNS, ROWS = 2, (6, 10, 20, 50)

_REPEATS, _NEW_ROWS = 200, 200


def expected_divergence(n: int, n_columns: int) -> dict[str, float]:
    """Compute the mean Kullback-Leibler divergence from a normal density of its estimates from n rows.

    Of the plug-in, with the maximum likelihood estimate; and of the predictive under the vague prior
    |Σ|^(-(D+1)/2), a Student t with n - D degrees of freedom (Geisser 1964). Both follow from E log |S| and E
    tr(S⁻¹Σ) of a Wishart matrix S with n - 1 degrees of freedom, and, for the predictive, from 1/(1 + q) ~ Beta((n
    - D)/2, D/2) for its quadratic form q.
    """
    D = n_columns
    log_det = D * np.log(2) + psi((n - np.arange(1, D + 1)) / 2).sum()
    plug_in = 0.5 * (log_det - D * np.log(n) - D + D * (n + 1) / (n - D - 2))
    log_t = (
        gammaln(n / 2)
        - gammaln((n - D) / 2)
        - D / 2 * np.log(np.pi * (n + 1) / n)
        - log_det / 2
        - n / 2 * (psi(n / 2) - psi((n - D) / 2))
    )
    return {"mle": float(plug_in), "predictive": float(-D / 2 * np.log(2 * np.pi) - D / 2 - log_t)}


def simulated(n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Compute the log density lost on new rows by each rule of the classifier, one mean for each repeat."""
    lost: dict[str, list[float]] = {"mle": [], "predictive": []}
    y = np.repeat([0, 1], n)
    for _ in range(_REPEATS):
        X = rng.normal(size=(2 * n, COLUMNS)) + 3.0 * y[:, None]
        clf = GenerativeClassifier(Gaussian("full", "jeffreys")).fit(X, y)
        new = rng.normal(size=(_NEW_ROWS, COLUMNS))
        truth = -0.5 * (new**2).sum(1) - COLUMNS / 2 * np.log(2 * np.pi)
        for rule in ("mle", "predictive"):
            log_density = clf.predict_joint_log_proba(new, rule)[:, 0] - np.log(0.5)
            lost[rule].append(float((truth - log_density).mean()))
    return {rule: np.asarray(values) for rule, values in lost.items()}


def tables(inputs: Inputs) -> Tables:
    rng = np.random.default_rng(inputs.seed)
    rows = []
    for n in ROWS:
        exact, found = expected_divergence(n, COLUMNS), simulated(n, rng)
        row: dict[str, float] = {"rows": n}
        for rule, values in found.items():
            row |= {
                f"{rule}, exact": exact[rule],
                rule: values.mean(),
                f"± {rule}": values.std() / np.sqrt(_REPEATS),
            }
        rows.append(row)
    return {"mean divergence from the truth in nats, in closed form and through the package": pd.DataFrame(rows)}


@drawn_in(1, 1, 6, 4)
def figure(axes: Array, inputs: Inputs) -> None:
    from bayesppl.plots.style import RULE_STYLE, colour

    sizes = np.arange(COLUMNS + 3, 61)
    exact = pd.DataFrame([expected_divergence(int(n), COLUMNS) for n in sizes])
    (ax,) = axes
    ax.plot(sizes, exact["mle"], color=RULE_STYLE["mle"]["color"], label="maximum likelihood plugged in")
    ax.plot(sizes, exact["predictive"], "--", color=colour(4), label="predictive, vague prior")
    ax.set(yscale="log", xlabel="rows", ylabel="mean divergence from the truth, nats")
    ax.legend(frameon=False)


STUDY = Study(
    "aitchison",
    "Predictive or plug-in (AITCHISON, GEISSER)? A normal density of two columns: the predictive is closer to "
    "the truth at every number of rows.",
    tables,
    figure,
)
