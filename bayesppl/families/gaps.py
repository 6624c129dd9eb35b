r"""Rows with gaps in columns that are correlated: completed given the parameters.

Sums of products cannot be taken over rows that lack cells. Given the parameters and the class, the missing cells
of a normal row are normal given the others,

.. math:: x_m \mid x_o \sim N\bigl(\mu_m + B (x_o - \mu_o),\; \Sigma_{mm} - B \Sigma_{om}\bigr),
   \qquad B = \Sigma_{mo} \Sigma_{oo}^{-1},

so that they can be drawn, or the expectation of the sums be taken over them (Little & Rubin 2019, "Statistical
Analysis with Missing Data", sections 11.2 and 11.3). Columns that are independent skip what is missing instead.
That a cell is missing must not depend on what it holds, given the cells that are there and the class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from bayesppl.conjugate.moments import Moments
from bayesppl.conjugate.rows import sum_each, sum_shares
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.labels import one_hot
from bayesppl.families.components import Allocated, with_counts
from bayesppl.families.composite import BlockRows, CompositeFamily, parameters_of
from bayesppl.families.conditional_gaussian import ConditionalGaussian
from bayesppl.families.family import Family
from bayesppl.families.gaussian_full import CorrelatedNormals
from bayesppl.families.gaussian_regression import GaussianRegression
from bayesppl.families.mixture import Mixture
from bayesppl.families.multivariate_t import MultivariateT
from bayesppl.families.transformed import Transformed
from bayesppl.kernels.arrays import Array, Theta, draw_shares, numbers_of_rows


@singledispatch
def have_gaps(family: Family, X: Any) -> Array:
    """Which encoded rows lack cells that no sum can be taken without: (n_rows,) of bool."""
    return np.zeros(X.shape[0], dtype=bool)


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
def draw_missing(family: Family, theta: Theta, X: Any, codes: Array, rng: np.random.Generator) -> Any:
    """Draw all missing cells of encoded rows, as :func:`draw_gaps` draws those that no sum can be taken without.

    Raises
    ------
    NotImplementedError
        For cells of categories that depend on each other.
    """
    if not isinstance(X, np.ndarray):
        return X  # counts, which cannot be missing
    missing = missing_cells(X)
    if missing.any() and all(len(factor.columns) == 1 for factor in family.bound.factors):
        simulated = family.simulate(theta, codes, rng, family.bound.covariates(X))
        return np.where(missing, simulated, X)
    drawn = draw_gaps(family, theta, X, codes, rng)
    _require_filled(family, drawn)
    return drawn


def missing_cells(X: Array) -> Array:
    """Which encoded cells are missing: NaN among numbers, negative ones among codes of levels."""
    return np.asarray(np.isnan(X) if X.dtype.kind == "f" else X < 0)


def _require_filled(family: Family, X: Array) -> None:
    if missing_cells(X).any():
        raise NotImplementedError(
            f"the {family.name} family cannot fill missing categories, which depend on each other. Use one whose "
            "columns are independent given the class, such as bayesppl.MixedNB has"
        )


@singledispatch
def drawn_statistics(family: Family, theta: Theta, X: Any, shares: Array, rng: np.random.Generator) -> Any:
    """:func:`expected_statistics`, with the missing cells drawn: a row of weight w in a class is w rows there."""
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
    return _drawn_by_block(draw_gaps, family, theta, X, codes, rng)


@expected_statistics.register(CompositeFamily)
def _(family: CompositeFamily, theta: Theta | None, X: BlockRows, shares: Array) -> JointStatistics:
    return JointStatistics(
        {
            block: expected_statistics(part, _of_block(block, theta, part), X.parts[block], shares)
            for block, part in family.parts.items()
        }
    )


@draw_missing.register(CompositeFamily)
def _(family: CompositeFamily, theta: Theta, X: BlockRows, codes: Array, rng: np.random.Generator) -> BlockRows:
    return _drawn_by_block(draw_missing, family, theta, X, codes, rng)


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
    return _normals_drawn(family, theta, X, codes, rng, np.ones(len(X)))


def _normals_drawn(
    family: CorrelatedNormals,
    theta: Theta | None,
    X: Array,
    codes: Array,
    rng: np.random.Generator,
    weights: Array,
) -> Array:
    """Normal rows, the missing cells drawn, where the covariance of each row is divided by its weight."""
    rows = np.flatnonzero(have_gaps(family, X))
    if not len(rows):
        return X
    out = np.array(X, dtype=np.float64)
    found = _given_present(family, theta, X[rows], codes[rows])
    is_missing = np.einsum("gii->gi", found.covariance) > 0
    # cells that are there have a block of their own, of which nothing is used
    roots = np.linalg.cholesky(found.covariance + np.eye(is_missing.shape[1]) * ~is_missing[:, None])
    noise = np.einsum("nij,nj->ni", roots[found.group], rng.standard_normal((len(rows), is_missing.shape[1])))
    noise *= is_missing[found.group] / np.sqrt(weights[rows])[:, None]
    out[rows, -is_missing.shape[1] :] = found.mean + noise
    return out


@expected_statistics.register(CorrelatedNormals)
def _(family: CorrelatedNormals, theta: Theta | None, X: Array, shares: Array) -> Moments:
    return _normals_expected(family, theta, X, shares, shares)


def _normals_expected(
    family: CorrelatedNormals, theta: Theta | None, X: Array, shares: Array, weighted: Array
) -> Moments:
    """Sums of normal rows, ``weighted`` being their shares times the weights their covariances are divided by."""
    rows = np.flatnonzero(have_gaps(family, X))
    if not len(rows):
        return sum_shares(family.rows(X), weighted)
    filled, n_numbers = [], len(family.columns)
    spread = np.zeros((shares.shape[1], X.shape[1], X.shape[1]))
    for k in range(shares.shape[1]):
        found = _given_present(family, theta, X[rows], np.full(len(rows), k), shares[rows].sum(1))
        of_class = np.array(X, dtype=np.float64)
        of_class[rows, -n_numbers:] = found.mean
        filled.append(family.rows(of_class))
        weights = np.bincount(found.group, shares[rows, k])
        spread[k, -n_numbers:, -n_numbers:] = np.tensordot(weights, found.covariance, 1)
    sums: Moments = sum_each(filled, weighted.T)
    return replace(sums, scatter=sums.scatter + (spread.sum(0) if sums.is_tied else spread))


@have_gaps.register(MultivariateT)
def _(family: MultivariateT, X: Array) -> Array:
    return np.ones(len(X), dtype=bool)


@draw_gaps.register(MultivariateT)
def _(family: MultivariateT, theta: Theta | None, X: Array, codes: Array, rng: np.random.Generator) -> Array:
    weights = family.weights(theta, X, rng)[np.arange(len(X)), codes]
    return np.column_stack([_normals_drawn(family.inner, theta, X, codes, rng, weights), weights])


@draw_missing.register(MultivariateT)
def _(family: MultivariateT, theta: Theta, X: Array, codes: Array, rng: np.random.Generator) -> Array:
    return np.asarray(draw_gaps(family, theta, X, codes, rng)[:, :-1])


@expected_statistics.register(MultivariateT)
def _(family: MultivariateT, theta: Theta | None, X: Array, shares: Array) -> Moments:
    found = _normals_expected(family.inner, theta, X, shares, shares * family.weights(theta, X))
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


@draw_missing.register(ConditionalGaussian)
def _(
    family: ConditionalGaussian, theta: Theta, X: BlockRows, codes: Array, rng: np.random.Generator
) -> BlockRows:
    _require_filled(family, X.parts["categories"])
    return draw_gaps(family, theta, X, codes, rng)


@expected_statistics.register(ConditionalGaussian)
def _(family: ConditionalGaussian, theta: Theta | None, X: BlockRows, shares: Array) -> JointStatistics:
    found: JointStatistics = expected_statistics(family.inner, theta, family.with_predictors(X), shares)
    return found


@have_gaps.register(Mixture)
def _(family: Mixture, X: Any) -> Array:
    return np.ones(X.shape[0], dtype=bool)


@draw_gaps.register(Mixture)
def _(family: Mixture, theta: Theta | None, X: Any, codes: Array, rng: np.random.Generator) -> Allocated:
    within = family.allocate(theta, X, codes, rng)
    inner, at = _of_inner(family, theta), codes * family.components + within
    return Allocated(draw_gaps(family.inner, inner, X, at, rng), within)


@draw_missing.register(Mixture)
def _(family: Mixture, theta: Theta, X: Any, codes: Array, rng: np.random.Generator) -> Any:
    at = codes * family.components + family.allocate(theta, X, codes, rng)
    return draw_missing(family.inner, _of_inner(family, theta), X, at, rng)


@expected_statistics.register(Mixture)
def _(family: Mixture, theta: Theta | None, X: Any, shares: Array) -> JointStatistics:
    of_components = (shares[..., None] * family.shares(theta, X)).reshape(len(shares), -1)
    found = expected_statistics(family.inner, _of_inner(family, theta), X, of_components)
    return with_counts(found, of_components.sum(0))


@drawn_statistics.register(Mixture)
def _(family: Mixture, theta: Theta, X: Any, shares: Array, rng: np.random.Generator) -> JointStatistics:
    proba = family.shares(theta, X).reshape(-1, family.components)
    of_components = draw_shares(proba, shares.ravel(), rng).reshape(len(shares), -1)
    found = drawn_statistics(family.inner, _of_inner(family, theta), X, of_components, rng)
    return with_counts(found, of_components.sum(0))


def _of_inner(family: Mixture, theta: Theta | None) -> Any:
    return theta and family.of_components(theta)


def _of_block(block: str, theta: Theta | None, part: Family) -> Any:
    return theta and parameters_of(f"{block}_", theta, part)


def _drawn_by_block(
    draw: Callable[..., Any],
    family: CompositeFamily,
    theta: Theta | None,
    X: BlockRows,
    codes: Array,
    rng: np.random.Generator,
) -> BlockRows:
    return BlockRows(
        {
            block: draw(part, _of_block(block, theta, part), X.parts[block], codes, rng)
            for block, part in family.parts.items()
        }
    )


class _Given(NamedTuple):
    """Rows of numbers given the cells that are there.

    Attributes
    ----------
    mean : (n_rows, n_numbers)
        Cells that are there, and the mean of those missing.
    covariance : (n_groups, n_numbers, n_numbers)
        Of the missing cells, zero elsewhere, of rows of one class that lack the same.
    group : (n_rows,)
    """

    mean: Array
    covariance: Array
    group: Array


def _given_present(
    family: CorrelatedNormals, theta: Theta | None, X: Array, codes: Array, weights: Array | None = None
) -> _Given:
    numbers = X[:, X.shape[1] - len(family.columns) :]
    mean, covariance = _normal(family, theta, X, codes, weights)
    missing = np.isnan(numbers)
    combinations, group = np.unique(np.column_stack([codes, missing]), axis=0, return_inverse=True)
    matrices = np.broadcast_to(
        covariance if covariance.ndim == 2 else covariance[combinations[:, 0]],
        (len(combinations), *covariance.shape[-2:]),
    )
    lacking = combinations[:, 1:].astype(bool)
    across = np.where(lacking[:, None], 0.0, matrices)
    # the identity stands in where cells are missing, which leaves their part of the solution zero
    known = np.where(lacking[:, :, None] | lacking[:, None], np.eye(lacking.shape[1]), matrices)
    slope = np.swapaxes(np.linalg.solve(known, np.swapaxes(across, 1, 2)), 1, 2)
    left = (matrices - slope @ np.swapaxes(across, 1, 2)) * (lacking[:, :, None] & lacking[:, None])
    group = group.ravel()
    expected = mean + np.einsum("nij,nj->ni", slope[group], np.where(missing, 0.0, numbers - mean))
    return _Given(np.where(missing, expected, numbers), left, group)


def _normal(
    family: CorrelatedNormals, theta: Theta | None, X: Array, codes: Array, weights: Array | None
) -> tuple[Array, Array]:
    """Mean of the numbers of every row, given its class, and the covariances of the classes, or of all."""
    if theta is None:
        there = np.ma.masked_invalid(X[:, X.shape[1] - len(family.columns) :])
        centre: Any = np.ma.average(there, 0, weights)
        variances: Any = np.ma.average((there - centre) ** 2, 0, weights)
        mean = np.broadcast_to(centre.filled(0.0), there.shape)
        return mean, np.diag(np.where(variances.filled(0.0) > 0, variances.filled(0.0), 1.0))
    mean = theta["mean"][codes]
    if isinstance(family, GaussianRegression):
        effect, given = theta["effect"], X[:, : X.shape[1] - len(family.columns)]
        mean = mean + (given @ effect if family.tied else np.einsum("nq,nqp->np", given, effect[codes]))
    return mean, family.covariances(theta)
