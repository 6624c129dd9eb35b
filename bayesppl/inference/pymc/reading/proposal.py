"""Proposals of families that a likelihood could be, and their parameters for each class."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytensor.tensor as pt

from bayesppl.families import Family
from bayesppl.inference.pymc.reading.naturals import Natural
from bayesppl.inference.pymc.reading.observed import same_values
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class Proposal:
    """A family that a block could be.

    Attributes
    ----------
    natural : Natural
    theta : mapping of str to graph
        Parameters of the family, of the inputs for the free variables.
    family : callable
        Of a prior and the names of the columns.
    known : mapping of str to graph
        Further parameters of the rows, of the inputs, given which those of ``theta`` are looked at.
    rows : callable, optional
        Of the names of the columns: the family of the rows under ``theta`` and ``known``, where it is another
        than ``family``.
    """

    natural: Natural
    theta: Mapping[str, Any]
    family: Callable[[Any, Sequence[Hashable]], Family]
    known: Mapping[str, Any] = field(default_factory=dict)
    rows: Callable[[Sequence[Hashable]], Family] | None = None

    def rows_family(self, belief: Any, columns: Sequence[Hashable]) -> Family:
        """Return the family of the rows under ``theta`` and ``known``."""
        return self.family(belief, columns) if self.rows is None else self.rows(columns)


@dataclass(frozen=True, eq=False)
class At:
    """Values of graphs of the inputs at points of the free variables."""

    coordinates: Coordinates
    points: Sequence[Array]

    def __call__(self, graph: Any) -> Array:
        return self.coordinates.evaluate(self.coordinates.of([graph]), self.points)[0]

    def constant(self, graph: Any) -> Array | None:
        """Return the value of a graph without variables and classes, (n_features,); None for any other."""
        values = self(graph)
        first = np.asarray(values[0, 0])
        return first if same_values(values, np.broadcast_to(first, values.shape), 1e-15, 0.0) else None


#: Of the parameters of the distribution of each variable, and the column given for each row by the setting of the
#: family that it is: proposals, in order, or why there is none.
Build = Callable[[Sequence[Any], At, Mapping[str, str]], list[Proposal] | str]


def columns_of(parameters: Sequence[Sequence[Any]], place: int, n_core: int = 0) -> Any:
    """Join one parameter of all observed variables, (n_classes, n_features, ...)."""
    flat = [
        own[place].reshape(
            (own[place].shape[0], -1, *(own[place].shape[own[place].ndim - n_core + j] for j in range(n_core)))
        )
        for own in parameters
    ]
    return flat[0] if len(flat) == 1 else pt.concatenate(flat, axis=1)


def different(graphs: Sequence[Any], at: At) -> tuple[list[Any], Array | None]:
    """Find the different parameters among those of all cells, (1, n_different), and which each cell has.

    Where no two cells have the same: all of them, (n_classes, n_features), and None.
    """
    values = [at(graph) for graph in graphs]
    shape = values[0].shape[1:]
    flat = np.concatenate([v.reshape(len(v), -1) for v in values])
    _, first, cells = np.unique(flat, axis=1, return_index=True, return_inverse=True)
    if len(first) == flat.shape[1]:
        return list(graphs), None
    return [graph.reshape((1, -1))[:, first] for graph in graphs], cells.reshape(shape)
