r"""Closed forms of a conjugate pair, from a prior and the statistics of rows, for any density.

With the normaliser Z of prior and posterior, and the base measure h of the rows (Bernardo & Smith 1994),

.. math:: p(X) = \frac{Z(D)}{Z(\varnothing)} \prod_i h(x_i), \qquad
   p(x \mid D) = \frac{Z(D, x)}{Z(D)} h(x), \qquad
   p(x_i \mid D_{-i}) = \frac{Z(D)}{Z(D_{-i})} h(x_i),

each of them what :meth:`~bayesppl.conjugate.Conjugate.log_increment` adds. Where a kind of rows has a quicker
formula, it stands in :mod:`bayesppl.conjugate.fast_paths`, and the functions here take it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from scipy.special import log_expit

from bayesppl.conjugate.fast_paths import FAST_PATHS
from bayesppl.conjugate.joint import Joint
from bayesppl.conjugate.log_density import LogDensity, over_alternatives
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.row_statistics import (
    JointRows,
    RowStatistics,
    RowsWithBase,
    SingleRows,
    about_class,
    forget,
    in_blocks,
    log_evidence_of,
    per_row,
)
from bayesppl.kernels.arrays import Array


def log_predictive(posterior: Any, n_classes: int) -> LogDensity:
    """Return log p(x | y = k, data) as a function of :class:`~bayesppl.conjugate.row_statistics.RowStatistics`."""
    if isinstance(posterior, Joint):
        parts = {name: log_predictive(part, n_classes) for name, part in posterior.parts.items()}
        return sum_of_parts(parts).map(over_alternatives)
    # so that a posterior without closed form is refused before any row comes
    posterior.select_classes(np.arange(0))
    return by_kind(lambda kind: _log_predictive_of(kind, posterior, n_classes))


def _log_predictive_of(kind: type[RowStatistics], posterior: Any, n_classes: int) -> LogDensity:
    path = FAST_PATHS.get((type(posterior), kind))
    return generic_log_predictive(posterior, n_classes) if path is None else path.log_predictive(posterior)


def generic_log_predictive(posterior: Any, n_classes: int) -> LogDensity:
    """Return :func:`log_predictive` from nothing but ``select_classes`` and ``log_increment``."""
    of_classes = [posterior.select_classes(np.asarray([k])) for k in range(n_classes)]

    def log_mass(statistics: Any) -> Array:
        return np.stack([per_row(belief.log_increment(statistics)) for belief in of_classes], axis=-1)

    return in_blocks(log_mass, lambda statistics: per_row(statistics.log_base), (n_classes,))


def leave_one_out(
    posterior: Any, statistics: Any, rows: RowStatistics, members: Membership, n_classes: int
) -> tuple[Array, Array]:
    """Return log p(x_i | y = k, ·) of rows of the data, given all data and given all but row i itself.

    Parameters
    ----------
    posterior : Conjugate
        Of all rows, these among them.
    statistics : Statistics
        Of all rows.
    rows : RowStatistics
        All, or some of them.
    members : Membership
        The class and the weight with which each row entered the posterior.

    Returns
    -------
    with_row : (n_rows, n_classes)
        As :func:`log_predictive`.
    without_row : (n_rows, n_classes)
        Not finite where the posterior without the row is improper, or where rounding leaves nothing of it.
    """
    if isinstance(rows, JointRows):
        found = [
            leave_one_out(posterior.parts[name], statistics.parts[name], part, members, n_classes)
            for name, part in rows.parts.items()
        ]
        return total(fitted for fitted, _ in found), total(without for _, without in found)
    if isinstance(rows, RowsWithBase):
        log_base = rows.log_base.sum(1, keepdims=True)
        fitted, without = leave_one_out(posterior, statistics, rows.rows, members, n_classes)
        return fitted + log_base, without + log_base
    path = FAST_PATHS.get((type(posterior), type(rows)))
    both = None if path is None else path.leave_one_out(posterior, statistics, rows, members)
    if both is not None:
        return both
    fitted = log_predictive(posterior, n_classes)(rows)
    if posterior.shared_by_classes:
        return fitted, every_class_without(posterior, rows, members, n_classes)
    return fitted, members.replaced(fitted, own_class_without(posterior, rows, members))


def own_class_without(posterior: Any, rows: Any, members: Membership) -> Array:
    """Compute log p(x_i | y_i, all data but row i): all that a row changes where classes share no parameter.

    A row is taken out of a conjugate posterior as it was added, by arithmetic on the hyperparameters. All rows are
    taken out at once: each becomes a class of its own, with the belief of the class it came from.

    Returns
    -------
    (n_rows,)
    """
    own = np.empty(len(rows))
    for block, statistics in rows.blocks():
        remaining = forget(posterior, statistics, members[block])
        own[block] = per_row(log_evidence_of(remaining, statistics))
    return own


def every_class_without(posterior: Any, rows: Any, members: Membership, n_classes: int) -> Array:
    """Compute log p(x_i | y = k, all data but row i) where a row changes what the classes share.

    Returns
    -------
    (n_rows, n_classes)
    """
    out = np.empty((len(rows), n_classes))
    for block, statistics in rows.blocks():
        remaining = forget(posterior, statistics, members[block])
        for k in range(n_classes):
            belief = about_class(k, posterior, remaining, members.codes[block])
            out[block, k] = per_row(log_evidence_of(belief, statistics))
    return out


def inclusion_averaged(posterior: Any, common: Any, log_odds: Mapping[str, Array], n_classes: int) -> LogDensity:
    """Average the predictive over which factors depend on the class, up to a term all classes share.

    Parameters
    ----------
    posterior, common : Conjugate
        Beliefs about the classes, and about one distribution for all of them.
    log_odds : mapping of str to array
        That each factor depends on the class, under the names of
        :func:`bayesppl.families.closed_forms.log_bayes_factor`.
    """
    if isinstance(posterior, Joint):
        parts = {
            name: inclusion_averaged(part, common.parts[name], _of_part(posterior, name, log_odds), n_classes)
            for name, part in posterior.parts.items()
        }
        return sum_of_parts(parts).map(over_alternatives)
    beliefs = posterior, common, np.asarray(log_odds[""])

    def of_kind(kind: type[RowStatistics]) -> LogDensity:
        path = FAST_PATHS.get((type(posterior), kind))
        make = None if path is None else path.inclusion_averaged
        return generic_average(*beliefs, n_classes) if make is None else make(*beliefs)

    return by_kind(of_kind)


def generic_average(posterior: Any, common: Any, log_odds: Array, n_classes: int) -> LogDensity:
    """Mix two predictives for every factor, with one weight for all columns or one for each."""
    relevant, irrelevant = log_expit(log_odds), log_expit(-log_odds)
    of_classes = [posterior.select_classes(np.asarray([k])) for k in range(n_classes)]
    of_all = common.select_classes(np.asarray([0]))

    def evaluate(rows: SingleRows) -> Array:
        out = np.empty((len(rows), n_classes))
        for block, statistics in rows.blocks():
            alike = irrelevant + log_evidence_of(of_all, statistics)
            for k, belief in enumerate(of_classes):
                out[block, k] = per_row(np.logaddexp(relevant + log_evidence_of(belief, statistics), alike))
        return out

    return LogDensity(evaluate)


def _of_part(joint: Joint, name: str, values: Mapping[str, Array]) -> dict[str, Array]:
    """Select what belongs to one part, under the names it has for its own factors."""
    prefix = joint.prefixes[name]
    inner = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
    return {**inner, **({"": values[name]} if name in values else {})}


def sum_of_parts(densities: Mapping[str, LogDensity]) -> LogDensity:
    """Add the log densities of the independent parts of rows."""
    return LogDensity(
        lambda rows: total(density(rows.parts[name]) for name, density in densities.items()),
        lambda rows: total(density.kernel(rows.parts[name]) for name, density in densities.items()),
    )


def by_kind(make: Callable[[Any], LogDensity]) -> LogDensity:
    """Return a density that is prepared for each kind of rows when the first of that kind come."""
    made: Callable[[Any], LogDensity] = cache(make)

    def evaluate(rows: Any) -> Array:
        if isinstance(rows, RowsWithBase):
            return evaluate(rows.rows) + rows.log_base.sum(1, keepdims=True)
        return made(type(rows))(rows)

    def kernel(rows: Any) -> Array:
        return kernel(rows.rows) if isinstance(rows, RowsWithBase) else made(type(rows)).kernel(rows)

    return LogDensity(evaluate, kernel)


def total(terms: Iterable[Array]) -> Array:
    """Sum arrays, overwriting the first."""
    first, *others = terms
    for term in others:
        first += term
    return first
