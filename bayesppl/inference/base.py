"""The contract of an inference."""

from __future__ import annotations

from abc import ABC, abstractmethod

from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.rows import Rows
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.posterior import Posterior


class Inference(ABC):
    """A way from a model and data to the posterior of its parameters."""

    @abstractmethod
    def infer(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows | None = None) -> Posterior:
        """Return the posterior given the statistics of the rows, and the rows themselves.

        The rows are None where only their statistics are left (batches): an inference that needs them refuses.
        """
