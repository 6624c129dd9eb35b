"""Members of a stack: models of ours, left out exactly, and guests, left out by folds."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesppl.data.column_facts import Column
from bayesppl.data.preprocessing import AnyRecoding, Preprocessing
from bayesppl.data.recoding import Unrecoded
from bayesppl.data.table import Table
from bayesppl.errors import UnseenLevelWarning
from bayesppl.kernels.arrays import Array, logarithm
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import log_probabilities


@dataclass(frozen=True, eq=False)
class Member:
    """A generative model as a member of a stack.

    Attributes
    ----------
    name : str
    recoding : Recoding, Unrecoded, Curves, Leaves or Preprocessing
        How the columns are recoded for it.
    fitted : Fitted
        To the recoded rows, calibrated by one temperature or by weights of its columns.
    log_score, log_score_se : float
        Of left-out labels, tempered, and its standard error.
    """

    name: str
    recoding: AnyRecoding
    fitted: Fitted
    log_score: float
    log_score_se: float

    @property
    def temperature(self) -> float:
        """The temperature T: log densities count 1/T."""
        return self.fitted.temperature

    def words_per_row(self, table: Table) -> int:
        """Estimate the memory of what is made of a row of a table, in units of eight bytes."""
        is_as_it_was = isinstance(self.recoding, Unrecoded)
        return table.extent.cells_per_row if is_as_it_was else len(self.fitted.columns.names)

    @property
    def class_weights(self) -> Array:
        """The class weights of the fit: (n_classes,)."""
        return self.fitted.posterior.predictive_weights()

    def log_proba(self, table: Table) -> Array:
        """Return log p(y = k | x), tempered: (n_rows, n_classes)."""
        return self.log_proba_of_recoded(self.recoding.transform(table))

    def log_proba_of_recoded(self, rows: Table) -> Array:
        """Return log p(y = k | x), tempered, of rows that are recoded already: (n_rows, n_classes)."""
        with self.skipping_unseen():
            return self.fitted.log_labels(rows, "predictive", log_probabilities, without_shared=True)

    def encode(self, table: Table) -> Any:
        """Recode and encode rows as the model takes them."""
        with self.skipping_unseen():
            return self.fitted.encode(self.recoding.transform(table))

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Name the columns that matter."""
        return self.recoding.columns_read(names)

    def known_levels(self) -> Mapping[Hashable, tuple[Hashable, ...]]:
        """Find the levels of the columns that have some."""
        return self.recoding.known_levels(self.fitted.levels)

    @property
    def closed_columns(self) -> Sequence[Column]:
        """The columns that are recoded and whose new levels are skipped."""
        return () if isinstance(self.recoding, Unrecoded | Preprocessing) else self.recoding.closed_columns

    @contextmanager
    def skipping_unseen(self) -> Iterator[None]:
        """Skip unseen levels without a warning where columns were recoded: other members read them as numbers."""
        with warnings.catch_warnings():
            if not isinstance(self.recoding, Unrecoded):
                warnings.simplefilter("ignore", UnseenLevelWarning)
            yield


@dataclass(frozen=True, eq=False)
class Guest:
    """A classifier of another package: probabilities as they are, without a posterior.

    Attributes
    ----------
    name : str
    classifier : estimator
        Fitted to all rows; of its methods only ``predict_proba`` is used.
    places : (n_own_classes,) of int
        Of its classes among those of the stack.
    class_shares : (n_classes,)
        Of the rows of the fit.
    log_score, log_score_se : float
        Of labels that other folds predict, and its standard error.
    """

    #: Probabilities count as they are.
    temperature: ClassVar[float] = 1.0

    name: str
    classifier: Any
    places: Array
    class_shares: Array
    log_score: float
    log_score_se: float

    def words_per_row(self, table: Table) -> int:
        """See :meth:`Member.words_per_row`."""
        return table.extent.cells_per_row

    @property
    def class_weights(self) -> Array:
        """The shares of the classes: (n_classes,)."""
        return self.class_shares

    def log_proba(self, table: Table) -> Array:
        """Return log p(y = k | x): (n_rows, n_classes)."""
        return spread_out(self.classifier.predict_proba(table.native()), self.places, len(self.class_shares))

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Name all columns."""
        return names

    def known_levels(self) -> Mapping[Hashable, tuple[Hashable, ...]]:
        """Return no levels: none are known."""
        return {}


def spread_out(proba: Any, places: Array, n_classes: int) -> Array:
    """Place log probabilities of some classes among all classes: (n_rows, n_classes)."""
    proba, log_proba = np.asarray(proba, dtype=np.float64), np.full((len(proba), n_classes), -np.inf)
    if np.isnan(proba).any():
        raise ValueError("predict_proba of a candidate gives NaN; leave that candidate out, or mend it")
    log_proba[:, places] = logarithm(proba)
    return log_proba
