"""Labelled rows, read and checked, and what has been learned from them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayesppl.beliefs.statistics import JointStatistics
from bayesppl.data.labels import check_weights, encode_labels
from bayesppl.data.table import Table, as_table
from bayesppl.families import Family
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import GenerativeModel


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a fit, with the codes of their labels; encoded when somebody asks for them.

    Attributes
    ----------
    family : Family
        Bound to the columns of ``table``.
    codes : (n_rows,)
    given_weights : (n_rows,), optional
        None where every row has the weight one.
    """

    family: Family
    table: Table
    codes: Array
    given_weights: Array | None

    @cached_property
    def X(self) -> Any:
        """Encoded rows."""
        return self.family.encode(self.table)

    @cached_property
    def weights(self) -> Array:
        """Weight of every row."""
        return np.ones(len(self.codes)) if self.given_weights is None else self.given_weights

    def unweighted(self) -> tuple[Any, Array | None]:
        """Encoded rows and codes, for a likelihood that knows no weights; None where there are some."""
        unit = self.given_weights is None or (self.given_weights == 1).all()
        return (self.X, self.codes.astype(np.intp)) if unit else (None, None)


class Learned(NamedTuple):
    """Classes, the model bound to them, and the sufficient statistics of the rows seen."""

    classes: Array
    model: GenerativeModel
    statistics: JointStatistics

    def summed(
        self, table: Table, y: Any, sample_weight: Any, *, refuse_new: bool = True, n_jobs: int | None = None
    ) -> JointStatistics:
        """Sufficient statistics of further rows, whose columns are those of the model."""
        table, _, codes, weights = read_rows(table, y, self.classes, sample_weight)
        if refuse_new:
            self._refuse_new_levels(counted(table, weights))
        return self.model.labelled_statistics(table, codes, weights, n_jobs)

    def _refuse_new_levels(self, table: Table) -> None:
        """Refuse rows from which the family would have learned more than it did from the first."""
        known, found = self.model.family.coords, self.model.family.bind(table, self.model.classes).coords
        for dim, labels in found.items():
            new = set(labels) - set(known[dim])
            if new:
                raise ValueError(
                    f"this batch holds {min(map(str, new))!r}, a {dim} that the first batch did not show. One fit on all "
                    "rows would have counted it, so batches can not: declare the levels of the family"
                )


def counted(table: Table, weights: Array | None) -> Table:
    """The rows that count: one of weight zero is no row, and teaches no levels either."""
    return table if weights is None or weights.all() else table.take(np.flatnonzero(weights))


def union(known: Array, declared: Sequence[Hashable] | Array) -> Array:
    """The classes known, and behind them those of ``declared`` that are new."""
    seen = set(known.tolist())
    new = [label for label in np.asarray(declared).tolist() if label not in seen]
    return np.concatenate([known, np.asarray(new)]) if new else known


def read_rows(
    X: Any, y: Any, declared: Sequence[Hashable] | Array | None, sample_weight: Any
) -> tuple[Table, Array, Array, Array | None]:
    """Labelled rows as (table, classes, codes, weights), or a refusal of what does not fit together."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    table = as_table(X)
    classes, codes = encode_labels(y, declared)
    if len(codes) != len(table):
        raise ValueError(f"X has {len(table)} rows and y has {len(codes)} labels; they must match")
    if len(table) == 0 or not table.names:
        raise ValueError(
            f"Found array with {len(table)} sample(s) and {len(table.names)} feature(s) (shape="
            f"{(len(table), len(table.names))}) while a minimum of 1 is required."
        )
    return table, classes, codes, check_weights(sample_weight, len(table))
