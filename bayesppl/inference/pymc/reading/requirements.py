"""What an observed variable must satisfy for its rows to be classified one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RandomVariable

from bayesppl.inference.pymc.graphs import leaves_above
from bayesppl.inference.pymc.reading.label import Label
from bayesppl.inference.pymc.reading.observed import UNFIT, Observed, alike, same_values
from bayesppl.kernels.arrays import Array, Theta

#: Of a free variable, along each axis, that are moved to see which rows they act on; classes are fewer.
MOST_PARTS = 50


def require_density(found: Observed) -> None:
    try:
        entries = found.density
    except NotImplementedError as error:
        raise ValueError(
            f"{found.name!r} has no log density that PyMC can derive ({error}); declare it by a distribution that "
            "has one, or give pm.CustomDist its logp"
        ) from error
    drawn = [v for v in ancestors([entries]) if v.owner is not None and isinstance(v.owner.op, RandomVariable)]
    if drawn:
        names = ", ".join(repr(v.name) for v in drawn if v.name) or "a random variable"
        raise ValueError(
            f"the density of {found.name!r} takes {names} from outside of its distribution, and would draw it "
            "anew: give it to pm.CustomDist as one more argument"
        )
    if entries.ndim == 0:
        raise ValueError(f"{found.name!r} has one density for all rows together: {_DEPEND}")


_DEPEND = (
    "the density of a row depends on other rows, as in time series and Gaussian processes, so that a new row has "
    "no density of its own"
)


def require_rows(found: Observed, theta: Theta, label: Label, rng: np.random.Generator) -> None:
    """Refuse a variable whose rows depend on each other, or on constants of the model, at one draw."""
    n_rows = len(label.codes)
    order = np.arange(n_rows)
    usual = _scores(found, theta, label, order)
    half = rng.permutation(n_rows) < max(1, n_rows // 2)
    order[half] = rng.permutation(order[half])
    # any constant that is not the same for all rows differs from itself moved by one
    for taken in (rng.permutation(n_rows), order, np.roll(np.arange(n_rows), 1)):
        if not same_values(_scores(found, theta, label, taken), usual[:, taken]):
            _refuse_constants(found, label, "in another order its rows have other densities")
    some = rng.permutation(n_rows)[: max(1, n_rows // 3)]
    if not same_values(_scores(found, theta, label, some), usual[:, some]):
        raise ValueError(f"{found.name!r} has rows that depend on each other: {_DEPEND}")


def _scores(found: Observed, theta: Theta, label: Label, taken: Array) -> Array:
    """Compute the log density of some rows of the fit, in an order of their own: (n_draws, n_taken)."""
    given = {name: values[taken] for name, values in found.held.items()}
    try:
        out = found.log_density(theta, label.codes[taken], found.observed[taken], given)
    except UNFIT as error:
        _refuse_constants(found, None, f"of {len(taken)} rows: {str(error).splitlines()[0]}")
    if out.shape[1:] != taken.shape:
        raise ValueError(
            f"{found.name!r} has {out.shape[1:]} densities for {len(taken)} rows: {_DEPEND}, or the label acts on "
            "another axis"
        )
    return out


def require_independence(found: Observed, theta: Theta, label: Label) -> None:
    """Refuse a variable that depends on the label by what new rows have not: constants, or the places of rows."""
    for values in (*(np.asarray(leaf.data) for leaf in _of_rows(found)), *found.held.values()):
        for column in values.reshape(len(values), -1).T:
            require_no_recoding(found.name, column, label)
    if _acts_by_place(found, theta, label):
        raise ValueError(_by_label(found.name, "the places of its rows", label))


def require_no_recoding(name: str, values: Array, label: Label) -> None:
    """Refuse values that differ by class only: new rows would need their label."""
    if differs_by_class(values, label) and not (values == values[:1]).all():
        cause = f"values of shape {values.shape} that are computed outside of the model"
        raise ValueError(_by_label(name, cause, label))


def _by_label(name: str, cause: str, label: Label) -> str:
    return (
        f"{name!r} depends on the label by {cause}, so that it has no part in the classification: index the "
        f"parameters by the label within the model, as in mu[{label.name}], or compare it with the codes of the "
        "classes"
    )


def _acts_by_place(found: Observed, theta: Theta, label: Label) -> bool:
    """Whether parts of free variables act on most rows of some classes, and on no row of the others.

    Parts that act on rows of all classes alike, or on one row only, do not count.
    """
    moved = [(name, part) for name in found.names for part in _moved_parts(theta[name][:1])]
    draws = {
        name: np.concatenate([theta[name][:1], *(part if name == own else theta[name][:1] for own, part in moved)])
        for name in found.names
    }
    rng, n_rows = np.random.default_rng(0), len(label.codes)
    acts = np.zeros((len(moved), n_rows), dtype=bool)
    for order in (rng.permutation(n_rows) for _ in range(8)):  # a row that holds a zero may not be acted on
        given = {name: values[order] for name, values in found.held.items()}
        try:
            usual, *others = found.log_density(draws, label.codes, found.observed[order], given)
        except UNFIT:
            return False
        acts |= ~alike(usual, np.reshape(others, acts.shape))
    of_class = (label.codes[:, None] == np.unique(label.codes)).astype(int)
    rows = acts[acts.sum(1) > 1] @ of_class  # that each part acts on, by class
    most = rows > 0.75 * of_class.sum(0)
    of_some = ~most.all(1)
    return bool(of_some.any() and (most | (rows == 0))[of_some].all())


def _moved_parts(draw: Array) -> Iterator[Array]:
    """Move a free variable a little, or each of its parts along every axis: its draws, (1, ...)."""
    for axis, length in enumerate(draw.shape):
        for place in range(min(length, MOST_PARTS) if axis or draw.ndim == 1 else 0):
            moved = draw.copy()
            part = moved[(slice(None),) * axis + (place,)] if axis else moved
            part += 1e-4 * np.maximum(1.0, np.abs(part))
            yield moved


def _of_rows(found: Observed) -> list[Constant]:
    """List the constants of the length of the rows."""
    leaves = leaves_above([found.clone, found.density], list(found.parameters.values()))
    n_rows = len(found.observed)
    return [leaf for leaf in leaves if isinstance(leaf, Constant) and n_rows in np.shape(leaf.data)]


def _refuse_constants(found: Observed, label: Label | None, detail: str) -> NoReturn:
    fixed = _of_rows(found)
    if fixed:
        shape = np.shape(fixed[0].data)
        hint = _hint(fixed[0].data, label)
        raise ValueError(
            f"{found.name!r} depends on a constant of shape {shape}, of the length of the rows, which new rows do "
            f"not have: {hint}"
        )
    raise ValueError(f"{found.name!r} cannot be taken row by row ({detail}): {_DEPEND}")


def differs_by_class(values: Array, label: Label) -> bool:
    """Whether rows of the same class all have the same value, if some class has several rows."""
    _, first, code = np.unique(label.codes, return_index=True, return_inverse=True)
    if len(values) != len(code) or len(first) == len(code):
        return False
    return bool(np.array_equal(values, values[first[code]]))


def _hint(constant: Array, label: Label | None) -> str:
    """Say what to write instead of a constant of the length of the rows."""
    if label is not None and differs_by_class(constant, label):
        return (
            "its rows differ by class only, so index a constant by the label within the model, as in "
            f"pt.constant(values)[{label.name}]"
        )
    return "give it as pm.Data, and again with new rows"
