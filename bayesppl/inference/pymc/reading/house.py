"""What the reader uses of the rest of the package, gathered in one place."""

from __future__ import annotations

from bayesppl.beliefs import (
    Beta,
    Conjugate,
    Dirichlet,
    Gamma,
    Joint,
    Known,
    NormalInverseGamma,
    NormalInverseWishart,
)
from bayesppl.beliefs.conjugate import following
from bayesppl.beliefs.declared_priors import Declared
from bayesppl.beliefs.statistics import Counts, JointStatistics, class_counts
from bayesppl.data.labels import encode_labels
from bayesppl.data.rows import Learned, Rows
from bayesppl.data.table import Table, as_table
from bayesppl.errors import NotConjugateError, UndefinedEstimateError
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.families import (
    Bernoulli,
    Binomial,
    Categorical,
    Family,
    Gaussian,
    LogNormal,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Product,
)
from bayesppl.families._bases.family import CheckedFirst, LogDensity, Measure
from bayesppl.families.gamma_rate import GammaRate
from bayesppl.families.product import BlockRows
from bayesppl.inference import NUTS, Inference, choose
from bayesppl.inference.pymc.compiled import log_density
from bayesppl.kernels.arrays import Array, Theta, log_mean_exp
from bayesppl.model.convergence import Diagnosis, diagnose, warn_of_problems
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.posterior import CHUNK_CELLS, Exact, Posterior, Report
from bayesppl.model.rules import Rule

__all__ = [
    "CHUNK_CELLS",
    "CLASS_WEIGHTS",
    "NUTS",
    "Array",
    "BayesClassifier",
    "Bernoulli",
    "Beta",
    "Binomial",
    "BlockRows",
    "Categorical",
    "CheckedFirst",
    "Conjugate",
    "Counts",
    "Declared",
    "Diagnosis",
    "Dirichlet",
    "Exact",
    "Family",
    "Gamma",
    "GammaRate",
    "Gaussian",
    "GenerativeModel",
    "Inference",
    "Joint",
    "JointStatistics",
    "Known",
    "Learned",
    "LogDensity",
    "LogNormal",
    "Measure",
    "Multinomial",
    "NegativeBinomial",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NotConjugateError",
    "Poisson",
    "Posterior",
    "Product",
    "Report",
    "Rows",
    "Rule",
    "Table",
    "Theta",
    "UndefinedEstimateError",
    "as_table",
    "choose",
    "class_counts",
    "diagnose",
    "encode_labels",
    "following",
    "log_density",
    "log_mean_exp",
    "warn_of_problems",
]
