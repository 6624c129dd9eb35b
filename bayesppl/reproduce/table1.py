"""Naive Bayes by hand on nine rows with two binary features, by maximum likelihood and with uniform priors."""

from __future__ import annotations

from functools import partial

import numpy as np

from bayesppl.estimators import BernoulliNB
from bayesppl.kernels.arrays import Array
from bayesppl.model.rules import RuleName
from bayesppl.reproduce.claims import Claim, Erratum, Inputs, Printed

QUERY = np.array([[1, 0]])

#: Successes N_dk of each feature among three rows of each of the classes 0, 1 and 2.
SUCCESSES = {0: (2, 0, 1), 1: (1, 2, 1)}


def classifier() -> BernoulliNB:
    """Uniform priors on the class weights and on the success probabilities, fitted to the nine rows."""
    columns = [np.concatenate([np.arange(3) < n for n in SUCCESSES[d]]) for d in SUCCESSES]
    return BernoulliNB().fit(np.column_stack(columns).astype(int), np.repeat([0, 1, 2], 3))


def estimates(rule: RuleName, inputs: Inputs) -> list[float]:
    table = classifier().estimates([rule]).sel(estimate=rule)
    return [*table["probability"].values.T.ravel(), *table["class_weights"].values]


def joint(rule: RuleName, inputs: Inputs) -> Array:
    return np.exp(classifier().predict_joint_log_proba(QUERY, rule)[0])


def weight_counted_twice(inputs: Inputs) -> list[float]:
    weights = classifier().estimates(["mle"])["class_weights"].values[0]
    return list(joint("mle", inputs) * weights)


def weight_as_a_fifth(inputs: Inputs) -> list[float]:
    weights = classifier().estimates(["mean"])["class_weights"].values[0]
    return list(joint("mean", inputs) / weights / 5)


CLAIMS = (
    Claim(
        "T1",
        "TABLE1 (27)",
        "maximum likelihood: φ₀ and φ₁ of classes 0, 1, 2, then the class weights",
        Printed(("2/3", "0", "1/3", "1/3", "2/3", "1/3", "1/3", "1/3", "1/3")),
        partial(estimates, "mle"),
    ),
    Claim(
        "T2",
        "TABLE1 (28)",
        "maximum likelihood: p(y, x) of classes 0, 1, 2 at x = (1, 0)",
        Printed(("0.05", "0", "0.025")),
        partial(joint, "mle"),
        Erratum(
            "E5",
            "the class weight 1/3 enters twice: 4/81, 0, 2/81 were rounded to 0.05, 0, 0.025",
            Printed(("4/27", "0", "2/27")),
            weight_counted_twice,
        ),
    ),
    Claim(
        "T2n",
        "TABLE1 (28)",
        "the printed values, normalised: their common factor cancels",
        Printed(("2/3", "0", "1/3")),
        lambda inputs: list(classifier().predict_proba(QUERY, "mle")[0]),
    ),
    Claim(
        "T3",
        "TABLE1 (46)",
        "uniform priors, posterior mean: φ₀ and φ₁ of classes 0, 1, 2, then the class weights",
        Printed(("3/5", "1/5", "2/5", "2/5", "3/5", "2/5", "1/3", "1/3", "1/3")),
        partial(estimates, "mean"),
    ),
    Claim(
        "T4",
        "TABLE1 (47)",
        "uniform priors: p(y, x | data) of classes 0, 1, 2 at x = (1, 0)",
        Printed(("9/125", "2/125", "6/125")),
        partial(joint, "predictive"),
        Erratum(
            "E6",
            "the class weight 1/3 was taken as 1/5, so the ratios are right and the constant is not",
            Printed(("9/75", "2/75", "6/75")),
            weight_as_a_fifth,
        ),
    ),
    Claim(
        "T4n",
        "TABLE1 (47)",
        "the printed values, normalised: their common factor cancels",
        Printed(("9/17", "2/17", "6/17")),
        lambda inputs: list(classifier().predict_proba(QUERY, "predictive")[0]),
    ),
)
