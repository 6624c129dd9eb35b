"""Linear discriminant analysis with the wrong covariance, on iris ("Machine learning, notes 3b")."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

from bayesppl.estimators import GaussianNB, LinearDiscriminantAnalysis
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.normalisation import log_probabilities
from bayesppl.reproduce.claims import Claim, Erratum, Formula, Inputs


def discriminant() -> LinearDiscriminantAnalysis:
    return LinearDiscriminantAnalysis(class_weights="empirical").fit(*load_iris(return_X_y=True))


def estimates(which: str) -> Theta:
    """Maximum likelihood with the pooled covariance, or with the covariance of all rows in its place."""
    posterior = discriminant().posterior_
    pooled = posterior.theta("mle")
    everything = posterior.statistics.parts["features"].pooled()
    total = everything.within / everything.count[0]
    return {"pooled": pooled, "total": {**pooled, "covariance": total}}[which]


def scores(which: str) -> list[float]:
    """Accuracy and mean log probability of the true class, on the rows of iris."""
    X, y = load_iris(return_X_y=True)
    theta = estimates(which)
    log_p = log_probabilities(discriminant().posterior_.model.log_joint(theta)(X), theta["class_weights"])
    return [float((log_p.argmax(1) == y).mean()), float(log_p[np.arange(len(y)), y].mean())]


def pooled_covariance(inputs: Inputs) -> Array:
    return estimates("pooled")["covariance"].ravel()


def scatter_of_rows(X: Array) -> Array:
    deviation = X - X.mean(0)
    return deviation.T @ deviation


def total_covariance() -> Array:
    X, _ = load_iris(return_X_y=True)
    return np.ravel(scatter_of_rows(X) / len(X))


def total_less_between() -> Array:
    """The covariance of all rows, less the scatter of the class means."""
    X, y = load_iris(return_X_y=True)
    means = np.stack([X[y == k].mean(0) for k in range(3)])[y]
    return total_covariance() - np.ravel(scatter_of_rows(means) / len(X))


def variance_ratio(inputs: Inputs) -> list[float]:
    """Largest over smallest variance of the first two features of setosa under Gaussian Naive Bayes."""
    X, y = load_iris(return_X_y=True)
    variance = GaussianNB().fit(X[:, :2], y).estimates(["mle"])["variance"].sel({"class": 0}).values.ravel()
    return [float(variance.max() / variance.min())]


def setosa_variance_ratio() -> list[float]:
    X, y = load_iris(return_X_y=True)
    variance = X[y == 0, :2].var(axis=0)
    return [float(variance.max() / variance.min())]


CLAIMS = (
    Claim(
        "E9",
        "NOTES3B LDA",
        "maximum likelihood of the shared covariance, on iris: 'the covariance of all the input variables'",
        Formula("Σ (x − x̄)(x − x̄)ᵀ / N", total_covariance),
        pooled_covariance,
        Erratum(
            "E9",
            "the derivation gives deviations from the class means; the sentence and the code take them from the "
            "mean "
            "of all rows, which adds the scatter between the classes",
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
