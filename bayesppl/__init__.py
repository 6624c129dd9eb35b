"""Fully Bayesian generative classifiers: Naive Bayes, LDA, QDA and mixed features, in closed form or by PyMC."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # "as": names that type checkers may take from here
    from bayesppl.answers.datatree import joint_log_likelihood as joint_log_likelihood
    from bayesppl.answers.evidence import compare_models as compare_models
    from bayesppl.answers.relevance import averaged_proba as averaged_proba
    from bayesppl.answers.relevance import feature_relevance as feature_relevance
    from bayesppl.beliefs import Beta as Beta
    from bayesppl.beliefs import Dirichlet as Dirichlet
    from bayesppl.beliefs import Gamma as Gamma
    from bayesppl.beliefs import NormalInverseGamma as NormalInverseGamma
    from bayesppl.beliefs import NormalInverseWishart as NormalInverseWishart
    from bayesppl.errors import ConvergenceWarning as ConvergenceWarning
    from bayesppl.errors import ImpossibleRowWarning as ImpossibleRowWarning
    from bayesppl.errors import ImproperError as ImproperError
    from bayesppl.errors import ModelFileError as ModelFileError
    from bayesppl.errors import NotConjugateError as NotConjugateError
    from bayesppl.errors import UndefinedEstimateError as UndefinedEstimateError
    from bayesppl.estimators.batches import fit_batches as fit_batches
    from bayesppl.estimators.shells import BernoulliNB as BernoulliNB
    from bayesppl.estimators.shells import BinomialNB as BinomialNB
    from bayesppl.estimators.shells import CategoricalNB as CategoricalNB
    from bayesppl.estimators.shells import GaussianNB as GaussianNB
    from bayesppl.estimators.shells import GenerativeClassifier as GenerativeClassifier
    from bayesppl.estimators.shells import JointCategoricalNB as JointCategoricalNB
    from bayesppl.estimators.shells import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from bayesppl.estimators.shells import MixedNB as MixedNB
    from bayesppl.estimators.shells import MultinomialNB as MultinomialNB
    from bayesppl.estimators.shells import PoissonNB as PoissonNB
    from bayesppl.estimators.shells import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from bayesppl.evaluation.calibration import reliability as reliability
    from bayesppl.evaluation.comparison import Comparison as Comparison
    from bayesppl.evaluation.comparison import compare as compare
    from bayesppl.evaluation.learning_curve import learning_curve as learning_curve
    from bayesppl.evaluation.sbc import simulation_based_calibration as simulation_based_calibration
    from bayesppl.evaluation.sensitivity import credal_proba as credal_proba
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
    from bayesppl.families._bases.gaussian_declared import LKJ as LKJ
    from bayesppl.files.saving import load as load
    from bayesppl.inference import ADVI as ADVI
    from bayesppl.inference import NUTS as NUTS
    from bayesppl.inference import SMC as SMC
    from bayesppl.inference import Laplace as Laplace
    from bayesppl.model.declaration import GenerativeModel as GenerativeModel

__version__ = "0.1.0"

_HOME_OF = {
    "fit_batches": "bayesppl.estimators.batches",
    "ConvergenceWarning": "bayesppl.errors",
    "NotConjugateError": "bayesppl.errors",
    "joint_log_likelihood": "bayesppl.answers.datatree",
    "LKJ": "bayesppl.families._bases.gaussian_declared",
    "simulation_based_calibration": "bayesppl.evaluation.sbc",
    "SMC": "bayesppl.inference",
    "Laplace": "bayesppl.inference",
    "ADVI": "bayesppl.inference",
    "Comparison": "bayesppl.evaluation.comparison",
    "compare": "bayesppl.evaluation.comparison",
    "Beta": "bayesppl.beliefs",
    "Dirichlet": "bayesppl.beliefs",
    "Gamma": "bayesppl.beliefs",
    "NormalInverseGamma": "bayesppl.beliefs",
    "NormalInverseWishart": "bayesppl.beliefs",
    "ImpossibleRowWarning": "bayesppl.errors",
    "ImproperError": "bayesppl.errors",
    "ModelFileError": "bayesppl.errors",
    "UndefinedEstimateError": "bayesppl.errors",
    "BernoulliNB": "bayesppl.estimators.shells",
    "BinomialNB": "bayesppl.estimators.shells",
    "CategoricalNB": "bayesppl.estimators.shells",
    "GaussianNB": "bayesppl.estimators.shells",
    "GenerativeClassifier": "bayesppl.estimators.shells",
    "JointCategoricalNB": "bayesppl.estimators.shells",
    "LinearDiscriminantAnalysis": "bayesppl.estimators.shells",
    "MixedNB": "bayesppl.estimators.shells",
    "MultinomialNB": "bayesppl.estimators.shells",
    "PoissonNB": "bayesppl.estimators.shells",
    "QuadraticDiscriminantAnalysis": "bayesppl.estimators.shells",
    "compare_models": "bayesppl.answers.evidence",
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
    "load": "bayesppl.files.saving",
    "GenerativeModel": "bayesppl.model.declaration",
    "averaged_proba": "bayesppl.answers.relevance",
    "feature_relevance": "bayesppl.answers.relevance",
    "credal_proba": "bayesppl.evaluation.sensitivity",
    "learning_curve": "bayesppl.evaluation.learning_curve",
    "reliability": "bayesppl.evaluation.calibration",
}

__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'bayesppl' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
