r"""Shapley shares of the log odds of a stack, or why it answered as it did.

When only some columns S of a row are seen, the answer of the stack is

.. math:: p(y \mid x_S) \propto \Big(\sum_m \omega_m\, p_m(y \mid x_S)\Big)^{1/T},

and its log odds, from no column to all of them, are divided among the columns as those of one model are
(:mod:`bayesppl.analysis.explanation`; Shapley 1953). Most members leave columns out exactly: their densities are
integrated over what is not seen; trees are averaged over those of the columns seen, as if the others were not in
the table. The rest average their probabilities over rows that stand in for what is not seen (Štrumbelj & Kononenko
2014): location models and curves of principal components over rows drawn from the model itself, leaves over values
of columns drawn one by one, guests and models behind transformers of another package over rows of the fit.
Whichever rows stand in, the shares add up to the log odds of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from bayesppl.analysis.edges import belief_of
from bayesppl.analysis.evidence_orders import Shares, group_rows
from bayesppl.analysis.evidence_shares import Odds, SeenRows
from bayesppl.analysis.explanation import (
    belonging,
    cells_in_words,
    gaps_of,
    labelled_shares,
    read_cells,
    units_of,
)
from bayesppl.analysis.new_rows import sample
from bayesppl.analysis.parameter_tables import PROB
from bayesppl.analysis.uncertainty import draw_members
from bayesppl.conjugate.tree_densities import log_predictive_of_seen
from bayesppl.conjugate.tree_dirichlet import TreeDirichlet
from bayesppl.data.arguments import generator, whole
from bayesppl.data.curves import Curves
from bayesppl.data.leaves import Leaves
from bayesppl.data.preprocessing import Preprocessing
from bayesppl.data.recoding import Recoding
from bayesppl.data.table import MatrixTable, Table
from bayesppl.inference.progress import counted
from bayesppl.kernels.arrays import Array, logarithm
from bayesppl.model.declaration import ClassWeights
from bayesppl.model.fitted import Fitted
from bayesppl.model.member import Guest, Member
from bayesppl.model.normalisation import sharpened
from bayesppl.model.stack import Stack, mixed

if TYPE_CHECKING:
    import xarray as xr

#: Most columns that are weighed one by one.
MOST_COLUMNS = 40

# Rows that stand in for what is not seen, at least; of every class as many
_STAND_INS = 16


def explain_stack(
    stack: Stack,
    X: Any,
    against: Hashable | None = None,
    *,
    shares: Shares = "shapley",
    blocks: Mapping[str, Sequence[Hashable]] | None = None,
    class_weights: ClassWeights | None = None,
    draws: int | None = None,
    prob: float = PROB,
    orders: int = 16,
    most: int = MOST_COLUMNS,
    random_state: int | None = None,
) -> xr.Dataset:
    """Explain the answers of a stack; see :meth:`bayesppl.AutoClassifier.explain`."""
    table, read = stack.align(X), stack.columns_read
    odds = Odds.of(stack.classes.tolist(), against)
    names = [name for name in stack.columns.names if name in read]
    columns = {name: table.column(name) for name in names}
    present = np.ones((len(table), len(names)), dtype=bool)
    if issparse(table.matrix):  # counts: only words that some document holds have a weight
        present = np.column_stack([column != 0 for column in columns.values()])
        columns = {name: columns[name] for name, some in zip(names, present.any(0).tolist(), strict=True) if some}
        present = present[:, present.any(0)]
    units = units_of(list(columns), blocks)
    if len(units) > whole("most", most, 1) and not issparse(table.matrix):
        units = _largest(stack, table, units, odds, frozenset(blocks or ()), most)
    present = present.astype(int) @ belonging(units.values(), [(name,) for name in columns]).T.astype(int) > 0
    views = [_view(member, stack, table, list(units.values())) for member in stack.members]

    def score(rows: Array, sets: Array) -> Array:
        parts = [log_proba(rows, sets) for log_proba in views]
        return stack.finished(mixed(parts, stack.weights), class_weights)[:, None]

    rng, by_draws = generator(random_state), None
    if draws is not None:
        whole("draws", draws, 2)
        view_of = dict(zip(stack.members, views, strict=True))
        believed = [(view_of[member], errors) for member, errors in draw_members(stack, draws, rng)]

        def by_draws(rows: Array, sets: Array) -> Array:
            parts = [stack.finished(view(rows, sets)[:, None], class_weights, errors) for view, errors in believed]
            return np.concatenate(parts, axis=1)

    per_row = len(stack.classes) * max(len(views), draws or 1)
    tasks = counted(list(group_rows(present, per_row, shares, orders, rng)), "explaining rows")
    cells = cells_in_words(list(columns.values()), list(columns), units)
    found = labelled_shares(tasks, odds, score, by_draws, cells, X, len(table), shares, "predictive", prob)
    return found.assign(_by_member(stack, table, odds, class_weights))


def _largest(
    stack: Stack,
    table: Table,
    units: dict[Hashable, list[Hashable]],
    odds: Odds,
    kept: AbstractSet[Hashable],
    most: int,
) -> dict[Hashable, list[Hashable]]:
    """Keep the units of the largest weights, and weigh all others together as one.

    They are weighed by the member of the largest weight alone, one by one: every set of units costs time that is
    at least proportional to the columns, and orders of all units have more sets than units.
    """
    names, view = list(units), _view(stack.members[stack.weights.argmax()], stack, table, list(units.values()))
    found = odds(view(np.arange(len(table)), np.eye(len(units) + 1, len(units), dtype=bool)))
    size = np.abs(found[:-1] - found[-1]).max((1, 2), initial=0.0)
    size[[name in kept for name in names]] = np.inf
    chosen = set(np.argsort(-size, kind="stable")[:most].tolist())
    shown = {name: units[name] for place, name in enumerate(names) if place in chosen}
    rest = [column for place, name in enumerate(names) if place not in chosen for column in units[name]]
    return {**shown, f"the other {len(rest)} columns": rest}


def _by_member(stack: Stack, table: Table, odds: Odds, class_weights: ClassWeights | None) -> dict[str, Any]:
    """Return the log odds of every member alone, and its part of the probability of each class."""
    log_probas = np.stack([member.log_proba(table) for member in stack.members], axis=1)
    parts = stack.weights[:, None] * np.exp(log_probas)
    total = parts.sum(1, keepdims=True)
    dims, names = ("row", "model", "class"), [member.name for member in stack.members]
    return {
        "model": names,
        "model_weight": ("model", stack.weights),
        "model_log_odds": (dims, odds(stack.under(class_weights, log_probas))),
        "model_part": (dims, (parts / np.where(total > 0, total, 1.0))[:, :, odds.places]),
    }


#: From rows and sets of units to log p(y = k | x_S): (n_sets, n_rows, n_classes).
View = Callable[[Array, Array], Array]


def _view(member: Member | Guest, stack: Stack, table: Table, units: Sequence[Sequence[Hashable]]) -> View:
    """Return the class probabilities of a member as a function of rows and of the units seen of them."""
    if isinstance(member, Guest) or isinstance(member.recoding, Preprocessing):
        return _view_of_cells(member, stack, table, units)
    recoding, names = member.recoding, stack.columns.names
    if isinstance(recoding, Leaves):
        stand_ins = np.asarray(recoding.stand_ins_, dtype=np.float64)
        weights = np.full(len(stand_ins), 1 / len(stand_ins))
    elif isinstance(recoding, Curves) and recoding.is_mixing:
        drawn, weights = _drawn(member.fitted)
        back = np.linalg.pinv(recoding.rotation_)
        stand_ins = recoding.center_ + drawn[:, : len(back)] @ back
    else:
        return _view_of_recoded(member, table, belonging(units, recoding.origins(names)))
    inner = recoding.recoding
    values = np.asarray(inner.transform(table).numeric(), dtype=np.float64)

    def log_proba(cells: Array) -> Array:
        return member.log_proba_of_recoded(recoding.made_of(cells))

    return SeenRows(values, belonging(units, inner.origins(names)), stand_ins, weights, log_proba)


def _view_of_cells(
    member: Member | Guest, stack: Stack, table: Table, units: Sequence[Sequence[Hashable]]
) -> SeenRows:
    """View columns as they are given: where they are not seen, rows of the fit stand in."""
    # a stack with such members holds rows of the fit
    stand_ins, weights = stack.background  # type: ignore[misc]
    names = stack.columns.names
    places = np.arange(len(table) + len(stand_ins))[:, None] + np.zeros(len(names), dtype=int)

    def log_proba(places: Array) -> Array:
        return member.log_proba(table.picked(stand_ins, places))

    belongs = belonging(units, [(name,) for name in names])
    return SeenRows(places[: len(table)], belongs, places[len(table) :], weights, log_proba)


def _view_of_recoded(member: Member, table: Table, belongs: Array) -> View:
    """View recoded columns: most families leave out what is not seen, for others drawn rows stand in.

    Parameters
    ----------
    belongs : (n_units, n_recoded_columns) bool
    """
    fitted, recoded = member.fitted, member.recoding.transform(table)
    belief = belief_of(fitted) if fitted.posterior.is_exact else None
    trees = belief if isinstance(belief, TreeDirichlet) else None
    matrix, family, weights = recoded.matrix, fitted.model.family, np.ones(1)
    if issparse(matrix):
        values, gaps = matrix.toarray(), np.zeros((1, len(belongs.T)))
    else:
        with member.skipping_unseen():
            columns, counts = read_cells(fitted, recoded)
        values, gaps = np.column_stack(columns), gaps_of(columns[0], counts)
        if not (trees or counts.any()) and (family.sums_over_gaps or family.missing == "refused"):
            gaps, weights = _drawn(fitted)
    coded = frozenset(name for name in recoded.names if recoded.kind(name) == "category")

    def log_proba(cells: Array) -> Array:
        if isinstance(member.recoding, Recoding):
            cells = member.recoding.emptied(cells)
        made = csr_array(cells) if issparse(matrix) else cells
        rows = MatrixTable(recoded.names, made, recoded.is_named, coded)
        return _by_trees(fitted, trees, rows) if trees else member.log_proba_of_recoded(rows)

    seen = SeenRows(values, belongs, gaps, weights, log_proba)
    if not trees:
        return seen

    def of_trees(rows: Array, sets: Array) -> Array:
        found = seen(rows, sets)
        # the answer to a row with gaps is the sum over the levels of these
        found[sets.all(1)] = member.log_proba_of_recoded(recoded.take(rows))
        return found

    return of_trees


def _by_trees(fitted: Fitted, belief: TreeDirichlet, table: Table) -> Array:
    """Compute log p(y = k | x_S) by the trees of the columns S that each row has: (n_rows, n_classes)."""
    weights = fitted.posterior.predictive_weights()
    rows: Any = fitted.model.family.rows(fitted.encode(table))
    log_joint = logarithm(weights) + log_predictive_of_seen(belief, rows)
    return sharpened(log_joint, weights, fitted.temperature)


def _drawn(fitted: Fitted) -> tuple[Array, Array]:
    """Draw rows from a model, as many of every class, with their weights."""
    import pandas as pd

    n_classes = len(fitted.classes)
    codes = np.arange(max(_STAND_INS, n_classes)) % n_classes
    drawn = np.asarray(sample(fitted, len(codes), fitted.classes[codes], random_state=0)[0], dtype=object)
    weights = fitted.posterior.predictive_weights()[codes] / np.bincount(codes)[codes]
    # a level that the fit has not seen is not a number, and stays a gap
    cells = np.asarray(pd.to_numeric(drawn.ravel(), errors="coerce"), dtype=np.float64)
    return cells.reshape(drawn.shape), weights
