"""Iris in bins, and linear discriminants of one feature (lecture notes, chapter 20)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from bayesppl.datasets import load
from bayesppl.estimators import JointCategoricalNB
from bayesppl.families import Gaussian
from bayesppl.kernels.arrays import Array
from bayesppl.reproduce.claims import Claim, Erratum, Formula, Inputs, Named, Printed
from bayesppl.reproduce.known import boundaries, log_joint, normal

LEVELS = ("small", "medium", "large")

MEANS, VARIANCE = (1.0, 4.0), 2.25
LINEAR = normal([[MEANS[0]], [MEANS[1]]], [[VARIANCE], [VARIANCE]], (0.3, 0.7))


def binned_iris() -> tuple[pd.DataFrame, pd.Series]:
    """Sepal width and length of the 150 flowers, each in three bins of equal width, closed on the right."""
    X, y = load("iris")
    sepals = {"width": X["sepal width (cm)"], "length": X["sepal length (cm)"]}
    return pd.DataFrame({name: pd.cut(column, 3, labels=LEVELS).astype(str) for name, column in sepals.items()}), y


def table() -> JointCategoricalNB:
    """The joint table of every species."""
    return JointCategoricalNB(levels=LEVELS, class_weights="uniform").fit(*binned_iris())


def cell(species: str, width: str, length: str, inputs: Inputs) -> list[float]:
    """Maximum likelihood of one cell."""
    estimates = table().estimates(["mle"])["probability"].sel(estimate="mle")
    return [float(estimates.sel({"class": species, "cell": f"{width}, {length}"}))]


def medium_medium(inputs: Inputs) -> Array:
    """p(y, x) of a flower of medium width and length."""
    return np.exp(
        table().predict_joint_log_proba(pd.DataFrame({"width": ["medium"], "length": ["medium"]}), "mle")[0]
    )


def decision(inputs: Inputs) -> list[str]:
    joint = medium_medium(inputs)
    return [str(table().classes_[joint.argmax()])]


def discriminant_differences(inputs: Inputs) -> list[float]:
    """w₂ − w₁ and w₂₀ − w₁₀; what the discriminants share cancels."""
    first, second = log_joint(Gaussian("diag"), LINEAR, [[0.0], [1.0]]).T
    difference = second - first
    return [difference[1] - difference[0], difference[0]]


def printed_discriminant_differences() -> Array:
    weights = np.array(
        [
            [mean / VARIANCE, np.log(pi) - mean**2 / (2 * VARIANCE)]
            for mean, pi in zip(MEANS, (0.3, 0.7), strict=True)
        ]
    )
    return weights[1] - weights[0]


def _cell_claim(name: str, printed: str, species: str, width: str, length: str) -> Claim:
    return Claim(
        name,
        "CH20 20.2",
        f"iris in three bins: probability of {width} width and {length} length for {species}",
        Printed((printed,)),
        partial(cell, species, width, length),
    )


CLAIMS = (
    _cell_claim("G1", "0.72", "setosa", "medium", "small"),
    _cell_claim("G2", "0.32", "versicolor", "small", "medium"),
    _cell_claim("G3", "0.24", "virginica", "medium", "large"),
    Claim(
        "G4",
        "CH20 20.2",
        "p(y, x) of medium width and length for setosa, versicolor, virginica, equal weights",
        Printed(("0", "0.13", "0.11")),
        medium_medium,
        note="see E8 for what follows from them",
    ),
    Claim(
        "E8",
        "CH20 20.2",
        "the species of a flower of medium width and length",
        Named(("setosa",)),
        decision,
        Erratum("E8", "0.13, the largest of the three, is versicolor's", Named(("versicolor",))),
    ),
    Claim(
        "G5",
        "CH20 20.3",
        "one feature, common variance, equal weights: the boundary of N(1, 2.25) and N(4, 2.25)",
        Formula("(μ₁ + μ₂)/2", lambda: [sum(MEANS) / 2]),
        lambda inputs: boundaries(Gaussian("diag"), {**LINEAR, "class_weights": np.array([0.5, 0.5])}, -10, 10),
    ),
    Claim(
        "G5w",
        "CH20 20.3",
        "its linear discriminants, weights 0.3 and 0.7: differences of slope and of constant",
        Formula("w_k = μ_k/σ², w_k0 = log π_k − μ_k²/(2σ²)", printed_discriminant_differences),
        discriminant_differences,
    ),
    Claim(
        "G6",
        "CH20 20.5",
        "gigabytes (2³⁰ bytes) of a covariance matrix of 20,000 features in single precision",
        Printed(("1.5",)),
        lambda inputs: [20_000**2 * np.dtype(np.float32).itemsize / 2**30],
    ),
)
