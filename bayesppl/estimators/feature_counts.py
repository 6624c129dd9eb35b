"""What the rows of the fit add up to, under the names that scikit-learn has for it."""

from __future__ import annotations

from abc import ABC
from typing import Any

import numpy as np

from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.kernels.arrays import Array


class _Counted(BayesClassifier, ABC):
    @property
    def _sums(self) -> Any:
        return self.fitted_.learned.statistics.parts["features"]


class CountsOfOnes(_Counted, ABC):
    @property
    def feature_count_(self) -> Array:
        """Total weight of the rows of each class in which each feature is one: (n_classes, n_features)."""
        return np.array(self._sums.successes)


class CountsOfWords(_Counted, ABC):
    @property
    def feature_count_(self) -> Array:
        """Weighted sum of each feature over the rows of each class: (n_classes, n_features)."""
        return np.array(self._sums.counts)


class CountsOfLevels(_Counted, ABC):
    @property
    def category_count_(self) -> list[Array]:
        """Total weight of the rows of each class with each level: (n_classes, n_levels) for every feature.

        Levels are in the order of the dimension "cell" of ``estimates()``, ascending where they are not declared. The cell
        of values that did not occur is left out.
        """
        family: Any = self.fitted_.model.family
        sizes = [len(levels) for levels in family.outcomes]
        tables = np.split(np.array(self._sums.counts), np.cumsum(sizes)[:-1], axis=1)
        return tables if family.levels is not None else [table[:, :-1] for table in tables]
