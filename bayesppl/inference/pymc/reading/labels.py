"""The observed label of a model: its codes, its classes, and the places where it acts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.scalar import EQ, GE, GT, LE, LT, NEQ, Cast, Switch
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.random.basic import BernoulliRV, CategoricalRV
from pytensor.tensor.subtensor import AdvancedSubtensor

from bayesppl.inference.pymc.reading.graphs import evaluate, leaves_above, nodes_above, value_of
from bayesppl.kernels.arrays import Array

_COMPARISONS = (EQ, NEQ, LT, LE, GT, GE)


@dataclass(frozen=True, eq=False)
class Label:
    """An observed label.

    Attributes
    ----------
    variable : random variable
    codes : (n_rows,)
    classes : tuple
        The labels of the codes, read from the coords of the model, or the codes themselves.
    data : tuple of shared variables
        The ``pm.Data`` that hold the codes.
    """

    variable: Any
    codes: Array
    classes: tuple[Hashable, ...]
    data: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        return str(self.variable.name)

    @property
    def is_binary(self) -> bool:
        """Whether the label is a Bernoulli variable."""
        return isinstance(self.variable.owner.op, BernoulliRV)


def find_label(model: Any, name: str) -> Label:
    """The label called ``name``.

    Raises
    ------
    ValueError
        If there is none, it is not observed, not discrete, not one per row, or partly missing.
    """
    candidates = [v.name for v in model.observed_RVs if isinstance(v.owner.op, BernoulliRV | CategoricalRV)]
    advice = (
        f"the observed Categorical and Bernoulli variables are {', '.join(map(repr, candidates))}"
        if candidates
        else "the model has no observed Categorical or Bernoulli variable"
    )
    if f"{name}_unobserved" in model.named_vars:
        raise ValueError(
            f"some labels of {name!r} are missing, so that it is learned with the parameters; give the model the rows whose "
            "label is known, and predict the others"
        )
    if name not in model.named_vars:
        raise ValueError(f"the model has no variable {name!r} to serve as label; {advice}")
    variable = model[name]
    if variable not in model.observed_RVs:
        raise ValueError(
            f"{name!r} is not observed, so that the model does not learn from labels; give it observed=..., or name another "
            f"label: {advice}"
        )
    if not isinstance(variable.owner.op, BernoulliRV | CategoricalRV):
        raise ValueError(
            f"the label {name!r} is distributed as {_kind(variable)}; a label is pm.Categorical, or pm.Bernoulli where there "
            "are two classes"
        )
    [codes] = evaluate([model.rvs_to_values[variable]])
    if codes.ndim != 1:
        raise ValueError(f"the label {name!r} has shape {codes.shape}; it must hold one code for each row")
    classes = _classes(model, variable)
    outside = codes[(codes < 0) | (codes >= len(classes))]
    if len(outside):
        raise ValueError(
            f"the label {name!r} holds the code {outside[0]}, and its classes are 0 to {len(classes) - 1}"
        )
    data = [leaf for leaf in leaves_above([model.rvs_to_values[variable]]) if isinstance(leaf, SharedVariable)]
    return Label(variable, codes.astype(np.int64), classes, tuple(data))


def places(label: Label, outputs: Sequence[Any], stop: Sequence[Any]) -> list[Any]:
    """Variables above ``outputs`` that stand for the label.

    The random variable itself; its data, where they are a ``pm.Data``; and integer constants equal to the codes that
    are used as an index or compared with a number, and in no other way.
    """
    nodes = nodes_above(outputs, [*stop, label.variable])
    clients: dict[Any, list[tuple[Any, int]]] = {}
    for node in nodes:
        for position, variable in enumerate(node.inputs):
            clients.setdefault(variable, []).append((node, position))
    found = [label.variable] if label.variable in clients else []
    for leaf in leaves_above(outputs, [*stop, label.variable]):
        if leaf in label.data or (_equals_codes(leaf, label.codes, "iub") and _selects(leaf, clients)):
            found.append(leaf)
    return found


def unused_codes(label: Label, outputs: Sequence[Any], stop: Sequence[Any]) -> bool:
    """Whether a constant equal to the codes is above ``outputs``, used as a number."""
    return any(_equals_codes(leaf, label.codes) for leaf in leaves_above(outputs, [*stop, label.variable]))


def _equals_codes(leaf: Any, codes: Array, kinds: str = "iubf") -> bool:
    value = value_of(leaf)
    return (
        isinstance(leaf, Constant | SharedVariable)
        and isinstance(value, np.ndarray)
        and value.dtype.kind in kinds
        and value.ndim > 0
        and value.size == len(codes)
        and max(value.shape) == len(codes)
        and np.array_equal(value.ravel(), codes)
    )


def _selects(variable: Any, clients: dict[Any, list[tuple[Any, int]]]) -> bool:
    """Whether a variable is used as an index, in comparisons and as a condition only."""
    uses = clients.get(variable, [])
    return bool(uses) and all(_is_selection(node, position, clients) for node, position in uses)


def _is_selection(node: Any, position: int, clients: dict[Any, list[tuple[Any, int]]]) -> bool:
    op = node.op
    if isinstance(op, AdvancedSubtensor):
        return position > 0
    if isinstance(op, Elemwise):
        scalar = op.scalar_op
        if isinstance(scalar, _COMPARISONS):
            return True
        if isinstance(scalar, Switch) and position == 0:
            return True
        passes = isinstance(scalar, Cast)
    else:
        passes = isinstance(op, DimShuffle)
    return passes and _selects(node.outputs[0], clients)


def _classes(model: Any, variable: Any) -> tuple[Hashable, ...]:
    if isinstance(variable.owner.op, BernoulliRV):
        return (0, 1)
    [p] = variable.owner.op.dist_params(variable.owner)
    n_classes = p.type.shape[-1]
    if n_classes is None:
        [n_classes] = evaluate([p.shape[-1]])
    root = p
    while root.owner is not None and isinstance(root.owner.op, DimShuffle):
        root = root.owner.inputs[0]
    dims = model.named_vars_to_dims.get(root.name) or (None,)
    coords = model.coords.get(dims[-1])
    if coords is not None and len(coords) == n_classes:
        return tuple(coords)
    return tuple(range(int(n_classes)))


def _kind(variable: Any) -> str:
    return str(getattr(variable.owner.op, "name", None) or type(variable.owner.op).__name__)
