"""Graphs evaluated operation by operation, at all points of some of their inputs at once, without a compilation.

The points are the *last* axis of every array that depends on them. Operations count axes from the first, and the inputs of an
elementwise one have as many axes each, so that most of them take such arrays as they are. The others are done point by point.
What depends on no input is computed once, when the interpreter is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import toposort

from bayesppl.inference.pymc.reading.operations import SHAPES, Call, at_points, lift, number, plain
from bayesppl.kernels.arrays import Array

#: What the value of a variable depends on: on nothing, on inputs that are the same at all points, or on the points.
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
