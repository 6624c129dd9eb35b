"""Exact inference: the prior updated by the sufficient statistics."""

from __future__ import annotations

from dataclasses import dataclass

from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.rows import Rows
from bayesppl.inference.base import Inference
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.posterior import Exact


@dataclass(frozen=True)
class ClosedForm(Inference):
    """Solve the model exactly; the rows themselves are not needed."""

    def infer(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows | None = None) -> Exact:
        prior = model.prior(statistics)
        return Exact(model, statistics, prior, prior.update(statistics))
