"""Draws of a part whose parameters are integrated out: of the other variables by NUTS, of the parameters given them exactly."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesppl.data.labels import one_hot
from bayesppl.data.table import Table
from bayesppl.families import closed_forms
from bayesppl.inference import NUTS
from bayesppl.inference.pymc.reading.by_rows import ByRows
from bayesppl.inference.pymc.reading.collapsing import Collapsed
from bayesppl.inference.pymc.reading.inverse import variables_at
from bayesppl.inference.pymc.reading.posterior import CollapsedPart, in_class_order, own_table
from bayesppl.inference.pymc.reading.sampling import report, run
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class Marginal:
    """The log density of the variables that are left, as the sampler takes it."""

    collapsed: Collapsed
    statistics: Any

    @property
    def rvs_to_transforms(self) -> Mapping[Any, Any]:
        """Nothing is exchanged in the user's model."""
        return {}

    @property
    def value_vars(self) -> list[Any]:
        return [self.collapsed.coordinates.values[place] for place in self.collapsed.places]

    def initial_point(self, seed: int) -> dict[str, Array]:
        start = self.collapsed.coordinates.start
        return {v.name: start[place] for v, place in zip(self.value_vars, self.collapsed.places, strict=True)}

    def logp(self, jacobian: bool = True) -> Any:
        """Log density of the unconstrained variables."""
        return self.collapsed.log_density(self.statistics)


def sample_collapsed(
    collapsed: Collapsed, by_rows: ByRows, columns: Sequence[Hashable], table: Table, codes: Array, settings: NUTS
) -> CollapsedPart:
    """The posterior of a collapsed part.

    Parameters
    ----------
    by_rows : ByRows
        The part as its user wrote it.
    columns : sequence
        Names of its columns, as its own family takes them.
    table : Table
        The rows of the fit, with their classes ``codes``.
    """
    classes = by_rows.classes
    rows = own_table(by_rows.bound.encode(table), columns)
    own: Any = collapsed.proposal.family(collapsed.belief, columns).bind(rows, classes)
    statistics = closed_forms.read_statistics(own, rows, one_hot(codes, len(classes), None))
    sampled, lead, reported = run(Marginal(collapsed, statistics), settings)
    points = [
        np.broadcast_to(values, (lead[0] * lead[1], *values.shape)) for values in collapsed.coordinates.start
    ]
    for place, values in zip(collapsed.places, sampled, strict=True):
        points[place] = values
    beliefs = [prior.update(statistics) for prior in _priors(collapsed, points)]
    rng = np.random.default_rng(settings.random_state)
    drawn = [belief.draw(1, rng) for belief in beliefs]
    theta = {name: np.concatenate([draw[name] for draw in drawn]) for name in drawn[0]}
    found = variables_at(collapsed.density, collapsed.natural, theta, points)
    if found is None:
        raise ValueError(
            f"draws of {collapsed.names} are so extreme that the parameters given them do not determine the other variables of "
            "the model; give them a prior that keeps away from zero and from infinity"
        )
    samples = {name: values.reshape(*lead, *values.shape[1:]) for name, values in found.items()}
    by_chain = [beliefs[chain * lead[1] : (chain + 1) * lead[1]] for chain in range(lead[0])]
    samples, reports = in_class_order(by_rows, samples, report(samples, reported, settings))
    return CollapsedPart(by_rows, samples, None, reports, own, columns, by_chain)


def _priors(collapsed: Collapsed, points: Sequence[Array]) -> Any:
    try:
        return collapsed.beliefs(points)
    except ValueError as error:
        raise ValueError(
            f"the sampler came to values of {collapsed.names} at which the prior given them is not proper ({error}); give them a "
            "prior that keeps away from zero"
        ) from None
