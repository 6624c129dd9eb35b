"""scikit-learn shells; no mathematics."""

from bayesppl.estimators.auto import AutoClassifier
from bayesppl.estimators.classifier import BayesClassifier, GenerativeClassifier
from bayesppl.estimators.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from bayesppl.estimators.naive_bayes import (
    BernoulliNB,
    BinomialNB,
    CategoricalNB,
    GaussianNB,
    JointCategoricalNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)

__all__ = [
    "AutoClassifier",
    "BayesClassifier",
    "BernoulliNB",
    "BinomialNB",
    "CategoricalNB",
    "GaussianNB",
    "GenerativeClassifier",
    "JointCategoricalNB",
    "LinearDiscriminantAnalysis",
    "MixedNB",
    "MultinomialNB",
    "PoissonNB",
    "QuadraticDiscriminantAnalysis",
]
