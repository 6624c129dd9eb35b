"""All that is learned from rows, without the rows: a model bound to columns and classes, and sums over rows.

Sums add and subtract, so a batch is an addition, forgetting a subtraction, merging two fits an addition again, and
discounting the past a multiplication. Each returns a new value; nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.frames import warn_of_other_orders
from bayesppl.data.label_cells import REFUSED, Unlabelled
from bayesppl.data.labels import union
from bayesppl.data.read_table import Columns
from bayesppl.data.rows import Rows
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS, Declaration, GenerativeModel

# Up to so many numbers, rows times numbers of the statistics, rows that come or go are summed each by itself.
_MOST_EACH = 1 << 16

#: Sums that are off by more than this, in relative terms, are not those of the rows that remain.
MOST_DOUBT = 1e-6


@dataclass(frozen=True)
class Removal:
    """Rows that were forgotten together: their number, their weight and their hash."""

    n_rows: int
    weight: float
    data_hash: str


@dataclass(frozen=True, eq=False)
class Learned:
    """A bound model and the sufficient statistics of its rows.

    Attributes
    ----------
    columns : Columns
    classes : (n_classes,)
    model : GenerativeModel
        Bound to these columns and classes.
    statistics : JointStatistics
        Of the rows that are known completely.
    completed : (n_classes,), optional
        Total weight of the other rows whose class is certain; None where there are no others that count.
    unlabelled : Unlabelled
        What becomes of the others.
    removals : tuple of Removal
        Rows that were learned, and forgotten since.
    declaration : Declaration, optional
        What the model was bound from; None of a user's own.
    is_discounted : bool
        Whether rows weigh less than when they were learned.
    """

    columns: Columns
    classes: Array
    model: GenerativeModel
    statistics: JointStatistics
    unlabelled: Unlabelled = REFUSED
    removals: tuple[Removal, ...] = ()
    completed: Array | None = None
    declaration: Declaration | None = None
    is_discounted: bool = False

    @classmethod
    def start(
        cls,
        declaration: Declaration,
        rows: Rows,
        reader: str,
        n_jobs: int | None = None,
        unlabelled: Unlabelled = REFUSED,
    ) -> Self:
        """Bind a declaration to rows, and sum them.

        Parameters
        ----------
        reader : str
            What the reader of later rows is called in messages.
        """
        model = declaration.bind(rows)
        columns = Columns(rows.table.names, rows.table.is_named, reader)
        partly = rows.partly_counted
        completed = None if partly is None else partly.certain(len(rows.classes))
        sums = model.summarise(rows, n_jobs)
        return cls(columns, rows.classes, model, sums, unlabelled, completed=completed, declaration=declaration)

    @property
    def class_count(self) -> Array:
        """The total weight of the rows of each class: (n_classes,)."""
        counts = np.asarray(self.statistics.parts[CLASS_WEIGHTS].counts)
        return counts if self.completed is None else counts + self.completed

    def read(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Read further rows, in terms of these columns and classes."""
        warn_of_other_orders(X, y=y, sample_weight=sample_weight)
        return Rows.read(self.columns.align(X), y, sample_weight, self.classes, self.unlabelled)

    def summarise(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_jobs: int | None = None
    ) -> JointStatistics:
        """Sum further rows into sufficient statistics.

        Raises
        ------
        ValueError
            If they hold a level that the first batch did not show.
        """
        return self.model.summarise(self._further(X, y, sample_weight), n_jobs)

    @np.errstate(over="ignore", invalid="ignore")  # the prior refuses sums that overflow, and names the column
    def plus(self, X: Any, y: Any, sample_weight: Any = None, *, n_jobs: int | None = None) -> Self:
        """Add further rows; see :meth:`summarise`."""
        rows = self._further(X, y, sample_weight)
        return replace(self, statistics=self.statistics.tracked() + self._tracked(rows, n_jobs))

    @np.errstate(over="ignore", invalid="ignore")
    def minus(self, rows: Rows, *, n_jobs: int | None = None) -> Self:
        """Subtract rows that were learned before.

        Raises
        ------
        ValueError
            If these rows cannot be among those learned, or if too little is known of the sums without them.
        """
        before = self.statistics.tracked()
        left = before - self._tracked(rows, n_jobs)
        doubt = before.relative_errors
        for part, error in left.relative_errors.items():
            if error > max(MOST_DOUBT, 2 * doubt[part]):
                raise ValueError(
                    f"without these rows the sums of {part!r} would be known to a relative error of {error:.0e} "
                    "only: numbers in these rows are so much larger than the others that these were rounded away "
                    "beside them. Fit the rows that remain anew"
                )
        return replace(self, statistics=left)

    def merged(self, other: Self) -> Self:
        """Add what was learned from other rows in terms of the same model."""
        return replace(
            self,
            statistics=self.statistics.tracked() + other.statistics.tracked(),
            removals=self.removals + other.removals,
            is_discounted=self.is_discounted or other.is_discounted,
        )

    def tracking(self, rows: Rows) -> Self:
        """Return the same, learned from these rows alone, in sums that track rounding as rows come and go."""
        return replace(
            self, statistics=self.model.summarise_each(rows) if self._are_few(rows) else self.statistics.tracked()
        )

    def discounted(self, factor: float) -> Self:
        """Multiply the weight of every row by ``factor``."""
        scaled = self.statistics.tracked().scale(factor)
        return replace(self, statistics=scaled, is_discounted=self.is_discounted or factor < 1)

    def with_classes(self, classes: Array) -> Self:
        """Return the same in terms of these classes, which include all those known."""
        known, new = self.classes.tolist(), classes.tolist()
        if known == new:
            return self
        codes = np.asarray([new.index(label) for label in known])
        return replace(
            self,
            classes=classes,
            model=self.model.with_classes(new),
            statistics=self.statistics.with_classes(len(new), codes),
        )

    def widened(self, declared: Sequence[Hashable] | Array) -> Self:
        """Add the classes of ``declared`` that are new, in ascending order."""
        return self.with_classes(union(self.classes, declared))

    def _tracked(self, rows: Rows, n_jobs: int | None) -> JointStatistics:
        if self._are_few(rows):
            return self.model.summarise_each(rows)
        return self.model.summarise(rows, n_jobs).tracked()

    def _are_few(self, rows: Rows) -> bool:
        return len(rows) * self.statistics.n_numbers <= _MOST_EACH

    def _further(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Read further rows; refuse those from which the family would have learned more than from the first."""
        rows = self.read(X, y, sample_weight)
        table = rows.counted().table
        known, found = (
            self.model.family.bound.coords,
            self.model.family.bind(table, self.model.classes).bound.coords,
        )
        for dim, labels in found.items():
            new = set(labels) - set(known[dim])
            if new:
                shortest = min(sorted(map(str, new)), key=len)  # of levels, not of their combinations
                raise ValueError(
                    f"this batch holds {shortest!r}, which the first batch did not show. One fit on all "
                    "rows would have counted it, so batches can not: declare the levels, "
                    "by a categorical dtype of the column or by levels= of its family"
                )
        return rows
