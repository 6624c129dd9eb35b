"""How single operations act on arrays whose last axis is that of points.

Operations of PyTensor count axes from the first, and the inputs of an elementwise one have as many axes each. So most of them
take such arrays almost as they are; an operation without a rule here is done point by point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar import Second
from pytensor.tensor import elemwise, subtensor
from pytensor.tensor.basic import Alloc, Join, MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.blockwise import Blockwise
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
    """An operation of arrays some of which, as flagged, have points on their last axis; so have all outputs, but for shapes."""
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


def _blockwise(node: Any, flags: Sequence[bool]) -> Call:
    """As an operation with one more axis before all others."""
    op = node.op
    n_batch = op.batch_ndim(node)
    dummies = []
    for variable, flag, core in zip(node.inputs, flags, op.inputs_sig, strict=True):
        if flag:
            missing = n_batch - (variable.type.ndim - len(core))
            dummies.append(pt.tensor(dtype=variable.dtype, shape=(None, *(1,) * missing, *variable.type.shape)))
        else:
            dummies.append(variable)
    batched = op.make_node(*dummies)
    call = plain(batched)

    def run(inputs: Sequence[Array]) -> list[Array]:
        arranged = [
            (np.moveaxis(values, -1, 0) if flag else np.asarray(values))
            for values, flag in zip(inputs, flags, strict=True)
        ]
        padded = [
            values.reshape(
                (*values.shape[:1], *(1,) * (v.type.ndim - values.ndim), *values.shape[1:])
                if flag
                else ((1,) * (v.type.ndim - values.ndim) + values.shape)
            )
            for values, flag, v in zip(arranged, flags, batched.inputs, strict=True)
        ]
        return [np.moveaxis(values, 0, -1) for values in call(padded)]

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
    Blockwise: _blockwise,
    CheckAndRaise: _check,
    Shape: _only_first(lambda node, inputs: np.asarray(inputs[0].shape[:-1], dtype=np.int64)),
    Shape_i: _only_first(lambda node, inputs: np.asarray(inputs[0].shape[node.op.i], dtype=np.int64)),
    **dict.fromkeys((ScalarFromTensor, TensorFromScalar), _only_first(lambda node, inputs: inputs[0])),
}

#: Operations whose results are the same at all points.
SHAPES = (Shape, Shape_i)
