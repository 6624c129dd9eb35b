"""Fully Bayesian generative classifiers: Naive Bayes, LDA, QDA and mixed features, in closed form or by PyMC."""

import sys
from typing import Any

import lazy_loader

__version__ = "0.1.0"

# All names stand in __init__.pyi, and each of them is found here. Those that are met rarely are listed where they
# belong: errors and warnings in ``bayesppl.errors``, these families in ``bayesppl.families``.
_load, _, _found = lazy_loader.attach_stub(__name__, __file__)
_RARE_FAMILIES = {
    "AveragedTree",
    "ConditionalGaussian",
    "DirichletMultinomial",
    "Exponential",
    "GammaRate",
    "GaussianTree",
    "JointCategorical",
    "MultivariateT",
    "StudentT",
    "VonMises",
    "ZeroInflated",
}
__all__ = [name for name in _found if name not in _RARE_FAMILIES and not name.endswith(("Error", "Warning"))]


def __dir__() -> list[str]:
    return list(__all__)


def __getattr__(name: str) -> Any:
    """Load a public name on first use; Python suggests others for one that does not exist."""
    if name not in _found:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )
    return _load(name)
