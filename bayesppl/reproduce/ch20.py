"""Iris in bins, and linear discriminants of one feature (lecture notes, chapter 20)."""

from __future__ import annotations

import numpy as np

from bayesppl.arrays import Array
from bayesppl.families import Gaussian
from bayesppl.reproduce.claims import Claim, Formula, Inputs, Printed
from bayesppl.reproduce.known import boundaries, log_joint, normal

MEANS, VARIANCE = (1.0, 4.0), 2.25
LINEAR = normal([[MEANS[0]], [MEANS[1]]], [[VARIANCE], [VARIANCE]], (0.3, 0.7))


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


CLAIMS = (
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
