"""Rows of mixtures: the components of all classes stand in place of classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.sparse import csr_array

from bayesppl.conjugate.row_statistics import RowStatistics, refuse_closed_form
from bayesppl.conjugate.statistics import Counts, JointStatistics
from bayesppl.kernels.arrays import Array, Responsibilities

#: The dimension of the components of all classes, and the part of their parameters.
COMPONENT = "component"
#: Name of the probabilities of the components of each class.
COMPONENT_WEIGHT = "component_weight"


@final
@dataclass(frozen=True, eq=False)
class Allocated:
    """Encoded rows each of which belongs to one component of its class; indexed like an array of rows."""

    X: Any
    components: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    def __getitem__(self, rows: Any) -> Allocated:
        return Allocated(self.X[rows], self.components[rows])


@final
@dataclass(frozen=True, eq=False)
class AllocatedRows(RowStatistics):
    """Rows of components, which sum into the components of their classes."""

    rows: Any
    components: Array
    n_components: int

    def __len__(self) -> int:
        return len(self.components)

    def sum_rows(self, responsibilities: Responsibilities) -> JointStatistics:
        if responsibilities.nnz and len(self.components) and self.components.min() < 0:
            refuse_closed_form("component")
        n_rows, n_classes = responsibilities.shape
        within = np.repeat(self.components, np.diff(responsibilities.indptr))
        spread = csr_array(
            (
                responsibilities.data,
                responsibilities.indices * self.n_components + within,
                responsibilities.indptr,
            ),
            shape=(n_rows, n_classes * self.n_components),
        )
        return with_counts(self.rows.sum_rows(spread), np.asarray(spread.sum(0)))


def with_counts(features: Any, counts: Array) -> JointStatistics:
    """Put the number of rows of each component beside the statistics of the components."""
    return JointStatistics({COMPONENT: features, COMPONENT_WEIGHT: Counts(counts, np.zeros(()))})


def component_labels(classes: Sequence[Hashable], components: int) -> tuple[str, ...]:
    """Label the components of all classes, as in "a/0"."""
    return tuple(f"{label}/{component}" for label in classes for component in range(components))
