"""Draws of one part of a user's model: by the No-U-Turn sampler, or those the user has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytensor.tensor as pt

from bayesppl.inference import NUTS
from bayesppl.inference.pymc.compiled import log_density
from bayesppl.inference.pymc.reading.graphs import substitute
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.rows import Observed
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.convergence import diagnose, warn_of_problems
from bayesppl.model.sampled import Report


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows that stand for those of the fit: codes (n,), values (n, ...), weights (n,) or of every entry (n, ...)."""

    codes: Array
    values: Array
    weights: Array
    given: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Part:
    """The log density of a part of a model, as the sampler takes it.

    Attributes
    ----------
    coordinates : Coordinates
    rows : sequence of (Observed, WeightedRows)
    extra : sequence of graphs
        Of the inputs, added to the log density: that of the labels.
    """

    coordinates: Coordinates
    rows: Sequence[tuple[Observed, WeightedRows]]
    extra: Sequence[Any] = ()

    #: Nothing is exchanged in the user's model.
    rvs_to_transforms: Mapping[Any, Any] = None  # type: ignore[assignment]  # set below

    def __post_init__(self) -> None:
        object.__setattr__(self, "rvs_to_transforms", {})

    @property
    def value_vars(self) -> list[Any]:
        return self.coordinates.values

    def initial_point(self, seed: int) -> dict[str, Array]:
        return dict(zip((v.name for v in self.value_vars), self.coordinates.start, strict=True))

    def logp(self, jacobian: bool = True) -> Any:
        """Log density of the unconstrained variables."""
        terms = [term.sum() for term in self.coordinates.log_prior(jacobian=jacobian)]
        return pt.add(*terms, *self.coordinates.of([*self._likelihood, *self.extra]), pt.zeros(()))

    @cached_property
    def _likelihood(self) -> list[Any]:
        found = []
        for x, rows in self.rows:
            given = {new: pt.constant(rows.given[name]) for name, new in x.given.items()}
            known = {x.codes: pt.constant(rows.codes), x.values: pt.constant(rows.values), **given}
            [entries] = substitute([x.density], known)
            weights = rows.weights.reshape(rows.weights.shape + (1,) * (entries.ndim - rows.weights.ndim))
            weighted = entries if (rows.weights == 1).all() else entries * weights
            found.append(weighted.sum())
        return found


def all_rows(observed: Observed, codes: Array) -> WeightedRows:
    """The rows of the fit themselves."""
    return WeightedRows(codes, observed.observed, np.ones(len(codes)), observed.held)


def sample(part: Part, settings: NUTS) -> tuple[Theta, Report]:
    """Draws of the free variables of a part: (chain, draw) lead."""
    points, lead, reported = run(part, settings)
    theta = part.coordinates.theta(points)
    samples = {name: values.reshape(*lead, *values.shape[1:]) for name, values in theta.items()}
    return samples, report(samples, reported, settings)


def run(part: Any, settings: NUTS) -> tuple[list[Array], tuple[int, int], Mapping[str, Array]]:
    """Draws of the unconstrained variables of a part, all chains in one; numbers of chains and draws; and what is reported."""
    density = log_density(part)
    points, reported = settings.run(density, density.compiled(notify=False))
    flat = density.split(points.reshape(-1, points.shape[-1]))
    return [flat[variable.name] for variable in part.value_vars], points.shape[:2], reported


def report(samples: Theta, reported: Mapping[str, Array], settings: NUTS) -> Report:
    """What is known about draws, with a warning of what is wrong with them."""
    diagnosis = diagnose(samples, reported)
    warn_of_problems(diagnosis)
    record = {
        "inference": "nuts",
        "draws": settings.draws,
        "tuning_steps": settings.tune,
        "chains": settings.chains,
        "random_state": "none" if settings.random_state is None else settings.random_state,
        "problems": diagnosis.problems,
    }
    return Report(record, reported, diagnosis, {})


def draws_of(tree: Any, free: Sequence[Any]) -> tuple[Theta, Report]:
    """Draws the user has already, from the group "posterior" of a DataTree.

    Raises
    ------
    ValueError
        If a free variable is not among them.
    """
    posterior = tree["posterior"]
    samples: Theta = {}
    for variable in free:
        if variable.name not in posterior:
            raise ValueError(
                f"the draws hold no variable {variable.name!r}; sample the model as it is, and pass what pm.sample returns"
            )
        found = posterior[variable.name]
        samples[variable.name] = np.asarray(found.transpose("chain", "draw", ...))
    diagnosis = diagnose(samples, {})
    return samples, Report({"inference": "draws of the user", "problems": diagnosis.problems}, {}, diagnosis, {})
