"""A fitted model as one immutable value. Every question about it is a function of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesppl.data.rows import Rows
from bayesppl.data.table import Columns, Table, read_range
from bayesppl.errors import ImproperError
from bayesppl.families._bases.log_density import LogDensity
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.ranges import in_order, row_ranges
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.learned import Learned
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import RuleName


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit has found.

    Attributes
    ----------
    learned : Learned
        Columns, classes, the bound model and its sufficient statistics.
    inferred : Posterior, optional
        Of all parameters; None where the rows do not determine it yet, as happens under an improper prior.
    rule : {"predictive", "mle", "map", "mean"}
        How to classify where no other rule is asked for.
    rows : Rows, optional
        Those of the fit, where they are still held.
    fingerprint : mapping, optional
        Of the rows of the fit, where they are not held.
    undetermined : str
        Why there is no posterior yet.
    """

    learned: Learned
    inferred: Posterior | None
    rule: RuleName
    rows: Rows | None = None
    fingerprint: Mapping[str, Any] | None = None
    undetermined: str = ""

    @property
    def posterior(self) -> Posterior:
        """Exact or sampled posterior of all parameters.

        Raises
        ------
        ImproperError
            If the rows do not determine it yet.
        """
        if self.inferred is None:
            raise ImproperError(self.undetermined)
        return self.inferred

    @property
    def model(self) -> GenerativeModel:
        return self.learned.model

    @property
    def classes(self) -> Array:
        """Labels in the order of the class axis: (n_classes,)."""
        return self.learned.classes

    @property
    def columns(self) -> Columns:
        return self.learned.columns

    def encode(self, X: Any) -> Any:
        """Rows of a table as the model computes with them."""
        return self.model.family.encode(self.columns.align(X))

    def log_joint(self, X: Any, rule: RuleName | None = None, *, n_jobs: int | None = None) -> Array:
        """log p(y = k, x) for every row and class: (n_rows, n_classes)."""
        return self.map_log_joint(X, lambda log_joint, _: log_joint, rule, n_jobs=n_jobs)

    def map_log_joint(
        self,
        X: Any,
        finish: Callable[[Array, Array], Array],
        rule: RuleName | None = None,
        *,
        evaluate: Callable[[LogDensity, Any], Array] = LogDensity.__call__,
        n_jobs: int | None = None,
    ) -> Array:
        """``finish`` of log p(y = k, x), a range of rows after the other, so that no temporary grows with the rows.

        Parameters
        ----------
        finish : callable
            From log p(y = k, x) of some rows, (n_some_rows, n_classes), which it may overwrite, and the class weights of
            the rule, (n_classes,), to an array (n_some_rows, ...).
        evaluate : callable
            Of a log density at encoded rows; ``LogDensity.kernel`` leaves out what all classes of a row share.
        """
        table = self.columns.align(X)
        log_joint, weights = self.posterior.scorer(self.rule if rule is None else rule)
        family = self.model.family

        def work(rows: slice) -> Array:
            return finish(evaluate(log_joint, read_range(table, rows, family.encode)), weights)

        return _put_together(work, table, len(weights), n_jobs)


def _put_together(work: Callable[[slice], Array], table: Table, n_classes: int, n_jobs: int | None) -> Array:
    """The results of all ranges of rows, in order."""
    # of bytes more rows at a time, but not so many that a temporary of theirs in float64 would be large
    per_row = max(table.words_per_row, table.cells_per_row // 4, n_classes)
    ranges = row_ranges(len(table), per_row) or [slice(0, 0)]
    if len(ranges) == 1:
        return work(ranges[0])
    first, *others = ranges
    values = work(first)
    out = np.empty((*values.shape[1:], len(table)), dtype=values.dtype).T  # as ``values`` lies
    out[first] = values
    for rows, part in zip(others, in_order(work, others, n_jobs), strict=True):
        out[rows] = part
    return out
