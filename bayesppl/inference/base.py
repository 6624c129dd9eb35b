"""The contract of an inference."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from bayesppl.arrays import Array
from bayesppl.model import GenerativeModel
from bayesppl.posterior import Posterior
from bayesppl.statistics import JointStatistics


class Inference(ABC):
    """A way from a model and data to the posterior of its parameters."""

    @abstractmethod
    def infer(
        self, model: GenerativeModel, statistics: JointStatistics, X: Any = None, codes: Array | None = None
    ) -> Posterior:
        """Return the posterior given the statistics of encoded rows, and the rows with the codes of their labels.

        The rows are None where only their statistics are left (weighted rows, batches): an inference that needs them
        refuses.
        """
