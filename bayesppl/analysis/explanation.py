r"""Why a row was classified as it was: weights of evidence (Good 1950, 1985).

The log odds of class k against the others, after columns x have been seen, are

.. math:: \log\frac{p(k \mid x)}{p(\bar k \mid x)} = \log\frac{p(k)}{p(\bar k)} + W(x),
   \qquad W(x) = \log\frac{p(x \mid k)}{p(x \mid \bar k)},

and W, the weight of evidence, is divided among the columns. Between two classes of a model with columns
independent given the class, the share of a column is :math:`\log p(x_d \mid k) - \log p(x_d \mid j)`, whatever
else was seen. Where columns are correlated given the class, and also where :math:`\bar k` is a mixture of several
classes (seeing one column changes which of them is likely, and so what the next column is worth), a share depends
on what was seen before:

* ``sequential`` shares take the columns in their order, each given those before it:
  :math:`W(x_d \mid x_1, …, x_{d-1})`;
* ``shapley`` shares average that over all orders (Shapley 1953), which treats all columns alike.

Both add up to W exactly. What was seen before is found by evaluating the model on the row with all other cells
missing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.draws import log_joint_under_draws
from bayesppl.analysis.evidence_shares import MOST_NUMBERS, Odds, SeenRows, Shares, divided
from bayesppl.analysis.parameters import PROB, coord, tails
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.data.arguments import generator, whole
from bayesppl.data.columns import missing
from bayesppl.data.names import listed
from bayesppl.data.table import Table
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.rules import RuleName, check_rule

if TYPE_CHECKING:
    import xarray as xr


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
        How weight is divided where the share of a column depends on the columns seen before it: averaged over all
        orders, or in the order of the columns.
    blocks : mapping of str to columns, optional
        Columns that are weighed together, under the name given; every other column stands for itself.
    rule : {"predictive", "mle", "map", "mean"}, optional
    draws : int, optional
        Number of posterior draws for standard deviations and intervals of the weights, given the parameters. A
        sampled posterior uses the draws it has.
    prob : float
        Probability of these intervals.
    orders : int
        Number of random orders averaged for Shapley shares of more than ten columns; up to ten, all orders are.
    random_state : int, optional

    Returns
    -------
    xarray.Dataset
        In nats (multiply by 4.34 for decibans): ``weight`` (row, feature, class); ``prior`` (class), the log odds
        before any column is seen; ``log_odds`` (row, class), those after all. ``prior`` plus the sum of ``weight``
        over "feature" is ``log_odds``. ``mcse`` is the Monte-Carlo error of shares from random orders. With
        ``draws`` also ``sd``, ``lower`` and ``upper`` of each weight, and ``prior_sd``. The coordinate ``cell`` is
        what the row holds. The attribute ``shares`` is "independent" where the shares do not depend on any order.

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
    odds = Odds.of(fitted.classes.tolist(), against)
    seen = SeenRows.read(fitted, X, list(units.values()))
    rng, bounds = generator(random_state), tails(prob)
    by_rule = partial(_by_rule, fitted, rule)
    if draws is not None:
        whole("draws", draws, 2)
        by_draws = partial(_by_draws, fitted, draws, int(rng.integers(1 << 32)))
    names = ("weight", "mcse") if draws is None else ("weight", "mcse", "sd", "lower", "upper")
    # (n_units, n_rows, n_odds), as the shares of a lot: what is missing weighs nothing
    found = {name: np.zeros((len(units), len(seen.values), len(odds.places))) for name in names}
    log_odds = np.zeros(found["weight"].shape[1:])
    prior: dict[str, Array] = {}
    is_independent = True
    for rows, at, steps in seen.lots(len(fitted.classes) * (draws or 1), shares, orders, rng):
        place = np.ix_(at, rows)
        lots, after, before, is_sum = divided(seen, rows, at, odds, by_rule, steps)
        found["weight"][place] = lots[:, :, 0].mean(0)
        if len(lots) > 1:
            found["mcse"][place] = lots[:, :, 0].std(0, ddof=1) / np.sqrt(len(lots))
        log_odds[rows] = after[0]
        prior.setdefault("prior", before[0, 0])
        is_independent &= is_sum
        if draws is not None:
            lots, _, before, _ = divided(seen, rows, at, odds, by_draws, steps)
            of_draws = lots.mean(0)
            found["sd"][place] = of_draws.std(1)
            found["lower"][place], found["upper"][place] = np.quantile(of_draws, bounds, axis=1)
            prior.setdefault("prior_sd", before[:, 0].std(0))
    import xarray as xr

    by_column = {name: (("row", "feature", "class"), values.swapaxes(0, 1)) for name, values in found.items()}
    by_class = {name: ("class", values) for name, values in prior.items()}
    return xr.Dataset(
        {**by_column, "log_odds": (("row", "class"), log_odds), **by_class},
        coords={
            "row": np.arange(len(log_odds)),
            "feature": coord(list(units)),
            "class": coord([odds.classes[k] for k in odds.places]),
            "cell": (("row", "feature"), _cells(seen, units)),
        },
        attrs={
            "against": "all other classes" if odds.against is None else str(odds.classes[odds.against]),
            "shares": "independent" if is_independent else shares,
            "rule": fitted.rule if rule is None else rule,
            "prob": prob,
        },
    )


def _units(fitted: Fitted, blocks: Mapping[str, Sequence[Hashable]] | None) -> dict[Hashable, list[Hashable]]:
    columns = [name for name in fitted.columns.names if name in fitted.model.family.bound.measures]
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
    X, rng = fitted.encode(table), np.random.default_rng(seed)
    found = log_joint_under_draws(fitted, fitted.posterior, X, draws, rng, MOST_NUMBERS)
    return np.concatenate([log_joint for log_joint, _ in found])


def _cells(seen: SeenRows, units: Mapping[Hashable, list[Hashable]]) -> Array:
    """What a row holds in every column that stands for itself, in words."""
    place = {name: j for j, name in enumerate(seen.names)}
    cells = np.full((len(seen.values), len(units)), "", dtype=object)
    for u, names in enumerate(units.values()):
        if len(names) == 1:
            column = seen.values[:, place[names[0]]]
            for i, value in enumerate(column.tolist()):
                cells[i, u] = f"{value:.4g}" if isinstance(value, float) else str(value)
            cells[missing(column), u] = "missing"
    return cells.astype(str)
