"""A model taken apart: its label, and the parts that are independent given the labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse.csgraph import connected_components

from bayesppl.conjugate import Conjugate
from bayesppl.inference.pymc.graphs import leaves_above, nodes_above, value_of
from bayesppl.inference.pymc.reading import prior_density
from bayesppl.inference.pymc.reading.collapsing import Collapsed
from bayesppl.inference.pymc.reading.compressed import CompressedRows
from bayesppl.inference.pymc.reading.label import Label
from bayesppl.inference.pymc.reading.observed import Observed
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.proposal import Proposal


def independent_parts(model: Any, label: Label) -> list[list[Any]]:
    """Divide the variables and potentials of a model into parts that are independent given the labels.

    Raises
    ------
    ValueError
        If a potential acts on labels or rows.
    """
    known = [*model.free_RVs, *model.observed_RVs]
    members = [*known, *model.potentials]
    tied = np.eye(len(members), dtype=bool)
    for i, member in enumerate(members):
        start = [member] if member in model.potentials else member.owner.inputs
        direct = {v for node in nodes_above(start, known) for v in node.inputs} | {*start}
        above = [variable for variable in known if variable in direct]
        if member in model.potentials:
            _check_potential(model, member, above, label)
        # given the labels and the rows, observed variables tie nothing together
        tied[i, [known.index(parent) for parent in above if parent in model.free_RVs]] = True
    n_parts, group = connected_components(tied, directed=False)
    parts = [[member for member, of in zip(members, group, strict=True) if of == part] for part in range(n_parts)]
    # potentials by themselves are constants
    return [part for part in parts if not all(member in model.potentials for member in part)]


def _check_potential(model: Any, potential: Any, above: Sequence[Any], label: Label) -> None:
    n_rows = len(label.codes)
    if any(parent in model.observed_RVs for parent in above):
        raise ValueError(
            f"the potential {potential.name!r} is computed from observed variables, so that a new row has no "
            "density of its own; declare it as the distribution of an observed variable, by pm.CustomDist if "
            "there is no other"
        )
    rows = [
        leaf
        for leaf in leaves_above([potential], above)
        if n_rows in np.shape(value_of(leaf)) and np.ndim(value_of(leaf)) and n_rows > len(label.classes)
    ]
    if rows:
        raise ValueError(
            f"the potential {potential.name!r} is computed from data of the length of the rows, so that a new row "
            "has no density of its own; declare it as the distribution of an observed variable, by pm.CustomDist "
            "if there is no other"
        )


Solution = Literal["exact", "collapsed", "compressed", "by rows", "unused"]


@dataclass(frozen=True, eq=False)
class Solved:
    """A block with a closed form.

    Attributes
    ----------
    proposal : Proposal or None
        The family; None for the class weights.
    belief : Conjugate
        The prior.
    density : PriorDensity or None
        The prior in coordinates; None where nothing is learned.
    """

    proposal: Proposal | None
    belief: Conjugate
    density: prior_density.PriorDensity | None


@dataclass(frozen=True, eq=False)
class Block:
    """A part of a model that is independent of the others given the labels.

    Attributes
    ----------
    coordinates : Coordinates
        Of its free variables and potentials.
    everything : tuple of Observed
        The observed variables, but for the label.
    holds_label : bool
        Whether the label is one of its variables.
    solution : {"exact", "collapsed", "compressed", "by rows", "unused"}
    family, prior : str
    why : str
    solved : Solved, optional
    collapsed : Collapsed, optional
    rows : tuple of CompressedRows
        By which the observed variables of ``everything`` enter the sampler.
    """

    coordinates: Coordinates
    everything: tuple[Observed, ...]
    holds_label: bool
    solution: Solution = "by rows"
    family: str = ""
    prior: str = ""
    why: str = ""
    solved: Solved | None = None
    collapsed: Collapsed | None = None
    rows: tuple[CompressedRows, ...] = ()

    @property
    def observed(self) -> tuple[Observed, ...]:
        """Return the observed variables that depend on the label."""
        return tuple(x for x in self.everything if x.depends_on_label)

    @property
    def name(self) -> str:
        """Return the names of the observed variables."""
        return ", ".join(x.name for x in self.observed) or ("label" if self.holds_label else "nothing observed")


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

    @property
    def unused(self) -> list[str]:
        """Name the observed variables that neither depend on the label nor are given to one that does."""
        used = {name for block in self.blocks for x in block.observed for name in (x.name, *x.given)}
        return [x.name for block in self.blocks for x in block.everything if x.name not in used]


# Dimensions of answers about parameters, and of rows.
_TAKEN = ("estimate", "measure", "row")


def parameter_dims(reading: Reading, block: Block) -> tuple[dict[str, tuple[str, ...]], dict[str, list[Hashable]]]:
    """Return dims of the free variables of a block, those of the model or numbered ones, and their labels.

    A dimension is called "class" if it is that of the classes, and nothing else.
    """
    dims: dict[str, tuple[str, ...]] = {}
    coords: dict[str, list[Hashable]] = {}
    starts = [start[None] for start in block.coordinates.start]
    theta = block.coordinates.theta(starts)
    for name, values in theta.items():
        own = reading.model.named_vars_to_dims.get(name)
        shape = values.shape[1:]
        dims[name] = ()
        for axis, size in enumerate(shape):
            dim = own[axis] if own else None
            known = reading.model.coords.get(dim)
            labels = list(known) if known is not None else list(range(size))
            if dim in (None, *_TAKEN) or (dim == "class" and not reading.label.has_classes(labels)):
                dim = f"{name}_dim_{axis}"
            dims[name] += (dim,)
            coords[dim] = labels
    coords.pop("class", None)
    return dims, coords
