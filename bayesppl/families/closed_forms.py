r"""Closed forms of families: what follows from the rows of a family and its conjugate pair, whatever the density.

No family defines these. It says what its rows count as (:meth:`~bayesppl.families.Family.rows`) and which prior it
has, and :mod:`bayesppl.conjugate.closed_forms` does the rest; a family made of blocks has the sums over its
blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.conjugate import closed_forms as of_pairs
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.table import Table
from bayesppl.errors import ImproperError
from bayesppl.families.composite import BlockRows, CompositeFamily, prefixed
from bayesppl.families.covariates import NO_COVARIATES, Covariates, covariates_of
from bayesppl.families.family import Evidence, Family
from bayesppl.families.transformed import Transformed
from bayesppl.kernels.arrays import Array, Responsibilities


def sufficient_statistics(family: Family, X: Any, responsibilities: Responsibilities) -> Any:
    """Sum encoded rows into their classes."""
    if isinstance(family, CompositeFamily):
        return JointStatistics(
            {
                block: sufficient_statistics(part, X.parts[block], responsibilities)
                for block, part in family.parts.items()
            }
        )
    if isinstance(family, Transformed):
        found = sufficient_statistics(family.inner, family.transform(X), responsibilities)
        return found.with_base(responsibilities.T @ family.log_base(X)) if family.has_base else found
    if hasattr(family, "sufficient_statistics"):
        return family.sufficient_statistics(X, responsibilities)
    return family.rows(X).sum_rows(responsibilities)


def read_statistics(family: Family, table: Table, responsibilities: Responsibilities) -> Any:
    """Check the rows of a table and sum them."""
    if isinstance(family, CompositeFamily):
        return JointStatistics(
            {
                block: read_statistics(part, part_of_table, responsibilities)
                for (block, part), part_of_table in zip(
                    family.parts.items(), family.bound.tables(table), strict=True
                )
            }
        )
    if hasattr(family, "read_statistics"):
        return family.read_statistics(table, responsibilities)
    return sufficient_statistics(family, family.bound.encode(table), responsibilities)


def tunable(family: Family, prior: Any) -> Mapping[str, tuple[float, float]]:
    """Hyperparameters of a resolved prior that can be tuned, each with bounds of the logarithm of its factor."""
    if isinstance(family, CompositeFamily):
        return {
            f"{block}.{name}": bounds
            for block, part in family.parts.items()
            for name, bounds in tunable(part, prior.parts[block]).items()
        }
    if isinstance(family, Transformed):
        return tunable(family.inner, prior)
    if hasattr(family, "tunable"):
        return family.tunable(prior)
    found: Mapping[str, tuple[float, float]] = prior.tunable
    return found


def log_predictive(family: Family, posterior: Any) -> LogDensity:
    """log p(x | y = k, data), parameters integrated out, as a function of encoded rows x.

    Parameters
    ----------
    family : Family
        Bound to columns and classes.
    posterior : Conjugate
    """
    require_closed_forms(family)
    if isinstance(family, CompositeFamily):
        return _sum_of(
            {block: log_predictive(part, posterior.parts[block]) for block, part in family.parts.items()}
        )
    if isinstance(family, Transformed):
        return family.of_transformed(log_predictive(family.inner, posterior))
    if hasattr(family, "log_predictive"):
        return family.log_predictive(posterior)
    return _of_encoded(family, of_pairs.log_predictive(posterior, len(family.classes)))


def leave_one_out(
    family: Family, posterior: Any, statistics: Any, X: Any, members: Membership
) -> tuple[Array, Array]:
    """Densities of encoded rows, given all data and given all but each row itself.

    See :func:`bayesppl.conjugate.closed_forms.leave_one_out`.
    """
    require_closed_forms(family)
    if isinstance(family, CompositeFamily):
        found = [
            leave_one_out(part, posterior.parts[block], statistics.parts[block], X.parts[block], members)
            for block, part in family.parts.items()
        ]
        return of_pairs.total(fitted for fitted, _ in found), of_pairs.total(without for _, without in found)
    if isinstance(family, Transformed):
        fitted, without = leave_one_out(family.inner, posterior, statistics, family.transform(X), members)
        log_base = family.log_base(X).sum(1, keepdims=True) if family.has_base else 0.0
        return fitted + log_base, without + log_base
    if hasattr(family, "loo_log_predictive"):
        return family.loo_log_predictive(posterior, statistics, X, members)
    return of_pairs.leave_one_out(posterior, statistics, family.rows(X), members, len(family.classes))


def leave_one_out_of_factors(
    family: Family, posterior: Any, statistics: Any, X: Any, members: Membership
) -> Iterator[tuple[Array, Array]]:
    """:func:`leave_one_out` of each factor by itself, in the order of ``family.bound.factors``."""
    if isinstance(family, CompositeFamily):
        for block, part in family.parts.items():
            yield from leave_one_out_of_factors(
                part, posterior.parts[block], statistics.parts[block], X.parts[block], members
            )
        return
    for factor in range(len(family.bound.factors)):
        yield leave_one_out(family, posterior, statistics, family.bound.marginal_rows(X, [factor]), members)


def log_evidence(family: Family, prior: Any, statistics: Any) -> dict[str, Evidence]:
    """log p(X | y) per block of columns (the empty name for a family of one block)."""
    require_closed_forms(family)
    return _labelled(
        (leaf.name, leaf.prefix, _log_evidence(leaf.family, *leaf.values))
        for leaf in _leaves(family, prior, statistics)
    )


def _log_evidence(family: Any, prior: Any, statistics: Any) -> dict[str, Evidence]:
    if hasattr(family, "log_evidence"):
        return family.log_evidence(prior, statistics)
    if not prior.is_proper().all():
        raise ImproperError(
            f"the evidence is undefined under the improper prior of the {family.name} family: a density that does "
            "not integrate to one can be scaled at will. Use a proper prior, for example the default one."
        )
    base = np.asarray(statistics.log_base)
    dims = ("class", "feature")[: base.ndim]
    base = base.sum(tuple(axis for axis, dim in enumerate(dims) if dim not in prior.factor_dims))
    return {"": Evidence(prior.factor_dims, _log_increment(family, prior, statistics) + base)}


def _log_increment(family: Any, prior: Any, statistics: Any) -> Array:
    """Log evidence of every independent factor of the prior, but for log h."""
    if hasattr(family, "log_increment"):
        return family.log_increment(prior, statistics)
    return prior.log_increment(statistics)


def common_prior(family: Family, statistics: Any) -> Any:
    """The prior of one distribution in place of those of the classes, from the statistics of the classes."""
    require_closed_forms(family)
    if isinstance(family, CompositeFamily):
        parts = {block: common_prior(part, statistics.parts[block]) for block, part in family.parts.items()}
        return Joint(parts, {block: f"{block}_" for block in parts})
    if isinstance(family, Transformed):
        return common_prior(family.inner, statistics)
    if hasattr(family, "common_prior"):
        return family.common_prior(statistics)
    return family.resolve_prior(statistics.pooled())


def log_bayes_factor(family: Family, prior: Any, common: Any, statistics: Any) -> dict[str, Evidence]:
    """Log Bayes factor between "one distribution per class" and "one for all", of every factor of columns.

    Parameters
    ----------
    family : Family
    prior, common : Conjugate
        Of the classes, and of the one distribution.
    statistics : Statistics
        Of the classes.
    """
    require_closed_forms(family)
    return _labelled(
        (leaf.name, leaf.prefix, _log_bayes_factor(leaf.family, *leaf.values))
        for leaf in _leaves(family, prior, common, statistics)
    )


def _log_bayes_factor(family: Any, prior: Any, common: Any, statistics: Any) -> dict[str, Evidence]:
    if hasattr(family, "log_dependence"):
        return family.log_dependence(prior, common, statistics)
    _log_evidence(family, prior, statistics)  # refuses a prior under which there is none
    dims = tuple(dim for dim in prior.factor_dims if dim != "class")
    if family.has_fixed_margins:
        return {"": Evidence(dims, prior.log_association(statistics))}
    of_classes, of_all = _log_increment(family, prior, statistics), common.log_increment(statistics.pooled())
    return {"": Evidence(dims, _over_classes(prior, of_classes) - _over_classes(common, of_all))}


def _over_classes(belief: Any, values: Array) -> Array:
    return np.asarray(values.sum(belief.factor_dims.index("class")) if "class" in belief.factor_dims else values)


def inclusion_averaged(family: Family, posterior: Any, common: Any, log_odds: Mapping[str, Array]) -> LogDensity:
    """Average the predictive over which factors depend on the class, up to a term all classes share.

    Parameters
    ----------
    family : Family
    posterior, common : Conjugate
        Beliefs about the classes, and about one distribution for all of them.
    log_odds : mapping of str to array
        That each factor depends on the class; as :func:`log_bayes_factor` names them.
    """
    require_closed_forms(family)
    if isinstance(family, CompositeFamily):
        return _sum_of(
            {
                block: inclusion_averaged(
                    part, posterior.parts[block], common.parts[block], of_pairs.of_part(posterior, block, log_odds)
                )
                for block, part in family.parts.items()
            }
        )
    if isinstance(family, Transformed):
        return family.of_transformed(inclusion_averaged(family.inner, posterior, common, log_odds))
    if hasattr(family, "averaged_predictive"):
        return family.averaged_predictive(posterior, common, log_odds)
    return _of_encoded(family, of_pairs.inclusion_averaged(posterior, common, log_odds, len(family.classes)))


def simulate_predictive(
    family: Family,
    posterior: Any,
    codes: Array,
    rng: np.random.Generator,
    covariates: Covariates = NO_COVARIATES,
) -> Any:
    """Draw one row for each class code, all given one draw of the parameters."""
    if isinstance(family, CompositeFamily):
        return BlockRows(
            {
                block: simulate_predictive(
                    part,
                    posterior.parts[block],
                    codes,
                    rng,
                    covariates_of(f"{block}_", covariates, part.bound.covariate_supports),
                )
                for block, part in family.parts.items()
            }
        )
    if hasattr(family, "simulate_predictive"):
        return family.simulate_predictive(posterior, codes, rng, covariates)
    theta = {name: values[0] for name, values in posterior.draw(1, rng).items()}
    return family.simulate(theta, codes, rng, covariates)


def narrowed(family: Family, posterior: Any, X: Any) -> tuple[Any, Any]:
    """A smaller posterior and rows whose densities have the same joint distribution, where there is one.

    Rows of counts show few words of a large vocabulary: the probabilities of the others matter by their sum only.
    """
    if isinstance(family, CompositeFamily):
        parts = {
            block: narrowed(part, posterior.parts[block], X.parts[block]) for block, part in family.parts.items()
        }
        beliefs = {block: belief for block, (belief, _) in parts.items()}
        return replace(posterior, parts=beliefs), BlockRows({block: rows for block, (_, rows) in parts.items()})
    if hasattr(family, "narrowed"):
        return family.narrowed(posterior, X)
    return posterior, X


def require_closed_forms(family: Family) -> None:
    """Refuse a family some part of which has no conjugate prior."""
    if isinstance(family, CompositeFamily):
        for part in family.parts.values():
            require_closed_forms(part)
    elif isinstance(family, Transformed):
        require_closed_forms(family.inner)
    elif not family.has_closed_forms:
        raise family._no_closed_form()


def _of_encoded(family: Family, density: LogDensity) -> LogDensity:
    """A density of encoded rows, from that of the rows as they count."""
    return LogDensity(lambda X: density(family.rows(X)), lambda X: density.kernel(family.rows(X)))


_sum_of = of_pairs.sum_of_parts


class _Leaf(NamedTuple):
    """A family that is not made of blocks, with its block, the prefix of its names, and what belongs to it."""

    name: str
    prefix: str
    family: Family
    values: Sequence[Any]


def _leaves(family: Family, *values: Any, name: str = "", prefix: str = "") -> Iterator[_Leaf]:
    if isinstance(family, Transformed):
        yield from _leaves(family.inner, *values, name=name, prefix=prefix)
        return
    if not isinstance(family, CompositeFamily):
        yield _Leaf(name, prefix, family, values)
        return
    for block, part in family.parts.items():
        parts = (value.parts[block] for value in values)
        yield from _leaves(part, *parts, name=prefix + block, prefix=f"{prefix}{block}_")


def _labelled(evidences: Iterator[tuple[str, str, dict[str, Evidence]]]) -> dict[str, Evidence]:
    """Evidences of all blocks, from those of each with its name and prefix."""
    return {
        prefix + inner if inner else name: Evidence(prefixed(part.dims, prefix), part.values)
        for name, prefix, parts in evidences
        for inner, part in parts.items()
    }
