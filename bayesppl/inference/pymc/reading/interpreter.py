"""How single operations act on arrays whose last axis is that of points.

Operations of PyTensor count axes from the first, and the inputs of an elementwise one have as many axes each. So
most of them
take such arrays almost as they are; an operation without a rule here is done point by point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytensor
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar import Second
from pytensor.tensor import elemwise, subtensor
from pytensor.tensor.basic import Alloc, Join, MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.reshape import JoinDims, SplitDims
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape

from bayesppl.kernels.arrays import Array

#: The outputs of an operation, of its inputs.
Call = Callable[[Sequence[Any]], Sequence[Any]]

#: The same where some inputs, as flagged, have points on their last axis: of the node and these flags.
Rule = Callable[[Any, Sequence[bool]], Call]


def plain(node: Any) -> Call:
    """An operation of arrays without points."""
    if _fills(node.op):
        return lambda inputs: [_filled(*inputs)]
    node.op.prepare_node(node, None, None, "py")
    return partial(_perform, node)


def at_points(node: Any, flags: Sequence[bool]) -> Call:
    """Compute an operation of arrays some of which, as flagged, have points on their last axis.

    So have all outputs, but for shapes.
    """
    rule = next((RULES[kind] for kind in type(node.op).__mro__ if kind in RULES), _one_by_one)
    return rule(node, flags)


def _perform(node: Any, inputs: Sequence[Any]) -> list[Any]:
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    node.op.perform(node, list(inputs), storage)
    return [cell[0] for cell in storage]


def lift(inputs: Sequence[Array], flags: Sequence[bool]) -> list[Array]:
    """Inputs with an axis for points each, of length one where they are the same at all."""
    return [values if flag else np.asarray(values)[..., None] for values, flag in zip(inputs, flags, strict=True)]


def number(inputs: Sequence[Array], flags: Sequence[bool]) -> int:
    """How many points there are."""
    return next(int(values.shape[-1]) for values, flag in zip(inputs, flags, strict=True) if flag)


def _one_by_one(node: Any, flags: Sequence[bool]) -> Call:
    call = plain(node)

    def at(point: int, values: Array, flag: bool) -> Any:
        if not flag:
            return values
        entry = values[..., point]
        return entry[()] if values.dtype == object else entry

    def run(inputs: Sequence[Array]) -> list[Array]:
        found = [
            call([at(point, values, flag) for values, flag in zip(inputs, flags, strict=True)])
            for point in range(number(inputs, flags))
        ]
        return [np.stack(outputs, axis=-1) for outputs in zip(*found, strict=True)]

    return run


def _only_first(call: Callable[[Any, Sequence[Array]], Array]) -> Rule:
    """A rule of operations on one array, with indices, shapes or lengths that are the same at all points."""

    def rule(node: Any, flags: Sequence[bool]) -> Call:
        if any(flags[1:]):
            return _one_by_one(node, flags)
        return lambda inputs: [call(node, inputs)]

    return rule


def _fills(op: Any) -> bool:
    return isinstance(op, elemwise.Elemwise) and isinstance(op.scalar_op, Second)


def _filled(shaped: Array, values: Array) -> Array:
    """``values`` in the shape of the other array, which PyTensor would copy entry by entry."""
    return np.broadcast_to(values, np.broadcast_shapes(np.shape(shaped), np.shape(values)))


def _elementwise(node: Any, flags: Sequence[bool]) -> Call:
    call = plain(node)
    return lambda inputs: call(lift(inputs, flags))


def _dimshuffle(node: Any, inputs: Sequence[Array]) -> Array:
    op, [values] = node.op, inputs
    turned = values.transpose(*op.shuffle, *op.drop, values.ndim - 1)
    shape = list(turned.shape[: len(op.shuffle)])
    for axis in op.augment:
        shape.insert(axis, 1)
    return turned.reshape(*shape, values.shape[-1])


def _reduction(node: Any, inputs: Sequence[Array]) -> Array:
    op, [values], out = node.op, inputs, node.outputs[0].type.dtype
    axes = tuple(range(node.inputs[0].type.ndim)) if op.axis is None else tuple(op.axis)
    within = op.acc_dtype or out
    return np.asarray(op.ufunc.reduce(values.astype(within), axis=axes, dtype=within), dtype=out)


def _performed(node: Any, inputs: Sequence[Array]) -> Array:
    return _perform(node, inputs)[0]


def _join(node: Any, flags: Sequence[bool]) -> Call:
    def run(inputs: Sequence[Array]) -> list[Array]:
        n_points = number(inputs, flags)
        full = [
            np.broadcast_to(lifted, (*lifted.shape[:-1], n_points)) if variable.type.ndim else values
            for variable, values, lifted in zip(node.inputs, inputs, lift(inputs, flags), strict=True)
        ]  # what has no axes is the number of the axis, in some versions of PyTensor
        return _perform(node, full)

    return run


def _make_vector(node: Any, flags: Sequence[bool]) -> Call:
    return lambda inputs: [np.stack(np.broadcast_arrays(*lift(inputs, flags))).astype(node.outputs[0].dtype)]


def _alloc(node: Any, inputs: Sequence[Array]) -> Array:
    values, *shape = inputs
    return np.broadcast_to(values, (*(int(n) for n in shape), values.shape[-1]))


def _reshape(node: Any, inputs: Sequence[Array]) -> Array:
    values, shape = inputs
    return values.reshape(*(int(n) for n in shape), values.shape[-1])


def _specify_shape(node: Any, inputs: Sequence[Array]) -> Array:
    values, *shape = inputs
    if any(n is not None and n != m for n, m in zip(shape, values.shape, strict=False)):
        raise AssertionError(f"an array has shape {values.shape[:-1]} where {shape} was expected")
    return values


def _check(node: Any, flags: Sequence[bool]) -> Call:
    def run(inputs: Sequence[Array]) -> list[Array]:
        values, *conditions = lift(inputs, flags)
        if not all(np.all(condition) for condition in conditions):
            raise node.op.exc_type(node.op.msg)
        return [np.broadcast_to(values, (*values.shape[:-1], number(inputs, flags)))]

    return run


#: Operations by how they take points; any other is done point by point.
RULES: Mapping[type, Rule] = {
    elemwise.Elemwise: _elementwise,
    elemwise.DimShuffle: _only_first(_dimshuffle),
    elemwise.CAReduce: _only_first(_reduction),
    **dict.fromkeys(
        (subtensor.Subtensor, subtensor.AdvancedSubtensor, JoinDims, SplitDims), _only_first(_performed)
    ),
    Join: _join,
    MakeVector: _make_vector,
    Alloc: _only_first(_alloc),
    Reshape: _only_first(_reshape),
    SpecifyShape: _only_first(_specify_shape),
    CheckAndRaise: _check,
    Shape: _only_first(lambda node, inputs: np.asarray(inputs[0].shape[:-1], dtype=np.int64)),
    Shape_i: _only_first(lambda node, inputs: np.asarray(inputs[0].shape[node.op.i], dtype=np.int64)),
    **dict.fromkeys((ScalarFromTensor, TensorFromScalar), _only_first(lambda node, inputs: inputs[0])),
}

#: Operations whose results are the same at all points.
SHAPES = (Shape, Shape_i)


#: What the value of a variable depends on: on nothing, on inputs that are the same at all points, or on the
#: points.
KNOWN, SAME, AT_POINTS = range(3)


@dataclass(frozen=True, eq=False)
class _Step:
    """An operation, how its outputs are computed, and which variables no later operation needs."""

    node: Any
    call: Call
    done: tuple[Any, ...]


class Interpreter:
    """Graphs as a function of points of some inputs, and of values of others.

    Parameters
    ----------
    varying : sequence of inputs
        Which have another value at every point.
    same : sequence of inputs
        Which have one value at all points.
    outputs : sequence of graphs
    """

    def __init__(self, varying: Sequence[Any], same: Sequence[Any], outputs: Sequence[Any]) -> None:
        self._varying, self._same, self._outputs = tuple(varying), tuple(same), tuple(outputs)
        self._levels = dict.fromkeys(self._same, SAME) | dict.fromkeys(self._varying, AT_POINTS)
        self._known: dict[Any, Any] = {}
        later = []
        with pytensor.config.change_flags(mode="FAST_COMPILE"):  # for the loops of scans, which compile themselves
            for node in toposort(self._outputs, blockers=[*self._varying, *self._same]):
                levels = [self._level(variable) for variable in node.inputs]
                level = max(levels, default=KNOWN)
                call = _call(node, [own == AT_POINTS for own in levels])
                if isinstance(node.op, SHAPES):
                    level = min(level, SAME)
                if level == KNOWN:
                    found = call([self._known[variable] for variable in node.inputs])
                    self._known |= dict(zip(node.outputs, found, strict=True))
                else:
                    later.append((node, call))
                self._levels |= dict.fromkeys(node.outputs, level)
        for output in self._outputs:
            self._level(output)
        self._steps = _in_order(later, self._outputs)

    def _level(self, variable: Any) -> int:
        """What a variable depends on; the value of a constant is noted."""
        if variable not in self._levels:
            if not isinstance(variable, Constant | SharedVariable):
                raise ValueError(f"the graph depends on {variable}, which is not among its inputs")
            self._levels[variable] = KNOWN
            self._known[variable] = variable.data if isinstance(variable, Constant) else variable.get_value()
        return self._levels[variable]

    def depends_on_points(self, place: int) -> bool:
        """Whether an output has another value at every point."""
        return self._levels[self._outputs[place]] == AT_POINTS

    def __call__(self, points: Sequence[Array], same: Sequence[Any] = ()) -> list[Array]:
        """Values of the outputs: the axis of the points leads where they depend on them."""
        found = self.with_points_last([np.moveaxis(np.asarray(values), 0, -1) for values in points], same)
        return [
            np.moveaxis(values, -1, 0) if self.depends_on_points(place) else np.asarray(values)
            for place, values in enumerate(found)
        ]

    def with_points_last(self, points: Sequence[Array], same: Sequence[Any]) -> list[Any]:
        """The same, where the axis of the points is the last one of both arguments and results."""
        values = dict(self._known)
        for variable, given in zip((*self._varying, *self._same), (*points, *same), strict=True):
            values[variable] = np.asarray(given, dtype=variable.dtype)
        with np.errstate(all="ignore"):
            for step in self._steps:
                found = step.call([values[variable] for variable in step.node.inputs])
                values |= dict(zip(step.node.outputs, found, strict=True))
                for variable in step.done:
                    del values[variable]
        return [values[output] for output in self._outputs]


def _call(node: Any, flags: Sequence[bool]) -> Call:
    """How an operation is computed, where the inputs that are flagged have points on their last axis."""
    if isinstance(node.op, OpFromGraph):
        return _inner(node.op.fgraph, flags)
    return at_points(node, flags) if any(flags) else plain(node)


def _inner(graph: Any, flags: Sequence[bool]) -> Call:
    """A graph that stands for one operation."""
    varying = [v for v, flag in zip(graph.inputs, flags, strict=True) if flag]
    same = [v for v, flag in zip(graph.inputs, flags, strict=True) if not flag]
    within = Interpreter(varying, same, graph.outputs)

    def run(inputs: Sequence[Any]) -> list[Any]:
        points = [v for v, flag in zip(inputs, flags, strict=True) if flag]
        found = within.with_points_last(points, [v for v, flag in zip(inputs, flags, strict=True) if not flag])
        if not points:
            return found
        have = [within.depends_on_points(place) for place in range(len(found))]
        n_points = number(inputs, flags)
        return [np.broadcast_to(v, (*v.shape[:-1], n_points)) for v in lift(found, have)]

    return run


def _in_order(calls: Sequence[tuple[Any, Call]], outputs: Sequence[Any]) -> list[_Step]:
    """Operations with the variables that none after them needs."""
    needed, steps = set(outputs), []
    for node, call in reversed(calls):
        own = {*node.inputs, *node.outputs}
        steps.append(_Step(node, call, tuple(own - needed)))
        needed |= own
    return steps[::-1]
