"""What every part of a model is: solved exactly, collapsed, or sampled, and why."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.variational.minibatch_rv import MinibatchRandomVariable
from pytensor.graph.traversal import ancestors
from pytensor.xtensor.type import XTensorType
from scipy.linalg import LinAlgWarning

from bayesppl.conjugate import Conjugate, Fixed
from bayesppl.data.read_table import as_table
from bayesppl.data.table import Table
from bayesppl.errors import RowError
from bayesppl.inference.pymc.graphs import evaluate, nodes_above, substitute
from bayesppl.inference.pymc.reading import proof
from bayesppl.inference.pymc.reading.blocks import Block, Reading, Solved, independent_parts
from bayesppl.inference.pymc.reading.cloning import read_observed
from bayesppl.inference.pymc.reading.collapsing import Collapsed, collapse
from bayesppl.inference.pymc.reading.compressed import all_rows, compress
from bayesppl.inference.pymc.reading.label import Label, find_label
from bayesppl.inference.pymc.reading.naturals import Simplices
from bayesppl.inference.pymc.reading.observed import Observed, same_values
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.proof import ROWS, given_like
from bayesppl.inference.pymc.reading.proposal import Proposal
from bayesppl.inference.pymc.reading.proposals import propose
from bayesppl.inference.pymc.reading.requirements import (
    require_independence,
    require_no_branches,
    require_no_draws,
    require_rows,
)
from bayesppl.kernels.arrays import Array, select_draws
from bayesppl.model.declaration import CLASS_WEIGHTS


def read(model: Any, label_name: str, seed: int = 0, *, classes: Sequence[Hashable] | None = None) -> Reading:
    """Take a model apart and prove which parts have a closed form.

    Parameters
    ----------
    classes : sequence, optional
        What the codes of the label stand for; the model's own coords by default.

    Raises
    ------
    ValueError
        If the label or the rows of an observed variable cannot be read.
    """
    # where operations were made is of no interest, and slow to note; and a compiler takes longer than a few
    # constants
    with pytensor.config.change_flags(traceback__limit=0, cxx=""), warnings.catch_warnings():
        # of points far out, or outside of the support
        warnings.simplefilter("ignore", LinAlgWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        return _read(model, label_name, classes, np.random.default_rng(seed))


def _read(model: Any, label_name: str, classes: Sequence[Hashable] | None, rng: np.random.Generator) -> Reading:
    _require_tensors(model)
    label = find_label(model, label_name, classes)
    if held := _held(model, label):
        return _read(pm.do(model, held), label_name, classes, rng)
    _require_plain(model)
    _require_priors(model, label)
    whole = Coordinates.of_model(model)
    inputs = whole.inputs
    theta = whole.theta(whole.draw(1, rng, 0.1))
    weights = _class_weights(model, label, inputs, theta)
    found = []
    for part in independent_parts(model, label):
        free, potentials = ([v for v in part if v in of] for of in (model.free_RVs, model.potentials))
        observed = [v for v in part if v in model.observed_RVs and v is not label.variable]
        everything = tuple(read_observed(model, v, label, inputs, theta) for v in observed)
        coordinates = whole.select(free, potentials)
        block = Block(coordinates, everything, label.variable in part)
        for x in block.observed:
            require_rows(x, theta, label, rng)
        for x in everything:
            if not x.depends_on_label:
                require_independence(x, label)
        found.append(_recognise(block, label, weights, rng))
    if not any(block.observed for block in found):
        raise ValueError(
            f"no observed variable depends on the label {label.name!r}, so that there is nothing to classify by; "
            f"index the parameters of the features by it, as in mu[{label.name}]"
        )
    found.sort(key=lambda block: not block.holds_label)
    return Reading(model, label, inputs, tuple(found), weights)


def _held(model: Any, label: Label) -> dict[str, Array]:
    """Find observed variables of a known distribution that others are computed from, and that are no rows.

    They are constants.
    """
    above = set(ancestors([*(v for own in model.basic_RVs for v in own.owner.inputs), *model.potentials]))
    observed = [
        v
        for v in model.observed_RVs
        if v in above
        and v is not label.variable
        and {*model.free_RVs, label.variable}.isdisjoint(ancestors(v.owner.inputs))
    ]
    values = evaluate([model.rvs_to_values[v] for v in observed])
    return {v.name: held for v, held in zip(observed, values, strict=True) if held.shape[:1] != label.codes.shape}


def _require_priors(model: Any, label: Label) -> None:
    """Refuse priors that are computed from labels or observed rows."""
    for variable in model.free_RVs:
        above = set(ancestors(variable.owner.inputs))
        if label.variable in above:
            raise ValueError(
                f"the prior of {variable.name!r} is computed from the label {label.name!r}: values that are "
                "learned for each row have to be integrated out, as a normal error of measurement is by a larger "
                "standard deviation; what follows from the number of rows in each class, compute beforehand"
            )
        found = sorted(v.name for v in model.observed_RVs if v in above)
        if found:
            raise ValueError(
                f"the prior of {variable.name!r} is computed from the observed variable {found[0]!r}: compute it "
                "from the numbers that this holds, before the model is declared"
            )


def _require_tensors(model: Any) -> None:
    for variable in [*model.basic_RVs, *model.potentials]:
        nodes = nodes_above([variable])
        require_no_branches(variable.name, nodes)
        if any(isinstance(v.type, XTensorType) for node in nodes for v in (*node.inputs, *node.outputs)):
            raise ValueError(
                f"{variable.name!r} is computed by operations of pymc.dims, which are not read; write the model "
                "with the distributions of pymc itself, as in pm.Normal('x', mu[y], dims=('row', 'feature'))"
            )


def _require_plain(model: Any) -> None:
    scaled = [v.name for v in model.observed_RVs if isinstance(v.owner.op, MinibatchRandomVariable)]
    if scaled:
        raise ValueError(
            f"{scaled[0]!r} has a total_size, which counts its rows several times; give the model all rows, "
            "without total_size="
        )
    discrete = [v.name for v in model.free_RVs if not v.dtype.startswith("float")]
    if discrete:
        raise ValueError(
            f"{discrete[0]!r} is a discrete variable that is learned, along which a density has no gradient; sum "
            "over its values, as pm.Mixture does"
        )


def _class_weights(model: Any, label: Label, inputs: Mapping[Any, Any], theta: Mapping[str, Array]) -> Any:
    """Return the probabilities of the classes as a graph of the inputs."""
    held = {v: model.rvs_to_values[v] for v in model.observed_RVs if v is not label.variable}
    [p] = substitute(label.variable.owner.op.dist_params(label.variable.owner), {**held, **inputs})
    require_no_draws(f"the probability of {label.name!r}", [p])
    known = {inputs[v]: pt.constant(theta[v.name][0]) for v in inputs}
    [values] = evaluate(substitute([p], known))
    n_lead = values.ndim - (0 if label.is_binary else 1)
    flat = values.reshape(-1, *values.shape[n_lead:])
    if not same_values(flat, np.broadcast_to(flat[:1], flat.shape), 1e-14):
        raise ValueError(
            f"the class weights of {label.name!r} differ from row to row: that is a regression of the label on "
            "something, and not a generative classifier, whose features are distributed given the label"
        )
    for _ in range(n_lead):
        p = p.squeeze(0) if p.type.shape[0] == 1 else p[0]
    p = pt.stack([1 - p, p]) if label.is_binary else p
    return p if label.is_sorted else p[label.order]


def _recognise(block: Block, label: Label, weights: Any, rng: np.random.Generator) -> Block:
    if block.holds_label and block.everything:
        found = replace(block, why="the class weights share parameters with the features")
    elif block.holds_label:
        found = _label_block(block, label, weights, rng)
    elif not block.observed:
        return replace(block, solution="unused", why="it does not depend on the label")
    elif len(block.everything) > len(block.observed):
        found = replace(block, why="it shares parameters with observations that do not depend on the label")
    else:
        found = _feature_block(block, label, rng)
    if found.solution == "by rows" and not block.coordinates.free:
        names = ", ".join(repr(x.name) for x in block.observed)
        raise ValueError(
            f"nothing is learned of the density of {names}, and it has no closed form here: give one of its "
            "constants a narrow prior"
        )
    return _with_rows(found, label, rng) if found.solution == "by rows" else found


def _with_rows(block: Block, label: Label, rng: np.random.Generator) -> Block:
    """Give a block that is sampled the rows by which its variables enter the sampler."""
    theta = block.coordinates.theta(block.coordinates.draw(3, rng))
    fewer = [compress(x, label.codes, theta) for x in block.everything]
    rows = [few or all_rows(x, label.codes) for x, few in zip(block.everything, fewer, strict=True)]
    # labels by themselves are counted
    return replace(block, solution="compressed" if all(fewer) else "by rows", rows=tuple(rows))


def _label_block(block: Block, label: Label, weights: Any, rng: np.random.Generator) -> Block:
    natural = Simplices((), parameter=CLASS_WEIGHTS)
    if not block.coordinates.free:
        [values] = evaluate([weights])
        if abs(values.sum() - 1) > 1e-9:
            raise ValueError(f"the class weights of {label.name!r} sum to {values.sum():g}, not to one")
        known = Solved(None, Fixed(values / values.sum(), CLASS_WEIGHTS), None)
        return replace(block, solution="exact", family="Categorical", prior="known", solved=known)
    [graph] = block.coordinates.of([weights])
    found = proof.prove_prior(natural, {CLASS_WEIGHTS: graph}, block.coordinates, rng)
    if isinstance(found, str):
        return replace(block, family="Categorical", why=found)
    prior = "Beta" if label.is_binary else natural.words
    return replace(block, solution="exact", family="Categorical", prior=prior, solved=Solved(None, *found))


def _feature_block(block: Block, label: Label, rng: np.random.Generator) -> Block:
    proposed = propose(block.observed, len(label.classes), block.coordinates, rng)
    if isinstance(proposed, str):
        return replace(block, why=proposed)
    reasons = []
    for proposal in proposed:
        found = _closed_form(proposal, block.observed, block.coordinates, label, rng)
        if isinstance(found, str):
            reasons.append(found)
            continue
        name = proposal.rows_family(found.belief, [""] * _n_columns(block.observed)).name
        words = proposal.natural.words
        if isinstance(found, Collapsed):
            prior = f"{words} given {found.names}"
            return replace(block, solution="collapsed", family=name, prior=prior, collapsed=found)
        return replace(block, solution="exact", family=name, prior=words, solved=found)
    return replace(block, why=reasons[0])


def _closed_form(
    proposal: Proposal,
    observed: tuple[Observed, ...],
    coordinates: Coordinates,
    label: Label,
    rng: np.random.Generator,
) -> Solved | Collapsed | str:
    """Prove that a part is what is proposed, or return the reason why it is not."""
    theta = dict(zip(proposal.theta, coordinates.of(list(proposal.theta.values())), strict=True))
    exact = (
        "the prior is not conjugate to the likelihood"
        if proposal.known
        else proof.prove_prior(proposal.natural, theta, coordinates, rng)
    )
    found: Solved | Collapsed | None
    if isinstance(exact, str):
        found = collapse(coordinates, proposal, theta, rng)
        if found is None:
            return exact
    else:
        found = Solved(proposal, *exact)
    return _check_rows(found.belief, proposal, observed, coordinates, label, rng) or found


def _check_rows(
    belief: Conjugate,
    proposal: Proposal,
    observed: Sequence[Observed],
    coordinates: Coordinates,
    label: Label,
    rng: np.random.Generator,
) -> str | None:
    """Say why the rows are not those of the family; return None if they are."""
    points = coordinates.draw(3, rng)
    theirs = coordinates.theta(points)
    graphs = {**proposal.theta, **proposal.known}
    values = coordinates.evaluate(coordinates.of(list(graphs.values())), points)
    ours = proposal.natural.for_family(dict(zip(graphs, values, strict=True)))
    names = [f"x{j}" for j in range(_n_columns(observed))]
    family = proposal.rows_family(belief, names)
    taken = rng.integers(0, len(observed[0].observed), ROWS)
    held = {name: values for x in observed for name, values in x.held.items()}
    given = {name: given_like(values[taken], rng) for name, values in held.items()}

    def as_rows(parts: Iterable[Array], given: Mapping[str, Array]) -> Table:
        flat = [values.reshape(len(values), -1) for values in (*parts, *given.values())]
        return as_table(np.column_stack(flat)).renamed([*names, *given])

    # rows of the fit lend their covariates to new ones
    like = as_rows((x.observed[taken] for x in observed), given)
    n_classes = len(label.classes)
    try:
        for rows in (as_rows((x.observed for x in observed), held), like):
            bound = family.bind(rows, tuple(range(n_classes)))
            encoded = bound.bound.encode(rows)
    except RowError:
        known = [x.log_density(theirs, label.codes, x.observed, x.held) for x in observed]
        if not np.isfinite(known).all():
            raise
        return f"the {family.name} family does not take all rows that it takes in PyMC"
    covariates = bound.bound.covariates(encoded)
    drawn = bound.simulate(select_draws(ours, 0), rng.integers(0, n_classes, ROWS), rng, covariates)
    columns = bound.bound.decode(drawn)
    cells = np.column_stack([columns[name] for name in names])
    ends = np.cumsum([x.observed[0].size for x in observed])
    tried = {
        x.name: own.reshape(ROWS, *x.observed.shape[1:]).astype(x.observed.dtype)
        for x, own in zip(observed, np.split(cells, ends[:-1], axis=1), strict=True)
    }
    return proof.likelihood_differs(observed, tried, bound, as_rows(tried.values(), given), theirs, ours, given)


def _n_columns(observed: Sequence[Observed]) -> int:
    return sum(x.observed[0].size for x in observed)
