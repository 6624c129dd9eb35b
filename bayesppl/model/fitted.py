"""A fitted model as one immutable value, of which every question about it is a function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from bayesppl.conjugate.log_density import Evaluate, LogDensity
from bayesppl.data.read_table import Columns
from bayesppl.data.rows import Rows
from bayesppl.data.table import Table, read_range
from bayesppl.errors import ImproperError
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.ranges import in_order
from bayesppl.model.calibration import Power
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.learned import Learned
from bayesppl.model.normalisation import powered
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import RuleName
from bayesppl.model.tuning import Search
from bayesppl.model.unlabelled import UnlabelledGain


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result of a fit: what was learned from its rows, and the posterior.

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
    search : Search, optional
        How the hyperparameters of the prior were found; None where they are as declared.
    calibration : Power, optional
        How far the densities are trusted where labels are predicted; None where they are taken at their word.
    unlabelled : UnlabelledGain, optional
        What rows without a label gain; None where there are none beside labelled ones.
    """

    learned: Learned
    inferred: Posterior | None
    rule: RuleName
    rows: Rows | None = field(default=None, metadata={"stored": False})
    fingerprint: Mapping[str, Any] | None = None
    undetermined: str = ""
    calibration: Power | None = None
    search: Search | None = None
    unlabelled: UnlabelledGain | None = None

    @property
    def posterior(self) -> Posterior:
        """The exact or sampled posterior of all parameters.

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
        """The labels in the order of the class axis: (n_classes,)."""
        return self.learned.classes

    @property
    def columns(self) -> Columns:
        return self.learned.columns

    def require_columns(self, answer: str) -> None:
        """Raise ValueError where the fit has no features to answer about: :func:`bayesppl.dawid_skene`."""
        if not self.columns.names:
            raise ValueError(
                f"{answer} needs features, and this model, learned from votes alone, has none: ask it for "
                "annotators() and completed_proba()"
            )

    @property
    def levels(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """The levels of every column that the model takes for levels."""
        return self.model.family.bound.levels_of_columns

    @property
    def columns_read(self) -> set[Hashable]:
        """The columns of the fit on which answers depend: all of them."""
        return set(self.columns.names)

    @property
    def temperature(self) -> float:
        """The temperature of the calibration, an average where it has weights; 1 without a calibration."""
        return 1.0 if self.calibration is None else self.calibration.overall_temperature

    def parts(self, X: Any) -> Iterator[tuple[float, Any]]:
        """Iterate over the powers of the calibration, each with rows that hold the columns it belongs to."""
        return iter([(1.0, X)]) if self.calibration is None else self.calibration.parts(X, self.model.family)

    def calibrated(self, log_joint: LogDensity, class_weights: Array, factors: Array | None = None) -> LogDensity:
        """Take log p(y = k, x) of encoded rows, by any parameters, to the powers of the calibration.

        Parameters
        ----------
        log_joint : LogDensity
        class_weights : (..., n_classes)
            Those in it, of the same draws.
        factors : (n_powers, ..., 1, 1), optional
            Of the powers, for each draw.
        """
        if self.calibration is None:
            return log_joint
        of_rows = class_weights[..., None, :]

        def with_powers(evaluate: Evaluate) -> Evaluate:
            def terms(X: Any) -> Iterator[tuple[float | Array, Array]]:
                for unit, (power, rows) in enumerate(self.parts(X)):
                    yield (power if factors is None else power * factors[unit]), evaluate(rows)

            return lambda X: powered(terms(X), of_rows)

        return log_joint.map(with_powers)

    def encode(self, X: Any) -> Any:
        """Return the rows of a table as the model computes with them."""
        return self.model.family.bound.encode(self.columns.align(X))

    def log_joint(self, X: Any, rule: RuleName | None = None, *, n_jobs: int | None = None) -> Array:
        """Return log p(y = k, x) of every row and class, without the calibration: (n_rows, n_classes)."""
        uncalibrated = self if self.calibration is None else replace(self, calibration=None)
        return uncalibrated.log_labels(X, rule, n_jobs=n_jobs)

    def log_labels(
        self,
        X: Any,
        rule: RuleName | None = None,
        finish: Callable[[Array, Array], Array] | None = None,
        *,
        without_shared: bool = False,
        n_jobs: int | None = None,
    ) -> Array:
        """Return log p(y = k | x), up to a term that all classes of a row share: (n_rows, n_classes).

        The joint log density of label and features, but for a calibration; or what ``finish`` makes of it, a range
        of rows at a time.

        Parameters
        ----------
        finish : callable, optional
            From log p(y = k, x) of some rows, (n_some_rows, n_classes), which it may overwrite, and the class
            weights of the rule, (n_classes,), to an array (n_some_rows, ...).
        without_shared : bool
            Leave out what all classes of a row share, where that is cheaper.
        """
        scorer = self.posterior.scorer(self.rule if rule is None else rule)
        log_joint, weights = self.calibrated(*scorer), scorer.class_weights
        evaluate = log_joint.kernel if without_shared else log_joint.evaluate
        table, encode = self.columns.align(X), self.model.family.bound.encode

        def score(part: Table) -> Array:
            found = evaluate(encode(part))
            return found if finish is None else finish(found, weights)

        def work(rows: slice) -> Array:
            return read_range(table, rows, score)

        ranges = table.extent.ranges(len(weights))
        if len(ranges) <= 1:
            return score(table)
        parts = in_order(work, ranges, n_jobs)
        first = next(parts)
        out = np.empty((*first.shape[1:], len(table)), dtype=first.dtype).T  # as ``first`` lies
        for rows, part in zip(ranges, chain([first], parts), strict=True):
            out[rows] = part
        return out
