"""New labelled rows, drawn from a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from bayesppl.analysis.draws import thetas
from bayesppl.data.arguments import generator, whole
from bayesppl.data.labels import codes_among
from bayesppl.families import Family, closed_forms
from bayesppl.families.block_rows import stack_rows
from bayesppl.families.covariates import NO_COVARIATES, Covariates, check_covariates, example_of, of_rows
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Exact, Posterior
from bayesppl.model.rules import TABLE, RuleName, check_rule
from bayesppl.model.training_rows import training_rows

# Under the predictive rule every row has parameters of its own, up to this many rows; more rows share them at
# random.
MOST_THETAS = 1000

# Times, at most, that cells of unseen levels are drawn again with all columns that they depend on, and then alone.
_REDRAWN_TOGETHER, _REDRAWN = 5, 100

# Places, at least, that rows are taken from where none of their own is possible.
_PLACES = 16


def sample(
    fitted: Fitted,
    n: int,
    y: Any = None,
    rule: RuleName | None = None,
    random_state: int | None = None,
    covariates: Mapping[str, Any] | None = None,
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
        ``predictive`` draws parameters from the posterior first, so that each row has density p(y, x | D): for
        every row anew, or a thousand times, if there are more rows. Rows of one draw are not independent of each
        other, so that averages over more rows come no closer to those of p(y, x | D) than averages over a thousand
        draws. The other rules draw all rows given one estimate.
    random_state : int, optional
    covariates : mapping of str to number or (n,) array, optional
        What rows are simulated given: the ``"trials"`` of :class:`~bayesppl.Binomial` rows and the ``"exposure"``
        of :class:`~bayesppl.Poisson` rows, where columns hold them, and the ``"total"`` of
        :class:`~bayesppl.Multinomial` rows; those of a block of :class:`~bayesppl.Product` after its name, as in
        ``"words_total"``. By default those of rows of the fit, drawn at random by their weights, whatever the
        class.

    Returns
    -------
    X : pandas.DataFrame, or (n, n_features) array where the fit had no column names
        A level of a category that was not seen in training is "(unseen)"; truth values are 0 and 1.
    y : (n,)
        Labels.

    Raises
    ------
    ValueError
        If covariates are needed, not given, and the rows of the fit are not held any more (after ``partial_fit``
        or loading); for labels that are no class of the fit.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], list("aabb"))
    >>> X, y = clf.sample(3, y="b", random_state=0)
    >>> X.shape, y.tolist()
    ((3, 1), ['b', 'b', 'b'])
    >>> clf = bp.MultinomialNB().fit([[3, 1], [0, 5]], ["a", "b"])
    >>> X, y = clf.sample(2, random_state=0, covariates={"total": [10, 100]})
    >>> X.sum(axis=1).tolist()
    [10, 100]
    """
    rule = fitted.rule if rule is None else rule
    check_rule(rule)
    whole("n", n, 1)
    fitted.require_columns("sample()")
    posterior, rng = fitted.posterior, generator(random_state)
    labels = np.asarray(y)
    if labels.shape not in ((), (n,)):
        raise ValueError(f"y must be one label, or n={n} of them, found {labels.size}")
    given = None if y is None else codes_among(np.broadcast_to(labels, n), fitted.classes)
    codes = np.empty(n, dtype=np.intp)
    parts: list[Any] = []
    family = posterior.model.family
    of_row = covariates_for(fitted, covariates, n, rng)()
    # rows that share parameters, and these
    if TABLE[rule].is_plug_in:
        groups, drawn_with = [np.arange(n)], iter([posterior.theta(rule)])
    else:
        groups = np.array_split(rng.permutation(n), min(n, MOST_THETAS))
        drawn_with = thetas(posterior, len(groups), rng)
    for theta, rows in zip(drawn_with, groups, strict=True):
        weights = theta[CLASS_WEIGHTS]
        codes[rows] = rng.choice(len(weights), size=len(rows), p=weights) if given is None else given[rows]
        parts.append(family.simulate(theta, codes[rows], rng, of_rows(of_row, rows)))
    columns = family.bound.decode(stack_rows(parts)[np.argsort(np.concatenate(groups))])
    drawn = [columns[name] for name in fitted.columns.names]
    if not fitted.columns.are_named:
        return np.column_stack(drawn), fitted.classes[codes]
    import pandas as pd

    return pd.DataFrame(dict(zip(fitted.columns.names, drawn, strict=True))), fitted.classes[codes]


def simulate_lots(
    posterior: Posterior, n_lots: int, size: int, covariates: Covariates, rng: np.random.Generator
) -> Iterator[Any]:
    """Draw rows from the posterior predictive in lots: one class and one draw of the parameters for each.

    Corresponding rows of the lots are independent of each other where the posterior is exact, rows of one lot are
    not. Cells of levels that no table can hold are drawn again.
    """
    family = posterior.model.family
    if isinstance(posterior, Exact):
        belief, weights = posterior.belief.parts["features"], posterior.predictive_weights()
        simulate = partial(closed_forms.simulate_predictive, family, belief)
        for code in rng.choice(len(weights), size=n_lots, p=weights):
            yield _of_seen_levels(family, simulate, np.full(size, code), covariates, rng)
    else:
        for theta in thetas(posterior, n_lots, rng):
            code = rng.choice(posterior.model.n_classes, p=theta[CLASS_WEIGHTS])
            yield _of_seen_levels(family, partial(family.simulate, theta), np.full(size, code), covariates, rng)


def _of_seen_levels(
    family: Family, simulate: Callable[..., Any], codes: Array, covariates: Covariates, rng: np.random.Generator
) -> Any:
    """Simulate rows of a class, and draw cells of unseen levels again, with all columns that they depend on.

    Where that dries up, as of many columns that depend on each other, such rows are those of other places; where
    none is possible, cells are drawn again alone.
    """
    bound, rows = family.bound, simulate(codes, rng, covariates)
    if bound.are_possible(rows).all():
        return rows
    are_alike = not bound.covariate_supports
    all_codes = codes[:1].repeat(max(len(codes), _PLACES if are_alike else 0))
    places = np.arange(len(all_codes))
    if len(places) > len(codes):
        rows = stack_rows([rows, simulate(all_codes[len(codes) :], rng, covariates)])
    shifts = places[1:_REDRAWN].tolist() if are_alike else ()
    for shift in (*[0] * _REDRAWN_TOGETHER, *shifts, *[None] * _REDRAWN):
        if bound.are_possible(rows).all():
            break
        others = rows[np.roll(places, shift)] if shift else simulate(all_codes, rng, covariates)
        rows = bound.with_seen(rows, others, apart=shift is None)
    return rows[: len(codes)]


def covariates_for(
    fitted: Fitted, given: Mapping[str, Any] | None, size: int, rng: np.random.Generator
) -> Callable[[], Covariates]:
    """Return a source of covariates of ``size`` rows: those given, or those of random rows of the fit, by weight.

    Raises
    ------
    ValueError
        If the model needs covariates, none are given, and the rows of the fit are not held any more; or if those
        given do not fit the model.
    """
    family = fitted.model.family
    supports = family.bound.covariate_supports
    if given is not None:
        checked = check_covariates(given, supports, size)
        return lambda: checked
    if not supports:
        return lambda: NO_COVARIATES
    rows = training_rows(fitted)
    if rows is None:
        raise ValueError(
            f"rows of this model are simulated given their {', '.join(supports)}, and the rows of the fit are not "
            f"held any more (after partial_fit or loading they never are); pass {example_of(supports)}"
        )
    table, weights = rows.whole
    of_fit, share = family.bound.covariates(family.bound.encode(table)), weights / weights.sum()
    return lambda: of_rows(of_fit, rng.choice(len(share), size=size, p=share))
