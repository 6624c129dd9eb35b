"""A user's random variable as a function of rows, with inputs for the label, other rows, and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.distributions.multivariate import DirichletMultinomialRV
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.tensor.random.basic import MultinomialRV
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.shape import Shape
from pytensor.tensor.variable import TensorConstant

from bayesppl.inference.pymc.graphs import (
    evaluate,
    in_64_bits,
    known_values,
    leaves_above,
    nodes_above,
    shapes_above,
    substitute,
    value_of,
)
from bayesppl.inference.pymc.reading.label import Label, places, unused_codes
from bayesppl.inference.pymc.reading.observed import UNFIT, Observed
from bayesppl.inference.pymc.reading.requirements import require_density, require_no_recoding
from bayesppl.kernels.arrays import Array, Theta


def read_observed(model: Any, variable: Any, label: Label, inputs: Mapping[Any, Any], theta: Theta) -> Observed:
    """Turn an observed variable into a function of rows.

    Parameters
    ----------
    inputs : mapping of free variable to input
        Of all free variables of the model.
    theta : Theta
        A draw of the free variables, to try the graph at.

    Raises
    ------
    ValueError
        If it has no density, or none of single rows.
    """
    name, n_rows = variable.name, len(label.codes)
    [observed] = evaluate([model.rvs_to_values[variable]])
    if observed.ndim == 0 or len(observed) != n_rows:
        if observed.shape[-1:] == (n_rows,):
            advice = (
                "put the rows first: the classes lead in each parameter and are indexed by the label, as in "
                f"pm.Normal('x', mu[{label.name}], ..., observed=X), where X is a table of rows and columns"
            )
        elif observed.ndim and len(observed) in np.bincount(label.codes):
            advice = (
                "are these the rows of one class? Observe those of all classes in one variable, with the "
                "parameters of the classes stacked and indexed by the label, as in pm.Normal('x', pt.stack([mu0, "
                f"mu1])[{label.name}], ...)"
            )
        else:
            advice = (
                "where something is observed in some rows only, such as cells that are not zero, declare a "
                "distribution of all rows, as pm.ZeroInflatedPoisson or pm.HurdleGamma; where cells are missing, "
                "mask them, as in observed=np.ma.masked_invalid(X); data that are none of these rows belong into "
                "the priors, as what was learned from them"
            )
        raise ValueError(
            f"{name!r} has shape {observed.shape}, and its leading dimension is not that of the {n_rows} rows of "
            f"the label {label.name!r}; {advice}"
        )
    others = [v for v in model.observed_RVs if v is not variable and v is not label.variable]
    stop = [*inputs, *others]
    codes = pt.lvector("codes")
    in_model = codes if label.is_sorted else pt.constant(label.order)[codes]
    values = pt.tensor(name="values", dtype=variable.dtype, shape=(None,) * observed.ndim)
    acting = places(label, variable.owner.inputs, stop)
    if not acting and unused_codes(label, variable.owner.inputs, stop):
        raise ValueError(
            f"{name!r} depends on a constant that equals the labels, but uses it as a number; index the "
            f"parameters by the label, as in mu[{label.name}], or compare it with the codes of the classes"
        )
    nodes = nodes_above([variable], [*stop, label.variable])
    direct = {above for node in nodes for above in node.inputs}
    totals = _totals(variable, values, observed, direct & {*inputs, label.variable, *others})
    data = _given_data(variable, acting, [*stop, *totals], label, n_rows)
    rows_of = {**data, **{v.name: v for v in others if v in direct}}
    given = {  # inputs of any number of rows
        key: leaf.type.clone(shape=(None, *leaf.type.shape[1:]))(name=leaf.name) for key, leaf in rows_of.items()
    }
    used = {free: new for free, new in inputs.items() if free in direct}
    replaced = in_64_bits([variable]) | {place: _like(in_model, place) for place in acting} | used
    replaced |= {leaf: given[key] for key, leaf in rows_of.items()}
    replaced |= totals
    held = {
        key: leaf.get_value() if isinstance(leaf, SharedVariable) else evaluate([model.rvs_to_values[leaf]])[0]
        for key, leaf in rows_of.items()
    }
    for key, rows in held.items():
        if rows.shape[:1] != observed.shape[:1]:
            raise ValueError(
                f"{name!r} is computed from {key!r}, which is no row and depends on what is learned, or on the "
                "label: compute it from numbers, before the model is declared"
            )
    for key in data:
        if np.isin(held[key], label.order).all():  # numbers of trials may differ by class
            require_no_recoding(name, held[key], label)
    lengths = _any_length(model, nodes, label, codes.shape[0], variable)
    for fixed, shapes in ((None, lengths), (n_rows, {})):
        [clone] = substitute([variable], {**replaced, **shapes})
        clone = _in_double_precision(clone)
        found = Observed(variable, clone, codes, values, used, given, observed, held, bool(acting), fixed)
        if _takes_any_length(found, theta, label):
            break
    require_density(found)
    return found


def _takes_any_length(found: Observed, theta: Theta, label: Label) -> bool:
    n_rows = len(label.codes)
    for n in (max(1, n_rows // 2), 2 * n_rows):
        try:
            if found.of_fit(theta, label.codes, np.resize(np.arange(n_rows), n)).shape[1:] != (n,):
                return False
        except UNFIT:
            return False
    return True


def _given_data(
    variable: Any, acting: Sequence[Any], stop: Sequence[Any], label: Label, n_rows: int
) -> dict[str, Any]:
    """Find ``pm.Data`` of the length of the rows, other than the label, by name."""
    stop = [*stop, *acting, label.variable]
    stop += shapes_above(variable.owner.inputs, stop)
    nodes = nodes_above(variable.owner.inputs, stop)
    used = {v for node in [variable.owner, *nodes] for v in node.inputs}
    return {
        leaf.name: leaf
        for leaf in leaves_above(variable.owner.inputs, stop)
        if isinstance(leaf, SharedVariable) and np.shape(value_of(leaf))[:1] == (n_rows,) and leaf in used
    }


def _totals(variable: Any, values: Any, observed: Array, above: set[Any]) -> dict[Any, Any]:
    """Map totals of multinomial rows to the sums of their values, for new rows have totals of their own."""
    if not isinstance(variable.owner.op, MultinomialRV | DirichletMultinomialRV):
        return {}
    total = variable.owner.op.dist_params(variable.owner)[0]
    if isinstance(variable.owner.op, DirichletMultinomialRV) and not total.ndim:  # its graph takes no others
        return {}
    if any(v in above for v in [total, *(v for node in nodes_above([total], above) for v in node.inputs)]):
        return {}
    [given] = evaluate([total])
    sums = observed.sum(-1)
    if not np.array_equal(np.broadcast_to(given, sums.shape), sums):
        return {}
    return {total: values.sum(-1).astype(total.dtype)}


def _like(codes: Any, place: Any) -> Any:
    """Give the codes the dtype and the axes of what they replace."""
    axes = [0 if length != 1 else "x" for length in (place.type.shape if place.type.ndim > 1 else (None,))]
    if place.type.ndim > 1 and axes.count(0) != 1:
        axes = [0, *["x"] * (place.type.ndim - 1)]
    shaped = codes if place.type.ndim <= 1 else codes.dimshuffle(*axes)
    return shaped.astype(place.dtype)


def _any_length(model: Any, nodes: Sequence[Any], label: Label, length: Any, variable: Any) -> dict[Any, Any]:
    """Find replacements that let random variables of as many rows as the label have any number of them."""
    dims, n_rows = model.named_vars_to_dims.get(variable.name) or (), len(label.codes)
    replaced = {}
    if dims and dims[0] in model.dim_lengths:
        fixed = model.dim_lengths[dims[0]]
        replaced[fixed] = length.astype(fixed.dtype)
    for node in nodes:
        if isinstance(node.op, Shape):
            [long] = node.inputs
            known = np.shape(value_of(long)) if isinstance(long, SharedVariable) else ()
            held = label.codes.shape if long is label.variable else known
            if held[:1] == (n_rows,):
                replaced[node.outputs[0]] = pt.stack([length, *(pt.constant(n, dtype="int64") for n in held[1:])])
        if isinstance(node.op, RandomVariable | SymbolicRandomVariable):
            # PyMC says where a size is by the signature
            has_size = isinstance(node.op, RandomVariable) or node.op.extended_signature is not None
            size = node.op.size_param(node) if has_size else None
            if isinstance(size, TensorConstant) and size.data.size and size.data[0] == n_rows:
                whole = pt.stack([length, *(pt.constant(n, dtype="int64") for n in size.data[1:])])
                replaced[size] = whole.astype(size.dtype)
    return replaced


def _in_double_precision(variable: Any) -> Any:
    """Return the same random variable with parameters in 64 bits.

    PyTensor keeps a written 2.5 in fewer, and loses digits of log Γ. What is computed from constants alone becomes
    one: a bound is infinite to PyMC only where it is written as a constant.
    """
    node = variable.owner
    if not isinstance(node.op, RandomVariable):
        return variable
    wide = {"f": "float64", "i": "int64", "u": "int64"}
    rng, size, *parameters = node.inputs
    kinds = [np.dtype(parameter.dtype).kind for parameter in parameters]
    cast = [p.astype(wide[kind]) if kind in wide else p for p, kind in zip(parameters, kinds, strict=True)]
    known = known_values(cast)
    cast = [pt.constant(known[p]) if p in known else p for p in cast]
    return node.op.make_node(rng, size, *cast).outputs[1]


def parameters_by_class(observed: Observed, n_classes: int) -> list[Any]:
    """Return the parameters of the distribution for every class, the class axis leading."""
    n_codes = max(n_classes, observed.length or 0)
    padded = np.pad(np.arange(n_classes), (0, n_codes - n_classes))
    parameters = observed.clone.owner.op.dist_params(observed.clone.owner)
    units = {  # of what is given per row, one: the parameters are those of a row with unit exposure
        new: pt.ones((n_codes, *np.shape(observed.held[name])[1:]), dtype=new.dtype)
        for name, new in observed.given.items()
    }
    replaced = substitute(parameters, {observed.codes: pt.constant(padded), **units})
    op, lead = observed.clone.owner.op, observed.observed.shape[1:]
    batch = (n_codes, *lead[: len(lead) - op.ndim_supp])
    return [
        _filled(parameter, batch, n)[:n_classes] for parameter, n in zip(replaced, op.ndims_params, strict=True)
    ]


def _filled(parameter: Any, batch: tuple[int, ...], n_core: int) -> Any:
    """Broadcast a parameter to the axes before those of its own."""
    lead = parameter.ndim - n_core
    if parameter.type.shape[:lead] == batch:
        return parameter
    core = parameter.type.shape[lead:]
    if None in core:
        try:
            core = tuple(evaluate([parameter.shape[lead:]])[0])
        except ValueError:
            raise ValueError(
                "the shape of a parameter is not known before its values are, as of pt.einsum of three arrays; "
                "write products of arrays, such as pt.outer(s, s) * R"
            ) from None
    # not broadcast_to, which looks for the static shape of what it makes at great length
    return pt.second(pt.constant(np.zeros((*batch, *core), dtype=np.int8)), parameter)
