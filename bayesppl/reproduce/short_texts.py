"""Claims of three short texts: TABLE1 by hand, NOTES3B on linear discriminants, CH20 on bins and one feature.

TABLE1 is naive Bayes by hand on nine rows with two binary features, by maximum likelihood and with uniform priors.
NOTES3B has linear discriminant analysis with the wrong covariance, on iris. CH20 has iris in bins, and linear
discriminants of one feature.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from bayesppl.analysis.scores import hits, log_scores
from bayesppl.datasets import load
from bayesppl.estimators.discriminant_analysis import LinearDiscriminantAnalysis
from bayesppl.estimators.naive_bayes import BernoulliNB, GaussianNB, JointCategoricalNB
from bayesppl.families import Gaussian
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.normalisation import log_probabilities
from bayesppl.model.rules import RuleName
from bayesppl.reproduce.claims import Claim, Erratum, Formula, Inputs, Printed
from bayesppl.reproduce.known import boundaries, log_joint, normal

QUERY = np.array([[1, 0]])

#: Successes N_dk of each feature among three rows of each of the classes 0, 1 and 2.
SUCCESSES = {0: (2, 0, 1), 1: (1, 2, 1)}


def nine_rows() -> BernoulliNB:
    """Fit the nine rows with uniform priors on the class weights and on the success probabilities."""
    columns = [np.concatenate([np.arange(3) < n for n in SUCCESSES[d]]) for d in SUCCESSES]
    return BernoulliNB().fit(np.column_stack(columns).astype(int), np.repeat([0, 1, 2], 3))


def estimates_by_hand(rule: RuleName, inputs: Inputs) -> list[float]:
    table = nine_rows().estimates([rule]).sel(estimate=rule)
    return [*table["probability"].values.T.ravel(), *table["class_weights"].values]


def joint_by_hand(rule: RuleName, inputs: Inputs) -> Array:
    return np.exp(nine_rows().predict_joint_log_proba(QUERY, rule)[0])


def weight_counted_twice(inputs: Inputs) -> list[float]:
    weights = nine_rows().estimates(["mle"])["class_weights"].values[0]
    return list(joint_by_hand("mle", inputs) * weights)


def weight_as_a_fifth(inputs: Inputs) -> list[float]:
    weights = nine_rows().estimates(["mean"])["class_weights"].values[0]
    return list(joint_by_hand("mean", inputs) / weights / 5)


TABLE1 = (
    Claim(
        "T1",
        "TABLE1 (27)",
        "maximum likelihood: φ₀ and φ₁ of classes 0, 1, 2, then the class weights",
        Printed(("2/3", "0", "1/3", "1/3", "2/3", "1/3", "1/3", "1/3", "1/3")),
        partial(estimates_by_hand, "mle"),
    ),
    Claim(
        "T2",
        "TABLE1 (28)",
        "maximum likelihood: p(y, x) of classes 0, 1, 2 at x = (1, 0)",
        Printed(("0.05", "0", "0.025")),
        partial(joint_by_hand, "mle"),
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
        lambda inputs: list(nine_rows().predict_proba(QUERY, "mle")[0]),
    ),
    Claim(
        "T3",
        "TABLE1 (46)",
        "uniform priors, posterior mean: φ₀ and φ₁ of classes 0, 1, 2, then the class weights",
        Printed(("3/5", "1/5", "2/5", "2/5", "3/5", "2/5", "1/3", "1/3", "1/3")),
        partial(estimates_by_hand, "mean"),
    ),
    Claim(
        "T4",
        "TABLE1 (47)",
        "uniform priors: p(y, x | data) of classes 0, 1, 2 at x = (1, 0)",
        Printed(("9/125", "2/125", "6/125")),
        partial(joint_by_hand, "predictive"),
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
        lambda inputs: list(nine_rows().predict_proba(QUERY, "predictive")[0]),
    ),
)


def discriminant() -> LinearDiscriminantAnalysis:
    return LinearDiscriminantAnalysis(class_weights="empirical").fit(*load_iris(return_X_y=True))


def estimates(which: str) -> Theta:
    """Estimate by maximum likelihood, with the pooled covariance or with that of all rows in its place."""
    posterior = discriminant().posterior_
    pooled = posterior.theta("mle")
    everything = posterior.statistics.parts["features"].pooled()
    total = everything.within / everything.count[0]
    return {"pooled": pooled, "total": {**pooled, "covariance": total}}[which]


def scores(which: str) -> list[float]:
    """Compute accuracy and mean log probability of the true class, on the rows of iris."""
    X, y = load_iris(return_X_y=True)
    theta = estimates(which)
    log_p = log_probabilities(discriminant().posterior_.model.log_joint(theta)(X), theta["class_weights"])
    return [float(hits(log_p, y).mean()), float(log_scores(log_p, y).mean())]


def pooled_covariance(inputs: Inputs) -> Array:
    return estimates("pooled")["covariance"].ravel()


def total_covariance() -> Array:
    return np.ravel(np.cov(load_iris().data.T, bias=True))


def total_less_between() -> Array:
    """Compute the covariance of all rows, less the scatter of the class means."""
    X, y = load_iris(return_X_y=True)
    means = np.stack([X[y == k].mean(0) for k in range(3)])[y]
    return total_covariance() - np.ravel(np.cov(means.T, bias=True))


def variance_ratio(inputs: Inputs) -> list[float]:
    """Divide the largest by the smallest variance of the sepals of setosa under Gaussian Naive Bayes."""
    X, y = load_iris(return_X_y=True)
    variance = GaussianNB().fit(X[:, :2], y).estimates(["mle"])["variance"].sel({"class": 0}).values.ravel()
    return [float(variance.max() / variance.min())]


def setosa_variance_ratio() -> list[float]:
    X, y = load_iris(return_X_y=True)
    variance = X[y == 0, :2].var(axis=0)
    return [float(variance.max() / variance.min())]


NOTES3B = (
    Claim(
        "E9",
        "NOTES3B LDA",
        "maximum likelihood of the shared covariance, on iris: 'the covariance of all the input variables'",
        Formula("Σ (x − x̄)(x − x̄)ᵀ / N", total_covariance),
        pooled_covariance,
        Erratum(
            "E9",
            "the derivation gives deviations from the class means; the sentence and the code take them from the "
            "mean of all rows, which adds the scatter between the classes",
            Formula("Σ (x − x̄)(x − x̄)ᵀ / N − Σ n_k (x̄_k − x̄)(x̄_k − x̄)ᵀ / N", total_less_between),
        ),
    ),
    Claim(
        "E10",
        "NOTES3B Naive Bayes",
        "contours are 'completely circular': the ratio of the two variances of setosa's sepals is one",
        Formula("σ₁²/σ₂² = 1", lambda: [1.0]),
        variance_ratio,
        Erratum(
            "E10",
            "a diagonal covariance gives ellipses along the axes; they are circles only where the variances are "
            "equal",
            Formula("ratio of the sample variances", setosa_variance_ratio),
        ),
    ),
)


LEVELS = ("small", "medium", "large")

MEANS, VARIANCE = (1.0, 4.0), 2.25
LINEAR = normal([[MEANS[0]], [MEANS[1]]], [[VARIANCE], [VARIANCE]], (0.3, 0.7))


def binned_iris() -> tuple[pd.DataFrame, pd.Series]:
    """Put sepal width and length of the 150 flowers into three bins of equal width each, closed on the right."""
    X, y = load("iris")
    sepals = {"width": X["sepal width (cm)"], "length": X["sepal length (cm)"]}
    return pd.DataFrame({name: pd.cut(column, 3, labels=LEVELS).astype(str) for name, column in sepals.items()}), y


def table() -> JointCategoricalNB:
    """Fit the joint table of every species."""
    return JointCategoricalNB(levels=LEVELS, class_weights="uniform").fit(*binned_iris())


def cell(species: str, width: str, length: str, inputs: Inputs) -> list[float]:
    """Estimate one cell by maximum likelihood."""
    estimates = table().estimates(["mle"])["probability"].sel(estimate="mle")
    return [float(estimates.sel({"class": species, "cell": f"{width}, {length}"}))]


def medium_medium(inputs: Inputs) -> Array:
    """Compute p(y, x) of a flower of medium width and length."""
    return np.exp(
        table().predict_joint_log_proba(pd.DataFrame({"width": ["medium"], "length": ["medium"]}), "mle")[0]
    )


def decision(inputs: Inputs) -> list[str]:
    joint = medium_medium(inputs)
    return [str(table().classes_[joint.argmax()])]


def discriminant_differences(inputs: Inputs) -> list[float]:
    """Compute w₂ − w₁ and w₂₀ − w₁₀; what the discriminants share cancels."""
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


CELLS = (
    ("G1", "0.72", "setosa", "medium", "small"),
    ("G2", "0.32", "versicolor", "small", "medium"),
    ("G3", "0.24", "virginica", "medium", "large"),
)
CH20 = (
    *(
        Claim(
            name,
            "CH20 20.2",
            f"iris in three bins: probability of {width} width and {length} length for {species}",
            Printed((printed,)),
            partial(cell, species, width, length),
        )
        for name, printed, species, width, length in CELLS
    ),
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
        Printed(("setosa",)),
        decision,
        Erratum("E8", "0.13, the largest of the three, is versicolor's", Printed(("versicolor",))),
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
