"""Class-conditional families, one file each."""

from bayesppl.families.base import REGISTRY, Evidence, Family
from bayesppl.families.bernoulli import Bernoulli
from bayesppl.families.binomial import Binomial
from bayesppl.families.gaussian import Gaussian
from bayesppl.families.poisson import Poisson

__all__ = ["REGISTRY", "Bernoulli", "Binomial", "Evidence", "Family", "Gaussian", "Poisson"]
