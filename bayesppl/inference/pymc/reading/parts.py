"""A model taken apart: its label, and its independent parts with what is known of each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bayesppl.conjugate import Conjugate
from bayesppl.families import Family
from bayesppl.inference.pymc.reading import priors
from bayesppl.inference.pymc.reading.blocks import Component
from bayesppl.inference.pymc.reading.collapsing import Collapsed
from bayesppl.inference.pymc.reading.labels import Label
from bayesppl.inference.pymc.reading.naturals import Natural
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.rows import Observed
from bayesppl.inference.pymc.reading.sampling import WeightedRows

Solution = Literal["exact", "collapsed", "compressed", "by rows", "unused"]


@dataclass(frozen=True, eq=False)
class Solved:
    """A block with a closed form.

    Attributes
    ----------
    natural : Natural
    theta : mapping of str to graph
        Parameters of the family, of the inputs for the free variables.
    family : callable or None
        Makes the family, with its prior, of the names of its columns; None for the class weights.
    belief : Conjugate
        The prior.
    density : Density or None
        The prior in coordinates; None where nothing is learned.
    """

    natural: Natural
    theta: Mapping[str, Any]
    family: Callable[[Sequence[Hashable]], Family] | None
    belief: Conjugate
    density: priors.Density | None


@dataclass(frozen=True, eq=False)
class Block:
    """A part of a model that is independent of the others given the labels.

    Attributes
    ----------
    component : Component
    observed : tuple of Observed
        Those that depend on the label.
    everything : tuple of Observed
    coordinates : Coordinates
    solution : {"exact", "collapsed", "compressed", "by rows", "unused"}
    family, prior : str
    why : str
    solved : Solved, optional
    collapsed : Collapsed, optional
    rows : tuple of WeightedRows
        By which the observed variables of ``everything`` enter the sampler.
    """

    component: Component
    observed: tuple[Observed, ...]
    everything: tuple[Observed, ...]
    coordinates: Coordinates
    solution: Solution
    family: str
    prior: str
    why: str
    solved: Solved | None = None
    collapsed: Collapsed | None = None
    rows: tuple[WeightedRows, ...] = ()

    @property
    def name(self) -> str:
        """The observed variables."""
        return ", ".join(x.name for x in self.observed) or (
            "label" if self.component.holds_label else "nothing observed"
        )


@dataclass(frozen=True, eq=False)
class Reading:
    """A model, taken apart.

    Attributes
    ----------
    model : pm.Model
    label : Label
    inputs : mapping of free variable to input
    blocks : tuple of Block
        The block of the label first.
    class_weights : graph
        Of the inputs: (n_classes,).
    """

    model: Any
    label: Label
    inputs: Mapping[Any, Any]
    blocks: tuple[Block, ...]
    class_weights: Any
