"""Walking, substituting and evaluating PyTensor graphs, without compiling any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytensor
import pytensor.tensor as pt
from pymc.logprob.utils import CheckParameterValue
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode, optdb
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import toposort
from pytensor.tensor.type import TensorType
from pytensor.tensor.variable import TensorConstant

from bayesppl.inference.pymc.reading.interpreter import Interpreter
from bayesppl.kernels.arrays import Array

#: Operation by operation, nothing rewritten but graphs within operations, which would be compiled: ready in
#: milliseconds.
INTERPRETED = Mode(linker="py", optimizer=optdb.query("+inline_ofg_expansion"))


def nodes_above(outputs: Iterable[Any], stop: Iterable[Any] = ()) -> list[Any]:
    """The operations that ``outputs`` are computed by, not going beyond the variables of ``stop``."""
    blocked, seen, found = set(stop), set(), []
    pending = [variable for variable in outputs if variable not in blocked]
    while pending:
        node = pending.pop().owner
        if node is None or node in seen:
            continue
        seen.add(node)
        found.append(node)
        pending += [variable for variable in node.inputs if variable not in blocked]
    return found


def leaves_above(outputs: Sequence[Any], stop: Iterable[Any] = ()) -> list[Any]:
    """Constants and shared variables that ``outputs`` are computed from, each once."""
    blocked = set(stop)
    nodes = nodes_above(outputs, blocked)
    variables = [*outputs, *(variable for node in nodes for variable in node.inputs)]
    return list(
        dict.fromkeys(v for v in variables if isinstance(v, Constant | SharedVariable) and v not in blocked)
    )


def value_of(leaf: Any) -> Any:
    """What a constant or a shared variable holds."""
    return leaf.data if isinstance(leaf, Constant) else leaf.get_value(borrow=True)


def substitute(outputs: Sequence[Any], replacements: Mapping[Any, Any]) -> list[Any]:
    """Graphs in which variables are replaced; static shapes follow. What depends on none of them is not copied.

    As PyTensor's ``clone_replace``, which makes every operation anew, and takes most of the time that this would.
    """
    found = dict(replacements)
    for node in toposort(outputs, blockers=replacements):
        inputs = [found.get(variable, variable) for variable in node.inputs]
        changed = [(new, old) for new, old in zip(inputs, node.inputs, strict=True) if new is not old]
        if changed:
            # where numbers of the same type take the place of numbers, shapes cannot change, and need not be
            # inferred again
            same = all(new.type == old.type and _is_real(old) for new, old in changed)
            made = node.clone_with_new_inputs(inputs, strict=same)
            found |= dict(zip(node.outputs, made.outputs, strict=True))
    return [found.get(output, output) for output in outputs]


def _is_real(variable: Any) -> bool:
    return isinstance(variable.type, TensorType) and variable.type.dtype.startswith("float")


#: Types of numbers that PyTensor computes with in fewer than 64 bits, and those with as many.
_WIDE = {"float16": "float64", "float32": "float64"} | dict.fromkeys(
    ("int8", "int16", "int32", "uint8", "uint16"), "int64"
)


def in_64_bits(outputs: Sequence[Any]) -> dict[Any, Any]:
    """The constants that ``outputs`` are computed from and PyTensor keeps in fewer bits, with themselves in 64.

    A written 7.0 has the same value in both, but 1 / 7.0 has not, nor 1 / 7. What enters an operation that holds
    a graph keeps
    the type that this graph has.
    """
    held = [v for node in nodes_above(outputs) if isinstance(node.op, OpFromGraph) for v in node.inputs]
    kept = set(leaves_above(held))
    return {
        leaf: pt.constant(leaf.data, dtype=_WIDE[leaf.dtype], name=leaf.name)
        for leaf in leaves_above(outputs)
        if isinstance(leaf, TensorConstant) and leaf.dtype in _WIDE and leaf not in kept
    }


def without_checks(outputs: Sequence[Any]) -> list[Any]:
    """Graphs that return a number where PyMC would raise because a parameter is out of range."""
    checks = [node for node in nodes_above(outputs) if isinstance(node.op, CheckParameterValue)]
    return substitute(outputs, {node.outputs[0]: node.inputs[0] for node in checks}) if checks else list(outputs)


def function(inputs: Sequence[Any], outputs: Any) -> Any:
    """Graphs as a Python function of arrays."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):  # for the loops of scans, which compile themselves
        return pytensor.function(list(inputs), outputs, mode=INTERPRETED, on_unused_input="ignore")


def evaluate(outputs: Sequence[Any]) -> list[Array]:
    """Values of graphs without inputs."""
    return Interpreter((), (), outputs)(())
