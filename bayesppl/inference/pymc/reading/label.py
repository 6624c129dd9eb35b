"""The observed label of a model: its codes, its classes, and the places where it acts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.scalar import EQ, GE, GT, LE, LT, NEQ, Cast, Switch
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.random.basic import BernoulliRV, CategoricalRV
from pytensor.tensor.subtensor import AdvancedSubtensor

from bayesppl.data.labels import encode_labels
from bayesppl.inference.pymc.graphs import evaluate, leaves_above, nodes_above, shapes_above, value_of
from bayesppl.kernels.arrays import Array

_COMPARISONS = (EQ, NEQ, LT, LE, GT, GE)


@dataclass(frozen=True, eq=False)
class Label:
    """An observed label.

    The codes of a model count its classes in the order of its coords. Here, and in all that is made of the model,
    classes are in ascending order: what takes codes of the model gets ``order`` of ours.

    Attributes
    ----------
    variable : random variable
    codes : (n_rows,)
        Places among ``classes``.
    classes : tuple
        In ascending order.
    order : (n_classes,)
        The code of each class in the model.
    data : tuple of shared variables
        The ``pm.Data`` that hold the model's codes.
    """

    variable: Any
    codes: Array
    classes: tuple[Hashable, ...]
    order: Array
    data: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        return str(self.variable.name)

    @property
    def model_codes(self) -> Array:
        """Return the codes as the model has them."""
        return np.asarray(self.order[self.codes])

    @cached_property
    def first_alike(self) -> Array:
        """Return the place of the first row of the class of every row."""
        _, first, code = np.unique(self.codes, return_index=True, return_inverse=True)
        return np.asarray(first[code])

    @property
    def is_sorted(self) -> bool:
        """Whether the classes of the model are in ascending order."""
        return bool((np.diff(self.order) > 0).all())

    def has_classes(self, labels: Sequence[Hashable]) -> bool:
        """Whether the labels of a dimension are the classes in the order of the model.

        If that is ascending, under any names.
        """
        return len(labels) == len(self.order) and (
            self.is_sorted or [labels[code] for code in self.order] == list(self.classes)
        )

    @property
    def is_binary(self) -> bool:
        """Whether the label is a Bernoulli variable."""
        return isinstance(self.variable.owner.op, BernoulliRV)


def find_label(model: Any, name: str, classes: Sequence[Hashable] | None = None) -> Label:
    """Find the label called ``name``.

    Parameters
    ----------
    classes : sequence, optional
        What the codes stand for; the coords of the model by default, or the codes themselves.

    Raises
    ------
    ValueError
        If there is none, it is not observed, not discrete, or not one per row; if it has another number of
        classes, or they cannot be labels.
    """
    candidates = [v.name for v in model.observed_RVs if isinstance(v.owner.op, BernoulliRV | CategoricalRV)]
    advice = (
        f"the observed Categorical and Bernoulli variables are {', '.join(map(repr, candidates))}"
        if candidates
        else "the model has no observed Categorical or Bernoulli variable"
    )
    if name not in model.named_vars:
        raise ValueError(f"the model has no variable {name!r} to serve as label; {advice}")
    variable = model[name]
    if variable not in model.observed_RVs:
        raise ValueError(
            f"{name!r} is not observed, so that the model does not learn from labels; give it observed=..., or "
            f"name another label: {advice}"
        )
    if not isinstance(variable.owner.op, BernoulliRV | CategoricalRV):
        kind = getattr(variable.owner.op, "name", None) or type(variable.owner.op).__name__
        raise ValueError(
            f"the label {name!r} is distributed as {kind}; a label is pm.Categorical, or pm.Bernoulli "
            "where there are two classes"
        )
    [codes] = evaluate([model.rvs_to_values[variable]])
    if codes.ndim != 1 or not len(codes):
        raise ValueError(f"the label {name!r} has shape {codes.shape}; it must hold one code for each row")
    own = _classes(model, variable)
    if len(own) == 1:
        raise ValueError(f"the label {name!r} has one class in the model; a classifier has two or more")
    outside = codes[(codes < 0) | (codes >= len(own))]
    if len(outside):
        raise ValueError(
            f"the label {name!r} holds the code {outside[0]}, and its classes are 0 to {len(own) - 1}"
        )
    if classes is not None and len(classes) != len(own):
        raise ValueError(f"the label {name!r} of the model has {len(own)} classes, and y holds {len(classes)}")
    if classes is not None and set(classes) == set(own) and list(classes) != list(own):
        raise ValueError(
            f"the codes of the label {name!r} count the classes as {', '.join(map(repr, classes))}, and the "
            f"coords of the model as {', '.join(map(repr, own))}; give the model coords in the order of the "
            "codes, which is ascending"
        )
    data = [leaf for leaf in leaves_above([model.rvs_to_values[variable]]) if isinstance(leaf, SharedVariable)]
    named = own if classes is None else classes
    try:
        _, places = encode_labels(named, named)
    except ValueError as error:
        raise ValueError(f"the coords of the label {name!r} cannot be classes: {error}") from None
    order = np.argsort(places)
    ascending = tuple(named[code] for code in order)
    return Label(variable, places.astype(np.int64)[codes.astype(np.int64)], ascending, order, tuple(data))


def places(label: Label, outputs: Sequence[Any], stop: Sequence[Any]) -> list[Any]:
    """List the variables above ``outputs`` that stand for the label.

    The random variable itself; its data, where they are a ``pm.Data``; and constants equal to the codes that are
    used as an index, as a condition or in comparisons, and in no other way.
    """
    stop = [*stop, *shapes_above(outputs, stop)]
    nodes = nodes_above(outputs, [*stop, label.variable])
    clients: dict[Any, list[tuple[Any, int]]] = {}
    for node in nodes:
        for position, variable in enumerate(node.inputs):
            clients.setdefault(variable, []).append((node, position))
    found = [label.variable] if label.variable in clients or label.variable in outputs else []
    for leaf in leaves_above(outputs, [*stop, label.variable]):
        if leaf in label.data and not _equals_codes(leaf, label.model_codes):
            raise ValueError(
                f"the label {label.name!r} is observed as an expression of pm.Data {leaf.name!r}, which other "
                "variables are computed from, too: let pm.Data hold the codes themselves, from 0"
            )
        if leaf in label.data or (_equals_codes(leaf, label.model_codes) and _selects(leaf, clients)):
            found.append(leaf)
    return found


def unused_codes(label: Label, outputs: Sequence[Any], stop: Sequence[Any]) -> bool:
    """Whether a constant equal to the codes is above ``outputs``, used as a number."""
    stop = [*stop, *shapes_above(outputs, stop), label.variable]
    return any(_equals_codes(leaf, label.model_codes) for leaf in leaves_above(outputs, stop))


def _equals_codes(leaf: Any, codes: Array) -> bool:
    value = value_of(leaf)
    return (
        isinstance(leaf, Constant | SharedVariable)
        and isinstance(value, np.ndarray)
        and value.dtype.kind in "iubf"
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
    op, scalar = node.op, getattr(node.op, "scalar_op", None)
    if isinstance(op, DimShuffle) or isinstance(scalar, Cast):
        return _selects(node.outputs[0], clients)
    if isinstance(op, AdvancedSubtensor):
        return position > 0
    return isinstance(scalar, _COMPARISONS) or (isinstance(scalar, Switch) and position == 0)


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
