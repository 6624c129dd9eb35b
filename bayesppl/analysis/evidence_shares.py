"""The share of every column in the weight of evidence of some rows; see :mod:`bayesppl.analysis.explanation`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import logsumexp

from bayesppl.analysis.coalitions import (
    MOST_UNITS,
    Score,
    SeenRows,
    Steps,
    all_orders,
    drawn_orders,
    groups_of,
    in_orders,
)
from bayesppl.data.names import listed
from bayesppl.kernels.arrays import Array

Shares = Literal["shapley", "sequential"]


# Single weights add up where their sum is the whole to so many digits.
_ADDS_UP = 1e-9


# Log odds held at once.
MOST_NUMBERS = 1 << 21


class Odds(NamedTuple):
    """Log odds of classes, by place, against the class at another place, or all others where it is None."""

    classes: list[Hashable]
    places: list[int]
    against: int | None

    @classmethod
    def of(cls, classes: list[Hashable], against: Hashable | None) -> Odds:
        if len(classes) < 2:
            raise ValueError("weights of evidence compare classes, and there is only one")
        if against is None:
            return cls(classes, list(range(len(classes))), None)
        if against not in classes:
            raise ValueError(f"against must be a class, one of {listed(classes)}, found {against!r}")
        place = classes.index(against)
        return cls(classes, [k for k in range(len(classes)) if k != place], place)

    @property
    def are_of_pairs(self) -> bool:
        return self.against is not None or len(self.classes) == 2

    def __call__(self, log_joint: Array) -> Array:
        with np.errstate(invalid="ignore"):  # impossible under both
            if self.against is not None:
                return np.asarray(log_joint[..., self.places] - log_joint[..., [self.against]])
            rest = [logsumexp(np.delete(log_joint, k, axis=-1), axis=-1) for k in self.places]
            return np.asarray(log_joint - np.stack(rest, axis=-1))


class Explained(NamedTuple):
    """Weights of some rows, (n_rows, n_units, n_odds), and what else is known of them."""

    rows: Array
    weight: Array
    mcse: Array
    log_odds: Array
    prior: Array
    spread: Array | None
    prior_sd: Array | None
    is_independent: bool


def lots_of(
    seen: SeenRows, per_row: int, shares: Shares, orders: int, rng: np.random.Generator
) -> Iterator[tuple[Array, Array, Steps]]:
    """Group rows that have the same units, as many as can be held, with these units and the ways through them."""
    for rows, at in groups_of(seen.present):
        steps = _steps(len(at), shares, orders, rng)
        size = max(1, MOST_NUMBERS // (per_row * len(steps.sets)))
        yield from ((rows[start : start + size], at, steps) for start in range(0, len(rows), size))


def explained(
    seen: SeenRows,
    rows: Array,
    at: Array,
    odds: Odds,
    scores: Sequence[Score],
    steps: Steps,
    bounds: Sequence[float],
) -> Explained:
    n_units = seen.belongs.shape[0]
    found = [_shares(seen, rows, at, odds, score, steps) for score in scores]
    lots, log_odds, prior, is_independent = found[0]
    by_rule = lots[:, :, 0]
    mcse = by_rule.std(0, ddof=1) / np.sqrt(len(by_rule)) if len(by_rule) > 1 else np.zeros_like(by_rule[0])
    spread = prior_sd = None
    if len(found) > 1:
        of_draws, prior_draws = found[1][0].mean(0), found[1][2]
        sd = of_draws.std(1)
        summary = np.stack([sd, *np.quantile(of_draws, bounds, axis=1)])
        spread = np.stack([_in_place(values, at, n_units) for values in summary])
        prior_sd = prior_draws[:, 0].std(0)
    return Explained(
        rows,
        _in_place(by_rule.mean(0), at, n_units),
        _in_place(mcse, at, n_units),
        log_odds[0],
        prior[0, 0],
        spread,
        prior_sd,
        is_independent,
    )


def _steps(n: int, shares: Shares, orders: int, rng: np.random.Generator) -> Steps:
    if shares == "sequential" and n:
        return in_orders([np.arange(n)], [0])
    return all_orders(n) if n <= MOST_UNITS else drawn_orders(n, orders, rng)


def _shares(
    seen: SeenRows, rows: Array, at: Array, odds: Odds, score: Score, steps: Steps
) -> tuple[Array, Array, Array, bool]:
    """Divide the evidence of rows: shares, log odds, those before any column, and whether no order matters.

    Shares are (n_lots, n_units, n_draws, n_rows, n_odds).
    """

    def log_joint(sets: Array) -> Array:
        among = np.zeros((len(sets), seen.belongs.shape[0]), bool)
        among[:, at] = sets
        return seen.log_joint(rows, among, score)

    n = len(at)
    none, whole = log_joint(np.array([np.zeros(n, bool), np.ones(n, bool)]))
    before, after = odds(none), odds(whole)
    singles = log_joint(np.eye(n, dtype=bool)) - none if n else np.empty((0, *none.shape))
    adds_up = _adds_up(singles, whole - none)
    if adds_up and odds.are_of_pairs:
        return (odds(singles + none) - before)[None], after, before, True
    out = np.zeros((int(steps.lot.max(initial=0)) + 1, n, *before.shape))
    others = None if adds_up else log_joint(steps.sets)
    size = max(1, MOST_NUMBERS // (len(steps.sets) * before[0].size))
    for draws in (slice(s, s + size) for s in range(0, len(before), size)):
        joint = _sums(singles[:, draws], none[draws], steps.sets) if others is None else others[:, draws]
        values = odds(joint)
        gains = _gain(values[steps.after], values[steps.before])
        np.add.at(out[:, :, draws], (steps.lot, steps.unit), steps.weight[:, None, None, None] * gains)
    return out * len(out), after, before, n < 2


def _sums(singles: Array, none: Array, sets: Array) -> Array:
    """log p(y = k, x) given every set of units, where their log densities add up."""
    if np.isfinite(singles).all():
        return np.asarray(none + np.tensordot(sets.astype(np.float64), singles, axes=1))
    return np.stack([none + singles[units].sum(0) for units in sets])


def _adds_up(singles: Array, whole: Array) -> bool:
    """Whether the log densities of single units add up to that of all, but for what the classes share."""
    total = singles.sum(0)
    size = np.abs(singles).sum(0) + np.abs(whole)
    with np.errstate(invalid="ignore"):  # of infinite ones it is not known
        difference = (total - total[..., :1]) - (whole - whole[..., :1])
    return bool((np.abs(difference) <= _ADDS_UP * (1 + size)).all())


def _gain(after: Array, before: Array) -> Array:
    """Difference of log odds; nothing where both are infinite alike, for nothing is left to gain."""
    with np.errstate(invalid="ignore"):
        return np.where(after == before, 0.0, after - before)


def _in_place(values: Array, at: Array, n_units: int) -> Array:
    """Weights (n_present, n_rows, n_odds) as (n_rows, n_units, n_odds): what is missing weighs nothing."""
    out = np.zeros((values.shape[1], n_units, values.shape[2]))
    out[:, at] = values.swapaxes(0, 1)
    return out
