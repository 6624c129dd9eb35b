"""The share of every column in the weight of evidence of some rows; see :mod:`bayesppl.analysis.explanation`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from bayesppl.analysis.evidence_orders import MOST_NUMBERS, Steps, Task
from bayesppl.data.names import listed, spelled
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.ranges import row_ranges

#: From sets of units to log p(y = k, x) of rows when only these are seen: (n_sets, ..., n_rows, n_classes).
Score = Callable[[Array], Array]

# Cells of the rows that are made at once.
_CELLS = 1 << 20

# Single weights add up where their sum differs from the whole by no more,
_ADDS_UP = 1e-9
# and for so many sets of units, besides all.
_CHECKED = 16


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
        if not isinstance(against, Hashable) or against not in classes:
            raise ValueError(f"against must be a class, one of {listed(classes)}, found {spelled(against)}")
        place = classes.index(against)
        return cls(classes, [k for k in range(len(classes)) if k != place], place)

    def __call__(self, log_joint: Array) -> Array:
        with np.errstate(invalid="ignore"):  # impossible under both
            if self.against is not None:
                return np.asarray(log_joint[..., self.places] - log_joint[..., [self.against]])
            rest = [logsumexp(np.delete(log_joint, k, axis=-1), axis=-1) for k in self.places]
            return np.asarray(log_joint - np.stack(rest, axis=-1))


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Rows of which only some units may be seen.

    Attributes
    ----------
    values : (n_rows, n_columns)
        Of any type.
    belongs : (n_units, n_columns) bool
        The columns of every unit. A column is seen where all units are that it belongs to.
    gaps : (n_gaps, n_columns)
        What stands in columns that are not seen: NaN, or a count of zero, for a document without a word is another
        document and no gap. Over several rows of them probabilities are averaged.
    gap_weights : (n_gaps,)
        Of this average.
    score : callable
        From cells (n, n_columns) to log p(y = k, x): (..., n, n_classes).
    """

    values: Array
    belongs: Array
    gaps: Array
    gap_weights: Array
    score: Callable[[Array], Array]

    def __call__(self, rows: Array, sets: Array) -> Array:
        """Score the cells of these rows when only the units of a set are seen.

        Parameters
        ----------
        rows : (n_rows,) of int
        sets : (n_sets, n_units) bool

        Returns
        -------
        (n_sets, ..., n_rows, n_classes)
        """
        n_columns = self.values.shape[1]
        # most columns are a unit by themselves
        seen = (csr_array(self.belongs.T.astype(int)) @ (~sets).T.astype(int)).T == 0
        parts = []
        for some in row_ranges(len(seen), len(rows) * n_columns * len(self.gaps), _CELLS):
            cells = np.where(seen[some, None, None], self.values[rows], self.gaps[:, None])
            found = self.score(cells.reshape(-1, n_columns))
            found = found.reshape(*found.shape[:-2], *cells.shape[:-1], found.shape[-1])
            if len(self.gaps) > 1:
                found = logsumexp(found, axis=-3, keepdims=True, b=self.gap_weights[:, None, None])
            parts.append(np.moveaxis(found[..., 0, :, :], -3, 0))
        return np.concatenate(parts)


def shares_of_units(
    tasks: Iterable[Task],
    shape: tuple[int, int],
    odds: Odds,
    score: Callable[[Array, Array], Array],
    by_draws: Callable[[Array, Array], Array] | None,
    bounds: tuple[float, float],
) -> tuple[dict[str, Array], Array, dict[str, Array], bool]:
    """Divide the evidence of all rows among their units.

    Parameters
    ----------
    tasks : iterable of (rows, units, steps)
        As :func:`bayesppl.analysis.evidence_orders.group_rows` yields them.
    shape : numbers of units and rows
    odds : Odds
    score, by_draws : callable
        From places of rows and sets of units to log p(y = k, x) when only these are seen, (n_sets, n_draws,
        n_rows, n_classes): of the answer, and under draws of the parameters.
    bounds : (low, high)
        Quantiles of the draws.

    Returns
    -------
    by_unit : dict of (n_units, n_rows, n_odds)
        ``weight`` and its Monte-Carlo error ``mcse``; of draws also ``sd``, ``lower`` and ``upper``.
    log_odds : (n_rows, n_odds)
    prior : dict of (n_odds,)
        Log odds before anything is seen, and of draws their standard deviation.
    is_independent : bool
        Whether no share depends on an order.
    """
    names = ("weight", "mcse") if by_draws is None else ("weight", "mcse", "sd", "lower", "upper")
    # a unit that is missing from a row weighs nothing
    found = {name: np.zeros((*shape, len(odds.places))) for name in names}
    log_odds, prior, is_independent = np.zeros(found["weight"].shape[1:]), dict[str, Array](), True
    for rows, at, steps in tasks:
        place = np.ix_(at, rows)
        parts, counts, after, before, is_sum = divide(partial(score, rows), shape[0], at, odds, steps)
        weight, error = average_lots(parts, counts)
        found["weight"][place], found["mcse"][place] = weight[:, 0], error[:, 0]
        log_odds[rows] = after[0]
        prior.setdefault("prior", before[0, 0])
        is_independent &= is_sum
        if by_draws is not None:
            parts, counts, _, before, _ = divide(partial(by_draws, rows), shape[0], at, odds, steps)
            of_draws, _ = average_lots(parts, counts)
            found["sd"][place], found["lower"][place], found["upper"][place] = _spread(of_draws, bounds)
            prior.setdefault("prior_sd", _spread(before[None, :, 0], bounds)[0][0])
    return found, log_odds, prior, is_independent


def _spread(draws: Array, bounds: tuple[float, float]) -> tuple[Array, Array, Array]:
    """Compute standard deviation and quantiles over axis 1.

    Where a draw of a probability is less than any number that is held, its logarithm is infinite: so are then the
    standard deviation, and the quantiles beyond such draws. Draws of which both classes have none are left out.
    """
    are_finite = np.isfinite(draws).all(1)
    if are_finite.all():
        lower, upper = np.quantile(draws, bounds, axis=1)
        return draws.std(1), lower, upper
    # of rows that all draws take for impossible
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        between = np.quantile(draws, bounds, axis=1)  # which subtracts infinities
        lower, upper = np.where(are_finite, between, np.nanquantile(draws, bounds, axis=1, method="nearest"))
        sd = np.nanstd(draws, axis=1)
    return np.where(np.isinf(draws).any(1), np.inf, sd), lower, upper


def average_lots(parts: Array, counts: Array) -> tuple[Array, Array]:
    """Average shares over independent lots of orders, with the standard errors; these are zero where there is one.

    Parameters
    ----------
    parts, counts : (n_lots, ...)
        What was gained, on average over the orders of a lot, and the part of them in which anything was left to
        gain. Shares are the ratio of the averages, nothing where no order counts; of fewer than two lots that
        count, the error is not known, and infinite.
    """
    total = counts.mean(0)
    total[total < _ADDS_UP] = np.inf
    share = parts.mean(0) / total
    if len(parts) == 1:
        return share, np.zeros_like(share)
    with np.errstate(invalid="ignore"):  # of infinite shares
        error = (parts - share * counts).std(0, ddof=1) / np.sqrt(len(parts)) / total
    error[(counts > _ADDS_UP).sum(0) < 2] = np.inf
    return share, np.where(np.isfinite(share), error, 0.0)


def divide(
    score: Score, n_units: int, at: Array, odds: Odds, steps_of_units: Callable[[], Steps]
) -> tuple[Array, Array, Array, Array, bool]:
    """Divide the evidence of rows among their units.

    Of ``n_units`` those ``at`` these places are there.

    Returns
    -------
    parts, counts : (n_lots, n_units, n_draws, n_rows, n_odds)
        As for :func:`average_lots`.
    after, before : (n_draws, n_rows, n_odds)
        Log odds, and those before any column.
    is_independent : bool
        Whether no order matters.
    """
    units = np.eye(n_units, dtype=bool)[at]
    none, whole = score(np.array([np.zeros(n_units, bool), units.any(0)]))
    before, after = odds(none), odds(whole)
    with np.errstate(invalid="ignore"):  # of classes of no weight
        singles = score(units) - none if len(at) else np.empty((0, *none.shape))
        held = np.isfinite(none).all((0, 1))  # classes of some weight
        counted = singles[..., held]
        adds_up = _adds_up(counted, (whole - none)[None, ..., held], np.ones((1, len(at))))
        if adds_up and len(at) > 2:
            # of three, gains and losses of pairs may cancel in the whole; and what is impossible hides the others
            some = np.random.default_rng(0).random((_CHECKED, len(at))) < 0.5
            possible = np.isfinite(counted).all((1, 3)).T
            some = np.concatenate([some, np.unique(possible, axis=0)])
            adds_up = _adds_up(counted, (score(some @ units) - none)[..., held], some)
    if adds_up and (odds.against is not None or len(odds.classes) == 2):
        with np.errstate(invalid="ignore"):
            gains = odds(singles + none) - before
        parts = np.where(np.isinf(before), 0.0, gains)[None]  # of a class of no weight nothing is left to gain
        return parts, np.ones_like(parts), after, before, True
    steps = steps_of_units()
    n_lots = int(steps.lot.max(initial=0)) + 1
    parts = np.zeros((n_lots, len(at), *before.shape))
    counts = np.ones_like(parts)
    others = None if adds_up and np.isfinite(singles).all() else score(steps.sets @ units)
    weights, to = n_lots * steps.weight[:, None, None, None], (steps.lot, steps.unit)
    for draws in row_ranges(len(before), len(steps.sets) * before[0].size, MOST_NUMBERS):
        joint = none[draws] + _sums(singles[:, draws], steps.sets) if others is None else others[:, draws]
        values = odds(joint)
        with np.errstate(invalid="ignore"):
            gains = values[steps.after] - values[steps.before]
        # after what is impossible under a class nothing is left to gain, and the other orders decide
        is_lost = np.isinf(values[steps.after]) & (values[steps.after] == values[steps.before])
        gains[is_lost] = 0.0
        np.add.at(parts[:, :, draws], to, weights * gains)
        if is_lost.any():
            np.add.at(counts[:, :, draws], to, -weights * is_lost)
    return parts, counts, after, before, len(at) < 2


def _sums(singles: Array, sets: Array) -> Array:
    """Add up log densities of single units over sets of units: -inf where one of a set is."""
    members, are_impossible = sets.astype(np.float64), np.isneginf(singles)
    found = np.tensordot(members, np.where(are_impossible, 0.0, singles), axes=1)
    if are_impossible.any():
        found[np.tensordot(members, are_impossible.astype(np.float64), axes=1) > 0] = -np.inf
    return found


def _adds_up(singles: Array, found: Array, sets: Array) -> bool:
    """Whether the log densities of single units add up to those of sets, but for what the classes share.

    Those that are finite decide; if none is, they add up to nothing. Nor do they where only units together are
    impossible.
    """
    sizes = np.abs(np.where(np.isneginf(singles), 0.0, singles))
    gap, size = _sums(singles, sets) - found, _sums(sizes, sets) + np.abs(found)
    difference = gap - gap[..., :1]
    is_finite = np.isfinite(difference)
    are_close = (np.abs(difference) <= _ADDS_UP * (1 + size))[is_finite]
    return bool(are_close.size and are_close.all() and not np.isinf(gap).any())
