"""Fully Bayesian generative classifiers: Naive Bayes, LDA, QDA and mixed features, in closed form or by PyMC."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesppl.calibration import reliability
    from bayesppl.comparison import Comparison, compare
    from bayesppl.conjugates import Beta, Dirichlet, Gamma, NormalInverseGamma, NormalInverseWishart
    from bayesppl.errors import ImpossibleRowWarning, ImproperError, UndefinedEstimateError
    from bayesppl.estimators import (
        BernoulliNB,
        BinomialNB,
        CategoricalNB,
        GaussianNB,
        GenerativeClassifier,
        JointCategoricalNB,
        LinearDiscriminantAnalysis,
        MixedNB,
        MultinomialNB,
        PoissonNB,
        QuadraticDiscriminantAnalysis,
    )
    from bayesppl.evidence import compare_models
    from bayesppl.families import (
        Bernoulli,
        Binomial,
        Categorical,
        Exponential,
        GammaRate,
        Gaussian,
        JointCategorical,
        LogNormal,
        Multinomial,
        NegativeBinomial,
        Poisson,
        Product,
    )
    from bayesppl.inference import NUTS
    from bayesppl.learning import learning_curve
    from bayesppl.model import GenerativeModel
    from bayesppl.relevance import averaged_proba, feature_relevance
    from bayesppl.sensitivity import credal_proba

__version__ = "0.1.0"

_HOME_OF = {
    "Comparison": "bayesppl.comparison",
    "compare": "bayesppl.comparison",
    "Beta": "bayesppl.conjugates",
    "Dirichlet": "bayesppl.conjugates",
    "Gamma": "bayesppl.conjugates",
    "NormalInverseGamma": "bayesppl.conjugates",
    "NormalInverseWishart": "bayesppl.conjugates",
    "ImpossibleRowWarning": "bayesppl.errors",
    "ImproperError": "bayesppl.errors",
    "UndefinedEstimateError": "bayesppl.errors",
    "BernoulliNB": "bayesppl.estimators",
    "BinomialNB": "bayesppl.estimators",
    "CategoricalNB": "bayesppl.estimators",
    "GaussianNB": "bayesppl.estimators",
    "GenerativeClassifier": "bayesppl.estimators",
    "JointCategoricalNB": "bayesppl.estimators",
    "LinearDiscriminantAnalysis": "bayesppl.estimators",
    "MixedNB": "bayesppl.estimators",
    "MultinomialNB": "bayesppl.estimators",
    "PoissonNB": "bayesppl.estimators",
    "QuadraticDiscriminantAnalysis": "bayesppl.estimators",
    "compare_models": "bayesppl.evidence",
    "Bernoulli": "bayesppl.families",
    "Binomial": "bayesppl.families",
    "Categorical": "bayesppl.families",
    "Exponential": "bayesppl.families",
    "GammaRate": "bayesppl.families",
    "Gaussian": "bayesppl.families",
    "JointCategorical": "bayesppl.families",
    "LogNormal": "bayesppl.families",
    "Multinomial": "bayesppl.families",
    "NegativeBinomial": "bayesppl.families",
    "Poisson": "bayesppl.families",
    "Product": "bayesppl.families",
    "NUTS": "bayesppl.inference",
    "GenerativeModel": "bayesppl.model",
    "averaged_proba": "bayesppl.relevance",
    "feature_relevance": "bayesppl.relevance",
    "credal_proba": "bayesppl.sensitivity",
    "learning_curve": "bayesppl.learning",
    "reliability": "bayesppl.calibration",
}

__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'bayesppl' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
