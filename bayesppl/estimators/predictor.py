"""Probabilities and labels of new rows, a range of rows at a time."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from bayesppl.answers.prior_shift import exchange_weights
from bayesppl.data.containers import Container, check_container, in_container
from bayesppl.estimators.distributed import is_lazy, map_rows
from bayesppl.estimators.learner import Learner
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS, ClassWeights, resolve_class_weights
from bayesppl.model.ranges import in_order, read_range, row_ranges
from bayesppl.model.rules import Rule, normalise, warn_of_impossible_rows


class Predictor(Learner, ABC):
    """Predictions of all estimators; see :class:`~bayesppl.GenerativeClassifier`."""

    def predict_joint_log_proba(self, X: Any, rule: Rule | None = None) -> Array:
        """log p(y = k, x) for every row and class: (n_rows, n_classes)."""
        return self._log_joint(X, rule)[0]

    def predict_log_proba(
        self, X: Any, rule: Rule | None = None, class_weights: ClassWeights | None = None
    ) -> Array:
        """log p(y = k | x) for every row and class: (n_rows, n_classes)."""
        if is_lazy(X):
            score = partial(self.predict_log_proba, rule=rule, class_weights=class_weights)
            return map_rows(score, X, len(self.classes_), float)
        return self._normalised(X, rule, class_weights, log=True)

    def set_output(self, *, transform: Container | None = None) -> Self:
        """Choose what ``predict_proba`` returns: an array by default, or a data frame with a column per class.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            Named as in scikit-learn, where it is about ``transform``; None changes nothing.
        """
        if transform is not None:
            check_container(transform)
            self._sklearn_output_config = {"transform": transform}  # the name under which clone copies it
        return self

    @property
    def _container(self) -> Container:
        return vars(self).get("_sklearn_output_config", {}).get("transform", "default")

    def predict_proba(self, X: Any, rule: Rule | None = None, class_weights: ClassWeights | None = None) -> Any:
        """Class probabilities of every row: (n_rows, n_classes).

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        rule : {"predictive", "mle", "map", "mean"}, optional
            ``predictive`` integrates the parameters out; the others plug in one estimate of them.
        class_weights : optional
            Class frequencies where the classifier is used, if they differ from those of training; see
            :meth:`estimate_class_weights`.

        Returns
        -------
        (n_rows, n_classes)
            In the container chosen by ``set_output``. Lazy where ``X`` is a dask array or data frame, computed block by
            block.
        """
        if is_lazy(X):
            score = partial(self.probabilities, rule=rule, class_weights=class_weights)
            return map_rows(score, X, len(self.classes_), float)
        return in_container(self.probabilities(X, rule, class_weights), self.classes_, X, self._container)

    def probabilities(self, X: Any, rule: Rule | None = None, class_weights: ClassWeights | None = None) -> Array:
        """``predict_proba`` as an array, whatever ``set_output`` says."""
        return self._normalised(X, rule, class_weights, log=False)

    def predict(self, X: Any, rule: Rule | None = None, class_weights: ClassWeights | None = None) -> Array:
        """The most probable label of every row: (n_rows,)."""
        if is_lazy(X):
            decide = partial(self.predict, rule=rule, class_weights=class_weights)
            return map_rows(decide, X, None, self.classes_.dtype)

        def most_probable(log_joint: Array, weights: Array) -> tuple[Array, int]:
            log_proba, n_impossible = normalise(log_joint, weights, log=True)
            return log_proba.argmax(1), n_impossible

        codes, _, n_impossible = self._by_ranges(X, rule, class_weights, most_probable, common=False)
        warn_of_impossible_rows(n_impossible, len(codes))
        return self.classes_[codes]

    def log_density(self, X: Any, rule: Rule | None = None) -> Array:
        """log p(x), whatever the class: (n_rows,). Low where rows are unlike those of training; see ``novelty``."""
        return np.asarray(logsumexp(self.predict_joint_log_proba(X, rule), axis=1))

    def _log_joint(
        self, X: Any, rule: Rule | None, class_weights: ClassWeights | None = None
    ) -> tuple[Array, Array]:
        return self._by_ranges(X, rule, class_weights, lambda log_joint, _: (log_joint, 0), common=True)[:2]

    def _normalised(self, X: Any, rule: Rule | None, class_weights: ClassWeights | None, *, log: bool) -> Array:
        values, _, n_impossible = self._by_ranges(
            X, rule, class_weights, partial(normalise, log=log), common=False
        )
        warn_of_impossible_rows(n_impossible, len(values))
        return values

    def _by_ranges(
        self,
        X: Any,
        rule: Rule | None,
        class_weights: ClassWeights | None,
        finish: Callable[[Array, Array], tuple[Array, int]],
        *,
        common: bool,
    ) -> tuple[Array, Array, int]:
        """``finish(log_joint, class_weights)`` of a range of rows after the other.

        Parameters
        ----------
        common : bool
            Whether ``log_joint`` holds the terms that all classes of a row share.

        Returns
        -------
        values : (n_rows, ...)
            What ``finish`` returns first.
        class_weights : (n_classes,)
        total : int
            The sum of what it returns second.
        """
        posterior = self._fitted()
        table = self._aligned(X)
        score, weights = posterior.scorer(self.rule if rule is None else rule, common=common)
        new = weights
        if class_weights is not None:
            belief = resolve_class_weights(class_weights, self.class_count_, posterior.model.classes)
            new = belief.mean()[CLASS_WEIGHTS]

        family = posterior.model.family

        def work(rows: slice) -> tuple[Array, int]:
            log_joint = score(read_range(family, table, rows, family.encode))
            if class_weights is not None:
                log_joint = exchange_weights(log_joint, weights, new)
            return finish(log_joint, new)

        # of bytes more rows at a time, but not so many that a temporary of theirs in float64 would be large
        per_row = max(table.words_per_row, table.cells_per_row // 4, len(weights))
        ranges = row_ranges(len(table), per_row) or [slice(0, 0)]
        if len(ranges) == 1:
            values, total = work(ranges[0])
            return values, new, total
        out: Array | None = None
        total = 0
        for rows, (values, count) in zip(ranges, in_order(work, ranges, self.n_jobs), strict=True):
            if out is None:
                out = np.empty((*values.shape[1:], len(table)), dtype=values.dtype).T  # as ``values`` lies
            out[rows] = values
            total += count
        assert out is not None
        return out, new, total
