"""Log densities of PyMC models, compiled once for every structure of model rather than once for every data set.

Compilation dominates the time to a first posterior, so the graph of a model is first made small and general:
parameter checks are dropped (the transforms keep every draw inside the support), whatever depends on constants alone
is computed with numpy, and the arrays that remain become inputs of the compiled function. Two fits of one declaration
to different data then have the same graph, and the second reuses the function of the first: within a process at
no cost, in a later process by PyTensor's cache on disk.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from bayesppl.arrays import Array, Theta

# How many draws are worked on at once outside the sampler.
DRAWS_AT_ONCE = 500

# Compiled functions of this process, by the structure of their graph.
_FUNCTIONS: dict[Any, Callable[..., tuple[Array, Array]]] = {}


@dataclass(frozen=True, eq=False)
class Density:
    """Log density of the free variables of a model, in unconstrained coordinates, with its gradient.

    Attributes
    ----------
    function : callable
        Of a point and of ``data``; shared by all models of the same structure.
    data : tuple of arrays
    shapes : mapping of str to tuple
        Shapes of the unconstrained variables, in the order in which a point holds them.
    """

    function: Callable[..., tuple[Array, Array]]
    data: tuple[Array, ...]
    shapes: dict[str, tuple[int, ...]]
    lock: Lock = field(default_factory=Lock)

    def __call__(self, point: Array) -> tuple[float, Array]:
        with self.lock:  # compiled functions keep their inputs in one place; chains are threads
            value, gradient = self.function(point, *self.data)
        return float(value), gradient

    def split(self, points: Array) -> Theta:
        """The unconstrained variables of raveled points; leading axes are kept."""
        sizes = [int(np.prod(shape)) for shape in self.shapes.values()]
        pieces = np.split(points, np.cumsum(sizes)[:-1], axis=-1)
        return {
            name: piece.reshape(*points.shape[:-1], *shape)
            for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)
        }


def ensure_cache() -> None:
    """Before PyTensor is imported, give it a temporary cache where its own cannot be written."""
    if "pytensor" in sys.modules or "base_compiledir" in os.environ.get("PYTENSOR_FLAGS", ""):
        return
    usual = Path.home() / ".pytensor"
    try:
        usual.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=usual):
            return
    except OSError:
        folder = tempfile.mkdtemp(prefix="bayesppl-")
    flags = os.environ.get("PYTENSOR_FLAGS", "")
    os.environ["PYTENSOR_FLAGS"] = f"{flags},base_compiledir={folder}".lstrip(",")
    print(
        f"bayesppl: {usual} cannot be written, so compiled models are kept in {folder} and lost with it; set "
        "PYTENSOR_FLAGS=base_compiledir=... to a folder that lasts",
        file=sys.stderr,
    )


def compile_density(
    model: Any, *, jacobian: bool = True, interpreted: bool = False, notify: bool = False
) -> Density:
    """Compile the log density of a ``pm.Model`` and its gradient.

    Parameters
    ----------
    model : pm.Model
    jacobian : bool
        Whether to add the Jacobian of the transforms, as sampling needs; a mode of the parameters must do without.
    interpreted : bool
        Run the graph operation by operation: hundreds of times slower, and ready at once.
    notify : bool
        Say on standard error what is being waited for.
    """
    import pytensor
    from pymc.pytensorf import join_nonshared_inputs
    from pytensor.compile.mode import Mode

    start = model.initial_point(0)
    shapes = {variable.name: np.shape(start[variable.name]) for variable in model.value_vars}
    [value], point = join_nonshared_inputs(start, [model.logp(jacobian=jacobian)], model.value_vars)
    value = _without_checks(value)
    outputs, inputs, data = _general([value, pytensor.grad(value, point)])
    key = (interpreted, *structure([point, *inputs], outputs))
    if key not in _FUNCTIONS:
        if notify:
            print("compiling the model (up to half a minute, the first time) ...", file=sys.stderr, flush=True)
        mode = Mode(linker="py", optimizer=None) if interpreted else "NUMBA"
        # fast maths makes the first run (cold cache) differ in the last bits from later ones
        with pytensor.config.change_flags(numba__fastmath=False):
            function = pytensor.function([point, *inputs], outputs, mode=mode, trust_input=True)
            function(np.concatenate([np.ravel(start[name]) for name in shapes]), *data)
        _FUNCTIONS[key] = function
    return Density(_FUNCTIONS[key], data, shapes)


def evaluate(outputs: Sequence[Any], given: dict[Any, Array]) -> list[Array]:
    """Values of graphs for a batch of inputs (the batch axes lead), without compiling anything."""
    import pytensor
    import pytensor.tensor as pt
    from pytensor.compile.mode import Mode
    from pytensor.graph.replace import vectorize_graph

    batched = {
        variable: pt.tensor(
            dtype=variable.dtype, shape=(None,) * (np.ndim(values) - variable.ndim) + variable.type.shape
        )
        for variable, values in given.items()
    }
    graphs = vectorize_graph(list(outputs), batched)
    function = pytensor.function(
        list(batched.values()), graphs, mode=Mode(linker="py", optimizer=None), on_unused_input="ignore"
    )
    return [np.asarray(values) for values in function(*given.values())]


def constrain(model: Any, names: Sequence[str], unconstrained: Theta) -> Theta:
    """Variables of a ``pm.Model`` at draws of its unconstrained variables, whose draw axis leads."""
    values = {variable.name: variable for variable in model.value_vars}
    graphs = model.replace_rvs_by_values([model[name] for name in names])
    n_draws = len(next(iter(unconstrained.values())))
    chunks = []
    for start in range(0, n_draws, DRAWS_AT_ONCE):
        given = {values[name]: draws[start : start + DRAWS_AT_ONCE] for name, draws in unconstrained.items()}
        size = len(next(iter(given.values())))
        chunks.append(
            [
                # what depends on no variable, such as known class weights, comes without a draw axis
                values if values.ndim > graph.ndim else np.broadcast_to(values, (size, *values.shape))
                for graph, values in zip(graphs, evaluate(graphs, given), strict=True)
            ]
        )
    return {name: np.concatenate(pieces) for name, pieces in zip(names, zip(*chunks, strict=True), strict=True)}


def unconstrain(model: Any, names: Sequence[str], draws: Theta) -> Theta:
    """Unconstrained variables, by their names, of free variables of a ``pm.Model`` at draws, whose axis leads."""
    variables = [model[name] for name in names]
    values, graphs = [model.rvs_to_values[variable].name for variable in variables], []
    for variable in variables:
        transform = model.rvs_to_transforms[variable]
        graphs.append(variable if transform is None else transform.forward(variable, *variable.owner.inputs))
    given = {variable: np.asarray(draws[variable.name], dtype=np.float64) for variable in variables}
    return dict(zip(values, evaluate(graphs, given), strict=True))


def structure(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
    """What makes two graphs the same function: operations, wiring, types, and the values of constants."""
    from pytensor.graph.basic import Constant
    from pytensor.graph.traversal import toposort

    number = {variable: i for i, variable in enumerate(inputs)}

    def name(variable: Any) -> Any:
        if isinstance(variable, Constant) and variable not in number:
            value = variable.data
            return (variable.type, np.asarray(value).tobytes() if isinstance(value, np.ndarray) else value)
        return number[variable]

    nodes = []
    for node in toposort(outputs):
        nodes.append((node.op, tuple(name(variable) for variable in node.inputs)))
        number.update({variable: len(number) + i for i, variable in enumerate(node.outputs)})
    return (tuple(variable.type for variable in inputs), tuple(nodes), tuple(name(v) for v in outputs))


def _without_checks(output: Any) -> Any:
    from pymc.logprob.utils import CheckParameterValue
    from pytensor.graph.replace import graph_replace
    from pytensor.graph.traversal import toposort

    checked = {
        node.outputs[0]: node.inputs[0] for node in toposort([output]) if isinstance(node.op, CheckParameterValue)
    }
    return graph_replace([output], checked, strict=False)[0] if checked else output


def _general(outputs: list[Any]) -> tuple[list[Any], list[Any], tuple[Array, ...]]:
    """Graphs whose arrays of constants have become inputs, those inputs, and their values."""
    import pytensor.tensor as pt
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.basic import Constant
    from pytensor.graph.replace import graph_replace
    from pytensor.graph.traversal import graph_inputs, toposort

    # lengths of dims and pm.Data are shared variables; here they are constants like any other
    known: dict[Any, Any] = {
        variable: variable.get_value()
        for variable in graph_inputs(outputs)
        if isinstance(variable, SharedVariable)
    }
    for node in toposort(outputs):
        if all(isinstance(variable, Constant) or variable in known for variable in node.inputs):
            values = [v.data if isinstance(v, Constant) else known[v] for v in node.inputs]
            storage: list[list[Any]] = [[None] for _ in node.outputs]
            node.op.perform(node, values, storage)
            known.update({variable: cell[0] for variable, cell in zip(node.outputs, storage, strict=True)})
    replacements: dict[Any, Any] = {}
    inputs, data = [], []
    for node in toposort(outputs):
        if node.outputs[0] in known:
            continue
        for variable in node.inputs:
            if variable in replacements or not (isinstance(variable, Constant) or variable in known):
                continue
            value = variable.data if isinstance(variable, Constant) else known[variable]
            if _is_data(value):
                replacements[variable] = pt.tensor(dtype=value.dtype, shape=value.shape)
                inputs.append(replacements[variable])
                data.append(np.array(value, order="C"))
            elif variable in known:
                replacements[variable] = variable.type.make_constant(value)
    return graph_replace(outputs, replacements, strict=False), inputs, tuple(data)


def _is_data(value: Any) -> bool:
    """Whether a constant may differ from fit to fit; zeros, ones and small multiples of a half belong to the formula."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
        return False
    first = float(value.flat[0])
    formula = first in (-1.0, 0.0, 1.0) if value.size > 1 else abs(first) <= 64 and (2 * first).is_integer()
    return not (formula and (value == first).all())
