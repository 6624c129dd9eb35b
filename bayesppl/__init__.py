"""Fully Bayesian generative classifiers: Naive Bayes, LDA, QDA and mixed features, in closed form or by PyMC."""

import sys
from typing import Any

import lazy_loader

__version__ = "0.1.0"

# the names stand in __init__.pyi
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Load a public name on first use; Python suggests others for one that does not exist."""
    if name not in __all__:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )
    return _load(name)
