"""Whether PyTensor graphs are put together of pieces, or have peaks as narrow, where no random point need lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pytensor.compile.ops import FromFunctionOp
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import graph_inputs, toposort
from pytensor.scalar import Abs, ScalarMaximum, ScalarMinimum, Sign
from pytensor.scalar import basic as scalars
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import Shape, Shape_i
from pytensor.tensor.sort import SortOp

from bayesppl.inference.pymc.graphs import core_of

#: Operations that put a function together of two halves, and of pieces, as does whatever makes whole numbers or
#: truth values of others: the condition of a switch, or a place in a table.
_OF_HALVES = (Abs, Sign)
_ROUNDED = (scalars.Ceil, scalars.Floor, scalars.Trunc, scalars.RoundHalfToEven, scalars.RoundHalfAwayFromZero)
_REMAINDERS = (scalars.Mod, scalars.IntDiv)
_COMPARED = (SortOp, scalars.Clip, scalars.LogicalComparison, ScalarMaximum, ScalarMinimum)
_OF_PIECES = (*_COMPARED, *_ROUNDED, *_REMAINDERS)

#: Functions of numbers, beside powers, whose peaks fall off as powers do, so that random points show them.
_BROAD = (
    *(scalars.Add, scalars.Sub, scalars.Mul, scalars.TrueDiv, scalars.Reciprocal, scalars.Neg, scalars.Sqr),
    *(scalars.Sqrt, scalars.Log, scalars.Log1p, scalars.Identity, scalars.Cast, scalars.Second),
)


def has_pieces(outputs: Iterable[Any], inputs: Iterable[Any], *, of_halves: bool = True) -> bool:
    """Whether graphs are piecewise functions of the inputs, and so not analytic."""
    operations = (*_OF_PIECES, *_OF_HALVES) if of_halves else _OF_PIECES
    return any(
        isinstance(core_of(node.op), operations)
        or (not _is_real(node.outputs[0]) and any(map(_is_real, node.inputs)))
        or _is_opaque(core_of(node.op))
        for node in _moved(outputs, inputs)
    )


def _is_opaque(op: Any) -> bool:
    """Whether an operation is a function of the user's own, by ``wrap_py`` or a class."""
    return isinstance(op, FromFunctionOp) or not type(op).__module__.startswith(("pytensor.", "pymc."))


def _is_real(variable: Any) -> bool:
    return str(getattr(variable.type, "dtype", "")).startswith("float")


def has_peaks(outputs: Iterable[Any], inputs: Iterable[Any]) -> bool:
    """Whether graphs hold exponentials of the inputs, or other functions that may have narrow peaks."""
    return any(isinstance(node.op, Elemwise) and not _is_broad(node) for node in _moved(outputs, inputs))


def _is_broad(node: Any) -> bool:
    """Whether an operation on numbers is one of those above, or a power whose exponent is fixed."""
    if isinstance(node.op.scalar_op, scalars.Pow):
        return all(isinstance(leaf, Constant) for leaf in graph_inputs([node.inputs[1]]))
    return isinstance(node.op.scalar_op, _BROAD)


def _moved(outputs: Iterable[Any], inputs: Iterable[Any]) -> Iterator[Any]:
    """Yield the operations above graphs that the values of the inputs change, not their shapes alone."""
    moved = set(inputs)
    for node in toposort(list(outputs), blockers=set(moved)):
        if not moved.isdisjoint(node.inputs) and not isinstance(node.op, Shape | Shape_i):
            yield node
            moved.update(node.outputs)
            held = getattr(core_of(node.op), "fgraph", None)  # of loops, among others
            if held is not None:
                yield from _moved(held.outputs, held.inputs)
