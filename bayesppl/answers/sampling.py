"""New labelled rows from a fitted model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesppl.data.labels import encode_labels
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import TABLE, RuleName, check_rule

# Under the predictive rule every row has parameters of its own, up to this many rows; more rows share them at random.
MOST_THETAS = 1000


def sample(
    fitted: Fitted, n: int, y: Any = None, rule: RuleName | None = None, random_state: int | None = None
) -> tuple[Any, Array]:
    """Draw labelled rows from p(y, x).

    Parameters
    ----------
    fitted : Fitted
    n : int
        Number of rows.
    y : label or (n,) labels, optional
        Classes of the rows; drawn from the class weights by default.
    rule : {"predictive", "mle", "map", "mean"}, optional
        ``predictive`` draws parameters from the posterior first, for every row anew, so that each row has density
        p(y, x | D); the others draw all rows given one estimate.
    random_state : int, optional

    Returns
    -------
    X : pandas.DataFrame, or (n, n_features) array where the fit had no column names
        A level of a category that was not seen in training is "(unseen)".
    y : (n,)
        Labels.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], list("aabb"))
    >>> X, y = clf.sample(3, y="b", random_state=0)
    >>> X.shape, y.tolist()
    ((3, 1), ['b', 'b', 'b'])
    """
    rule = fitted.rule if rule is None else rule
    check_rule(rule)
    if n < 1:
        raise ValueError(f"n must be at least 1, found {n}")
    posterior, rng = fitted.posterior, np.random.default_rng(random_state)
    given = None if y is None else encode_labels(np.broadcast_to(np.asarray(y), n), fitted.classes)[1]
    codes = np.empty(n, dtype=np.intp)
    columns: dict[Any, Array] = {}
    family = posterior.model.family
    for theta, rows in _thetas(posterior, n, rule, rng):
        weights = theta[CLASS_WEIGHTS]
        codes[rows] = rng.choice(len(weights), size=len(rows), p=weights) if given is None else given[rows]
        for name, values in family.decode(family.simulate(theta, codes[rows], rng)).items():
            columns.setdefault(name, np.empty(n, dtype=values.dtype))[rows] = values
    drawn = [columns[name] for name in fitted.columns.names]
    if not fitted.columns.are_named:
        return np.column_stack(drawn), fitted.classes[codes]
    import pandas as pd

    return pd.DataFrame(dict(zip(fitted.columns.names, drawn, strict=True))), fitted.classes[codes]


def _thetas(
    posterior: Posterior, n: int, rule: RuleName, rng: np.random.Generator
) -> Iterator[tuple[Theta, Array]]:
    """Parameters, and the rows to draw with them."""
    if TABLE[rule].is_plug_in:
        yield posterior.theta(rule), np.arange(n)
        return
    draws = posterior.draws(1, min(n, MOST_THETAS), rng)
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in draws.items()}
    n_draws = len(flat[CLASS_WEIGHTS])
    of_row = rng.permutation(np.arange(n) % n_draws) if n_draws <= n else rng.choice(n_draws, n, replace=False)
    order = np.argsort(of_row, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(of_row[order])) + 1):
        yield {name: values[of_row[rows[0]]] for name, values in flat.items()}, rows
