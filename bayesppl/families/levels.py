"""What the families of categories share: the levels of every column, declared or learned.

A level that was not seen in training is an outcome like any other: where levels are learned, every column gets one
more, ``"(unseen)"``, which stands for all levels still to come. It has a prior concentration and no counts, so
that the model is coherent and an unseen level at predict has its proper predictive probability.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Self, final

import numpy as np
from scipy.sparse import csr_array

from bayesppl.arrays import Array, Theta
from bayesppl.conjugates import Dirichlet
from bayesppl.data import Table, factorize
from bayesppl.families.base import ColumnFamily
from bayesppl.families.leave_one_out import own_class_without
from bayesppl.priors import Direct
from bayesppl.statistics import Counts

#: The level of values that did not occur where levels are learned.
UNSEEN: Final = "(unseen)"

Levels = Sequence[Hashable] | Mapping[Hashable, Sequence[Hashable]]


@dataclass(frozen=True, eq=False)
class LevelFamily(ColumnFamily):
    """A family of columns that hold levels; encoded rows mark cells of a table of outcomes."""

    measure: ClassVar = "mass"

    probability: Dirichlet = Dirichlet()
    levels: Levels | None = None

    #: Levels of every column once bound, in the order of ``columns``.
    outcomes: tuple[tuple[Hashable, ...], ...] = field(default=(), kw_only=True, repr=False)

    @abstractmethod
    def _cells(self, codes: Array) -> csr_array:
        """Mark the cells of rows, (n_rows, n_cells), from the codes of their levels, -1 where missing."""

    @abstractmethod
    def _codes_of(self, X: csr_array) -> Array:
        """The codes of the levels of complete rows, (n_rows, n_columns), from their cells."""

    @abstractmethod
    def resolve_prior(self, statistics: Counts) -> Dirichlet | Direct: ...

    @final
    def mle(self, statistics: Counts) -> Theta:
        return self.resolve_prior(statistics).mle(statistics)

    @final
    def log_predictive(self, posterior: Dirichlet, X: csr_array) -> Array:
        return self.log_likelihood(posterior.mean(), X)

    @final
    def log_predictive_without(self, posterior: Dirichlet, X: csr_array, codes: Array, weights: Array) -> Array:
        return own_class_without(self, posterior, X, codes, weights)

    @final
    def decode(self, X: csr_array) -> dict[Hashable, Array]:
        codes = self._codes_of(X)
        return {
            name: np.asarray(levels, dtype=object)[codes[:, j]]
            for j, (name, levels) in enumerate(zip(self.columns, self.outcomes, strict=True))
        }

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        return {"probability": ("class", "cell")}

    @final
    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        declared = self._declared(table.names)
        outcomes = tuple(
            (*factorize(table.column(name), name)[0], UNSEEN) if declared is None else declared[name]
            for name in table.names
        )
        return replace(self, columns=table.names, classes=tuple(classes), outcomes=outcomes)

    @final
    def encode(self, table: Table) -> csr_array:
        codes = np.empty((len(table), len(self.columns)), dtype=np.intp)
        table = table.select(self.columns)
        for j, name in enumerate(self.columns):
            codes[:, j] = self._codes(table.column(name), j)
        return self._cells(codes)

    @final
    def with_prior(self, prior: Dirichlet) -> Self:
        return replace(self, probability=prior)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(levels) for levels in self.outcomes)

    def _codes(self, values: Array, j: int) -> Array:
        found, codes = factorize(values, self.columns[j])
        named = self.outcomes[j][:-1] if self.levels is None else self.outcomes[j]
        position = {level: i for i, level in enumerate(named)}
        if self.levels is None:
            known = [position.get(level, len(named)) for level in found]
        else:
            unknown = [level for level in found if level not in position]
            if unknown:
                row = int(np.argmax(codes == found.index(unknown[0])))
                raise ValueError(
                    f"column {self.columns[j]!r} holds {unknown[0]!r} in row {row}, which is not among its declared "
                    f"levels {list(self.outcomes[j])}. Correct the value, declare the level, or leave levels=None to "
                    "learn them and to allow for unseen ones."
                )
            known = [position[level] for level in found]
        return np.asarray([*known, -1])[codes]

    def _declared(self, columns: tuple[Hashable, ...]) -> dict[Hashable, tuple[Hashable, ...]] | None:
        if self.levels is None:
            return None
        if isinstance(self.levels, Mapping):
            by_column = {name: tuple(levels) for name, levels in self.levels.items()}
            absent = [name for name in columns if name not in by_column]
            surplus = [name for name in by_column if name not in columns]
            if absent or surplus:
                raise ValueError(f"levels must name every column once: missing {absent}, unknown {surplus}")
        else:
            by_column = dict.fromkeys(columns, tuple(self.levels))
        for name, levels in by_column.items():
            if not levels or len(set(levels)) < len(levels):
                raise ValueError(
                    f"the levels of column {name!r} must be distinct, and at least one, found {levels!r}"
                )
        return by_column


def draw_outcomes(probability: Array, codes: Array, rng: np.random.Generator) -> Array:
    """One outcome for each class code: (n_rows,), from probabilities (n_classes, n_outcomes)."""
    edges, heights = np.cumsum(probability, axis=1)[:, :-1], rng.random(len(codes))
    out = np.empty(len(codes), dtype=np.intp)
    for k, steps in enumerate(edges):
        own = codes == k
        out[own] = np.searchsorted(steps, heights[own], side="right")
    return out
