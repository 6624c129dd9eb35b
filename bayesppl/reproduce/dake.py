"""Energy customers, spam and the two-class Gaussian rule (blog post "Bayesian classifiers")."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from bayesppl.estimators.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from bayesppl.families import Binomial, Gaussian
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.reproduce.claims import Claim, Erratum, Formula, Inputs, Printed
from bayesppl.reproduce.known import densities, log_joint, normal, probabilities

BIG, LOW = 0, 1
POINT = [[2.0, 2.0]]

#: Usage after ten days in kWh; the text's two normal distributions.
USAGE = normal([[2000], [200]], [[800**2], [100**2]], (0.5, 0.5))

#: Usage (in 100 kWh) and temperature difference, with the standard deviations of the text used as such …
AS_STATED = normal([[20, 7], [2, 2]], [[8**2, 5**2], [1**2, 1**2]], (0.2, 0.8))

#: … and as the source's code has them: standard deviations in the place of variances, and 5 for the low spender's
#: 1.
AS_CODED = normal([[20, 7], [2, 2]], [[8, 5], [1, 5]], (0.2, 0.8))

#: Usage after ten days of the rows printed in section 1, and whether the customer was a big spender.
ROWS = [[1200.0], [450.0], [600.0], [800.0], [100.0], [724.0], [1800.0]]
LABELS = ["big", "low", "low", "big", "low", "big", "low"]

#: How often the word loan occurs in spam and in other mail.
LOAN: Theta = {"probability": np.array([[0.08], [0.001]]), CLASS_WEIGHTS: np.array([0.5, 0.5])}

#: Probabilities of two words in section 3.2.
LOAN_AND_CASH: Theta = {"probability": np.array([[0.3, 0.7]]), CLASS_WEIGHTS: np.ones(1)}

#: Two correlated classes at which the rule of appendix A is evaluated.
QDA: Theta = {
    "mean": np.array([[2.0, 2.0], [20.0, 7.0]]),
    "covariance": np.array([[[1.0, 0.3], [0.3, 1.0]], [[64.0, 10.0], [10.0, 25.0]]]),
    CLASS_WEIGHTS: np.array([0.8, 0.2]),
}


def two_dimensional(theta: Theta, inputs: Inputs) -> list[float]:
    """Compute the densities of the low and of the big spender, and the probability of the big spender."""
    density = densities(Gaussian("diag"), theta, POINT)[0]
    return [density[LOW], density[BIG], probabilities(Gaussian("diag"), theta, POINT)[0, BIG]]


def variances(ddof: int) -> list[float]:
    usage, label = np.ravel(ROWS), np.array(LABELS)
    return [float(usage[label == name].var(ddof=ddof)) for name in ("big", "low")]


def variance_mle(inputs: Inputs) -> Array:
    return GaussianNB().fit(ROWS, LABELS).estimates(["mle"])["variance"].values.ravel()


def log_odds(X: Array) -> Array:
    joint = log_joint(Gaussian("full"), QDA, X)
    return joint[:, 1] - joint[:, 0]


def quadratic_and_linear(inputs: Inputs) -> list[float]:
    """Find A₁₁, A₁₂, A₂₂, w₁, w₂ of the log odds xᵀAx + wᵀx + b from its values at a few points."""
    axis = np.eye(2)
    plus, minus, centre = log_odds(axis), log_odds(-axis), log_odds(np.zeros((1, 2)))
    diagonal, linear = (plus + minus) / 2 - centre, (plus - minus) / 2
    corner = log_odds(np.ones((1, 2))) - centre - diagonal.sum() - linear.sum()
    return [diagonal[0], corner[0] / 2, diagonal[1], *linear]


def constant(inputs: Inputs) -> Array:
    return log_odds(np.zeros((1, 2)))


def printed_quadratic_and_linear() -> list[float]:
    precision = np.linalg.inv(QDA["covariance"])
    A = (precision[0] - precision[1]) / 2
    w = QDA["mean"][1] @ precision[1] - QDA["mean"][0] @ precision[0]
    return [A[0, 0], A[0, 1], A[1, 1], *w]


def printed_constant(sign: int) -> list[float]:
    """Compute b of appendix A, with ``sign`` times log α."""
    alpha = QDA[CLASS_WEIGHTS][1]
    squares = np.einsum("kd,kde,ke->k", QDA["mean"], np.linalg.inv(QDA["covariance"]), QDA["mean"])
    log_coefficients = -0.5 * np.linalg.slogdet(2 * np.pi * QDA["covariance"])[1]
    difference = np.diff(log_coefficients - squares / 2)[0]
    return [difference + sign * np.log(alpha) - np.log(1 - alpha)]


def money(inputs: Inputs) -> list[float]:
    """Fit 150 of 1,000 spam mails that hold the word; a classifier needs the other class."""
    contains = np.concatenate([np.arange(1000) < 150, np.arange(1000) < 10]).astype(int)
    table = BernoulliNB().fit(contains[:, None], np.repeat(["spam", "other"], 1000)).estimates(["mle"])
    return [float(table["probability"].sel({"class": "spam"}).item())]


def cash(inputs: Inputs) -> list[float]:
    """Fit 2,782 of 100,000 words of spam; a classifier needs the other class."""
    words = pd.DataFrame({"cash": [2_782, 1], "other": [97_218, 99_999]})
    estimates = MultinomialNB().fit(words, ["spam", "other"]).estimates(["mle"])
    return [float(estimates["probability"].sel({"class": "spam", "feature": "cash"}).item())]


CLAIMS = (
    Claim(
        "D1",
        "DAKE 2.1",
        "density of 250 kWh for a big spender, N(2000, 800²)",
        Printed(("0.00005",)),
        lambda inputs: [densities(Gaussian("diag"), USAGE, [[250.0]])[0, BIG]],
    ),
    Claim(
        "D2",
        "DAKE 2.1",
        "density of 250 kWh for a low spender, N(200, 100²)",
        Printed(("0.0035",)),
        lambda inputs: [densities(Gaussian("diag"), USAGE, [[250.0]])[0, LOW]],
    ),
    Claim(
        "D3",
        "DAKE 2.3",
        "density at (2, 2) for a low spender, variances (1, 5)",
        Printed(("0.07117625434171772",)),
        lambda inputs: two_dimensional(AS_CODED, inputs)[:1],
        note="see E1: the text means standard deviations",
    ),
    Claim(
        "D4",
        "DAKE 2.3",
        "density at (2, 2) for a big spender, variances (8, 5)",
        Printed(("3.3158179074871642e-12",)),
        lambda inputs: two_dimensional(AS_CODED, inputs)[1:2],
        note="see E1: the text means standard deviations",
    ),
    Claim(
        "D5",
        "DAKE 2.3",
        "probability of a big spender at (2, 2), class weights 0.2 and 0.8",
        Printed(("1.165e-11",)),
        lambda inputs: two_dimensional(AS_CODED, inputs)[2:],
        note="see E1",
    ),
    Claim(
        "D6",
        "DAKE 2.3",
        "probability of a low spender at (2, 2)",
        Printed(("0.999",), truncated=True),
        lambda inputs: [probabilities(Gaussian("diag"), AS_CODED, POINT)[0, LOW]],
        note="digits cut off, not rounded; see E1",
    ),
    Claim(
        "E1",
        "DAKE 2.3",
        "densities of low and big spender at (2, 2) and probability of a big spender, for the text's parameters",
        Printed(("0.07117625434171772", "3.3158179074871642e-12", "1.165e-11")),
        partial(two_dimensional, AS_STATED),
        Erratum(
            "E1",
            "standard deviations were passed where variances are expected, and 5 for the low spender's 1",
            Formula(
                "1/(2π), exp(-97/32)/(80π), 1/(1 + 160 exp(97/32))",
                lambda: [
                    1 / (2 * np.pi),
                    np.exp(-97 / 32) / (80 * np.pi),
                    1 / (1 + 160 * np.exp(97 / 32)),
                ],
            ),
            partial(two_dimensional, AS_CODED),
        ),
    ),
    Claim(
        "D7",
        "DAKE 3",
        "probability of 5 times the word loan among 100 words of spam, at 0.08 a word",
        Printed(("0.09",)),
        lambda inputs: [densities(Binomial(100), LOAN, [[5]])[0, 0]],
    ),
    Claim(
        "D8",
        "DAKE 3.2",
        "2,782 of 100,000 words of spam are cash: maximum likelihood of its probability",
        Printed(("0.02782",)),
        cash,
    ),
    Claim(
        "D9",
        "DAKE 4",
        "150 of 1,000 spam mails hold the word money: maximum likelihood of its probability",
        Printed(("0.15",)),
        money,
    ),
    Claim(
        "E2",
        "DAKE 4.5",
        "maximum likelihood of the variances of the usage of the rows printed in section 1, big and low",
        Formula("S/(N − 1)", lambda: variances(ddof=1)),
        variance_mle,
        Erratum(
            "E2",
            "the likelihood is largest for S/N; S/(N − 1) is the unbiased estimate",
            Formula("S/N", lambda: variances(ddof=0)),
        ),
    ),
    Claim(
        "D12",
        "DAKE A",
        "two-class rule xᵀAx + wᵀx + b > 0: A and w",
        Formula("A = ½(Σ₀⁻¹ − Σ₁⁻¹), wᵀ = μ₁ᵀΣ₁⁻¹ − μ₀ᵀΣ₀⁻¹", printed_quadratic_and_linear),
        quadratic_and_linear,
    ),
    Claim(
        "E4",
        "DAKE A",
        "two-class rule: the constant b",
        Formula("b = … − log α − log(1 − α)", lambda: printed_constant(-1)),
        constant,
        Erratum(
            "E4",
            "log α has the wrong sign: the log odds of the class weights are log α − log(1 − α)",
            Formula("b = … + log α − log(1 − α)", lambda: printed_constant(+1)),
        ),
    ),
)
