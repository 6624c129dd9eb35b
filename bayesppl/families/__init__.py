"""Class-conditional families, one file each."""

from bayesppl.families.base import REGISTRY, Evidence, Family
from bayesppl.families.bernoulli import Bernoulli
from bayesppl.families.gaussian import Gaussian

__all__ = ["REGISTRY", "Bernoulli", "Evidence", "Family", "Gaussian"]
