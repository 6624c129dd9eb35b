"""Draws of one part of a user's model: by the No-U-Turn sampler, or those the user has already."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from bayesppl.data.labels import one_hot
from bayesppl.data.table import Table
from bayesppl.errors import IncompleteDrawsError
from bayesppl.families import closed_forms
from bayesppl.inference.nuts import NUTS, compile_density
from bayesppl.inference.pymc.graphs import Interpreter, substitute
from bayesppl.inference.pymc.model_density import density_of, spread_of
from bayesppl.inference.pymc.reading.blocks import Block, Reading
from bayesppl.inference.pymc.reading.by_rows import ByRows
from bayesppl.inference.pymc.reading.collapsing import Collapsed
from bayesppl.inference.pymc.reading.compressed import CompressedRows, all_rows, without
from bayesppl.inference.pymc.reading.observed import Observed
from bayesppl.inference.pymc.reading.parts import CollapsedPart, SampledPart, in_class_order, own_table
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.kernels.arrays import Array, Theta, join_chains
from bayesppl.model.convergence import diagnose, warn_of_problems
from bayesppl.model.posterior import DrawsReport


def log_likelihood(x: Observed, rows: CompressedRows) -> Any:
    """Return the log density of rows, a scalar graph of the inputs for the free variables."""
    given = {new: pt.constant(rows.given[name]) for name, new in x.given.items()}
    known = {x.codes: pt.constant(rows.codes), x.values: pt.constant(rows.values), **given}
    [entries] = substitute([x.density], known)
    weights = rows.weights.reshape(rows.weights.shape + (1,) * (entries.ndim - rows.weights.ndim))
    return (entries if (rows.weights == 1).all() else entries * weights).sum()


class Run(NamedTuple):
    """Where the sampler was, (chain, draw, coordinate), and what it reported of each draw."""

    points: Array
    reported: Mapping[str, Array]


def run(
    graph: Any, coordinates: Coordinates, places: Sequence[int], settings: NUTS, kept: Run | None = None
) -> tuple[list[Array], Run]:
    """Draw from a log density of some unconstrained variables, all chains in one.

    Returns
    -------
    points : list of arrays
        Of all variables; the others stay where they start.
    run : Run
        ``kept``, if that is given.
    """
    units = [np.broadcast_to(coordinates.units[p], coordinates.start[p].shape).ravel() for p in places]
    spread = spread_of(coordinates.model, [coordinates.free[p] for p in places], np.concatenate(units))
    values, start = [coordinates.values[p] for p in places], [coordinates.start[p] for p in places]
    try:
        density = density_of(graph, values, start, spread)
    except NotImplementedError as error:
        raise ValueError(
            f"the density has no gradient ({error}), without which it is not sampled here: pass the draws that "
            "other samplers make of this model, draws=pm.sample()"
        ) from error
    found = kept or Run(*settings.run(density, compile_density(density, settings.speaks)))
    lead, drawn = found.points.shape[:2], found.points
    points = [np.broadcast_to(values, (lead[0] * lead[1], *values.shape)) for values in coordinates.start]
    for place, values in zip(places, density.split(drawn.reshape(-1, drawn.shape[-1])).values(), strict=True):
        points[place] = values
    return points, found


def report(samples: Theta, reported: Mapping[str, Array], settings: NUTS) -> DrawsReport:
    """Report on draws, with a warning of what is wrong with them."""
    diagnosis = diagnose(samples, reported)
    warn_of_problems(diagnosis)
    record = {
        "inference": "nuts",
        "draws": settings.draws,
        "tuning_steps": settings.tune,
        "chains": settings.chains,
        "random_state": settings.random_state,
        "problems": diagnosis.problems,
    }
    return DrawsReport(record, reported, diagnosis, {})


def draws_of(posterior: Mapping[str, Any], free: Sequence[Any]) -> tuple[Theta, DrawsReport]:
    """Take the draws of a part, axes (chain, draw) leading, from those the user has already.

    Raises
    ------
    ValueError
        If a free variable is not among them, or its draws are of another shape or not finite.
    """
    samples: Theta = {}
    for variable in free:
        if variable.name not in posterior:
            raise ValueError(
                f"the draws hold no variable {variable.name!r}; sample the model as it is, and pass what "
                "pm.sample returns"
            )
        values, shape = np.asarray(posterior[variable.name]), variable.type.shape
        own = values.shape[2:]
        if len(own) != len(shape) or any(n not in (None, m) for n, m in zip(shape, own, strict=True)):
            raise ValueError(
                f"the draws of {variable.name!r} have shape {own} and the variable of the model has {shape}: pass "
                "what pm.sample returns for this model"
            )
        if not np.isfinite(values).all():
            raise IncompleteDrawsError(
                f"the draws of {variable.name!r} are not all finite: sample the model again"
            )
        samples[variable.name] = values
    diagnosis = diagnose(samples, {})
    return samples, DrawsReport(
        {"inference": "draws of the user", "problems": diagnosis.problems}, {}, diagnosis, {}
    )


def sample_part(
    reading: Reading,
    block: Block,
    family: ByRows | None,
    settings: NUTS,
    draws: Mapping[str, Any] | None,
    kept: Run | None = None,
    row: int | None = None,
) -> SampledPart:
    """Sample the posterior of all variables of a part, or take the draws that the user has already.

    Parameters
    ----------
    family : ByRows or None
        The part as its user wrote it; None of class weights by themselves.
    draws : mapping of str to array, optional
        Draws the user has already, (chain, draw, ...).
    kept : Run, optional
        Of a sampler before, which is not run again.
    row : int, optional
        One that is left out.
    """
    coordinates, weights, points = block.coordinates, None, None
    free = coordinates.free
    if draws is None:
        at, found = run(block_density(reading, block, row), coordinates, coordinates.moving, settings, kept)
        points = found.points
        samples = {name: v.reshape(*points.shape[:2], *v.shape[1:]) for name, v in coordinates.theta(at).items()}
        about = report(samples, found.reported, settings)
    else:
        samples, about = draws_of(draws, free)
    if block.holds_label:
        flat, lead = join_chains(samples), samples[free[0].name].shape[:2]
        at_draws = Interpreter([reading.inputs[v] for v in free], (), [reading.class_weights])
        weights = at_draws([flat[v.name] for v in free])[0].reshape(*lead, -1)
    if family is not None:
        samples, about = in_class_order(family, samples, about)
    again = partial(sample_part, reading, block, family, settings, None, None)
    return SampledPart(family, samples, weights, about, points=points, without=again)


def block_density(reading: Reading, block: Block, row: int | None = None) -> Any:
    """Return the log posterior density of a block that is sampled, a graph of its unconstrained variables.

    Parameters
    ----------
    row : int, optional
        One of the rows that is left out.
    """
    codes = reading.label.codes
    # a collapsed part has no rows of its own; it is sampled whole beside draws of the user
    own_rows = block.rows or [all_rows(x, codes) for x in block.everything]
    rows = [log_likelihood(x, own) for x, own in zip(block.everything, own_rows, strict=True)]
    if row is not None:
        less = [(x, without(x, codes, len(reading.label.classes), row)) for x in block.everything]
        rows += [log_likelihood(x, own) for x, own in less]
    if block.holds_label:
        seen, counts = np.unique(codes, return_counts=True)
        left = counts - (0.0 if row is None else 1.0 * (seen == codes[row]))
        rows.append((left * pt.log(reading.class_weights)[seen]).sum())
    terms = [term.sum() for term in block.coordinates.log_prior(jacobian=True)]
    return pt.add(*terms, *block.coordinates.of(rows), block.coordinates.support(block.coordinates.moving))


def sample_collapsed(
    collapsed: Collapsed,
    by_rows: ByRows,
    columns: Sequence[Hashable],
    table: Table,
    codes: Array,
    settings: NUTS,
    kept: Run | None = None,
    row: int | None = None,
) -> CollapsedPart:
    """Sample the posterior of a collapsed part.

    Parameters
    ----------
    by_rows : ByRows
        The part as its user wrote it.
    columns : sequence
        Names of its columns, as its own family takes them.
    table : Table
        The rows of the fit, with their classes ``codes``.
    kept : Run, optional
        Of a sampler before, which is not run again.
    row : int, optional
        One that is left out.
    """
    again = partial(sample_collapsed, collapsed, by_rows, columns, table, codes, settings, None)
    if row is not None:
        others = np.delete(np.arange(len(codes)), row)
        table, codes = table.take(others), codes[others]
    classes = by_rows.classes
    rows = own_table(by_rows.bound.encode(table), columns)
    own: Any = collapsed.proposal.family(collapsed.belief, columns).bind(rows, classes)
    statistics = closed_forms.read_statistics(own, rows, one_hot(codes, len(classes), None))
    density = collapsed.log_density(statistics)
    points, drawn_run = run(density, collapsed.coordinates, collapsed.places, settings, kept)
    lead, reported = drawn_run.points.shape[:2], drawn_run.reported
    try:
        priors = collapsed.beliefs(points)
    except ValueError as error:
        raise ValueError(
            f"the sampler came to values of {collapsed.names} at which the prior given them is not proper "
            f"({error}); give them a prior that keeps away from zero"
        ) from None
    beliefs: list[Any] = [prior.update(statistics) for prior in priors]
    rng = np.random.default_rng(settings.random_state)
    drawn = [belief.draw(1, rng) for belief in beliefs]
    theta = {name: np.concatenate([draw[name] for draw in drawn]) for name in drawn[0]}
    found = collapsed.density.variables_at(theta, points)
    if found is None:
        raise ValueError(
            f"draws of {collapsed.names} are so extreme that the parameters given them do not determine the other "
            "variables of the model; give them a prior that keeps away from zero and from infinity"
        )
    samples = {name: values.reshape(*lead, *values.shape[1:]) for name, values in found.items()}
    by_chain = [beliefs[chain * lead[1] : (chain + 1) * lead[1]] for chain in range(lead[0])]
    samples, reports = in_class_order(by_rows, samples, report(samples, reported, settings))
    return CollapsedPart(
        by_rows,
        samples,
        None,
        reports,
        own,
        columns,
        by_chain,
        statistics,
        points=drawn_run.points,
        without=again,
    )
