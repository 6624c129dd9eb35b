"""Several fitted models of the same rows, each tempered, combined by weights: one immutable value."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayesppl.data.read_table import Columns
from bayesppl.data.table import Table, read_range
from bayesppl.errors import UnseenLevelWarning, warn
from bayesppl.families.find_levels import skipped_in_words
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import ClassWeights, class_weights_in_use
from bayesppl.model.fitted import Fitted
from bayesppl.model.member import Guest, Member
from bayesppl.model.normalisation import exchange_weights, log_probabilities, sharpened


@dataclass(frozen=True, eq=False)
class Stack:
    r"""Models of the same rows and their weights.

    .. math:: p(y \mid x) \propto \Big(\sum_m \omega_m\, p_m(y \mid x)\Big)^{1/T}

    Attributes
    ----------
    columns : Columns
    classes, class_count : (n_classes,)
    members : tuple of Member and Guest
        Those that matter.
    weights : (n_members,)
    weight_draws : (n_draws, n_members)
        From the posterior of the weights.
    temperature : float
        Of the average: an average of calibrated probabilities is not sure enough (Ranjan & Gneiting 2010).
    candidates : dict of str to (temperature, score, standard error)
        Of left-out labels, by all candidates, also those that did not matter.
    log_score, log_score_se, accuracy : float
        Of left-out labels, with weights that have not seen the row.
    cost_of_choosing : float
        How much better, a row, the weights make themselves look on the rows that they were learned from.
    facts : tuple of str
        What was found out about the columns.
    left_out : dict of str to str
        How rows were left out of each candidate: "exactly", "from draws" or "by folds".
    background : (Table, (n_some_rows,)), optional
        A few rows of the fit and their weights: they stand in for cells that are not seen where a guest is
        explained. They are not stored in files.
    """

    columns: Columns
    classes: Array
    class_count: Array
    members: tuple[Member | Guest, ...]
    weights: Array
    weight_draws: Array
    temperature: float
    candidates: dict[str, tuple[float, float, float]]
    log_score: float
    log_score_se: float
    accuracy: float
    cost_of_choosing: float
    facts: tuple[str, ...]
    left_out: dict[str, str]
    background: tuple[Table, Array] | None = field(default=None, metadata={"stored": False})

    def log_proba(self, X: Any, class_weights: ClassWeights | None = None) -> Array:
        """Return log p(y = k | x): (n_rows, n_classes)."""

        def work(part: Table) -> Array:
            parts = [member.log_proba(part) for member in self.members]
            return self.finished(mixed(parts, self.weights), class_weights)

        return np.concatenate(self.map_rows(X, work))

    def finished(
        self, log_proba: Array, class_weights: ClassWeights | None, factors: float | Array = 1.0
    ) -> Array:
        """Sharpen averages, by factors of the temperature, and exchange class weights: (..., n_classes)."""
        return self.under(class_weights, sharpened(log_proba, self.class_weights, self.temperature * factors))

    def under(self, class_weights: ClassWeights | None, log_proba: Array) -> Array:
        """Exchange the class weights of the fit for others: (..., n_classes)."""
        new = class_weights_in_use(class_weights, self.class_count, tuple(self.classes.tolist()))
        if new is None:
            return log_proba
        return log_probabilities(exchange_weights(log_proba, self.class_weights, new), new)

    def align(self, X: Any) -> Table:
        """Align rows with the columns of the fit, with a warning of levels that no member has seen."""
        table, unseen = self.columns.align(X), {}
        for column in (c for m in self.members if isinstance(m, Member) for c in m.closed_columns):
            if column.name not in unseen:
                unseen[column.name] = column.unseen(table)
        new = {name: found for name, found in unseen.items() if found[0]}
        if new:
            levels, rows = zip(*new.values(), strict=True)
            warn(
                f"{skipped_in_words(list(new), levels, np.any(rows, axis=0))}. If the fit has them in another "
                "spelling, correct it",
                UnseenLevelWarning,
            )
        return table

    def map_rows[T](self, X: Any, work: Callable[[Table], T]) -> list[T]:
        """Apply ``work`` to one range of rows after the other, so that recoded rows never grow with the table."""
        table = self.align(X)
        width = max(member.words_per_row(table) for member in self.members)
        ranges = table.extent._replace(cells_per_row=width).ranges(len(self.classes)) or [slice(0, 0)]
        return [read_range(table, rows, work) for rows in ranges]

    @property
    def fits(self) -> list[Fitted]:
        """The fitted models, without guests."""
        return [member.fitted for member in self.members if isinstance(member, Member)]

    @property
    def columns_read(self) -> set[Hashable]:
        """The columns of the fit that a member reads."""
        return {name for member in self.members for name in member.columns_read(self.columns.names)}

    @property
    def levels(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """The levels of columns of the fit, without those of numbers that only some member takes for levels."""
        return {name: levels for member in self.members for name, levels in member.known_levels().items()}

    @property
    def class_weights(self) -> Array:
        """The class weights of the members, averaged: (n_classes,)."""
        return np.asarray(self.weights @ np.stack([member.class_weights for member in self.members]))


def mixed(log_probas: list[Array], weights: Array) -> Array:
    """Return the logarithm of the weighted average of probabilities."""
    of_members = weights.reshape(-1, *[1] * log_probas[0].ndim)
    return np.asarray(logsumexp(np.stack(log_probas), axis=0, b=of_members))
