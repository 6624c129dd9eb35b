"""Rows with gaps in columns that are correlated: completed given the parameters.

Sums of products cannot be taken over rows that lack cells. Given the parameters and the class, the missing cells
have a distribution given the others, so that they can be drawn, or the expectation of the sums be taken over them
(Little & Rubin 2019, "Statistical Analysis with Missing Data", sections 11.2 and 11.3). Columns that are
independent skip what is missing instead. That a cell is missing must not depend on what it holds, given the cells
that are there and the class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from bayesppl.conjugate.moments import Moments
from bayesppl.conjugate.row_statistics import sum_shares
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.labels import one_hot
from bayesppl.errors import RowError
from bayesppl.families.block_rows import BlockRows
from bayesppl.families.components import Allocated, with_counts
from bayesppl.families.composite import CompositeFamily, parameters_of
from bayesppl.families.conditional_gaussian import ConditionalGaussian
from bayesppl.families.family import Family
from bayesppl.families.gaussian_full import CorrelatedNormals
from bayesppl.families.mixture import Mixture
from bayesppl.families.multivariate_t import MultivariateT
from bayesppl.families.normals_with_gaps import draw_normals, expected_moments
from bayesppl.families.transformed import Transformed
from bayesppl.kernels.arrays import Array, Theta, draw_shares, numbers_of_rows


@singledispatch
def have_gaps(family: Family, X: Any) -> Array:
    """Find the encoded rows that lack cells without which no sum can be taken: (n_rows,) of bool."""
    return np.zeros(X.shape[0], dtype=bool)


def require_summable(family: Family, X: Any) -> None:
    """Refuse rows to be tried as rows of a fit that lack cells without which no sum can be taken.

    Raises
    ------
    RowError
    """
    lacking = have_gaps(family, X)
    if lacking.any():
        raise RowError(
            "cells are missing in row ",
            int(lacking.argmax()),
            ", which is tried as one more row of the fit, and correlated columns are summed over complete rows "
            "only: fill them first, as impute does, or leave the row out",
        )


@singledispatch
def draw_gaps(family: Family, theta: Theta | None, X: Any, codes: Array, rng: np.random.Generator) -> Any:
    """Draw the missing cells of encoded rows, and their components, given the other cells, class and parameters.

    Rows of families that sum without them come back as they are.

    Parameters
    ----------
    family : Family
        Bound to columns and classes.
    theta : Theta or None
        No draw axes. Of parameters that are not known yet, columns are independent, as in
        :func:`expected_statistics`, and components are taken in turn.
    X : encoded rows
    codes : (n_rows,)
    rng : numpy.random.Generator
    """
    return X


@singledispatch
def expected_statistics(family: Family, theta: Theta | None, X: Any, shares: Array) -> Any:
    """Sum encoded rows that are shared out among the classes, in expectation over their missing cells.

    Parameters
    ----------
    family : Family
        Bound to columns and classes.
    theta : Theta or None
        No draw axes. Of parameters that are not known yet, columns are independent, with the moments of the cells
        that are there.
    X : encoded rows
    shares : (n_rows, n_classes)
        Weight with which a row belongs to every class.
    """
    return sum_shares(family.rows(X), shares)


@singledispatch
def drawn_statistics(family: Family, theta: Theta, X: Any, shares: Array, rng: np.random.Generator) -> Any:
    """Sum rows as :func:`expected_statistics` does, but draw their missing cells.

    A row of weight w in a class is w rows there.
    """
    lacking = have_gaps(family, X)
    if not lacking.any():
        return sum_shares(family.rows(X), shares)
    times = np.where(lacking[:, None], numbers_of_rows(shares), shares > 0)
    at, codes = (np.repeat(places, times[times > 0]) for places in np.nonzero(times))
    filled = draw_gaps(family, theta, X[at], codes, rng)
    return family.rows(filled).sum_rows(one_hot(codes, shares.shape[1], shares[at, codes] / times[at, codes]))


@have_gaps.register(CompositeFamily)
def _(family: CompositeFamily, X: BlockRows) -> Array:
    return np.logical_or.reduce([have_gaps(part, X.parts[block]) for block, part in family.parts.items()])


@draw_gaps.register(CompositeFamily)
def _(family: CompositeFamily, theta: Theta, X: BlockRows, codes: Array, rng: np.random.Generator) -> BlockRows:
    return drawn_by_block(draw_gaps, family, theta, X, codes, rng)


@expected_statistics.register(CompositeFamily)
def _(family: CompositeFamily, theta: Theta | None, X: BlockRows, shares: Array) -> JointStatistics:
    return JointStatistics(
        {
            block: expected_statistics(part, parameters_of(f"{block}_", theta, part), X.parts[block], shares)
            for block, part in family.parts.items()
        }
    )


@have_gaps.register(Transformed)
def _(family: Transformed, X: Array) -> Array:
    return have_gaps(family.inner, family.transform(X))


@draw_gaps.register(Transformed)
def _(family: Transformed, theta: Theta, X: Array, codes: Array, rng: np.random.Generator) -> Array:
    rows = family.transform(X)
    if not have_gaps(family.inner, rows).any():
        return X
    return np.where(np.isnan(X), family.restore(draw_gaps(family.inner, theta, rows, codes, rng), rng), X)


@expected_statistics.register(Transformed)
def _(family: Transformed, theta: Theta | None, X: Array, shares: Array) -> Any:
    rows = family.transform(X)
    if not have_gaps(family.inner, rows).any():
        return sum_shares(family.rows(X), shares)
    found = expected_statistics(family.inner, theta, rows, shares)
    return found.with_base(found.log_base)


@have_gaps.register(CorrelatedNormals)
def _(family: CorrelatedNormals, X: Array) -> Array:
    return np.asarray(np.isnan(X).any(1))


@draw_gaps.register(CorrelatedNormals)
def _(family: CorrelatedNormals, theta: Theta, X: Array, codes: Array, rng: np.random.Generator) -> Array:
    return draw_normals(family, theta, X, codes, rng, np.ones(len(X)))


@expected_statistics.register(CorrelatedNormals)
def _(family: CorrelatedNormals, theta: Theta | None, X: Array, shares: Array) -> Moments:
    return expected_moments(family, theta, X, shares, shares)


@have_gaps.register(MultivariateT | Mixture)
def _(family: MultivariateT | Mixture, X: Any) -> Array:
    """Find all rows: nobody knows the weight of a row, or its component."""
    return np.ones(X.shape[0], dtype=bool)


@draw_gaps.register(MultivariateT)
def _(family: MultivariateT, theta: Theta | None, X: Array, codes: Array, rng: np.random.Generator) -> Array:
    weights = family.weights(theta, X, rng)[np.arange(len(X)), codes]
    return np.column_stack([draw_normals(family.inner, theta, X, codes, rng, weights), weights])


@expected_statistics.register(MultivariateT)
def _(family: MultivariateT, theta: Theta | None, X: Array, shares: Array) -> Moments:
    found = expected_moments(family.inner, theta, X, shares, shares * family.weights(theta, X))
    return replace(found, spare=shares.sum(0) - found.count)


@have_gaps.register(ConditionalGaussian)
def _(family: ConditionalGaussian, X: BlockRows) -> Array:
    return np.asarray(np.isnan(X.parts["numbers"]).any(1))


@draw_gaps.register(ConditionalGaussian)
def _(
    family: ConditionalGaussian, theta: Theta, X: BlockRows, codes: Array, rng: np.random.Generator
) -> BlockRows:
    beside = draw_gaps(family.inner, theta, family.with_predictors(X), codes, rng).parts["numbers"]
    n_predictors = beside.shape[1] - X.parts["numbers"].shape[1]
    return BlockRows({**X.parts, "numbers": beside[:, n_predictors:]})


@expected_statistics.register(ConditionalGaussian)
def _(family: ConditionalGaussian, theta: Theta | None, X: BlockRows, shares: Array) -> JointStatistics:
    return expected_statistics(family.inner, theta, family.with_predictors(X), shares)


@draw_gaps.register(Mixture)
def _(family: Mixture, theta: Theta | None, X: Any, codes: Array, rng: np.random.Generator) -> Allocated:
    within = family.allocate(theta, X, codes, rng)
    at = codes * family.components + within
    return Allocated(draw_gaps(family.inner, theta, X, at, rng), within)


@expected_statistics.register(Mixture)
def _(family: Mixture, theta: Theta | None, X: Any, shares: Array) -> JointStatistics:
    of_components = (shares[..., None] * family.shares(theta, X)).reshape(len(shares), -1)
    found = expected_statistics(family.inner, theta, X, of_components)
    return with_counts(found, of_components.sum(0))


@drawn_statistics.register(Mixture)
def _(family: Mixture, theta: Theta, X: Any, shares: Array, rng: np.random.Generator) -> JointStatistics:
    proba = family.shares(theta, X).reshape(-1, family.components)
    of_components = draw_shares(proba, shares.ravel(), rng).reshape(len(shares), -1)
    found = drawn_statistics(family.inner, theta, X, of_components, rng)
    return with_counts(found, of_components.sum(0))


def drawn_by_block(
    draw: Callable[..., Any],
    family: CompositeFamily,
    theta: Theta | None,
    X: BlockRows,
    codes: Array,
    rng: np.random.Generator,
) -> BlockRows:
    """Draw the cells of every block by a function of its family."""
    return BlockRows(
        {
            block: draw(part, parameters_of(f"{block}_", theta, part), X.parts[block], codes, rng)
            for block, part in family.parts.items()
        }
    )
