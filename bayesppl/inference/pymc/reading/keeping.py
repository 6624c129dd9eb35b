"""A fit of a user's model without the model, for a file, and with the model again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytensor.tensor as pt

from bayesppl.data.read_table import Columns
from bayesppl.inference.base import Inference
from bayesppl.inference.pymc.graphs import Interpreter
from bayesppl.inference.pymc.reading.blocks import Reading
from bayesppl.inference.pymc.reading.layout import UserColumns
from bayesppl.inference.pymc.reading.observed import same_values
from bayesppl.inference.pymc.reading.part_draws import Run
from bayesppl.inference.pymc.reading.partly_exact import PartlyExact
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.solving import ReadModel, fit_model
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.sampled import KeptDraws


def without_model(fitted: ReadModel) -> Fitted | KeptDraws:
    """Return an exact fit as any other; of others, the draws and what the model is recognised by."""
    posterior, columns = fitted.posterior, fitted.columns
    assert isinstance(columns, UserColumns)
    if not isinstance(posterior, PartlyExact) and not columns.layout.copies:
        names = tuple(name for name in columns.order if name in columns.names) or columns.names
        learned = replace(fitted.learned, columns=Columns(names, columns.are_named, columns.reader))
        return Fitted(learned, posterior, fitted.rule, fitted.rows, calibration=fitted.calibration)
    sampled = posterior.sampled if isinstance(posterior, PartlyExact) else {}
    given = [part for part in sampled.values() if part.points is None]
    in_model = [part.samples if part.family is None else part.family.in_model(part.samples) for part in given]
    return KeptDraws(
        fitted.reading.label.name,
        fitted.rule,
        tuple(fitted.classes.tolist()) if fitted.is_built else None,
        tuple(columns.names) if fitted.is_built and columns.are_named else None,
        {name: part.points for name, part in sampled.items() if part.points is not None},
        {name: part.report.sample_stats for name, part in sampled.items() if part.points is not None},
        {name: values for theta in in_model for name, values in theta.items()},
        fingerprint(fitted.reading),
        fitted.calibration,
        columns.order,
    )


def with_model(kept: KeptDraws, model: Any, settings: Inference) -> ReadModel:
    """Restore a fit from what was kept of it and the model.

    Raises
    ------
    ValueError
        If the model is another one; the message names the first variable that differs.
    """
    runs = {name: Run(points, kept.reported[name]) for name, points in kept.points.items()}
    found = fit_model(
        model,
        kept.label,
        settings,
        kept.rule,
        classes=None if kept.classes is None else np.asarray(kept.classes),
        order=kept.order,
        find=None if kept.names is None else lambda layout, _: layout.renamed(kept.names or ()),
        draws=kept.samples or None,
        kept=runs,
        check=lambda reading: _require_same(kept.fingerprint, fingerprint(reading)),
    )
    return replace(found, calibration=kept.calibration)


def fingerprint(reading: Reading) -> dict[str, Array]:
    """Compute log densities of the prior, the labels and every observed variable of a model at two points."""
    model, label = reading.model, reading.label
    coordinates = Coordinates.of_model(model)
    points = coordinates.draw(2, np.random.default_rng(0), 0.1)
    theta = coordinates.theta(points)
    inputs = [reading.inputs[variable] for variable in model.free_RVs]
    [weights] = Interpreter(inputs, (), [pt.log(reading.class_weights)])(list(theta.values()), (), 2)
    prior = coordinates.evaluate([term.sum() for term in coordinates.log_prior(jacobian=True)], points)
    values = [values.ravel() for values in theta.values()] + [np.zeros(0)] * len(model.potentials)
    names = [variable.name for variable in (*model.free_RVs, *model.potentials)]
    prior = [np.append(density, own) for density, own in zip(prior, values, strict=True)]
    densities = {
        x.name: x.log_density(theta, label.codes, x.observed, x.held).sum(1)
        for block in reading.blocks
        for x in block.everything
    }
    return {
        **{f"the prior of {name!r}": value for name, value in zip(names, prior, strict=True)},
        f"the labels {label.name!r}": weights[:, label.codes].sum(1),
        **{f"the rows of {name!r}, or their density": value for name, value in densities.items()},
    }


def _require_same(known: Mapping[str, Array], found: Mapping[str, Array]) -> None:
    for name in dict.fromkeys([*known, *found]):
        both = name in known and name in found and known[name].shape == found[name].shape
        if not both or not same_values(known[name], found[name]):
            raise ValueError(
                f"this is not the model whose draws the file holds, by {name}; pass the model with the rows that "
                "it was fitted to, as it was written"
            )
