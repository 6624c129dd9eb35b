"""From fitted models of the same rows to a stack: a temperature each, then weights, then what matters is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesppl.analysis.calibration import temper
from bayesppl.analysis.held_rows import encoded
from bayesppl.analysis.leave_one_out import leave_out_each
from bayesppl.analysis.left_out_joints import density_of
from bayesppl.analysis.scores import hits, log_scores
from bayesppl.analysis.stacking import stack
from bayesppl.data.read_table import Columns
from bayesppl.data.recoding import AsTheyAre, Presence, Recoding
from bayesppl.data.rows import Rows
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.stack import Member, Stack, mixed, sharpened, tempered_log_proba

#: Models of less weight are left out of the stack.
LEAST_WEIGHT = 0.01

# So many rows, drawn at random, determine a temperature within a percent or so
_MOST_TEMPERED = 20_000


class LeftOut(NamedTuple):
    """A model, and log p(y = k | x_i, D without row i) by it, tempered: (n_rows, n_classes)."""

    member: Member
    log_proba: Array


def leave_out(name: str, recoding: Recoding | Presence | AsTheyAre, fitted: Fitted, rows: Rows) -> LeftOut:
    """Predict every row from the others by one model, and temper it by how well that goes.

    Parameters
    ----------
    rows : Rows
        Of the fit, recoded.
    """
    posterior = fitted.posterior
    found = leave_out_each(posterior, encoded(fitted.model.family, rows.table), rows.codes, rows.weights)
    log_weights = found.log_class_weights
    log_density, weights = density_of(found.log_joint, log_weights), np.exp(log_weights)
    temperature = _temper(log_density, log_weights, rows)
    log_proba = tempered_log_proba(found.log_joint, weights, temperature)
    score, error = average(log_scores(log_proba, rows.codes), rows.weights)
    return LeftOut(Member(name, recoding, fitted, temperature, score, error), log_proba)


def _temper(log_density: Array, log_weights: Array, rows: Rows) -> float:
    """The temperature that predicts left-out labels best, of at most so many rows as determine it."""
    some: Any = slice(None)
    if len(rows) > _MOST_TEMPERED:
        some = np.sort(np.random.default_rng(0).choice(len(rows), _MOST_TEMPERED, replace=False))
    return temper(log_density[some], log_weights[some], rows.codes[some], rows.weights[some])


def combine(
    candidates: Sequence[LeftOut], rows: Rows, columns: Columns, facts: tuple[str, ...], random_state: int | None
) -> Stack:
    """Weigh models by their predictions of left-out rows, and keep those that matter."""
    table = {c.member.name: (c.member.temperature, c.member.log_score, c.member.log_score_se) for c in candidates}
    kept = list(candidates)
    while True:
        scores = np.stack([log_scores(c.log_proba, rows.codes) for c in kept])
        found = stack(scores, rows.weights, random_state=random_state)
        matter = found.weights >= LEAST_WEIGHT
        if matter.all():
            break
        kept = [c for c, matters in zip(kept, matter, strict=True) if matters]
    order = np.argsort(-found.weights, kind="stable")
    average_proba = mixed([c.log_proba for c in kept], found.weights)
    temperature = _temper(average_proba, np.zeros_like(average_proba), rows)
    log_proba = sharpened(average_proba, temperature)
    cost = average(found.log_scores - found.honest_log_scores, rows.weights)[0]
    score, error = average(log_scores(log_proba, rows.codes), rows.weights)
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
        accuracy=average(hits(log_proba, rows.codes), rows.weights)[0],
        cost_of_choosing=cost,
        facts=facts,
    )


def average(values: Array, weights: Array) -> tuple[float, float]:
    """Weighted average of rows and its standard error, nan where a row was held impossible."""
    counted = weights > 0
    share, values = weights[counted] / weights.sum(), values[counted]
    mean = float((share * values).sum())
    if not np.isfinite(mean):
        return mean, float("nan")
    return mean, float(np.sqrt(((share * (values - mean)) ** 2).sum()))
