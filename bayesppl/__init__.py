"""Fully Bayesian generative classifiers: Naive Bayes, LDA, QDA and mixed features, in closed form or by PyMC."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # "as": names that type checkers may take from here
    from bayesppl.calibration import reliability as reliability
    from bayesppl.comparison import Comparison as Comparison
    from bayesppl.comparison import compare as compare
    from bayesppl.conjugates import Beta as Beta
    from bayesppl.conjugates import Dirichlet as Dirichlet
    from bayesppl.conjugates import Gamma as Gamma
    from bayesppl.conjugates import NormalInverseGamma as NormalInverseGamma
    from bayesppl.conjugates import NormalInverseWishart as NormalInverseWishart
    from bayesppl.datatree import joint_log_likelihood as joint_log_likelihood
    from bayesppl.errors import ConvergenceWarning as ConvergenceWarning
    from bayesppl.errors import ImpossibleRowWarning as ImpossibleRowWarning
    from bayesppl.errors import ImproperError as ImproperError
    from bayesppl.errors import ModelFileError as ModelFileError
    from bayesppl.errors import NotConjugateError as NotConjugateError
    from bayesppl.errors import UndefinedEstimateError as UndefinedEstimateError
    from bayesppl.estimators import BernoulliNB as BernoulliNB
    from bayesppl.estimators import BinomialNB as BinomialNB
    from bayesppl.estimators import CategoricalNB as CategoricalNB
    from bayesppl.estimators import GaussianNB as GaussianNB
    from bayesppl.estimators import GenerativeClassifier as GenerativeClassifier
    from bayesppl.estimators import JointCategoricalNB as JointCategoricalNB
    from bayesppl.estimators import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from bayesppl.estimators import MixedNB as MixedNB
    from bayesppl.estimators import MultinomialNB as MultinomialNB
    from bayesppl.estimators import PoissonNB as PoissonNB
    from bayesppl.estimators import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from bayesppl.evidence import compare_models as compare_models
    from bayesppl.families import Bernoulli as Bernoulli
    from bayesppl.families import Binomial as Binomial
    from bayesppl.families import Categorical as Categorical
    from bayesppl.families import Exponential as Exponential
    from bayesppl.families import GammaRate as GammaRate
    from bayesppl.families import Gaussian as Gaussian
    from bayesppl.families import JointCategorical as JointCategorical
    from bayesppl.families import LogNormal as LogNormal
    from bayesppl.families import Multinomial as Multinomial
    from bayesppl.families import NegativeBinomial as NegativeBinomial
    from bayesppl.families import Poisson as Poisson
    from bayesppl.families import Product as Product
    from bayesppl.families.gaussian_declared import LKJ as LKJ
    from bayesppl.inference import ADVI as ADVI
    from bayesppl.inference import NUTS as NUTS
    from bayesppl.inference import SMC as SMC
    from bayesppl.inference import Laplace as Laplace
    from bayesppl.learning import learning_curve as learning_curve
    from bayesppl.model import GenerativeModel as GenerativeModel
    from bayesppl.out_of_core import fit_batches as fit_batches
    from bayesppl.persistence import load as load
    from bayesppl.relevance import averaged_proba as averaged_proba
    from bayesppl.relevance import feature_relevance as feature_relevance
    from bayesppl.sbc import simulation_based_calibration as simulation_based_calibration
    from bayesppl.sensitivity import credal_proba as credal_proba

__version__ = "0.1.0"

_HOME_OF = {
    "fit_batches": "bayesppl.out_of_core",
    "ConvergenceWarning": "bayesppl.errors",
    "NotConjugateError": "bayesppl.errors",
    "joint_log_likelihood": "bayesppl.datatree",
    "LKJ": "bayesppl.families.gaussian_declared",
    "simulation_based_calibration": "bayesppl.sbc",
    "SMC": "bayesppl.inference",
    "Laplace": "bayesppl.inference",
    "ADVI": "bayesppl.inference",
    "Comparison": "bayesppl.comparison",
    "compare": "bayesppl.comparison",
    "Beta": "bayesppl.conjugates",
    "Dirichlet": "bayesppl.conjugates",
    "Gamma": "bayesppl.conjugates",
    "NormalInverseGamma": "bayesppl.conjugates",
    "NormalInverseWishart": "bayesppl.conjugates",
    "ImpossibleRowWarning": "bayesppl.errors",
    "ImproperError": "bayesppl.errors",
    "ModelFileError": "bayesppl.errors",
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
    "load": "bayesppl.persistence",
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
