"""A statement of what is left of forgotten rows, and its verification from the rows that remain."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesppl.conjugate.statistics import Statistics, numbers_of
from bayesppl.families.fixed_by_rows import fixed_by_rows
from bayesppl.files.provenance import environment, hash_of_statistics
from bayesppl.kernels.arrays import close_leaves
from bayesppl.model.fitted import Fitted
from bayesppl.model.learned import MOST_DOUBT
from bayesppl.model.posterior import Exact

#: The verdict on a part of the sums that is not that of the rows.
DIFFERS = "differs"

#: The verdict on a part of the sums that is that of the rows, whatever was rounded.
TO_THE_LAST_BIT = "equal to the last bit"


def certificate(fitted: Fitted, X: Any = None, y: Any = None, sample_weight: Any = None) -> dict[str, Any]:
    """State which rows were forgotten, and by how much the fit can differ from one without them.

    A posterior in closed form depends on rows through sums, and forgetting subtracts. Sums are kept in pairs of
    numbers with a bound on all that was ever rounded (Wilkinson 1986), so that the statement is a proof, and no
    comparison of predictions. Whoever holds the rows that remain can verify it: pass them here, or to
    ``bayesppl verify``.

    Parameters
    ----------
    fitted : Fitted
    X, y, sample_weight : optional
        The rows that remain, to verify the statement by.

    Returns
    -------
    dict
        Of text and numbers, for JSON. ``forgotten``: for every call of :meth:`forget` the number of rows, their
        weight, and the SHA-256 of their cells, labels and weights; of equal rows that were learned later it says
        nothing. ``remaining``: weight of the rows of each class that are left. ``bounds``: by how much the sums of
        a part of the model can differ from those of a fit without the rows, relative to the largest of a column;
        for means and squares, to the spread of it. 0.0 where they are equal to the last bit, as counts of rows of
        whole weights are. ``redone``: what was found anew from the sums that remain. ``stays``: what the first
        rows fixed, the forgotten among them, and which may show that a level or a value occurred.
        ``statistics_hash``, and versions. With ``X`` and ``y`` also ``verified``: for every part of the model
        whether its sums are "equal to the last bit" to those of the rows that remain, "equal within the bound", or
        "differs"; and whether the ``posterior``, which predicts, "follows from the sums".

    Raises
    ------
    ValueError
        If no rows were forgotten.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [[1, 0], [0, 1], [1, 1], [0, 0]], list("aabb")
    >>> clf = bp.BernoulliNB().fit(X, y).forget(X[:1], y[:1])
    >>> stated = clf.certificate(X[1:], y[1:])
    >>> stated["remaining"], stated["bounds"]
    ({'a': 1.0, 'b': 2.0}, {'class_weights': 0.0, 'features': 0.0})
    >>> stated["verified"]["features"], stated["verified"]["posterior"]
    ('equal to the last bit', 'follows from the sums')
    """
    learned = fitted.learned
    if not learned.removals:
        raise ValueError("no rows of this fit were forgotten, so that there is nothing to certify")
    redone = ["the prior, as far as it depends on the data", "the posterior"]
    levels = [f"levels of column {name!r}" for name in fitted.levels]
    stated: dict[str, Any] = {
        **environment(),
        "forgotten": [vars(removal) for removal in learned.removals],
        "remaining": dict(zip(map(str, learned.classes.tolist()), learned.class_count.tolist(), strict=True)),
        "bounds": learned.statistics.tracked().relative_errors,
        "redone": [*redone, "hyperparameters, by tuning"] if fitted.search is not None else redone,
        "stays": [*levels, *filter(None, [fixed_by_rows(learned.model.family)])],
        "statistics_hash": hash_of_statistics(learned.statistics),
    }
    if X is not None:
        rest = learned.model.summarise(learned.read(X, y, sample_weight))
        rows, rounded = dict(rest.leaves()), dict(rest.tracked().leaves())
        stated["verified"] = {
            part: _judge_part(mine, rows[part], rounded[part]) for part, mine in learned.statistics.leaves()
        }
        stated["verified"]["posterior"] = _judge_posterior(fitted)
    return stated


def _judge_part(mine: Statistics, plain: Statistics, rest: Statistics) -> str:
    """Judge whether a part of the sums is that of the rows that remain: taking these out must leave nothing.

    Parameters
    ----------
    mine, plain, rest : Statistics
        Those of the fit; of the rows that remain; and the latter with their rounding tracked.
    """
    if not _equal(mine, mine.tracked().scale(1)):  # what was rounded is not what stands beside it
        return DIFFERS
    if _equal(mine, plain):
        return TO_THE_LAST_BIT
    if mine.tracked().relative_error > MOST_DOUBT:
        return DIFFERS
    try:
        left = mine - rest
    except ValueError:  # more would be taken out than there is
        return DIFFERS
    is_left = any(values.any() for _, values in numbers_of(left) if values.dtype.kind == "f")
    return DIFFERS if is_left else "equal within the bound"


def _judge_posterior(fitted: Fitted) -> str:
    """Judge whether the posterior is the one that follows from the sums."""
    found = fitted.inferred
    if not isinstance(found, Exact):
        return "not in closed form: a refit verifies it"
    expected = Exact.of(found.model, fitted.learned.statistics)
    pairs = (found.prior, expected.prior), (found.belief, expected.belief)
    follows = all(close_leaves(*pair, rtol=1e-6) for pair in pairs)
    return "follows from the sums" if follows else DIFFERS


def _equal(one: Statistics, other: Statistics) -> bool:
    pairs = zip(numbers_of(one), numbers_of(other), strict=True)
    return all(np.array_equal(mine, its) for (_, mine), (_, its) in pairs)
