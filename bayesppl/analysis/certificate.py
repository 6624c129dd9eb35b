"""What is left of rows that were forgotten: a statement, and its verification from the rows that remain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesppl.analysis.prediction_sets import chosen_by_rows
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.files.provenance import environment, hash_of_statistics
from bayesppl.kernels.arrays import leaves
from bayesppl.kernels.pairs import Pairs
from bayesppl.model.fitted import Fitted

#: What a part of the sums that does not pass is called.
DIFFERS = "differs"


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
        weight, and the SHA-256 of their cells, labels and weights. ``remaining``: weight of the rows of each class
        that are left. ``bounds``: by how much the sums of a part of the model can differ from those of a fit
        without the rows, relative to the largest; 0.0 where they are equal to the last bit, as counts of rows of
        whole weights are. ``redone``: what was found anew from the sums that remain. ``stays``: what the first
        rows fixed, the forgotten among them, and which may show that a level or a value occurred.
        ``statistics_hash``, and versions. With ``X`` and ``y`` also ``verified``: for every part of the model
        whether its sums are "equal to the last bit" to those of the rows that remain, "equal within the bound", or
        "differs".

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
    >>> stated["verified"]
    {'class_weights': 'equal to the last bit', 'features': 'equal to the last bit'}
    """
    learned = fitted.learned
    if not learned.removals:
        raise ValueError("no rows of this fit were forgotten, so that there is nothing to certify; see forget()")
    bounds: dict[str, float] = {}
    for name, pairs in _pairs(learned.statistics):
        bounds[name] = max(bounds.get(name, 0.0), _bound(pairs))
    redone = ["the prior, as far as it depends on the data", "the posterior"]
    levels = [f"levels of column {name!r}" for name in fitted.levels]
    stated: dict[str, Any] = {
        **environment(),
        "forgotten": [vars(removal) for removal in learned.removals],
        "remaining": dict(zip(map(str, learned.classes.tolist()), learned.class_count.tolist(), strict=True)),
        "bounds": bounds,
        "redone": [*redone, "hyperparameters, by tuning"] if fitted.search is not None else redone,
        "stays": [*levels, *filter(None, [chosen_by_rows(learned.model.family)])],
        "statistics_hash": hash_of_statistics(learned.statistics),
    }
    if X is not None:
        rest = learned.model.summarise(learned.read(X, y, sample_weight))
        stated["verified"] = dict(_compared(learned.statistics.tracked(), rest, rest.tracked()))
    return stated


def _pairs(statistics: Any, name: str = "") -> Iterator[tuple[str, Pairs]]:
    """Yield the sums of every part of a model."""
    if isinstance(statistics, JointStatistics):
        for part, of_part in statistics.parts.items():
            yield from _pairs(of_part, f"{name}.{part}".removeprefix("."))
    else:
        sums = statistics.tracked().sums
        for pairs in sums if isinstance(sums, tuple) else (sums.count, sums.first, sums.second):
            yield name, pairs


def _bound(pairs: Pairs) -> float:
    """Bound the relative error; whole numbers that are known to less than a half are known."""
    is_whole = (pairs.high == np.rint(pairs.high)).all() and not pairs.low.any() and (pairs.error < 0.5).all()
    return 0.0 if is_whole else float(pairs.error.max(initial=0.0) / (np.abs(pairs.high).max(initial=0.0) or 1.0))


def _compared(mine: Any, plain: Any, rest: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Whether taking the rows that remain out of each part as well leaves nothing.

    Parameters
    ----------
    mine, plain, rest : Statistics
        Those of the fit; of the rows that remain; and the latter with their rounding tracked.
    """
    if isinstance(mine, JointStatistics):
        for part in mine.parts:
            inner = mine.parts[part], plain.parts[part], rest.parts[part]
            yield from _compared(*inner, f"{name}.{part}".removeprefix("."))
        return
    numbers, expected = (
        [values for path, values in leaves(sums) if ".sums" not in path] for sums in (mine, plain)
    )
    if all(map(np.array_equal, numbers, expected)):
        yield name, "equal to the last bit"
        return
    try:
        left = mine - rest
    except ValueError:  # more would be taken out than there is
        yield name, DIFFERS
    else:
        is_empty = not any(values.any() for path, values in leaves(left) if ".sums" not in path)
        yield name, "equal within the bound" if is_empty else DIFFERS
