"""Stacks of models of the same rows: each is tempered and weighed by rows left out, and kept if it matters.

The weights are those of :mod:`bayesppl.analysis.stack_weights`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bayesppl.analysis.leave_one_out import leave_out_each
from bayesppl.analysis.scores import hits, log_scores, weighted_average
from bayesppl.analysis.stack_weights import stack
from bayesppl.analysis.temperature import drawn_rows, temper
from bayesppl.data.levels import factorize
from bayesppl.data.names import spelled
from bayesppl.data.orders import number_kinds, order_of_columns, order_of_rows
from bayesppl.data.preprocessing import AnyRecoding
from bayesppl.data.read_table import Columns
from bayesppl.data.rows import Rows
from bayesppl.data.table import Table
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.member import Guest, Member, spread_out
from bayesppl.model.normalisation import finite_logarithm, sharpened
from bayesppl.model.stack import Stack, mixed
from bayesppl.model.training_rows import encoded

#: Folds by which rows are left out of a guest.
MOST_FOLDS = 5

# Rows of the fit that are kept, to average the probabilities of guests over where cells are not seen
_BACKGROUND = 32

#: Models of less weight are left out of the stack.
LEAST_WEIGHT = 0.01

#: Most rows that are left out: as many, drawn at random, determine temperatures within a percent or two.
MOST_LEFT_OUT = 5_000


class LeftOut(NamedTuple):
    """A model, and log p(y = k | x_i, D without row i) by it, tempered, with p(y = k | D without row i).

    Both are (n_left_out, n_classes). How rows are left out is "exactly", "from draws" (by importance weights of
    these) or "by folds": D is then also without the other rows of the fold of row i. Of more than
    :data:`MOST_LEFT_OUT` rows, so many are left out.
    """

    member: Member | Guest
    log_proba: Array
    class_weights: Array
    how: str = "exactly"


def leave_out(
    name: str, recoding: AnyRecoding, fitted: Fitted, rows: Rows, share_of_columns: float = 1.0
) -> LeftOut:
    """Predict rows from all others by one model, tempered by how well that goes unless it is calibrated.

    Parameters
    ----------
    rows : Rows
        Of the fit, recoded.
    share_of_columns : float
        Of the columns that a row which is left out has; a new row has all of them, and its temperature is the
        higher.
    """
    X, some = encoded(fitted.model.family, rows.table), drawn_rows(len(rows), MOST_LEFT_OUT)
    calibration = fitted.calibration
    found = leave_out_each(fitted.posterior, X, rows.codes, rows.weights, calibration=calibration, some=some)
    log_proba, weights = found.log_proba, np.exp(found.log_class_weights)
    if calibration is None:
        calibration = found.calibration
        log_proba = sharpened(found.log_joint, weights, calibration.temperature)
        fitted = replace(
            fitted, calibration=replace(calibration, temperature=calibration.temperature / share_of_columns)
        )
    score, error = weighted_average(log_scores(log_proba, found.codes), found.weights)
    how = "exactly" if found.draws is None else "from draws"
    return LeftOut(Member(name, recoding, fitted, score, error), log_proba, weights, how)


def leave_out_by_folds(
    name: str, recoding: AnyRecoding, fitted: Fitted, rows: Rows, refit: Callable[[Rows], Fitted]
) -> LeftOut:
    """Predict every row by models whose densities were chosen, and calibrated, by the rows of other folds.

    Folds are stratified by class. A density that is chosen by the label of a row, too, predicts that row too well:
    by far, where there are few rows for each column.

    Parameters
    ----------
    fitted : Fitted
        To all rows.
    rows : Rows
        Of the fit, recoded.
    refit : callable
    """
    log_proba, class_weights = np.empty((2, len(rows), len(rows.classes)))
    folds = _folds(rows)
    for fold in np.unique(folds):
        left_out, kept = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        weights = None if rows.given_weights is None else rows.given_weights[kept]
        others = Rows(rows.table.take(kept), rows.classes, rows.codes[kept], weights)
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # the fit to all rows has warned
            member = Member(name, recoding, refit(others), np.nan, np.nan)
            log_proba[left_out] = member.log_proba_of_recoded(rows.table.take(left_out))
            class_weights[left_out] = member.class_weights
    score, error = weighted_average(log_scores(log_proba, rows.codes), rows.weights)
    return LeftOut(Member(name, recoding, fitted, score, error), log_proba, class_weights, "by folds")


def _folds(rows: Rows) -> Array:
    """Deal the rows of each class to folds at random, alike whatever the order of rows, columns and classes."""
    found = [factorize(rows.table.column(name), name) for name in rows.table.names]
    ranks = np.column_stack([np.where(codes < 0, len(levels), codes) for levels, codes in found])
    kinds = number_kinds(ranks[:, order_of_columns(ranks, rows.weights)])
    order = order_of_rows(kinds, rows.codes, rows.weights, by_class=True)
    rng, folds = np.random.default_rng(0), np.empty(len(rows), dtype=np.intp)
    ends = np.flatnonzero(np.diff(rows.codes[order])) + 1
    for places in np.split(np.arange(len(rows)), ends):
        folds[order[places]] = rng.permutation(places) % MOST_FOLDS
    return folds


def cross_validate(name: str, classifier: Any, rows: Rows, n_jobs: int | None = None) -> LeftOut:
    """Predict every row by a classifier of another package that was fitted to other folds, stratified by class.

    Parameters
    ----------
    classifier : estimator
        With ``predict_proba``; it is cloned. It takes weights of rows where some differ from one.
    rows : Rows
        Of the fit, as they were given.
    """
    from joblib import Parallel, delayed
    from sklearn.model_selection import StratifiedKFold

    seen = np.flatnonzero(rows.weights > 0)
    y, n_classes = rows.classes[rows.codes[seen]], len(rows.classes)
    counts = np.unique(rows.codes[seen], return_counts=True)[1]
    if np.count_nonzero(counts > 1) < 2:
        raise ValueError(
            f"candidates[{spelled(name)}] is compared by folds, for which two classes need two rows or more, "
            f"found {counts.tolist()}: fit more rows, or compare models of bayesppl alone"
        )
    n_folds = int(np.clip(counts.min(), 2, MOST_FOLDS))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # of one row, in one fold
        folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(y, rows.codes[seen]))
    weights_name = None
    if rows.given_weights is not None and not (rows.weights[seen] == 1).all():
        last = classifier.steps[-1][0] + "__" if isinstance(classifier, Pipeline) else ""
        weights_name = f"{last}sample_weight"

    def fit(some: Array) -> tuple[Any, Array]:
        options = {} if weights_name is None else {weights_name: rows.weights[seen[some]]}
        found = clone(classifier).fit(rows.table.take(seen[some]).native(), y[some], **options)
        classes = np.asarray(found.classes_)
        if not set(classes.tolist()) <= set(rows.classes.tolist()):
            raise ValueError(
                f"candidates[{spelled(name)}] has the classes {classes.tolist()}, and the AutoClassifier has "
                f"{rows.classes.tolist()}: declare classes= of the AutoClassifier too"
            )
        return found, np.searchsorted(rows.classes, classes)

    def predict(kept: Array, left_out: Array) -> Array:
        # cross_val_predict would fit to codes, which options such as class_weight={label: weight} do not mean
        found, places = fit(kept)
        return spread_out(found.predict_proba(rows.table.take(seen[left_out]).native()), places, n_classes)

    def shares_of(some: Array) -> Array:
        counts = np.bincount(rows.codes[seen[some]], rows.weights[seen[some]], n_classes)
        return np.asarray(counts / counts.sum())

    # of rows without weight, which have no part in scores
    log_proba, class_weights = np.zeros((len(rows), n_classes)), np.ones((len(rows), n_classes))
    predicted = Parallel(n_jobs)(delayed(predict)(*fold) for fold in folds)
    for (kept, left_out), of_fold in zip(folds, predicted, strict=True):
        log_proba[seen[left_out]], class_weights[seen[left_out]] = of_fold, shares_of(kept)
    some, everyone = drawn_rows(len(rows), MOST_LEFT_OUT), np.arange(len(seen))
    log_proba, class_weights = log_proba[some], class_weights[some]
    score, error = weighted_average(log_scores(log_proba, rows.codes[some]), rows.weights[some])
    found, places = fit(everyone)
    guest = Guest(name, found, places, shares_of(everyone), score, error)
    return LeftOut(guest, log_proba, class_weights, "by folds")


def combine(
    candidates: Sequence[LeftOut], rows: Rows, columns: Columns, facts: tuple[str, ...], random_state: int | None
) -> Stack:
    """Weigh models by their predictions of left-out rows, and keep those that matter."""
    table = {c.member.name: (c.member.temperature, c.member.log_score, c.member.log_score_se) for c in candidates}
    kept, some = list(candidates), drawn_rows(len(rows), MOST_LEFT_OUT)
    codes, weights = rows.codes[some], rows.weights[some]
    while True:
        scores = np.stack([log_scores(c.log_proba, codes) for c in kept])
        found = stack(scores, weights, random_state=random_state)
        matter = found.weights >= LEAST_WEIGHT
        if matter.all():
            break
        kept = [c for c, matters in zip(kept, matter, strict=True) if matters]
    order = np.argsort(-found.weights, kind="stable")
    average_proba = mixed([c.log_proba for c in kept], found.weights)
    # of the other rows, as the answers are
    class_weights = np.tensordot(found.weights, np.stack([c.class_weights for c in kept]), axes=1)
    log_weights = finite_logarithm(class_weights)
    temperature = temper(average_proba - log_weights, log_weights, codes, weights)
    log_proba = sharpened(average_proba, class_weights, temperature)
    with np.errstate(invalid="ignore"):  # a label that is impossible either way costs nothing more
        costs = np.where(np.isneginf(found.log_scores), 0.0, found.log_scores - found.honest_log_scores)
    cost = weighted_average(costs, weights)[0]
    score, error = weighted_average(log_scores(log_proba, codes), weights)
    return Stack(
        columns=columns,
        classes=rows.classes,
        class_count=np.bincount(rows.codes, rows.weights, len(rows.classes)),
        members=tuple(kept[m].member for m in order),
        weights=found.weights[order],
        weight_draws=found.draws[:, order],
        candidates=table,
        temperature=temperature,
        log_score=score - cost,
        log_score_se=error,
        accuracy=weighted_average(hits(log_proba, codes), weights)[0],
        cost_of_choosing=cost,
        facts=facts,
        left_out={c.member.name: c.how for c in candidates},
        background=_background(rows),
    )


def _background(rows: Rows) -> tuple[Table, Array]:
    """Choose a few rows, of every class as many if possible, and weights that restore class frequencies."""
    order = np.random.default_rng(0).permutation(np.flatnonzero(rows.weights > 0))
    codes = rows.codes[order]
    most = max(1, _BACKGROUND // len(np.unique(codes)))
    some = np.concatenate([order[codes == k][:most] for k in np.unique(codes)])
    shares = np.bincount(rows.codes, rows.weights) / rows.weights.sum()
    kept = rows.codes[some]
    return rows.table.take(some).snapshot(copied=True), shares[kept] / np.bincount(kept)[kept]
