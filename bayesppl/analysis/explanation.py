r"""Weights of evidence, or why a row was classified as it was (Good 1950, 1985).

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

import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from bayesppl.analysis.draws import log_joint_of_blocks, number_of_draws
from bayesppl.analysis.evidence_orders import MOST_NUMBERS, Shares, Task, group_rows
from bayesppl.analysis.evidence_shares import Odds, SeenRows, shares_of_units
from bayesppl.analysis.parameter_tables import PROB, coord, row_names, tails
from bayesppl.conjugate.outcomes import TooManyCombinationsError
from bayesppl.data.arguments import generator, whole
from bayesppl.data.columns import beyond_floats, missing
from bayesppl.data.names import listed, spelled
from bayesppl.data.table import MatrixTable, Table
from bayesppl.errors import RowError, UnseenLevelWarning
from bayesppl.families.bound import GIVEN_TOTAL
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import ClassWeights, class_weights_in_use
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import exchange_weights
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
    class_weights: ClassWeights | None = None,
    draws: int | None = None,
    prob: float = PROB,
    orders: int = 64,
    random_state: int | None = None,
) -> xr.Dataset:
    """Weigh the evidence: how much every column of a row supports each class.

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
    class_weights : optional
        As in :meth:`predict_proba`. Against one class they move the prior and no share,
        but for a class of weight zero, which is impossible whatever a row holds.
    draws : int, optional
        Number of posterior draws for standard deviations and intervals of the weights, given the parameters. A
        sampled posterior uses the draws it has.
    prob : float
        Probability of these intervals.
    orders : int
        Number of random orders averaged for Shapley shares of more than twelve columns; up to twelve, all are.
    random_state : int, optional

    Returns
    -------
    xarray.Dataset
        In nats (multiply by 4.34 for decibans): ``weight`` (row, feature, class); ``prior`` (class), the log odds
        before any column is seen; ``log_odds`` (row, class), those after all. ``prior`` plus the sum of ``weight``
        over "feature" is ``log_odds``. ``mcse`` is the Monte-Carlo error of shares from random orders,
        infinite where hardly any of them counts: after a column that is impossible under a class nothing is left
        to gain. With ``draws`` also ``sd``, ``lower`` and ``upper`` of each weight, and ``prior_sd``. The
        coordinate ``cell`` is what the row holds. The attribute ``shares`` is "independent" where the shares do
        not depend on any order.

    Raises
    ------
    ValueError
        If ``against`` is not a class, ``blocks`` names unknown columns or one of them twice, or the family cannot
        leave a column out.

    Notes
    -----
    A missing cell weighs nothing, and so does a word that a document lacks: of count vectors a share compares the
    document with and without the word. Rows impossible under every class have no log odds (NaN). Where some draws
    of a probability are smaller than any number that is held, as under Dirichlet priors of a tiny concentration,
    ``sd`` is infinite, and so are the ends of intervals that lie beyond these draws.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[0.1, 5.0], [0.4, 6.1], [0.2, 5.5], [3.0, 5.2], [3.3, 6.0], [2.9, 5.4]]
    >>> clf = bp.GaussianNB().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> found = clf.explain([[2.5, None]], against="a")
    >>> found["weight"].sel({"class": "b"}).values.round(2).tolist()
    [[4.83, 0.0]]
    >>> bool(abs(found["weight"].sum("feature") + found["prior"] - found["log_odds"]).max() < 1e-12)
    True
    """
    used = fitted.rule if rule is None else rule
    check_rule(used)
    fitted.require_columns("explain()")
    names, family = fitted.columns.names, fitted.model.family
    units = units_of([name for name in names if name in family.bound.measures], blocks)
    odds = Odds.of(fitted.classes.tolist(), against)
    columns, counts = read_cells(fitted, X)
    leaves_none_out = ValueError(
        f"the {family.name} family leaves no column out, or one of its blocks does not, so that its log odds "
        "cannot be divided among the columns. As a candidate of bayesppl.AutoClassifier it is explained, over "
        "rows drawn from it"
    )
    if family.missing == "refused" and not counts.any():
        raise leaves_none_out
    values, belongs = np.column_stack(columns), belonging(units.values(), [(name,) for name in names])
    seen = partial(SeenRows, values, belongs, gaps_of(values, counts), np.ones(1))
    absent = np.column_stack([missing(cells) for cells in columns])
    absent[:, counts] = values[:, counts] == 0
    present = (~absent).astype(int) @ belongs.T.astype(int) > 0
    rng = generator(random_state)

    def made(cells: Array) -> Table:
        matrix = csr_array(cells.astype(np.float64)) if counts.all() else cells
        return MatrixTable(names, matrix, is_named=True)

    new = class_weights_in_use(class_weights, fitted.learned.class_count, fitted.model.classes)

    def under(log_joint: Array, weights: Array) -> Array:
        return log_joint if new is None else exchange_weights(log_joint, weights, new)

    def by_rule(cells: Array) -> Array:
        return fitted.log_labels(made(cells), rule, under, without_shared=True)[None]

    by_draws = None
    if draws is not None:
        whole("draws", draws, 2)
        size, of_draws = number_of_draws(fitted.posterior, draws), np.random.default_rng(rng.integers(1 << 32))
        log_joints = log_joint_of_blocks(fitted, size, of_draws, MOST_NUMBERS)

        def under_draws(cells: Array) -> Array:
            return np.concatenate([under(*found) for found in log_joints(fitted.encode(made(cells)))])

        by_draws = seen(under_draws)
    tasks = group_rows(present, len(fitted.classes) * (draws or 1), shares, orders, rng)
    cells = cells_in_words(columns, names, units)
    try:
        return labelled_shares(tasks, odds, seen(by_rule), by_draws, cells, X, len(values), shares, used, prob)
    except RowError:
        fitted.encode(made(values))  # raises again where a cell of these rows is to blame
        raise leaves_none_out from None
    except TooManyCombinationsError:
        raise ValueError(
            f"columns are weighed by leaving them out, and the {family.name} family sums over the levels of what "
            "is left out, which have too many combinations here. As a candidate of bayesppl.AutoClassifier the "
            "model is explained, over rows drawn from it"
        ) from None


def labelled_shares(
    tasks: Iterable[Task],
    odds: Odds,
    score: Callable[[Array, Array], Array],
    by_draws: Callable[[Array, Array], Array] | None,
    cells: Mapping[Hashable, Sequence[str]],
    X: Any,
    n_rows: int,
    shares: Shares,
    rule: RuleName,
    prob: float,
) -> xr.Dataset:
    """Divide the evidence of rows among their units, and give the shares their dims and coordinates.

    Parameters
    ----------
    tasks, odds, score, by_draws
        See :func:`bayesppl.analysis.evidence_shares.shares_of_units`.
    cells : mapping of unit to (n_rows,)
        What the rows hold, in words.
    X : table or (n_rows, n_features) array-like
        The rows; those of a pandas data frame have the names of its index.
    n_rows : int
    shares, rule, prob
        See :func:`explain`.
    """
    import xarray as xr

    shape = len(cells), n_rows
    # whoever has read the rows has warned
    with warnings.catch_warnings(action="ignore", category=UnseenLevelWarning):
        by_unit, log_odds, prior, is_independent = shares_of_units(
            tasks, shape, odds, score, by_draws, tails(prob)
        )
    found = {name: (("row", "feature", "class"), values.swapaxes(0, 1)) for name, values in by_unit.items()}
    by_class = {name: ("class", values) for name, values in prior.items()}
    return xr.Dataset(
        {**found, "log_odds": (("row", "class"), log_odds), **by_class},
        coords={
            "row": row_names(X, n_rows),
            "feature": coord(list(cells)),
            "class": coord([odds.classes[k] for k in odds.places]),
            "cell": (("row", "feature"), np.array([*cells.values()], str).reshape(shape).T),
        },
        attrs={
            "against": "all other classes" if odds.against is None else str(odds.classes[odds.against]),
            "shares": "independent" if is_independent else shares,
            "rule": rule,
            "prob": prob,
        },
    )


def units_of(
    columns: Sequence[Hashable], blocks: Mapping[str, Sequence[Hashable]] | None
) -> dict[Hashable, list[Hashable]]:
    """Name the columns that are weighed together; every other one stands for itself."""
    owner: dict[Hashable, str] = {}
    if not isinstance(blocks, Mapping | None):
        raise TypeError(
            "blocks must be a mapping of names to columns, as in {'size': ['length', 'width']}, found "
            f"{spelled(blocks)}"
        )
    for block, names in (blocks or {}).items():
        for name in [names] if isinstance(names, str) or not isinstance(names, Iterable) else names:
            if name not in columns:
                raise ValueError(
                    f"block {block!r} names {name!r}, which is no feature; they are {listed(columns)}"
                )
            if name in owner:
                raise ValueError(f"column {name!r} is in block {owner[name]!r} and again in {block!r}")
            owner[name] = block
    for block in blocks or {}:
        if block in columns and block not in owner:
            raise ValueError(f"block {block!r} is named like a column outside of it; give it another name")
    units: dict[Hashable, list[Hashable]] = {}
    for name in columns:
        units.setdefault(owner.get(name, name), []).append(name)
    return units


def belonging(units: Collection[Sequence[Hashable]], columns: Sequence[Collection[Hashable]]) -> Array:
    """Find which units each column is made of, given the names of both: (n_units, n_columns) bool."""
    unit_of = {name: place for place, own in enumerate(units) for name in own}
    found = np.zeros((len(units), len(columns)), dtype=bool)
    for place, names in enumerate(columns):
        found[[unit_of[name] for name in names if name in unit_of], place] = True
    return found


def read_cells(fitted: Fitted, X: Any) -> tuple[list[Array], Array]:
    """Read columns of rows, all as numbers or all as objects, and find which are counts given their total."""
    table = fitted.columns.align(X)
    # which refuses what it refuses by the rows of the caller, not by a few units
    fitted.model.family.bound.encode(table)
    names = fitted.columns.names  # a table of a user's model may hold columns twice
    columns = [table.column(name) for name in names]
    are_numbers = all(column.dtype.kind in "fiu" and not beyond_floats(column) for column in columns)
    measures = fitted.model.family.bound.measures
    counts = np.array([measures.get(name) in GIVEN_TOTAL for name in names])
    return [column.astype(np.float64 if are_numbers else object) for column in columns], counts


def gaps_of(values: Array, counts: Array) -> Array:
    """Return what stands in columns that are not seen: (1, n_columns).

    A document without a word has a count of zero.
    """
    return np.where(counts, 0.0, np.nan).astype(values.dtype)[None]


def cells_in_words(
    columns: Sequence[Array], names: Sequence[Hashable], units: Mapping[Hashable, Sequence[Hashable]]
) -> dict[Hashable, list[str]]:
    """Describe what the rows hold in every column that stands for itself."""
    by_name = dict(zip(names, columns, strict=True))
    found: dict[Hashable, list[str]] = {}
    for unit, own in units.items():
        column = by_name[own[0]]
        words = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in column.tolist()]
        gone = missing(column).tolist()
        found[unit] = [
            "" if len(own) > 1 else "missing" if absent else word for word, absent in zip(words, gone, strict=True)
        ]
    return found
