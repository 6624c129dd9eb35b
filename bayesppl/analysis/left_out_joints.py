"""Log joints of rows and of their factors, each predicted from all other rows.

Rules that plug in an estimate need that of all rows but one, for every row. An estimate is a function of the
sufficient statistics, which :mod:`bayesppl.conjugate.sums_of_others` adds up for every family alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from bayesppl.conjugate.membership import Groups, Membership
from bayesppl.conjugate.statistics import Counts, JointStatistics
from bayesppl.conjugate.sums_of_others import sums_of_others
from bayesppl.data.labels import one_hot
from bayesppl.errors import (
    ImproperError,
    ImproperRowError,
    NotConjugateError,
    UndefinedEstimateError,
    UndefinedRowError,
)
from bayesppl.families import closed_forms
from bayesppl.kernels.arrays import Array, Theta, logarithm
from bayesppl.kernels.ranges import RANGE_CELLS, cells_per_row, in_order, row_ranges
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Exact, Expected, Posterior
from bayesppl.model.rules import TABLE, RuleName

_CELLS_PER_NUMBER = 2


def require_exact(fitted: Fitted, purpose: str) -> Exact:
    """Return the posterior where it and those with other rows are in closed form, and refuse any other.

    Raises
    ------
    NotConjugateError
    """
    posterior = fitted.posterior
    if not (isinstance(posterior, Exact) and isinstance(posterior.model, GenerativeModel)):
        raise NotConjugateError(
            f"{purpose} a posterior in closed form, with and without each row, which this model has not. It takes "
            "a family that has one (no mixture, no t or von Mises density), conjugate priors, "
            "inference='closed_form', labels that are all there and taken for right (label_noise=None), and all "
            "cells where columns are correlated; a model written in PyMC is solved so wherever its priors allow"
        )
    return posterior


class Joints(NamedTuple):
    """Log joints of class and what is seen of the rows.

    Attributes
    ----------
    without : (n_rows, n_classes)
        From the other rows.
    class_weights, log_class_weights : (n_rows, n_classes)
        Those in it, and their logarithms.
    fitted : (n_rows, n_classes)
        From all rows.
    fitted_weights : (n_classes,)
        Those in it.
    """

    without: Array
    class_weights: Array
    log_class_weights: Array
    fitted: Array
    fitted_weights: Array


def row_joints(
    posterior: Posterior, X: Any, codes: Array, weights: Array, rule: RuleName, some: Array | None = None
) -> Joints:
    """Compute log p(x_i, y = k) of whole rows, from the others and from all.

    Parameters
    ----------
    posterior : Posterior
        Of these rows and no others.
    X : encoded rows
    codes, weights : (n_rows,)
    rule : {"predictive", "mle", "map", "mean"}
    some : array of int, optional
        Places of the rows that are predicted; all by default.

    Raises
    ------
    NotConjugateError
        If there is no closed form, or its sums hold rows that were completed by draws.
    """
    _require_sums_of_rows(posterior, codes, weights)
    # what is derived from the posterior alone is derived for every range: it should cost little beside the rows
    cells = max(RANGE_CELLS, _CELLS_PER_NUMBER * posterior.statistics.n_numbers)
    n_rows = len(codes) if some is None else len(some)
    width, is_plug_in = max(cells_per_row(X), posterior.model.n_classes), TABLE[rule].is_plug_in
    # estimates without each row are taken in one go
    ranges = [slice(0, n_rows)] if is_plug_in else row_ranges(n_rows, width, cells)

    def joints(rows: slice) -> Joints:
        places = rows if some is None else some[rows]
        return next(_FIND[is_plug_in](posterior, X, codes, weights, rule, places, by_factor=False))

    return _put_together(in_order(joints, ranges, None), ranges)


def _put_together(parts: Iterator[Joints], ranges: Sequence[slice]) -> Joints:
    """Put the joints of ranges of rows into those of all rows: no temporary grows with the rows."""
    first = next(parts)
    if len(ranges) == 1:
        return first
    without, class_weights, log_class_weights, fitted = (
        np.empty((first.fitted.shape[1], ranges[-1].stop)).T for _ in range(4)
    )
    for rows, part in zip(ranges, chain([first], parts), strict=True):
        without[rows], class_weights[rows], log_class_weights[rows], fitted[rows], _ = part
    return Joints(without, class_weights, log_class_weights, fitted, first.fitted_weights)


def factor_joints(
    posterior: Posterior, X: Any, codes: Array, weights: Array, rule: RuleName, some: Array | None = None
) -> Iterator[Joints]:
    """Yield :func:`row_joints` of rows of which one factor is seen, for every factor of the family in order.

    Of the predictive one factor after the other is at hand; rules that plug in an estimate take it once, and those
    of all factors are held.

    Parameters
    ----------
    some : array of int, optional
        Places of the rows that are predicted; all by default.
    """
    _require_sums_of_rows(posterior, codes, weights)
    places = slice(0, len(codes)) if some is None else some
    return _FIND[TABLE[rule].is_plug_in](posterior, X, codes, weights, rule, places, by_factor=True)


def _require_sums_of_rows(posterior: Posterior, codes: Array, weights: Array) -> None:
    """Refuse sums that hold more than these rows, of a posterior that is known by draws."""
    counts = np.bincount(codes, weights, posterior.model.n_classes)
    if not posterior.is_exact and not np.allclose(counts, posterior.statistics.parts[CLASS_WEIGHTS].counts):
        raise NotConjugateError("rows that are known only in part were learned from too, by draws")


def _with_completed(posterior: Posterior, others: JointStatistics) -> JointStatistics:
    """Add the sums of rows that EM has completed, which stay where others are left out."""
    return others + posterior.completed if isinstance(posterior, Expected) else others


def density_of(log_joint: Array, log_weights: Array) -> Array:
    """Compute log p(x | y = k) from log p(x, y = k) and log p(y = k)."""
    impossible = np.isneginf(log_weights)
    return np.where(impossible, -np.inf, log_joint - np.where(impossible, 0.0, log_weights))


def _plug_in(
    posterior: Posterior, X: Any, codes: Array, weights: Array, rule: RuleName, places: Any, *, by_factor: bool
) -> Iterator[Joints]:
    """Estimate the parameters from all rows but one, for every row."""
    model, views, X = posterior.model, _views(posterior, by_factor), X[:]
    shape = len(codes), model.n_classes

    def take(some: slice) -> JointStatistics:
        return model.statistics(X[some], one_hot(codes[some], model.n_classes, weights[some]))

    of_all = _estimate(posterior, posterior.statistics, rule)
    joints, class_weights = np.empty((len(views), *shape)), np.empty(shape)
    for row, others in sums_of_others(take, len(codes)):
        try:
            theta = _estimate(posterior, _with_completed(posterior, others), rule)
        except (UndefinedEstimateError, ImproperError) as error:
            label = model.classes[codes[row]]
            kind = ImproperRowError if isinstance(error, ImproperError) else UndefinedRowError
            raise kind(
                "without row ", row, f", of class {label!r}, there is no estimate for rule={rule!r}: {error}"
            ) from None
        density = model.log_joint(theta)
        for seen, view in zip(joints, views, strict=True):
            seen[row] = density(model.family.bound.marginal_rows(X[row : row + 1], view))[0]
        class_weights[row] = theta[CLASS_WEIGHTS]
    class_weights, density = class_weights[places], model.log_joint(of_all)
    log_weights = logarithm(class_weights)
    for log_joint, view in zip(joints, views, strict=True):
        fitted = density(model.family.bound.marginal_rows(X[places], view))
        yield Joints(log_joint[places], class_weights, log_weights, fitted, of_all[CLASS_WEIGHTS])


def _predictive(
    posterior: Posterior, X: Any, codes: Array, weights: Array, rule: RuleName, places: Any, *, by_factor: bool
) -> Iterator[Joints]:
    model, views = posterior.model, _views(posterior, by_factor)
    members = Membership(codes[places].astype(np.intp), weights[places])
    belief, statistics = posterior.prior.update(posterior.statistics), posterior.statistics.parts["features"]
    labels, features = belief.parts[CLASS_WEIGHTS], belief.parts["features"]
    others = posterior.statistics.parts[CLASS_WEIGHTS].counts[members.codes] - members.weights
    fitted_weights, class_weights, log_weights = labels_without(labels, members, model.n_classes)
    log_fitted_weights = logarithm(fitted_weights)
    data = (model.family, features, statistics, X[places], members)
    found = (
        closed_forms.leave_one_out_of_factors(*data) if by_factor else iter([closed_forms.leave_one_out(*data)])
    )
    for (fitted, log_joint), view in zip(found, views, strict=True):
        # A row that makes up all but a share r of its class's sum of squares, from n other rows, is less probable
        # without itself by a factor of at least r^(n/2): where the log density falls by less than 8 n, r is above
        # e^-16, and some nine digits are left. Hardly a row falls that far, except outliers of enormous leverage
        # and rows that stand (almost) alone.
        # Counts are whole: what is left of them has all its digits.
        gap = members.own(fitted) - members.own(log_joint)
        most = np.inf if isinstance(statistics, Counts) else 8 * others
        for at in np.flatnonzero(~(np.isfinite(gap) & (gap < most))):
            log_joint[at] = _predict_from_others(posterior, X, codes, weights, int(np.r_[places][at]), view)
        fitted += log_fitted_weights
        log_joint += log_weights
        yield Joints(log_joint, class_weights, log_weights, fitted, fitted_weights)


def labels_without(labels: Any, members: Membership, n_classes: int) -> tuple[Array, Array, Array]:
    """Compute class weights given all rows, (n_classes,), and given all but each: (n_rows, n_classes).

    The latter come with their logarithm.
    """
    # once a row of each group is taken out: (n_groups, n_classes)
    own = members.groups.classes[:, None] == np.arange(n_classes)
    removed = np.where(own, -members.groups.weights[:, None], 0.0)
    left = labels.update(Counts(removed, np.zeros(()))).mean()[CLASS_WEIGHTS]
    by_group = np.broadcast_to(left, removed.shape)
    # a group that has no rows may weigh more than its class
    with np.errstate(divide="ignore", invalid="ignore"):
        log_by_group = np.log(by_group)
    return labels.mean()[CLASS_WEIGHTS], _of_rows(by_group, members.groups), _of_rows(log_by_group, members.groups)


_FIND = {True: _plug_in, False: _predictive}


def _views(posterior: Posterior, by_factor: bool) -> list[list[int]]:
    """List the factors that are seen together: one at a time, or all at once."""
    everything = range(len(posterior.model.family.bound.factors))
    return [[factor] for factor in everything] if by_factor else [list(everything)]


def _of_rows(values: Array, groups: Groups) -> Array:
    """Spread values of groups, (n_groups, n_classes), over their rows; a class after the other in memory."""
    return values.T.take(groups.of_rows, axis=1).T


def _predict_from_others(
    posterior: Posterior, X: Any, codes: Array, weights: Array, row: int, view: Sequence[int]
) -> Array:
    """Compute log p(x | y = k) of what is seen of one row, from sums of all others taken anew: (n_classes,)."""
    family, prior = posterior.model.family, posterior.prior.parts["features"]
    kept = weights.copy()
    kept[row] = 0.0
    others = posterior.model.statistics(X, one_hot(codes, posterior.model.n_classes, kept))
    others = _with_completed(posterior, others)
    belief = closed_forms.rebuilt(prior, others.parts["features"]).update(others.parts["features"])
    if not belief.is_proper().all():
        raise ImproperRowError(
            "without row ",
            row,
            " the posterior of its class is improper: under an improper prior every class must keep enough rows, "
            "whose columns vary and do not copy each other, when one is left out. Use a proper prior, or add "
            "rows.",
        )
    return np.asarray(closed_forms.log_predictive(family, belief)(family.bound.marginal_rows(X[[row]], view))[0])


def _estimate(posterior: Posterior, statistics: JointStatistics, rule: RuleName) -> Theta:
    """Estimate the parameters from these statistics, in closed form, under the prior of ``posterior``."""
    belief = closed_forms.rebuilt(posterior.prior, statistics).update(statistics)
    if not belief.is_proper().all() and rule != "mle":
        raise ImproperError(
            "under an improper prior the posterior of some class is improper; use a proper prior, or add rows"
        )
    return Exact(posterior.model, statistics, posterior.prior, belief).theta(rule)
