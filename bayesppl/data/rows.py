"""Labelled and weighted rows, read and checked: the only way in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayesppl.data.columns import to_float
from bayesppl.data.frames import warn_of_other_orders
from bayesppl.data.label_cells import REFUSED, Unlabelled, without_missing
from bayesppl.data.labels import codes_among, encode_labels, warn_of_minus_one
from bayesppl.data.matrices import plain
from bayesppl.data.partly_known import PartlyKnown
from bayesppl.data.read_table import as_table
from bayesppl.data.table import Table
from bayesppl.errors import RowError, rows_at, warn
from bayesppl.kernels.arrays import Array

#: Tables of up to this many numbers (a megabyte) are copied to be held, in a fraction of the time that their
#: fit takes.
_MOST_COPIED = 1 << 17

#: Positive weights between which their products with counts and squares are floating-point numbers with all
#: digits.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100


#: Of rows that all lack a label, or weigh nothing.
NOTHING_COUNTS = "no row has a label and a weight above zero, so there is nothing to learn from"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table, each with its class and its weight.

    Attributes
    ----------
    table : Table
    classes : (n_classes,)
        All labels that can occur.
    codes : (n_rows,)
        Places of the labels in ``classes``.
    given_weights : (n_rows,), optional
        None where every row has the weight one.
    is_copy : bool
        Whether the cells are a copy that nobody else can change.
    partly : PartlyKnown, optional
        Further rows, whose class is not known.
    kept : (n,), optional
        Places of all these rows among those given; None where none was left out.
    """

    table: Table
    classes: Array
    codes: Array
    given_weights: Array | None
    is_copy: bool = False
    partly: PartlyKnown | None = None
    kept: Array | None = None

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        classes: Array | None = None,
        unlabelled: Unlabelled = REFUSED,
    ) -> Self:
        """Read a table, its labels and its weights, and refuse what does not fit together.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        y : (n_rows,) array-like
        sample_weight : (n_rows,) array-like or float, optional
        classes : (n_classes,), optional
            All labels that can occur, as ``declared_classes`` returns them; those of ``y`` by default.
        unlabelled : Unlabelled
            What becomes of rows without a label; those that are learned from are ``partly``.

        Raises
        ------
        ValueError
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        table = as_table(X)
        warn_of_other_orders(X, y=y, sample_weight=sample_weight)
        labels, absent = without_missing(y, unlabelled)
        is_blank = len(absent) > 0 and bool(absent.all())
        if classes is None:
            if is_blank:
                if unlabelled.action == "drop":
                    raise ValueError(NOTHING_COUNTS)
                raise ValueError("no row has a label: declare the classes with classes=[...]")
            known, codes = encode_labels(labels)
            warn_of_minus_one(known.tolist())
        else:
            known, codes = classes, np.empty(0, np.intp) if is_blank else codes_among(labels, classes)
        if len(absent) != len(table):
            raise ValueError(f"X has {len(table)} rows and y has {len(absent)} labels; they must match")
        if len(table) == 0 or not table.names:
            raise ValueError(
                f"Found array with {len(table)} sample(s) and {len(table.names)} feature(s) (shape="
                f"{(len(table), len(table.names))}) while a minimum of 1 is required."
            )
        weights = check_weights(sample_weight, len(table))
        if not absent.any():
            return cls(table, known, codes, weights)
        there = np.flatnonzero(~absent)
        found = cls(table.take(there), known, codes, None if weights is None else weights[there])
        if unlabelled.action == "drop":
            return replace(found, kept=there)
        places = np.flatnonzero(absent)
        of_places = np.ones(len(places)) if weights is None else weights[places]
        is_informative = unlabelled.action == "informative"
        return replace(found, partly=PartlyKnown(table, places, of_places, is_informative=is_informative))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def weights(self) -> Array:
        """Return the weight of every row."""
        return np.ones(len(self)) if self.given_weights is None else self.given_weights

    @property
    def is_unweighted(self) -> bool:
        """Whether every row has the weight one."""
        return self.given_weights is None or bool((self.given_weights == 1).all())

    @property
    def partly_counted(self) -> PartlyKnown | None:
        """Return the rows partly known, None where none of them has a weight."""
        return self.partly if self.partly is not None and self.partly.weights.any() else None

    @property
    def known_places(self) -> Array:
        """Return the places of these rows among all, those partly known too."""
        return np.arange(len(self)) if self.partly is None else self.partly.known_places

    def places_given(self, places: Array) -> Array:
        """Return the places among the rows given of rows at these places among all that were kept of them."""
        return places if self.kept is None else self.kept[places]

    def naming_rows(self) -> AbstractContextManager[None]:
        """Raise refusals of a row of the table again, with its place among the rows given."""
        return rows_at(lambda row: self.places_given(self.known_places)[row])

    @property
    def whole(self) -> tuple[Table, Array]:
        """Return all rows, those partly known too, as they were given, and the weight of every one."""
        if self.partly is None:
            return self.table, self.weights
        weights = np.empty(len(self.partly.whole))
        weights[self.partly.places], weights[self.partly.known_places] = self.partly.weights, self.weights
        return self.partly.whole, weights

    def with_weight_of_partly(self, factor: float) -> Rows:
        """Return the same rows, the weights of those without any label multiplied by ``factor``."""
        if self.partly is None:
            return self
        return replace(self, partly=self.partly.scaled(factor) if factor else None)

    def with_partly(self, places: Array) -> Rows:
        """Count some of the labelled rows among those partly known, for cells that they lack."""
        if not len(places):
            return self
        before, n_classes = self.partly, len(self.classes)
        log_known = np.where(np.arange(n_classes) == self.codes[places, None], 0.0, -np.inf)
        whole, of_whole, weights = self.table, places, self.weights[places]
        is_informative = before is not None and before.is_informative
        if before is not None:
            whole, of_whole = before.whole, np.r_[before.places, before.known_places[places]]
            log_prior = np.zeros((len(before), n_classes)) if before.log_prior is None else before.log_prior
            log_known, weights = np.r_[log_prior, log_known], np.r_[before.weights, weights]
        order = np.argsort(of_whole)
        partly = PartlyKnown(
            whole, of_whole[order], weights[order], log_known[order], is_informative=is_informative
        )
        left = np.delete(np.arange(len(self)), places)
        given = None if self.given_weights is None else self.given_weights[left]
        return replace(
            self, table=self.table.take(left), codes=self.codes[left], given_weights=given, partly=partly
        )

    def snapshot(self) -> Rows:
        """Keep the rows for later use: small tables are copied, large ones are not."""
        is_copy = len(self.whole[0]) * self.table.extent.cells_per_row <= _MOST_COPIED
        weights = None if self.given_weights is None else self.given_weights.copy()
        partly, table = self.partly, self.table.snapshot(copied=is_copy)
        if partly is not None:
            partly = replace(partly, whole=partly.whole.snapshot(copied=is_copy))
        return replace(self, table=table, given_weights=weights, is_copy=is_copy, partly=partly)

    def counted(self) -> Rows:
        """Return the rows that count: one of weight zero is no row, and brings no levels either."""
        weights = self.given_weights
        if weights is None or weights.all():
            return self
        at = np.flatnonzero(weights)
        return replace(
            self,
            table=self.table.take(at),
            codes=self.codes[at],
            given_weights=weights[at],
            kept=self.places_given(at) if self.partly is None else self.kept,
        )


def warn_of_counts(rows: Rows) -> None:
    """Warn where weights look like counts of equal rows, which are left out together."""
    weights = rows.weights[rows.weights > 0]
    if len(weights) and np.ptp(weights) and weights.mean() >= 3 and (weights % 1 == 0).all():
        warn(
            f"sample_weight holds whole numbers, {weights.mean():.3g} on average, as counts of equal rows are. A "
            "row is left out with all of its weight, so that none like it is left to predict it by. If these are "
            "counts, repeat the rows: rows = np.arange(len(y)).repeat(counts), and fit X.iloc[rows], y.iloc[rows]",
            UserWarning,
        )


def check_weights(sample_weight: Any, n_rows: int) -> Array | None:
    """Validate row weights: one number per row, zero or within the range in which nothing over- or underflows."""
    if sample_weight is None:
        return None
    weights = _weights(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must hold one weight per row: expected shape ({n_rows},), got {weights.shape}. "
            "Sample weights must be 1D array or scalar."
        )
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise RowError(f"sample_weight must be finite and non-negative, found {weights[row]:g} in row ", row, "")
    extreme = (weights > 0) & ~((weights >= LEAST_WEIGHT) & (weights <= LARGEST_WEIGHT))
    if extreme.any():
        row = int(np.argmax(extreme))
        raise RowError(
            f"sample_weight must be zero or lie between {LEAST_WEIGHT:g} and {LARGEST_WEIGHT:g}, found "
            f"{weights[row]:g} in row ",
            row,
            ": a weight is a number of rows. Divide all weights by their mean, and set to zero what is negligible",
        )
    return weights


def _weights(sample_weight: Any) -> Array:
    """Read weights as numbers; those missing are NaN."""
    try:
        given = np.asarray(sample_weight)
    except ValueError:
        raise ValueError(
            "sample_weight must hold one weight per row, found sequences of different lengths"
        ) from None
    if isinstance(sample_weight, np.ma.MaskedArray):
        given = np.ma.filled(sample_weight.astype(np.float64), np.nan)
    if given.dtype.kind in "biuf":
        return plain(given).astype(np.float64, copy=False)
    if given.dtype.kind == "O" and given.ndim == 1:
        return to_float(given, "sample_weight")
    kind = f"an array of {given.dtype}" if given.ndim else repr(sample_weight)
    raise TypeError(
        f"sample_weight must hold one weight per row, found {kind}; pass numbers, for example those of "
        "sklearn.utils.class_weight.compute_sample_weight('balanced', y)"
    )
