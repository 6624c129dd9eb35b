"""Priors in PyMC's own words: any distribution of the parameters, without a closed form.

A parameter's prior may be an unregistered PyMC distribution, ``pm.HalfNormal.dist(1)``, whose arguments may be
such distributions again (a hierarchy: the inner ones are learned too), or a function of a name and dims that
creates the variable in the current model, for everything else::

    def concentrated(name, dims):
        concentration = pm.Gamma("concentration", 2.0, 0.1)
        return pm.Beta(name, 0.5 * concentration, 0.5 * concentration, dims=dims)

The likelihood is the family's, whatever the prior. Nothing here is imported where all priors are conjugate.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from bayesppl.errors import NotConjugateError
from bayesppl.kernels.arrays import Array

#: Dimension names of every parameter of a model.
Dims = Mapping[str, tuple[str, ...]]


def named(dims: Dims, prefix: str, parameter: str) -> dict[str, Any]:
    """Return name and dims of a parameter as keyword arguments of a PyMC distribution."""
    return {"name": prefix + parameter, "dims": dims[prefix + parameter]}


class Space(NamedTuple):
    """The values a parameter can take: in words, as a test, and points beyond its edge."""

    words: str
    contains: Callable[[Array], Array]
    beyond: tuple[float, ...] = ()


REAL = Space("finite real numbers", np.isfinite)


POSITIVE = Space("positive numbers", lambda x: np.isfinite(x) & (x > 0), (-10.0, -0.5, -1e-3))


UNIT = Space("numbers between 0 and 1", lambda x: (x >= 0) & (x <= 1), (-0.5, -1e-3, 1.001, 1.5))


SIMPLEX = Space(
    "probabilities that sum to one", lambda x: (x >= 0) & np.isclose(x.sum(-1, keepdims=True), 1.0), (-0.5, 1.5)
)


#: Spaces by name: a file keeps the name.
SPACES = {"real": REAL, "positive": POSITIVE, "unit": UNIT}

# Modules and classes of what other libraries declare: variables of PyMC, priors of PreliZ and of pymc-extras
_GRAPH = ("pytensor.graph.basic", "Variable")
_PRELIZ = ("preliz.distributions.distributions", "Distribution")
_EXTRAS = ("pymc_extras.prior", "Prior")


def is_declaration(value: Any) -> bool:
    """Whether a prior is a distribution of PyMC, PreliZ or pymc-extras, or a function that makes its variable."""
    return callable(value) or any(_is_of(value, *kind) for kind in (_GRAPH, _PRELIZ, _EXTRAS))


def _is_of(value: Any, module: str, kind: str) -> bool:
    """Whether a value is of a class of this module, which is not imported to find out."""
    imported = sys.modules.get(module)
    return imported is not None and isinstance(value, vars(imported)[kind])


def as_function(declaration: Any, *, shared: bool) -> Any:
    """Return a prior of PreliZ or pymc-extras as a function that creates its variable; others as they are.

    Parameters
    ----------
    shared : bool
        Whether it keeps its own shape, instead of standing for every entry.
    """

    def create(name: str, dims: tuple[str, ...]) -> Any:
        if _is_of(declaration, *_PRELIZ):
            if not declaration.is_frozen:
                raise ValueError(
                    f"the prior of {name!r}, a {type(declaration).__name__} of PreliZ, lacks parameters: pass "
                    "them, or let preliz.maxent find them"
                )
            return declaration.to_pymc(name) if shared else declaration.to_pymc(name, dims=dims)
        prior = declaration.deepcopy()
        if not shared and not prior.dims:
            prior.dims = dims
        return prior.create_variable(name)

    is_foreign = _is_of(declaration, *_PRELIZ) or _is_of(declaration, *_EXTRAS)
    return create if is_foreign else declaration


@dataclass(frozen=True)
class Written:
    """The words of a declared prior or a function, all that a file keeps of it: they name it, and declare none.

    Parameters
    ----------
    words : str
    """

    words: str

    def __call__(self, name: Any, dims: tuple[str, ...] | None = None) -> NoReturn:
        if dims is None:
            raise TypeError(
                f"columns were selected by the function {self.words.partition('(')[0]}, and a file holds no code: "
                "the fit is here, but for another one name the columns, by set_params(blocks=…)"
            )
        raise NotConjugateError(
            f"the prior {self.words} of {name!r} was declared in PyMC, and a file holds no code: the draws are "
            "here, but nothing can be fitted or maximised. Declare the model again, and fit it"
        )


def in_words(declaration: Any) -> str:
    """Return a declared prior as PyMC prints it, and a function by its name."""
    if isinstance(declaration, Written):
        return declaration.words
    if callable(declaration):
        return f"{getattr(declaration, '__qualname__', type(declaration).__name__)}(name, dims)"
    if _is_of(declaration, *_GRAPH):
        from pymc.printing import str_for_dist

        return str(str_for_dist(declaration))
    return repr(declaration)


@dataclass(frozen=True, eq=False)
class Declared(ABC):
    """A prior of one family's parameters that has no closed form."""

    has_closed_form: ClassVar[bool] = False
    hierarchy: ClassVar[None] = None

    @property
    @abstractmethod
    def declarations(self) -> Mapping[str, Any]:
        """Return the declared parameters and their priors."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of the family's parameters: by default those that are declared."""
        return tuple(self.declarations)

    @abstractmethod
    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        """Declare the parameters in the current ``pm.Model``; see :meth:`bayesppl.conjugate.Conjugate.declare`."""

    @abstractmethod
    def log_volume(self, model: Any, prefix: str) -> Any:
        """Return log |∂ family's parameters / ∂ declared parameters|, up to a constant, as a graph."""

    def is_proper(self) -> Array:
        """Return true: a declared prior is checked for being proper where it is declared."""
        return np.asarray(True)

    def _reason(self) -> str:
        names = " and ".join(map(repr, self.declarations))
        return (
            f"the prior of {names} is not conjugate, so that neither its posterior nor its evidence has a closed "
            "form. inference='nuts' (or 'auto') samples the posterior, and loo() compares such fits; where the "
            "family has a conjugate prior, such as bayesppl.Beta, Gamma, Dirichlet, NormalInverseGamma or "
            "NormalInverseWishart, it can be used instead."
        )

    def _refuse(self, *_: Any) -> NoReturn:
        raise NotConjugateError(self._reason())

    update = select_classes = rescaled = log_normalizer = log_increment = log_prob = draw = mean = mode = _refuse
    tunable = property(_refuse)
    factor_dims = property(_refuse)
