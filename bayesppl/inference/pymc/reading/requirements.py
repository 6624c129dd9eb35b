"""What an observed variable must satisfy for its rows to be classified one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from pymc.distributions.simulator import SimulatorRV
from pymc.pytensorf import rvs_in_graph
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors

from bayesppl.inference.pymc.graphs import leaves_above, nodes_above
from bayesppl.inference.pymc.reading.label import Label
from bayesppl.inference.pymc.reading.observed import UNFIT, Observed, same_values
from bayesppl.kernels.arrays import Array, Theta


def require_density(found: Observed) -> None:
    try:
        if isinstance(found.variable.owner.op, SimulatorRV):
            raise NotImplementedError("a simulator draws alone")
        entries = found.density
    except NotImplementedError as error:
        raise ValueError(
            f"{found.name!r} has no log density that PyMC can derive ({error}); declare it by a distribution that "
            "has one, or give pm.CustomDist its logp"
        ) from error
    require_no_draws(f"the density of {found.name!r}", [entries])
    require_no_branches(found.name, nodes_above([entries]))
    if entries.ndim == 0:
        raise ValueError(f"{found.name!r} has one density for all rows together: {_DEPEND}")


def require_no_branches(name: str, nodes: Sequence[Any]) -> None:
    if any(type(node.op).__name__ == "IfElse" for node in nodes):  # whose module differs between versions
        raise ValueError(f"{name!r} is computed by ifelse, which is not read; write it with pt.switch")


def require_no_draws(what: str, graphs: Sequence[Any]) -> None:
    """Refuse graphs that would draw a random variable anew, within loops and functions too."""
    if drawn := rvs_in_graph(graphs):
        names = ", ".join(sorted({repr(v.name) for v in drawn if v.name})) or "a random variable"
        raise ValueError(
            f"{what} would draw {names} anew: declare it in the model, not by .dist(), and give it to "
            "pm.CustomDist as one more argument, or to pytensor.scan among non_sequences="
        )


# How many rows are asked for by themselves.
_ALONE = 10

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
            _refuse_those_of_rows(found, theta, label, "in another order its rows have other densities")
    # those of a class, and some alone: neither the labels of other rows must matter, nor what is given with these
    of_classes = [np.flatnonzero(label.codes == k) for k in np.unique(label.codes)]
    given = [values.reshape(n_rows, -1) for values in found.held.values()]
    extremes = [place(values, axis=0) for values in given for place in (np.argmin, np.argmax)]
    alone = np.unique(np.concatenate([rng.permutation(n_rows)[:_ALONE], *extremes]))
    for some in (rng.permutation(n_rows)[: max(1, n_rows // 3)], *of_classes, *alone[:, None]):
        # nor is a graph that takes so many rows filled up by others
        taken = np.resize(some, found.length or len(some))
        if not same_values(_scores(found, theta, label, taken), usual[:, taken]):
            raise ValueError(f"{found.name!r} has rows that depend on each other: {_DEPEND}")


def _scores(found: Observed, theta: Theta, label: Label, taken: Array) -> Array:
    """Compute the log density of some rows of the fit, in an order of their own: (n_draws, n_taken)."""
    try:
        out = found.of_fit(theta, label.codes, taken)
    except UNFIT as error:
        reason = str(error).splitlines()[0]
        if np.array_equal(taken, np.arange(len(label.codes))) and not _of_rows(found):
            raise ValueError(
                f"the density of {found.name!r} cannot be evaluated at the rows of the fit ({reason}); where "
                "model.point_logps() fails too, mend the model: a column of data, for example, is repeated along "
                "others as pm.Data('e', e)[:, None]"
            ) from error
        _refuse_those_of_rows(found, theta, None, f"of {len(taken)} rows: {reason}")
    if out.shape[1:] != taken.shape:
        raise ValueError(
            f"{found.name!r} has {out.shape[1:]} densities for {len(taken)} rows: {_DEPEND}, or the label acts on "
            "another axis"
        )
    return out


def require_independence(found: Observed, label: Label) -> None:
    """Refuse a variable that does not depend on the label but by columns that differ by class only."""
    for values in (*(np.asarray(leaf.data) for leaf in _of_rows(found)), *found.held.values()):
        for column in values.reshape(len(values), -1).T:
            require_no_recoding(found.name, column, label)


def require_no_recoding(name: str, values: Array, label: Label) -> None:
    """Refuse values that differ by class only: new rows would need their label."""
    if differs_by_class(values, label) and not (values == values[:1]).all():
        raise ValueError(
            f"{name!r} depends on the label by values of shape {values.shape}, which are the same in all rows of "
            f"each class: index the parameters by the label within the model, as in mu[{label.name}], or compare "
            "it with the codes of the classes. Measurements that look like codes can be given in another unit"
        )


def _of_rows(found: Observed) -> list[Constant]:
    """List the constants of the length of the rows."""
    leaves = leaves_above([found.clone, found.density], list(found.parameters.values()))
    n_rows = len(found.observed)
    return [leaf for leaf in leaves if isinstance(leaf, Constant) and n_rows in np.shape(leaf.data)]


def _refuse_those_of_rows(found: Observed, theta: Theta, label: Label | None, detail: str) -> NoReturn:
    """Name the constant or the parameter that holds a value for every row of the fit, if there is one."""
    fixed = _of_rows(found)
    if fixed:
        shape = np.shape(fixed[0].data)
        hint = _hint(fixed[0].data, label)
        raise ValueError(
            f"{found.name!r} depends on a constant of shape {shape}, of the length of the rows, which new rows do "
            f"not have: {hint}"
        )
    above, n_rows = set(ancestors([found.density])), len(found.observed)
    for variable, entry in found.parameters.items():
        if entry in above and n_rows in theta[variable.name].shape[1:]:
            raise ValueError(
                f"{found.name!r} depends on {variable.name!r}, which has an entry for each of the {n_rows} rows "
                "of the fit, and none for new ones: integrate it out, as pm.NegativeBinomial does with gamma "
                "factors of Poisson rates, and a larger standard deviation with normal errors"
            )
    raise ValueError(f"{found.name!r} cannot be taken row by row ({detail}): {_DEPEND}")


def differs_by_class(values: Array, label: Label) -> bool:
    """Whether rows of the same class all have the same value, if some class has several rows."""
    first = label.first_alike
    if len(values) != len(first) or (first == np.arange(len(first))).all():
        return False
    return bool(np.array_equal(values, values[first]))


def _hint(constant: Array, label: Label | None) -> str:
    """Say what to write instead of a constant of the length of the rows."""
    if label is not None and differs_by_class(constant, label):
        return (
            "its rows differ by class only, so index a constant by the label within the model, as in "
            f"pt.constant(values)[{label.name}]"
        )
    return "give it as pm.Data, and again with new rows"
