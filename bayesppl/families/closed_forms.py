r"""Closed forms of families: what follows from the rows of a family and its conjugate pair, whatever the density.

No family defines these. It says what its rows count as (:meth:`~bayesppl.families.Family.rows`) and which prior it
has, and :mod:`bayesppl.conjugate.pair_forms` does the rest; a family made of blocks has rows and a prior made of
blocks. Where a kind of family reads or draws rows in a quicker way, it registers that here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.conjugate import pair_forms as of_pairs
from bayesppl.conjugate.conjugate import ShapeError, replace_unchecked
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.sparse_means import SparseMeans
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.table import Table
from bayesppl.errors import ImproperError, NotConjugateError
from bayesppl.families.block_rows import BlockRows
from bayesppl.families.components import COMPONENT, COMPONENT_WEIGHT, component_labels
from bayesppl.families.composite import CompositeFamily, prefixed
from bayesppl.families.covariates import NO_COVARIATES, Covariates, covariates_of
from bayesppl.families.family import ConjugateFamily, Evidence, Family
from bayesppl.families.mixture import Mixture
from bayesppl.families.transformed import Wrapping
from bayesppl.kernels.arrays import Array, Responsibilities, select_draws


def with_classes(family: Family, classes: Sequence[Any]) -> Family:
    """Return a bound family for other classes; columns, and what was learned of them, stay."""
    if isinstance(family, CompositeFamily):
        blocks = (family.blocks or {}).items()
        return replace(family, blocks={name: (at, with_classes(part, classes)) for name, (at, part) in blocks})
    if isinstance(family, Wrapping):
        return replace(family, inner=with_classes(family.inner, classes))
    if isinstance(family, Mixture):
        within = with_classes(family.inner, component_labels(classes, family.components))
        return replace(family, inner=within, classes=tuple(classes))
    changed: Any = family
    return replace(changed, classes=tuple(classes))


def sufficient_statistics(family: Family, X: Any, responsibilities: Responsibilities) -> Any:
    """Sum encoded rows into their classes."""
    return family.rows(X).sum_rows(responsibilities)


@singledispatch
def read_statistics(family: Family, table: Table, responsibilities: Responsibilities) -> Any:
    """Check the rows of a table and sum them."""
    return sufficient_statistics(family, family.bound.encode(table), responsibilities)


@read_statistics.register(CompositeFamily)
def _(family: CompositeFamily, table: Table, responsibilities: Responsibilities) -> JointStatistics:
    return JointStatistics(
        {block: read_statistics(part, table, responsibilities) for block, part in family.parts.items()}
    )


def log_predictive(family: Family, posterior: Any) -> LogDensity:
    """Return log p(x | y = k, data), parameters integrated out, as a function of encoded rows x.

    Parameters
    ----------
    family : Family
        Bound to columns and classes.
    posterior : Conjugate
        Of a mixture, given rows whose components were completed.
    """
    if isinstance(family, Mixture):
        weights = posterior.parts[COMPONENT_WEIGHT].mean()[COMPONENT_WEIGHT]
        return family.over_components(log_predictive(family.inner, posterior.parts[COMPONENT]), weights)
    return of_pairs.log_predictive(posterior, _n_classes(family)).of(family.rows)


def leave_one_out(
    family: Family, posterior: Any, statistics: Any, X: Any, members: Membership
) -> tuple[Array, Array]:
    """Return log densities of encoded rows, given all data and given all but each row itself.

    See :func:`bayesppl.conjugate.pair_forms.leave_one_out`.
    """
    return of_pairs.leave_one_out(posterior, statistics, family.rows(X), members, _n_classes(family))


def leave_one_out_of_factors(
    family: Family, posterior: Any, statistics: Any, X: Any, members: Membership
) -> Iterator[tuple[Array, Array]]:
    """Yield :func:`leave_one_out` of each factor by itself, in the order of ``family.bound.factors``."""
    if isinstance(family, CompositeFamily):
        for block, part in family.parts.items():
            yield from leave_one_out_of_factors(
                part, posterior.parts[block], statistics.parts[block], X.parts[block], members
            )
        return
    for factor in range(len(family.bound.factors)):
        yield leave_one_out(family, posterior, statistics, family.bound.marginal_rows(X, [factor]), members)


def log_evidence(family: Family, prior: Any, statistics: Any) -> dict[str, Evidence]:
    """Return log p(X | y) per block of columns (under the empty name for a family of one block)."""
    return {
        prefix[:-1]: Evidence(prefixed(of_part.factor_dims, prefix), _log_evidence(part, of_part, sums))
        for prefix, part, (of_part, sums) in _leaves(family, prior, statistics)
    }


def total_log_evidence(family: Family, prior: Any, statistics: Any) -> float:
    """Return log p(X | y) of all blocks of columns together."""
    return float(sum(part.values.sum() for part in log_evidence(family, prior, statistics).values()))


def _log_evidence(family: Family, prior: Any, statistics: Any) -> Array:
    if not prior.is_proper().all():
        raise ImproperError(
            f"the evidence is undefined under the improper prior of the {family.name} family: a density that does "
            "not integrate to one can be scaled at will. Use a proper prior, such as "
            "the default."
        )
    base = np.asarray(statistics.log_base)
    dims = ("class", "feature")[: base.ndim]
    base = base.sum(tuple(axis for axis, dim in enumerate(dims) if dim not in prior.factor_dims))
    return np.asarray(_log_increment(prior, statistics) + base)


def _log_increment(prior: Any, statistics: Any) -> Array:
    """Return the log evidence of every independent factor of the prior, but for log h."""
    if _is_lent(prior):
        # the prior of a class holds the rows of the others, each of which would be counted K times
        return np.asarray(prior.hierarchy.log_evidence(statistics))
    return np.asarray(prior.log_increment(statistics))


def rebuilt(prior: Any, statistics: Any) -> Any:
    """Rebuild a prior that is made of the rows from those of ``statistics``, with what else was learned for it.

    Rows left out leave it too: the scatter of a row would make it look like one of every class but its own.
    """
    if isinstance(prior, Joint):
        return prior.map(rebuilt, statistics)
    return prior if prior.hierarchy is None else prior.hierarchy.rebuilt(prior, statistics)


def for_any_class(prior: Any) -> Any:
    """Return the prior that is the same for all classes where each borrows the rows of the others.

    It is the geometric mean of theirs. A prior of each class that is made of the rows of the others is one to
    exchange the classes by where their rows are not certain.
    """
    if isinstance(prior, Joint):
        return prior.map(for_any_class)
    if not _is_lent(prior):
        return prior
    nu, psi = (np.broadcast_to(own.mean(0), own.shape) for own in (prior.nu, prior.psi))
    return replace_unchecked(prior, nu=nu, psi=psi, hierarchy=None)


def _is_lent(prior: Any) -> bool:
    return prior.hierarchy is not None and prior.hierarchy.is_lent


def common_prior(family: Family, statistics: Any) -> Any:
    """Return the prior of one distribution in place of those of the classes, from their statistics."""
    if isinstance(family, CompositeFamily):
        parts = {block: common_prior(part, statistics.parts[block]) for block, part in family.parts.items()}
        return Joint(parts, {block: f"{block}_" for block in parts})
    if isinstance(family, Wrapping):
        return common_prior(family.inner, statistics)
    [(_, leaf, _)] = _leaves(family)
    found: Any = leaf.resolve_prior(statistics)
    if found.hierarchy is not None:
        return of_one_class(found, statistics)
    try:
        return family.resolve_prior(statistics.pooled())
    except ShapeError:  # hyperparameters of every class, which may be the same, as those of models that were read
        return of_one_class(found, statistics)


def of_one_class(prior: Any, statistics: Any) -> Any:
    """Return the prior of one class in place of all, whose hyperparameters must be the same.

    Parameters
    ----------
    prior : Conjugate
    statistics : Statistics
        Of the classes.

    Raises
    ------
    ShapeError
        If they differ.
    """
    if isinstance(prior, Joint):
        return prior.map(of_one_class, statistics)
    if prior.hierarchy is not None:
        return prior.hierarchy.common(prior, statistics)
    own = (v for k, v in vars(prior).items() if isinstance(v, np.ndarray) and k not in prior.shared_by_classes)
    if not all(np.allclose(values, values[:1], rtol=1e-9, atol=0) for values in own):
        raise ShapeError("the hyperparameters of the classes differ")
    return prior.select_classes(np.arange(1))


def log_bayes_factor(family: Family, prior: Any, common: Any, statistics: Any) -> dict[str, Evidence]:
    """Compare "one distribution per class" with "one for all": the log Bayes factor of every factor of columns.

    Parameters
    ----------
    family : Family
    prior, common : Conjugate
        Of the classes, and of the one distribution.
    statistics : Statistics
        Of the classes.
    """
    found = {}
    for prefix, part, values in _leaves(family, prior, common, statistics):
        dims = tuple(dim for dim in values[0].factor_dims if dim != "class")
        found[prefix[:-1]] = Evidence(prefixed(dims, prefix), _log_bayes_factor(part, *values))
    return found


def _log_bayes_factor(family: ConjugateFamily, prior: Any, common: Any, statistics: Any) -> Array:
    _log_evidence(family, prior, statistics)  # refuses a prior under which there is none
    if family.has_fixed_margins:
        return np.asarray(prior.log_association(statistics))
    if isinstance(prior, SparseMeans):  # which holds both distributions
        return prior.log_bayes_factor(statistics)
    of_classes, of_all = _log_increment(prior, statistics), common.log_increment(statistics.pooled())
    return _over_classes(prior, of_classes) - _over_classes(common, of_all)


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
    return of_pairs.inclusion_averaged(posterior, common, log_odds, _n_classes(family)).of(family.rows)


@singledispatch
def simulate_predictive(
    family: Family,
    posterior: Any,
    codes: Array,
    rng: np.random.Generator,
    covariates: Covariates = NO_COVARIATES,
) -> Any:
    """Draw one row for each class code, all given one draw of the parameters."""
    theta = select_draws(posterior.draw(1, rng), 0)
    return family.simulate(theta, codes, rng, covariates)


@simulate_predictive.register(CompositeFamily)
def _(
    family: CompositeFamily,
    posterior: Any,
    codes: Array,
    rng: np.random.Generator,
    covariates: Covariates = NO_COVARIATES,
) -> BlockRows:
    parts = {}
    for block, part in family.parts.items():
        given = covariates_of(f"{block}_", covariates, part.bound.covariate_supports)
        parts[block] = simulate_predictive(part, posterior.parts[block], codes, rng, given)
    return BlockRows(parts)


@singledispatch
def narrowed(family: Family, posterior: Any, X: Any) -> tuple[Any, Any]:
    """Return a smaller posterior and rows whose densities have the same joint distribution, if there are any.

    Rows of counts show few words of a large vocabulary: the probabilities of the others matter by their sum only.
    """
    return posterior, X


@narrowed.register(CompositeFamily)
def _(family: CompositeFamily, posterior: Any, X: BlockRows) -> tuple[Any, BlockRows]:
    parts = {block: narrowed(part, posterior.parts[block], X.parts[block]) for block, part in family.parts.items()}
    beliefs = {block: belief for block, (belief, _) in parts.items()}
    return replace(posterior, parts=beliefs), BlockRows({block: rows for block, (_, rows) in parts.items()})


def _n_classes(family: Family) -> int:
    """Return the number of classes of a family all parts of which have closed forms."""
    leaves = [leaf for _, leaf, _ in _leaves(family)]
    return len(leaves[0].classes)


def _leaves(family: Family, *values: Any, prefix: str = "") -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield the families that others are made of: the prefix of its names, the family, and its part of the values.

    The prefix is the name of the block and an underscore; empty for a family of one block.

    Raises
    ------
    NotConjugateError
        If one of them has no conjugate prior.
    """
    if isinstance(family, Wrapping):
        yield from _leaves(family.inner, *values, prefix=prefix)
    elif isinstance(family, CompositeFamily):
        for block, part in family.parts.items():
            yield from _leaves(part, *(value.parts[block] for value in values), prefix=f"{prefix}{block}_")
    elif isinstance(family, ConjugateFamily):
        yield prefix, family, values
    else:
        raise NotConjugateError(family._no_closed_form.format(family.name))
