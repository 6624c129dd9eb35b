"""Class probabilities and labels of new rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import ClassWeights, class_weights_in_use
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import exchange_weights, normalise, warn_of_impossible_rows
from bayesppl.model.rules import RuleName


def probabilities(
    fitted: Fitted,
    X: Any,
    rule: RuleName | None = None,
    class_weights: ClassWeights | None = None,
    *,
    log: bool = False,
    n_jobs: int | None = None,
    finish: Callable[[Array], Array] | None = None,
) -> Array:
    """Compute p(y = k | x), or its logarithm, for every row and class: (n_rows, n_classes).

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
    rule : {"predictive", "mle", "map", "mean"}, optional
    class_weights : optional
        Class frequencies where the classifier is used, if they differ from those of training.
    log : bool
    n_jobs : int, optional
    finish : callable, optional
        What is returned of the probabilities of a range of rows, so that those of all rows are never held.
    """
    new = class_weights_in_use(class_weights, fitted.learned.class_count, fitted.model.classes)
    impossible: list[int] = []

    def normalise_range(log_joint: Array, weights: Array) -> Array:
        if new is not None:
            log_joint, weights = exchange_weights(log_joint, weights, new), new
        values, count = normalise(log_joint, weights, log=log)
        impossible.append(count)
        return values if finish is None else finish(values)

    found = fitted.log_labels(X, rule, normalise_range, without_shared=True, n_jobs=n_jobs)
    warn_of_impossible_rows(sum(impossible), len(found))
    return found


def labels(
    fitted: Fitted,
    X: Any,
    rule: RuleName | None = None,
    class_weights: ClassWeights | None = None,
    *,
    n_jobs: int | None = None,
) -> Array:
    """Return the most probable label of every row: (n_rows,)."""
    found = probabilities(
        fitted, X, rule, class_weights, log=True, n_jobs=n_jobs, finish=lambda log_proba: log_proba.argmax(1)
    )
    return fitted.classes[found]


def log_density(fitted: Fitted, X: Any, rule: RuleName | None = None) -> Array:
    """Compute log p(x), whatever the class: (n_rows,).

    It is low where rows are unlike those of training; see ``novelty``.
    """
    return np.asarray(logsumexp(fitted.log_joint(X, rule), axis=1))


def predict_proba_mcse(fitted: Fitted, X: Any) -> Array:
    """Estimate the Monte-Carlo error of ``predict_proba(X, rule="predictive")``: (n_rows, n_classes).

    Zero where the posterior is known in closed form; otherwise what more draws would still change, by batch means.
    Of rows that are unlike those of a class, a few draws carry the average of its density, and its error does not
    follow from them: a :class:`~bayesppl.errors.ConvergenceWarning` says of how many rows.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
    """
    return fitted.posterior.predictive_mcse(fitted.parts(fitted.encode(X)))
