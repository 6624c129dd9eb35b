r"""Why a row was classified as it was: weights of evidence (Good 1950, 1985).

The log odds of class k against the others, after columns x have been seen, are

.. math:: \log\frac{p(k \mid x)}{p(\bar k \mid x)} = \log\frac{p(k)}{p(\bar k)} + W(x),
   \qquad W(x) = \log\frac{p(x \mid k)}{p(x \mid \bar k)},

and W, the weight of evidence, is divided among the columns. Between two classes of a model with columns independent
given the class, the share of a column is :math:`\log p(x_d \mid k) - \log p(x_d \mid j)`, whatever else was seen. Where
columns are correlated given the class, and also where :math:`\bar k` is a mixture of several classes (seeing one column
changes which of them is likely, and so what the next column is worth), a share depends on what was seen before:

* ``sequential`` shares take the columns in their order, each given those before it: :math:`W(x_d \mid x_1, …, x_{d-1})`;
* ``shapley`` shares average that over all orders (Shapley 1953), which treats all columns alike.

Both add up to W exactly. What was seen before is found by evaluating the model on the row with all other cells missing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import logsumexp

from bayesppl.answers.coalitions import (
    MOST_UNITS,
    Score,
    SeenRows,
    Steps,
    all_orders,
    drawn_orders,
    groups_of,
    in_orders,
)
from bayesppl.answers.intervals import PROB, tails
from bayesppl.answers.labelled import coord
from bayesppl.answers.simulation import in_steps, portions
from bayesppl.data.arguments import generator, whole
from bayesppl.data.cells import missing
from bayesppl.data.columns import listed
from bayesppl.data.table import Table
from bayesppl.families._bases.log_density import LogDensity
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.rules import RuleName, check_rule

if TYPE_CHECKING:
    import xarray as xr

Shares = Literal["shapley", "sequential"]

# Single weights add up where their sum is the whole to so many digits.
_ADDS_UP = 1e-9

# Log odds held at once.
_NUMBERS = 1 << 21


def explain(
    fitted: Fitted,
    X: Any,
    against: Hashable | None = None,
    *,
    shares: Shares = "shapley",
    blocks: Mapping[str, Sequence[Hashable]] | None = None,
    rule: RuleName | None = None,
    draws: int | None = None,
    prob: float = PROB,
    orders: int = 64,
    random_state: int | None = None,
) -> xr.Dataset:
    """Weights of evidence: how much every column of a row supports each class.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
    against : label, optional
        The class that the others are compared with; by default each class is compared with all others together.
    shares : {"shapley", "sequential"}
        How weight is divided where the share of a column depends on the columns seen before it: averaged over all orders,
        or in the order of the columns.
    blocks : mapping of str to columns, optional
        Columns that are weighed together, under the name given; every other column stands for itself.
    rule : {"predictive", "mle", "map", "mean"}, optional
    draws : int, optional
        Number of posterior draws for standard deviations and intervals of the weights, given the parameters. A sampled
        posterior uses the draws it has.
    prob : float
        Probability of these intervals.
    orders : int
        Number of random orders averaged for Shapley shares of more than ten columns; up to ten, all orders are.
    random_state : int, optional

    Returns
    -------
    xarray.Dataset
        In nats (multiply by 4.34 for decibans): ``weight`` (row, feature, class); ``prior`` (class), the log odds before
        any column is seen; ``log_odds`` (row, class), those after all. ``prior`` plus the sum of ``weight`` over
        "feature" is ``log_odds``. ``mcse`` is the Monte-Carlo error of shares from random orders. With ``draws`` also
        ``sd``, ``lower`` and ``upper`` of each weight, and ``prior_sd``. The coordinate ``cell`` is what the row holds.
        The attribute ``shares`` is "independent" where the shares do not depend on any order.

    Raises
    ------
    ValueError
        If ``against`` is no class, or ``blocks`` names unknown columns or one of them twice.

    Notes
    -----
    A missing cell weighs nothing, and so does a word that a document lacks: of count vectors a share compares the
    document with and without the word. Rows impossible under every class have no log odds (NaN).

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[0.1, 5.0], [0.4, 6.1], [0.2, 5.5], [3.0, 5.2], [3.3, 6.0], [2.9, 5.4]]
    >>> clf = bp.GaussianNB().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> found = clf.explain([[2.5, None]], against="a")
    >>> found["weight"].sel({"class": "b"}).values.round(2).tolist()
    [[5.62, 0.0]]
    >>> bool(abs(found["weight"].sum("feature") + found["prior"] - found["log_odds"]).max() < 1e-12)
    True
    """
    check_rule(fitted.rule if rule is None else rule)
    if shares not in ("shapley", "sequential"):
        raise ValueError(f"shares must be 'shapley' or 'sequential', found {shares!r}")
    units = _units(fitted, blocks)
    odds = _Odds.of(fitted.classes.tolist(), against)
    seen = SeenRows.read(fitted, X, list(units.values()))
    rng = generator(random_state)
    scores: list[Score] = [partial(_by_rule, fitted, rule)]
    if draws is not None:
        whole("draws", draws, 2)
        scores.append(partial(_by_draws, fitted, draws, int(rng.integers(1 << 32))))
    lots = _lots(seen, len(fitted.classes) * (draws or 1), shares, orders, rng)
    parts = [_explained(seen, rows, at, odds, scores, steps, tails(prob)) for rows, at, steps in lots]
    return _labelled(fitted, seen, units, odds, parts, shares, rule).assign_attrs(prob=prob)


class _Odds(NamedTuple):
    """Which class is compared with what: class places, and the place it is compared with, or None for all others."""

    classes: list[Hashable]
    places: list[int]
    against: int | None

    @classmethod
    def of(cls, classes: list[Hashable], against: Hashable | None) -> _Odds:
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


class _Explained(NamedTuple):
    """Weights of some rows, (n_rows, n_units, n_odds), and what else is known of them."""

    rows: Array
    weight: Array
    mcse: Array
    log_odds: Array
    prior: Array
    spread: Array | None
    prior_sd: Array | None
    is_independent: bool


def _units(fitted: Fitted, blocks: Mapping[str, Sequence[Hashable]] | None) -> dict[Hashable, list[Hashable]]:
    columns = [name for name in fitted.columns.names if name in fitted.model.family.measures]
    owner: dict[Hashable, str] = {}
    for block, names in (blocks or {}).items():
        for name in [names] if isinstance(names, str) else names:
            if name not in columns:
                raise ValueError(
                    f"block {block!r} names {name!r}, which is no feature; they are {listed(columns)}"
                )
            if name in owner:
                raise ValueError(f"column {name!r} is in block {owner[name]!r} and again in {block!r}")
            owner[name] = block
    units: dict[Hashable, list[Hashable]] = {}
    for name in columns:
        units.setdefault(owner.get(name, name), []).append(name)
    return units


def _by_rule(fitted: Fitted, rule: RuleName | None, table: Table) -> Array:
    found = fitted.map_log_joint(table, lambda log_joint, _: log_joint, rule, evaluate=LogDensity.kernel)
    return found[None]


def _by_draws(fitted: Fitted, draws: int, seed: int, table: Table) -> Array:
    """log p(y = k, x | θ): (n_draws, n_rows, n_classes), the same draws every time."""
    X, model = fitted.encode(table), fitted.model

    def scored(theta: Theta) -> Array:
        return fitted.calibrated(model.log_joint(theta), theta[CLASS_WEIGHTS]).kernel(X)

    step = max(1, _NUMBERS // max(1, X.shape[0] * max(model.n_classes, X.shape[1])))
    held = portions(fitted.posterior, draws, np.random.default_rng(seed))
    return np.concatenate([scored(part) for portion in held for part in in_steps(portion, step)])


def _lots(
    seen: SeenRows, per_row: int, shares: Shares, orders: int, rng: np.random.Generator
) -> Iterator[tuple[Array, Array, Steps]]:
    """Rows that have the same units, so many that their log odds can be held, the units, and the ways through them."""
    for rows, at in groups_of(seen.present):
        steps = _steps(len(at), shares, orders, rng)
        size = max(1, _NUMBERS // (per_row * len(steps.sets)))
        yield from ((rows[start : start + size], at, steps) for start in range(0, len(rows), size))


def _explained(
    seen: SeenRows,
    rows: Array,
    at: Array,
    odds: _Odds,
    scores: Sequence[Score],
    steps: Steps,
    bounds: Sequence[float],
) -> _Explained:
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
    return _Explained(
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
    seen: SeenRows, rows: Array, at: Array, odds: _Odds, score: Score, steps: Steps
) -> tuple[Array, Array, Array, bool]:
    """Shares (n_lots, n_units, n_draws, n_rows, n_odds), log odds, those before any column, and whether no order matters."""

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
    size = max(1, _NUMBERS // (len(steps.sets) * before[0].size))
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


def _labelled(
    fitted: Fitted,
    seen: SeenRows,
    units: Mapping[Hashable, list[Hashable]],
    odds: _Odds,
    parts: Sequence[_Explained],
    shares: Shares,
    rule: RuleName | None,
) -> xr.Dataset:
    import xarray as xr

    n_rows, n_units, n_odds = len(seen.values), len(units), len(odds.places)
    order = np.argsort(np.concatenate([part.rows for part in parts])) if parts else np.empty(0, np.intp)

    def together(name: str, shape: tuple[int, ...]) -> Array:
        return np.concatenate([np.empty((0, *shape)), *(getattr(part, name) for part in parts)])[order]

    dims = ("row", "feature", "class")
    variables: dict[str, Any] = {
        "weight": (dims, together("weight", (n_units, n_odds))),
        "mcse": (dims, together("mcse", (n_units, n_odds))),
        "log_odds": (("row", "class"), together("log_odds", (n_odds,))),
    }
    if parts:
        variables["prior"] = ("class", parts[0].prior)
    if parts and parts[0].prior_sd is not None:
        variables["prior_sd"] = ("class", parts[0].prior_sd)
        for s, name in enumerate(("sd", "lower", "upper")):
            spread = [part.spread[s] for part in parts if part.spread is not None]
            variables[name] = (dims, np.concatenate(spread)[order])
    coords = {
        "row": np.arange(n_rows),
        "feature": coord(list(units)),
        "class": coord([odds.classes[k] for k in odds.places]),
        "cell": (("row", "feature"), _cells(seen, units)),
    }
    attrs = {
        "against": "all other classes" if odds.against is None else str(odds.classes[odds.against]),
        "shares": "independent" if all(part.is_independent for part in parts) else shares,
        "rule": fitted.rule if rule is None else rule,
    }
    return xr.Dataset(variables, coords=coords, attrs=attrs)


def _cells(seen: SeenRows, units: Mapping[Hashable, list[Hashable]]) -> Array:
    """What a row holds in every column that stands for itself, in words."""
    place = {name: j for j, name in enumerate(seen.names)}
    cells = np.full((len(seen.values), len(units)), "", dtype=object)
    for u, names in enumerate(units.values()):
        if len(names) == 1:
            column = seen.values[:, place[names[0]]]
            for i, value in enumerate(column.tolist()):
                cells[i, u] = f"{value:.4g}" if isinstance(value, float) else str(value)
            cells[missing(column, names[0]), u] = "missing"
    return cells.astype(str)
