"""scikit-learn shells; no mathematics."""

from bayesppl.estimators.auto import AutoClassifier
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.estimators.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    LocationModel,
    QuadraticDiscriminantAnalysis,
)
from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.estimators.naive_bayes import (
    BernoulliNB,
    BinomialNB,
    CategoricalNB,
    DirichletMultinomialNB,
    GaussianNB,
    JointCategoricalNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)
from bayesppl.estimators.tree_nb import TreeNB

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
