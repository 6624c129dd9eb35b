"""Walking, substituting and evaluating PyTensor graphs, without compiling any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.logprob.utils import CheckParameterValue
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.graph.traversal import ancestors, toposort
from pytensor.scalar import Second, upcast
from pytensor.scalar import basic as scalars
from pytensor.tensor.basic import Alloc, Join, MakeVector, ScalarFromTensor
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.math import All, Dot
from pytensor.tensor.shape import Shape, Shape_i
from pytensor.tensor.type import TensorType
from pytensor.tensor.variable import TensorConstant

from bayesppl.kernels.arrays import Array

#: Points that graphs are evaluated at together.
AT_ONCE = 1000

#: PyMC's rewrites of distributions before it takes their densities, but for one. It gives normal vectors of a
#: known precision a density that is meant for a single vector, so that several raise an error, or, where they are
#: as many as they have entries, get another density.
REWRITES = RewriteDatabaseQuery(include=["basic"], exclude=["mv_normal_to_precision_mv_normal"])


def nodes_above(outputs: Iterable[Any], stop: Iterable[Any] = ()) -> list[Any]:
    """List the operations that ``outputs`` are computed by, not going beyond the variables of ``stop``."""
    blocked = set(stop)
    owners = (variable.owner for variable in ancestors(outputs, blocked) if variable not in blocked)
    return [node for node in dict.fromkeys(owners) if node is not None]


def shapes_above(outputs: Iterable[Any], stop: Iterable[Any] = ()) -> list[Any]:
    """List the shapes that ``outputs`` are computed from: they say nothing of what is so long."""
    return [node.out for node in nodes_above(outputs, stop) if isinstance(node.op, Shape)]


def core_of(op: Any) -> Any:
    """Return the operation that is done number by number, or array by array; others as they are."""
    return getattr(op, "core_op", getattr(op, "scalar_op", op))


def leaves_above(outputs: Sequence[Any], stop: Iterable[Any] = ()) -> list[Any]:
    """List the constants and shared variables that ``outputs`` are computed from, each once."""
    blocked = set(stop)
    nodes = nodes_above(outputs, blocked)
    variables = [*outputs, *(variable for node in nodes for variable in node.inputs)]
    return list(
        dict.fromkeys(v for v in variables if isinstance(v, Constant | SharedVariable) and v not in blocked)
    )


def value_of(leaf: Any) -> Any:
    """Return the value of a constant or a shared variable."""
    return leaf.data if isinstance(leaf, Constant) else leaf.get_value(borrow=True)


def substitute(outputs: Sequence[Any], replacements: Mapping[Any, Any]) -> list[Any]:
    """Replace variables of graphs; static shapes follow. What depends on none of them is not copied.

    Operations that hold a graph, such as softmax, are replaced by this graph, whose shapes are not fixed; random
    variables that do are not. PyTensor's ``clone_replace`` makes every operation anew, and takes far longer.
    """
    found = dict(replacements)
    for node in toposort(outputs, blockers=replacements):
        inputs = [found.get(variable, variable) for variable in node.inputs]
        changed = [(new, old) for new, old in zip(inputs, node.inputs, strict=True) if new is not old]
        if changed and isinstance(node.op, OpFromGraph) and not isinstance(node.op, SymbolicRandomVariable):
            held = node.op.fgraph.unfreeze()
            inner = dict(zip(held.inputs, inputs, strict=True))
            found |= dict(zip(node.outputs, substitute(held.outputs, inner), strict=True))
        elif changed:
            # where numbers of the same type take the place of numbers, shapes cannot change, and need not be
            # inferred again
            same = all(
                new.type == old.type and isinstance(old.type, TensorType) and old.type.dtype.startswith("float")
                for new, old in changed
            )
            kinds = [variable.type() for variable in node.outputs]
            if isinstance(node.op, MakeVector):  # of the type that its numbers had
                made = MakeVector(upcast(*(variable.dtype for variable in inputs))).make_node(*inputs)
            else:
                made = Apply(node.op, inputs, kinds) if same else node.op.make_node(*inputs)
            found |= dict(zip(node.outputs, made.outputs, strict=True))
    return [found.get(output, output) for output in outputs]


def without_sums_of_numbers(outputs: Sequence[Any]) -> list[Any]:
    """Return graphs without sums over an axis that a single number has not, as in the density of pm.CAR."""
    nodes = (node for node in nodes_above(outputs) if isinstance(node.op, CAReduce))
    return substitute(outputs, {v.out: v.inputs[0].astype(v.out.dtype) for v in nodes if not v.inputs[0].ndim})


#: Types of numbers that PyTensor computes with in fewer than 64 bits, and those with as many.
_WIDE = {"float16": "float64", "float32": "float64"} | dict.fromkeys(
    ("int8", "int16", "int32", "uint8", "uint16"), "int64"
)


def in_64_bits(outputs: Sequence[Any]) -> dict[Any, Any]:
    """Map the constants above ``outputs`` that PyTensor keeps in fewer bits to the same ones in 64 bits.

    A written 7.0 has the same value in both, but 1 / 7.0 has not, nor 1 / 7. What enters an operation that holds a
    graph keeps the type that this graph has.
    """
    held = [v for node in nodes_above(outputs) if isinstance(node.op, OpFromGraph) for v in node.inputs]
    kept = set(leaves_above(held))
    return {
        leaf: pt.constant(leaf.data, dtype=_WIDE[leaf.dtype], name=leaf.name)
        for leaf in leaves_above(outputs)
        if isinstance(leaf, TensorConstant) and leaf.dtype in _WIDE and leaf not in kept
    }


def without_shapes(outputs: Sequence[Any]) -> list[Any]:
    """Replace shapes that are known by numbers: what is only shaped like a variable does not depend on it."""
    shaped = (
        isinstance(node.op, Shape | Shape_i) or isinstance(core_of(node.op), Second)
        for node in nodes_above(outputs)
    )
    return canonical(outputs) if any(shaped) else list(outputs)


def canonical(outputs: Sequence[Any]) -> list[Any]:
    """Simplify graphs, and compute the shapes that are known."""
    return rewrite_graph(list(outputs), include=("ShapeOpt", "canonicalize", "local_second_to_alloc"), clone=True)


def without_checks(outputs: Sequence[Any]) -> list[Any]:
    """Remove PyMC's checks: graphs then return a number where PyMC would raise for a parameter out of range."""
    outputs = list(outputs)
    while checks := _checks_above(outputs):  # one may lie within another
        outputs = substitute(outputs, {node.outputs[0]: node.inputs[0] for node in checks})
    return outputs


def without_errors(log_density: Any, rows: Sequence[Any]) -> Any:
    """Make PyMC's checks of parameters a density of zero, in place of an error.

    PyMC compiles them likewise, but one parameter out of range makes the density of all rows zero there. Here only
    entries whose own parameters are out of range have none, where these depend on ``rows``, inputs by row. They
    have none as a whole: what is made of a density that is zero, such as the mass beyond a limit, need not be.
    """
    demands = _joined([demand for node in _checks_above([log_density]) for demand in node.inputs[1:]], set(rows))
    found, *parts = without_checks([log_density, *demands])
    for demand in parts:
        found = pt.switch(demand.all(tuple(range(found.ndim, demand.ndim))), found, -np.inf)
    return found


#: What demands are joined by, and the parts of arrays that they are before.
_JOINING = (All, MakeVector, ScalarFromTensor)


def _joined(demands: Sequence[Any], rows: set[Any]) -> Iterator[Any]:
    """Yield demands, and in place of one that others of rows are joined to, these."""
    for demand in demands:
        node = demand.owner
        op = None if node is None else node.op
        if not rows & set(ancestors([demand])):
            yield pt.all(demand)
        elif isinstance(core_of(op), (*_JOINING, scalars.AND)):
            yield from _joined(node.inputs, rows)
        elif isinstance(op, Join):
            yield from _joined([_unstacked(part) for part in node.inputs], rows)
        else:
            yield pt.as_tensor(demand)


def _unstacked(part: Any) -> Any:
    """Return what was given an axis, to be stacked along it."""
    return part.owner.inputs[0] if isinstance(getattr(part.owner, "op", None), DimShuffle) else part


def conditions(outputs: Sequence[Any]) -> list[Any]:
    """Return what PyMC's checks demand of parameters, graphs of truth values that hold no checks themselves."""
    return without_checks([condition for node in _checks_above(outputs) for condition in node.inputs[1:]])


def within(demands: Sequence[Any], log_density: Any) -> Any:
    """Return a log density where all demands are met, and minus infinity elsewhere."""
    return pt.switch(pt.all(demands), log_density, -np.inf) if demands else log_density


def _checks_above(outputs: Sequence[Any]) -> list[Any]:
    return [node for node in nodes_above(outputs) if isinstance(node.op, CheckParameterValue)]


def without_products(outputs: Sequence[Any]) -> list[Any]:
    """Write products of matrices as elementwise ones, summed, which compile in a tenth of the time."""
    products = [
        node
        for node in nodes_above(outputs)
        if isinstance(core_of(node.op), Dot) and all(x.type.ndim > 1 for x in node.inputs)
    ]
    return substitute(
        outputs,
        {
            node.outputs[0]: (node.inputs[0][..., :, :, None] * node.inputs[1][..., None, :, :]).sum(-2)
            for node in products
        },
    )


class Interpreter:
    """Graphs as a function of points of some inputs, and of values of others, without compiling any.

    Parameters
    ----------
    varying : sequence of inputs
        Which have another value at every point.
    same : sequence of inputs
        Which have one value at all points.
    outputs : sequence of graphs
    """

    def __init__(self, varying: Sequence[Any], same: Sequence[Any], outputs: Sequence[Any]) -> None:
        batched = {v: pt.tensor(dtype=v.dtype, shape=(None, *v.type.shape)) for v in varying}
        with pytensor.config.change_flags(mode="FAST_COMPILE"):  # for the loops of scans, which compile themselves
            self._graphs = _at_points(outputs, batched)
            self._varies = [new.ndim > old.ndim for new, old in zip(self._graphs, outputs, strict=True)]
            self._inputs = [*batched.values(), *same]
            self._known = known_values(self._graphs)
        self._steps = [node for node in toposort(self._graphs) if node.outputs[0] not in self._known]
        given = {*self._inputs, *self._known, *(variable for node in self._steps for variable in node.outputs)}
        # where the value of a variable is needed for the last time
        self._last = {v: node for node in self._steps for v in node.inputs if v not in self._graphs}
        missing = [variable for variable in self._last if variable not in given]
        if missing:
            raise ValueError(f"the graph depends on {missing[0]}, which is not among its inputs")

    def __call__(
        self, points: Sequence[Array], same: Sequence[Any] = (), n_points: int | None = None
    ) -> list[Array]:
        """Evaluate the outputs, the axis of the points leading.

        Parameters
        ----------
        n_points : int, optional
            Where nothing varies: how many points there are; without it, values have no axis of points.
        """
        n_points = len(points[0]) if points else n_points
        if n_points is not None and n_points > AT_ONCE:
            starts = range(0, n_points, AT_ONCE)
            pieces = [self([v[i : i + AT_ONCE] for v in points], same, min(AT_ONCE, n_points - i)) for i in starts]
            return [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
        values = dict(self._known)
        for variable, given in zip(self._inputs, (*points, *same), strict=True):
            values[variable] = np.asarray(given, dtype=variable.dtype)
        with np.errstate(all="ignore"):
            for node in self._steps:
                _perform(node, values)
                for variable in node.inputs:
                    if self._last.get(variable) is node:
                        values.pop(variable, None)
        found = [values[graph] for graph in self._graphs]
        return [
            array if varies or n_points is None else np.broadcast_to(array, (n_points, *np.shape(array)))
            for array, varies in zip(found, self._varies, strict=True)
        ]


def known_values(outputs: Sequence[Any]) -> dict[Any, Any]:
    """Compute the values of all variables above ``outputs`` that depend on no input."""
    known = {leaf: value_of(leaf) for leaf in leaves_above(outputs)}
    for node in toposort(outputs):
        node.op.prepare_node(node, None, None, "py")
        if isinstance(node.op, Shape) and None not in node.inputs[0].type.shape:
            known[node.outputs[0]] = np.asarray(node.inputs[0].type.shape, dtype=np.int64)
        elif all(variable in known for variable in node.inputs):
            _perform(node, known)
    return known


def _perform(node: Any, values: dict[Any, Any]) -> None:
    """Compute the outputs of an operation, and add them to the values of variables."""
    inputs = [values[variable] for variable in node.inputs]
    if isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, Second):
        # the second in the shape of the first, which PyTensor copies entry by entry
        values[node.outputs[0]] = np.broadcast_to(inputs[1], np.broadcast_shapes(*map(np.shape, inputs)))
        return
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    node.op.perform(node, inputs, storage)
    values.update({variable: cell[0] for variable, cell in zip(node.outputs, storage, strict=True)})


def _at_points(outputs: Sequence[Any], replacements: Mapping[Any, Any]) -> list[Any]:
    """Replace variables of graphs by others that have an axis of points before their own.

    As PyTensor's ``vectorize_graph``, but shapes have no such axis: with one, what is reshaped to them would be
    done point by point. Operations that hold a graph are replaced by it, those of matrices too.
    """
    found = dict(replacements)
    for node in toposort(outputs, blockers=replacements):
        inputs = [found.get(variable, variable) for variable in node.inputs]
        made: Any
        op = core_of(node.op)
        if isinstance(op, OpFromGraph):
            held = op.fgraph.unfreeze()
            made = _at_points(held.outputs, dict(zip(held.inputs, inputs, strict=True)))
        elif all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
            continue
        elif isinstance(node.op, Elemwise) or _axes(inputs) == _axes(node.inputs):  # and as they are
            made = node.op.make_node(*inputs)
        elif isinstance(node.op, Shape):
            made = [inputs[0].shape[inputs[0].ndim - node.inputs[0].ndim :]]
        elif (
            isinstance(node.op, Alloc)
            and inputs[0].ndim == node.inputs[0].ndim + 1
            and inputs[1:] == node.inputs[1:]
        ):
            # not made by PyTensor, which looks for the static shape at great length
            axes = range(1, inputs[0].ndim)
            lead = ["x"] * (node.outputs[0].ndim - len(axes))
            value = inputs[0].dimshuffle(0, *lead, *axes)
            kind = node.outputs[0].type.clone(shape=(None, *node.outputs[0].type.shape))
            made = Apply(node.op, [value, Shape_i(0)(value), *inputs[1:]], [kind()])
        else:
            alone = [variable.clone() for variable in node.inputs]
            one = Apply(node.op, alone, [variable.type() for variable in node.outputs])
            made = vectorize_graph(one.outputs, dict(zip(alone, inputs, strict=True)))
        found |= dict(zip(node.outputs, getattr(made, "outputs", made), strict=True))
    return [found.get(output, output) for output in outputs]


def _axes(variables: Sequence[Any]) -> list[int]:
    """Count the axes of arrays; generators of random numbers have none."""
    return [getattr(variable.type, "ndim", 0) for variable in variables]


def evaluate(outputs: Sequence[Any]) -> list[Array]:
    """Evaluate graphs without inputs."""
    return Interpreter((), (), outputs)(())
