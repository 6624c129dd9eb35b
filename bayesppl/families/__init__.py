"""Class-conditional families, one file each, and the contract that they keep.

A family says what its cells count as, or which density they have; see :doc:`/howto/add_a_family`. What follows
from it is in :mod:`bayesppl.families.closed_forms`.
"""

from bayesppl.conjugate.log_density import LogDensity
from bayesppl.families.averaged_tree import AveragedTree
from bayesppl.families.bernoulli import Bernoulli
from bayesppl.families.binomial import Binomial
from bayesppl.families.categorical import Categorical, JointCategorical
from bayesppl.families.cells import CellFamily, Number
from bayesppl.families.conditional_gaussian import ConditionalGaussian
from bayesppl.families.dirichlet_multinomial import DirichletMultinomial
from bayesppl.families.family import REGISTRY, ConjugateFamily, Evidence, Family
from bayesppl.families.gamma_rate import Exponential, GammaRate
from bayesppl.families.gaussian import Gaussian
from bayesppl.families.gaussian_tree import GaussianTree
from bayesppl.families.histogram import Histogram
from bayesppl.families.independent_cells import IndependentCells
from bayesppl.families.lognormal import LogNormal
from bayesppl.families.mixture import Mixture
from bayesppl.families.multinomial import Multinomial
from bayesppl.families.multivariate_t import MultivariateT
from bayesppl.families.negative_binomial import NegativeBinomial
from bayesppl.families.poisson import Poisson
from bayesppl.families.product import Product
from bayesppl.families.student_t import StudentT
from bayesppl.families.support import BITS, COUNTS, POSITIVE_NUMBERS, REAL_NUMBERS, Support
from bayesppl.families.von_mises import VonMises
from bayesppl.families.zero_inflated import ZeroInflated

__all__ = [
    "BITS",
    "COUNTS",
    "POSITIVE_NUMBERS",
    "REAL_NUMBERS",
    "REGISTRY",
    "AveragedTree",
    "Bernoulli",
    "Binomial",
    "Categorical",
    "CellFamily",
    "ConditionalGaussian",
    "ConjugateFamily",
    "DirichletMultinomial",
    "Evidence",
    "Exponential",
    "Family",
    "GammaRate",
    "Gaussian",
    "GaussianTree",
    "Histogram",
    "IndependentCells",
    "JointCategorical",
    "LogDensity",
    "LogNormal",
    "Mixture",
    "Multinomial",
    "MultivariateT",
    "NegativeBinomial",
    "Number",
    "Poisson",
    "Product",
    "StudentT",
    "Support",
    "VonMises",
    "ZeroInflated",
]
