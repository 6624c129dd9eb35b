"""scikit-learn shells; no mathematics."""

from bayesppl.estimators.auto import AutoClassifier
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.estimators.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    LocationModel,
    QuadraticDiscriminantAnalysis,
)
from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.estimators.mixed_nb import MixedNB, TreeNB
from bayesppl.estimators.naive_bayes import (
    BernoulliNB,
    BinomialNB,
    CategoricalNB,
    DirichletMultinomialNB,
    GaussianNB,
    JointCategoricalNB,
    MultinomialNB,
    PoissonNB,
)

__all__ = [
    "AutoClassifier",
    "BayesClassifier",
    "BernoulliNB",
    "BinomialNB",
    "CategoricalNB",
    "DirichletMultinomialNB",
    "GaussianNB",
    "GenerativeClassifier",
    "JointCategoricalNB",
    "LinearDiscriminantAnalysis",
    "LocationModel",
    "MixedNB",
    "MultinomialNB",
    "PoissonNB",
    "QuadraticDiscriminantAnalysis",
    "TreeNB",
]
