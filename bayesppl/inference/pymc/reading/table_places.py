"""Places in tables of parameters, such as the number of a group, that are computed from what is given for rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from pytensor.graph.traversal import ancestors
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor

from bayesppl.inference.pymc.graphs import Interpreter, nodes_above, shapes_above
from bayesppl.kernels.arrays import Array

#: A place that no table has; an array of as many numbers is of no great size.
BEYOND = 10**6

# Which inputs of an operation are places in its first one.
_FIRST_PLACE = {AdvancedSubtensor: 1, Subtensor: 1, AdvancedIncSubtensor: 2, IncSubtensor: 2}


@dataclass(frozen=True, eq=False)
class TablePlaces:
    """Places in tables, as graphs of rows.

    Attributes
    ----------
    graphs : sequence of graphs
    rows : sequence of inputs
        Codes, values, and what is given.
    names : list of str
        Of what is given as places.
    usual : mapping of code to array
        The least places in rows of the fit under each class, once they are known.
    """

    graphs: Sequence[Any]
    rows: Sequence[Any]
    names: list[str]
    usual: dict[int, Array] = field(default_factory=dict)

    @classmethod
    def of(
        cls, density: Any, rows: Sequence[Any], given: Mapping[str, Any], parameters: Mapping[Any, Any]
    ) -> Self:
        """Find the places in a density that depend on what is given, and not on what is learned."""
        tables = (node for node in nodes_above([density]) if type(node.op) in _FIRST_PLACE)
        places = (place for node in tables for place in node.inputs[_FIRST_PLACE[type(node.op)] :])
        lengths = shapes_above([density])  # which are no places of rows
        above = {place: set(ancestors([place], lengths)) for place in places}
        known, learned = set(given.values()), set(parameters.values())
        found = {place: inputs for place, inputs in above.items() if inputs & known and not inputs & learned}
        names = [name for name, own in given.items() if any(own in inputs for inputs in found.values())]
        return cls(list(found), rows, names)

    @cached_property
    def _call(self) -> Interpreter:
        return Interpreter((), self.rows, self.graphs)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but what was made of the graphs, which is made anew."""
        return {name: value for name, value in vars(self).items() if name != "_call"}

    def least(self, codes: Array, rows: Sequence[Array], length: int | None) -> Array:
        """Find the least of each place among rows: (n_places,).

        Parameters
        ----------
        length : int, optional
            How many rows the graphs take at once, where their shapes are fixed.
        """
        length = length or len(codes)
        # again from the first where the graphs take so many
        taken = np.resize(np.arange(len(codes)), (-(-len(codes) // length), length))
        parts = (self._call((), [codes[some], *(a[some] for a in rows)]) for some in taken)
        return np.min([[np.min(places, initial=0) for places in part] for part in parts], axis=0)
