"""Variables of declared priors in the current ``pm.Model``: created, named, and checked for shape and support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesppl.conjugate.declared_priors import SPACES, Declared, Dims, Space, as_function, is_declaration, named
from bayesppl.errors import ImproperError, NotConjugateError
from bayesppl.kernels.arrays import Array

_CHECKED_DRAWS = 20


@dataclass(frozen=True, eq=False)
class Direct(Declared):
    """Declared priors of the parameters under the names that the family gives them.

    Parameters
    ----------
    priors : mapping of str to PyMC distribution or callable
        By parameter.
    spaces : mapping of str to str
        The values that each parameter can take, by the names of :data:`SPACES`.
    """

    priors: Mapping[str, Any]
    spaces: Mapping[str, str]

    @property
    def declarations(self) -> Mapping[str, Any]:
        return self.priors

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        return {
            name: declare(declaration, **named(dims, prefix, name), space=SPACES[self.spaces[name]])
            for name, declaration in self.priors.items()
        }

    def log_volume(self, model: Any, prefix: str) -> Any:
        require_free(model, *(prefix + name for name in self.priors))
        return 0.0


def declare(declaration: Any, name: str, dims: tuple[str, ...], space: Space, *, shared: bool = False) -> Any:
    """Create the variable of a declared prior in the current ``pm.Model``, checking shape and support.

    Parameters
    ----------
    declaration : PyMC distribution, callable, PreliZ distribution or ``Prior`` of pymc-extras
    name, dims
        Of the variable.
    space : Space
        The values it can take.
    shared : bool
        Whether it may have any shape that broadcasts to the dims; a distribution keeps its own shape then, instead
        of standing for every entry.

    Raises
    ------
    ValueError
        If the shape does not match the dims, or the distribution gives mass to values the parameter cannot take.
    ImproperError
        If the prior has no draws.
    """
    import pymc as pm

    model = pm.modelcontext(None)
    before = {*model.free_RVs, *model.potentials}
    shape = tuple(len(model.coords[dim]) for dim in dims)
    declaration = as_function(declaration, shared=shared)
    if callable(declaration):
        variable = _create_by_function(declaration, name, dims, model)
        if not is_declaration(variable) or callable(variable):
            raise TypeError(
                f"the function that declares the prior of {name!r} must return the variable it creates, found "
                f"{variable!r}"
            )
    else:
        variable = _register(model, declaration, name, dims, None if shared else shape)
    for created in {*model.free_RVs, *model.potentials} - before:
        created.tag.declared_by_user = True
    if name not in model.named_vars:
        variable = pm.Deterministic(name, variable, dims=None if shared else dims)
    _check(model, variable, name, dims, shape, space, shared)
    return variable


def _create_by_function(declaration: Any, name: str, dims: tuple[str, ...], model: Any) -> Any:
    """Call a function of name and dims, refusing names that are taken."""
    before = set(model.named_vars)
    advice = f"Derive the names of hyperparameters from {name!r}, as in f'{{name}}_scale'"
    try:
        variable = declaration(name, dims)
    except ValueError as error:
        if "already exists" in str(error):  # PyMC's words
            raise ValueError(f"the prior of {name!r} creates a variable twice: {error} {advice}") from error
        raise
    taken = {"x", "y"} & (set(model.named_vars) - before)
    if taken:
        raise ValueError(
            f"the prior of {name!r} creates a variable named {taken.pop()!r}, which is that of the data. {advice}"
        )
    return variable


def require_free(model: Any, *names: str) -> None:
    """Refuse a mode where the declared prior is no density of the parameter itself."""
    for name in sorted(set(names) - {variable.name for variable in model.free_RVs}):
        raise NotConjugateError(
            f"{name!r} is computed from other variables, so that it has no density of its own and rule='map' no "
            "meaning; use rule='mean' or 'predictive'"
        )


def _register(
    model: Any, declaration: Any, name: str, dims: tuple[str, ...], shape: tuple[int, ...] | None
) -> Any:
    """Give a distribution (and those it depends on) names and dims; without a shape it keeps its own."""
    from pymc.distributions.shape_utils import change_dist_size
    from pytensor import shared as shared_variable
    from pytensor.graph.replace import clone_replace
    from pytensor.graph.traversal import ancestors
    from pytensor.tensor.random.type import RandomType

    if not _is_distribution(declaration):
        raise TypeError(
            f"the prior of {name!r} is computed from distributions and is none itself: give a function of name "
            "and dims that returns it"
        )
    # a declaration may be fitted many times, and stand in several places; with one generator these would be one
    generators = {v for v in ancestors([declaration]) if v.owner is None and isinstance(v.type, RandomType)}
    own = clone_replace([declaration], {v: shared_variable(np.random.default_rng()) for v in generators})[0]
    if shape is not None:
        if not _broadcasts(declaration.type.shape, shape):
            raise ValueError(_misfit(name, dims, shape, declaration.type.shape))
        try:
            own = change_dist_size(own, shape[: len(shape) - own.owner.op.ndim_supp])
        except (ValueError, TypeError, NotImplementedError) as error:
            raise ValueError(_misfit(name, dims, shape, tuple(own.type.shape))) from error
    known = {own, *_components(own)}
    inner = [variable for variable in ancestors([own]) if variable not in known and _is_distribution(variable)]
    for variable in reversed(inner):
        kind = variable.owner.op.name or type(variable.owner.op).__name__
        taken = sum(other.startswith(f"{name}_{kind}") for other in model.named_vars)
        model.register_rv(variable, f"{name}_{kind}" + (f"_{taken + 1}" if taken else ""))
    return model.register_rv(own, name, dims=None if shape is None else dims)


def _components(variable: Any) -> set[Any]:
    """Find the distributions that a mixture or a censored one is made of, which are no variables themselves."""
    from pymc.distributions import mixture
    from pymc.distributions.censored import CensoredRV
    from pytensor.graph.traversal import ancestors

    # hurdle distributions are of the base only, which is not public
    mixtures = getattr(mixture, "_BaseMixtureRV", mixture.MixtureRV)
    return {
        made_of
        for whole in ancestors([variable])
        if whole.owner is not None and isinstance(whole.owner.op, mixtures | CensoredRV)
        for made_of in whole.owner.inputs
        if _is_distribution(made_of)
    }


def _is_distribution(variable: Any) -> bool:
    from pymc.distributions.distribution import SymbolicRandomVariable
    from pytensor.tensor.random.op import RandomVariable

    return variable.owner is not None and isinstance(variable.owner.op, RandomVariable | SymbolicRandomVariable)


def _check(
    model: Any,
    variable: Any,
    name: str,
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    space: Space,
    shared: bool,
) -> None:
    import pymc as pm
    from pytensor.compile.mode import Mode

    interpreted = Mode(linker="py", optimizer=None)
    try:
        draws = pm.draw(variable, _CHECKED_DRAWS, mode=interpreted, random_seed=0)
    except NotImplementedError as error:
        raise ImproperError(
            f"the prior of {name!r} has no draws: it is improper, or lacks the function that makes them ({error})"
        ) from error
    except ValueError as error:
        raise ValueError(
            f"{_misfit(name, dims, shape, tuple(variable.type.shape))} Or it cannot be drawn, as where a learned "
            f"parameter of it leaves its range: {error}"
        ) from error
    if not (_broadcasts(draws.shape[1:], shape) if shared else draws.shape[1:] == shape):
        raise ValueError(_misfit(name, dims, shape, draws.shape[1:]))
    found = draws[~space.contains(draws)].tolist() or _values_beyond(model, variable, space, draws[0], interpreted)
    if found:
        raise ValueError(
            f"{name!r} must be {space.words}, but its prior allows {found[0]:g}. Use a distribution whose support "
            "fits, for example pm.Beta for probabilities, pm.Dirichlet for class weights, pm.Gamma or "
            "pm.HalfNormal for what is positive, or pm.Truncated."
        )


def _broadcasts(found: tuple[int | None, ...], shape: tuple[int, ...]) -> bool:
    return len(found) <= len(shape) and all(
        a in (None, 1, b) for a, b in zip(found[::-1], shape[::-1], strict=False)
    )


def _values_beyond(model: Any, variable: Any, space: Space, draw: Array, mode: Any) -> list[float]:
    """Find points outside the space at which the prior has a density all the same."""
    import pymc as pm

    if variable not in model.free_RVs:
        return []
    allowed = []
    for point in space.beyond:
        value = np.array(draw)
        value.flat[0] = point
        logp = pm.logp(variable, value, warn_rvs=False)
        density = pm.draw(logp, mode=mode, random_seed=0)
        if np.isfinite(np.sum(density)):
            allowed.append(point)
    return allowed


def _misfit(name: str, dims: tuple[str, ...], shape: tuple[int, ...], found: tuple[Any, ...]) -> str:
    wanted = ", ".join(f"{dim}: {size}" for dim, size in zip(dims, shape, strict=True))
    return (
        f"the prior of {name!r} has shape {found}, which does not fit its dims ({wanted}). Give one distribution "
        "for all entries, or parameters of a shape that broadcasts to these."
    )
