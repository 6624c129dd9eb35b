"""The priors, under one name: conjugate ones, which are posteriors too, and LKJ for correlation matrices."""

from bayesppl.conjugate import (
    Beta,
    Dirichlet,
    Gamma,
    MatrixNormalInverseWishart,
    NormalInverseGamma,
    NormalInverseWishart,
)
from bayesppl.conjugate.gaussian_declared import LKJ

__all__ = [
    "LKJ",
    "Beta",
    "Dirichlet",
    "Gamma",
    "MatrixNormalInverseWishart",
    "NormalInverseGamma",
    "NormalInverseWishart",
]
