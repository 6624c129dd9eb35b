"""Log densities of PyMC models, compiled once for every structure of model rather than once for every data set.

Compilation dominates the time to a first posterior, so the graph of a model is first made small and general:
where one of PyMC's checks of parameters fails the density is zero, rather than an error, whatever depends on
constants alone is computed with numpy, and the arrays that remain become inputs of the compiled function. Two fits
of one declaration to different data then have the same graph, and the second reuses the function of the first:
within a process at no cost, in a later process from disk (:mod:`bayesppl.inference.pymc.native`).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bayesppl.inference.pymc import native
from bayesppl.kernels.arrays import Array, Theta

# How far chains begin from initial values that a model states
_NEAR = 0.1


@dataclass(frozen=True, eq=False)
class Density:
    """Log density of the free variables of a model, in unconstrained coordinates, with its gradient.

    Attributes
    ----------
    free, constants, outputs : sequences of PyTensor variables
        The unconstrained variables, the arrays the density depends on, and its value and derivatives.
    arrays : tuple of arrays
        The values of ``constants``.
    start : mapping of str to array
        A point inside the support, by the names of the unconstrained variables in the order of a raveled point.
    spread : float or (n_coordinates,)
        How far from it in every coordinate chains begin at most.
    """

    free: list[Any]
    constants: list[Any]
    outputs: list[Any]
    arrays: tuple[Array, ...]
    start: Theta
    spread: float | Array = 1.0

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the unconstrained variables, in the order in which a point holds them."""
        return {name: values.shape for name, values in self.start.items()}

    @property
    def centre(self) -> Array:
        """Return the start as a raveled point."""
        return np.concatenate([np.ravel(values) for values in self.start.values()])

    @cached_property
    def data(self) -> Array:
        """Ravel the arrays, one after the other."""
        return np.concatenate([np.zeros(0), *(np.ravel(values) for values in self.arrays)])

    def __call__(self, point: Array) -> tuple[float, Array]:
        """Compute value and gradient, operation by operation: hundreds of times slower, and ready at once."""
        pieces = self.split(np.asarray(point, dtype=np.float64))
        value, *gradients = self._interpreted((), (*pieces.values(), *self.arrays))
        return float(value), np.concatenate([np.ravel(gradient) for gradient in gradients])

    def compiled(self, notify: bool = False) -> Any:
        """Compile it as a C function of raw pointers; see :func:`bayesppl.inference.pymc.native.density_function`.

        Parameters
        ----------
        notify : bool
            Whether to report on standard error what is being waited for.
        """
        inputs = [*self.free, *self.constants]
        return native.density_function(
            native.structure_key(inputs, self.outputs),
            list(self.shapes.values()),
            [values.shape for values in self.arrays],
            self._numba_function,
            notify,
        )

    def as_model(self, place: Callable[[Any], Any] = lambda point: point) -> Any:
        """Build a ``pm.Model`` of the same density, its only variable the raveled point, without a prior.

        Parameters
        ----------
        place : callable, optional
            From the variable to the raveled point, where it is in other coordinates.
        """
        import pymc as pm
        import pytensor.tensor as pt
        from pytensor.graph.replace import graph_replace

        with pm.Model() as model:
            point = pm.Flat("point", shape=len(self.centre), initval=self.centre)
            pieces = zip(self.free, self.split(place(point)).values(), strict=True)
            arrays = zip(self.constants, map(pt.constant, self.arrays), strict=True)
            pm.Potential("log_density", graph_replace(self.outputs[0], dict([*pieces, *arrays]), strict=False))
        return model

    def split(self, points: Any) -> dict[str, Any]:
        """Split raveled points, arrays or a graph of one, into unconstrained variables; leading axes are kept."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])
        lead = tuple(points.shape[:-1]) if points.ndim > 1 else ()
        return {
            name: points[..., end - int(np.prod(shape)) : end].reshape((*lead, *shape))
            for end, (name, shape) in zip(ends.tolist(), self.shapes.items(), strict=True)
        }

    @cached_property
    def _interpreted(self) -> Any:
        from bayesppl.inference.pymc.graphs import Interpreter

        return Interpreter((), [*self.free, *self.constants], self.outputs)

    def _numba_function(self) -> tuple[Any, bool]:
        """Return the function, and whether Python runs a part of it: PyTensor has no key for what numba lacks."""
        import pytensor
        from pytensor.link.numba.dispatch.basic import numba_funcify_and_cache_key

        # fast maths makes the first run (cold cache) differ in the last bits from later ones
        with pytensor.config.change_flags(numba__fastmath=False):
            function = pytensor.function(
                [*self.free, *self.constants], self.outputs, mode="NUMBA", on_unused_input="ignore"
            )
            made, key = numba_funcify_and_cache_key(function.maker.fgraph)
        return made, key is None


def ensure_cache() -> None:
    """Give PyTensor, before it is imported, a temporary cache where its own cannot be written."""
    if "pytensor" in sys.modules:
        return
    flags = os.environ.get("PYTENSOR_FLAGS", "")
    chosen = dict(flag.strip().split("=", 1) for flag in flags.split(",") if "=" in flag).get("base_compiledir")
    usual = Path(os.path.expanduser(chosen or "~/.pytensor"))
    try:
        usual.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=usual):
            return
    except OSError:
        folder = tempfile.mkdtemp(prefix="bayesppl-")
    # the last of several settings of one flag counts
    os.environ["PYTENSOR_FLAGS"] = f"{flags},base_compiledir={folder}".lstrip(",")
    print(
        f"bayesppl: {usual} cannot be written, so compiled models are kept in {folder} and lost with it; set "
        "PYTENSOR_FLAGS=base_compiledir=... to a folder that lasts",
        file=sys.stderr,
    )


def log_density(model: Any, *, jacobian: bool = True) -> Density:
    """Build the log density of a ``pm.Model`` and its gradient, made small and general.

    Parameters
    ----------
    model : pm.Model
    jacobian : bool
        Whether to add the Jacobian of the transforms, as sampling needs; a mode of the parameters must do without.

    Raises
    ------
    ValueError
        If a variable is discrete.
    """
    import pytensor.tensor as pt
    from pytensor.graph.replace import graph_replace

    from bayesppl.inference.pymc.simplex import lean

    discrete = [variable.name for variable in model.value_vars if variable.dtype != "float64"]
    if discrete:
        raise ValueError(
            f"{discrete[0]!r} is a discrete variable, along which a density has no gradient. Give it a continuous "
            "prior, or sum over its values."
        )
    found = model.initial_point(0)
    start = [np.asarray(found[variable.name]) for variable in model.value_vars]
    free = [
        pt.tensor(variable.name, dtype=values.dtype, shape=values.shape)
        for variable, values in zip(model.value_vars, start, strict=True)
    ]
    with lean(model):
        declared = model.logp(jacobian=jacobian)
    [value] = graph_replace([declared], dict(zip(model.value_vars, free, strict=True)), strict=False)
    return density_of(value, free, start, spread_of(model, model.free_RVs))


def spread_of(model: Any, free: Sequence[Any], units: Array | float = 1.0) -> Array | float:
    """Return how far from their start chains begin: near it where a model states initial values of these."""
    is_stated = any(model.rvs_to_initial_values[variable] is not None for variable in free)
    return _NEAR if is_stated else np.minimum(units, 1.0)


def density_of(value: Any, free: Sequence[Any], start: Sequence[Array], spread: Array | float = 1.0) -> Density:
    """Build the density of a scalar graph of unconstrained variables, and its gradient, small and general."""
    import pytensor

    from bayesppl.inference.pymc.graphs import conditions, within, without_checks

    [unchecked] = without_checks([value])
    # through a switch, gradients would take longer and be the same
    gradients = pytensor.grad(unchecked, list(free), disconnected_inputs="ignore")
    outputs, constants, arrays = _general([within(conditions([value]), unchecked), *gradients])
    at = {variable.name: values for variable, values in zip(free, start, strict=True)}
    return Density(list(free), constants, outputs, arrays, at, spread)


def constrain(model: Any, names: Sequence[str], unconstrained: Theta) -> Theta:
    """Compute variables of a ``pm.Model`` at draws of its unconstrained variables, whose draw axis leads."""
    from bayesppl.inference.pymc.graphs import Interpreter

    values = {variable.name: variable for variable in model.value_vars}
    graphs = model.replace_rvs_by_values([model[name] for name in names])
    call = Interpreter([values[name] for name in unconstrained], (), graphs)
    return dict(zip(names, call(list(unconstrained.values())), strict=True))


def unconstrain(model: Any, names: Sequence[str], draws: Theta) -> Theta:
    """Compute the unconstrained variables of a ``pm.Model``, by their names, at draws of free ones; draws lead."""
    from bayesppl.inference.pymc.graphs import Interpreter

    variables = [model[name] for name in names]
    values = [model.rvs_to_values[variable].name for variable in variables]
    transforms = [model.rvs_to_transforms[variable] for variable in variables]
    graphs = [
        variable if transform is None else transform.forward(variable, *variable.owner.inputs)
        for variable, transform in zip(variables, transforms, strict=True)
    ]
    found = Interpreter(variables, (), graphs)([draws[name] for name in names])
    return dict(zip(values, found, strict=True))


def log_priors(free: Sequence[Any], potentials: Sequence[Any], draws: Theta) -> Theta:
    """Compute log densities of free variables and of potentials, summed over their entries, at draws."""
    from pymc.logprob.basic import conditional_logp
    from pymc.logprob.rewriting import logprob_rewrites_db

    from bayesppl.inference.pymc.graphs import REWRITES, Interpreter, in_64_bits, substitute, without_checks

    inputs = {variable: variable.type() for variable in free}
    densities = conditional_logp(inputs, ir_rewriter=logprob_rewrites_db.query(REWRITES))
    graphs = [densities[value] for value in inputs.values()] + substitute(potentials, inputs)
    graphs = without_checks(substitute(graphs, in_64_bits(graphs)))
    found = Interpreter(list(inputs.values()), (), graphs)([draws[variable.name] for variable in free])
    names = [variable.name for variable in (*free, *potentials)]
    return {name: values.reshape(len(values), -1).sum(1) for name, values in zip(names, found, strict=True)}


def _general(outputs: list[Any]) -> tuple[list[Any], list[Any], tuple[Array, ...]]:
    """Turn arrays of constants into inputs; return the graphs, these inputs, and their values."""
    import pytensor.tensor as pt
    from pytensor.graph.basic import Constant
    from pytensor.graph.replace import graph_replace
    from pytensor.graph.traversal import toposort

    from bayesppl.inference.pymc.graphs import known_values

    known = known_values(outputs)  # lengths of dims and pm.Data, too, are constants here
    replacements: dict[Any, Any] = {}
    lifted: dict[Any, tuple[Any, Array]] = {}
    for variable in (v for node in toposort(outputs) if node.outputs[0] not in known for v in node.inputs):
        if variable in replacements or variable not in known:
            continue
        value = known[variable]
        if _is_data(value):
            array = np.array(value, dtype=np.float64, order="C")
            key = (array.shape, array.tobytes())  # what occurs twice in the model is one input
            entering, _ = lifted.setdefault(key, (pt.tensor(dtype="float64", shape=array.shape), array))
            replacements[variable] = entering.astype(value.dtype)
        elif not isinstance(variable, Constant):
            replacements[variable] = variable.type.make_constant(value)
    inputs, data = [new for new, _ in lifted.values()], tuple(array for _, array in lifted.values())
    return graph_replace(outputs, replacements, strict=False), inputs, data


# Arrays of integers up to this size may be shapes.
_LONGEST_SHAPE = 8


def _is_data(value: Any) -> bool:
    """Whether a constant may differ from fit to fit; zeros, ones, halves and shapes belong to the formula."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fib" or not value.size:
        return False
    if value.dtype.kind != "f":  # labels and counts of rows, or what holds of them; ranges are places
        return value.size > _LONGEST_SHAPE and bool(np.ptp(np.diff(value.ravel().astype(np.float64))))
    first = float(value.flat[0])
    formula = (
        first in (-np.inf, -1.0, 0.0, 1.0) if value.size > 1 else abs(first) <= 64 and (2 * first).is_integer()
    )
    return not (formula and (value == first).all())
