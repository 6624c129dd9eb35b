r"""Conjugate beliefs: prior and posterior are the same type, and ``update`` leads from one to the other.

A belief is about the parameters of *all* classes at once; the class axis lives inside its arrays, so that a
parameter shared by the classes (a tied covariance) needs no special case. Each belief splits into independent
*factors* (one per class and feature, one per class, or a single one), and ``log_normalizer`` has one entry for
each of them: the logarithm of the integral of the unnormalised density

.. math:: \log Z = \log \int p(\theta)\,p(x \mid \theta)\,d\theta - \sum \log h(x).

The evidence of data is therefore a difference of two normalisers. Formulas follow Bernardo & Smith (1994)
and Murphy (2007, "Conjugate Bayesian analysis of the Gaussian distribution").
"""

from bayesppl.conjugate.beta import Beta
from bayesppl.conjugate.conjugate import Conjugate
from bayesppl.conjugate.dirichlet import Dirichlet, Fixed
from bayesppl.conjugate.gamma import Gamma
from bayesppl.conjugate.joint import Joint
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.normal_inverse_gamma import NormalInverseGamma
from bayesppl.conjugate.normal_inverse_wishart import NormalInverseWishart

__all__ = [
    "Beta",
    "Conjugate",
    "Dirichlet",
    "Fixed",
    "Gamma",
    "Joint",
    "MatrixNormalInverseWishart",
    "NormalInverseGamma",
    "NormalInverseWishart",
]
