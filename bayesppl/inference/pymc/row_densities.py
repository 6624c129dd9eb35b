"""Densities of single rows in every class as graphs, from the variables that a family declares."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from bayesppl.conjugate.covariance_graphs import columns_of
from bayesppl.data.labels import one_hot
from bayesppl.errors import NotConjugateError
from bayesppl.families import Family
from bayesppl.families.block_rows import BlockRows
from bayesppl.families.categorical import TableFamily
from bayesppl.families.cells import CellFamily, cell_terms
from bayesppl.families.composite import CompositeFamily
from bayesppl.families.gaps import have_gaps
from bayesppl.families.gaussian_diagonal import IndependentNormals, normal_terms
from bayesppl.families.gaussian_full import CorrelatedNormals
from bayesppl.families.multinomial import WordFamily
from bayesppl.families.transformed import Transformed
from bayesppl.kernels.arrays import LOG_2PI, Array


@singledispatch
def row_densities(family: Family, variables: dict[str, Any], X: Any) -> Any:
    """Return log p(x | y = k), (n_rows, n_classes), up to what holds no parameter.

    Parameters
    ----------
    family : Family
    variables : mapping of str to graph
        As the prior declares them.
    X : encoded rows
    """
    raise NotConjugateError(
        f"the {family.name} family has no density of single rows in PyMC, or not of rows that lack cells, which "
        "unlabelled='informative' needs: use unlabelled='learn', or independent columns"
    )


def _statistics(family: Any, X: Any) -> Any:
    """Return the statistics of every row by itself, with the rows on the axis of classes."""
    return family.rows(X).sum_rows(one_hot(np.arange(X.shape[0]), X.shape[0]))


@row_densities.register
def _(family: CellFamily, variables: dict[str, Any], X: Any) -> Any:
    first, second, _ = (values[:, None] for values in _statistics(family, X).values())
    return cell_terms(family, variables, first, second).sum(-1)


@row_densities.register(TableFamily)
@row_densities.register(WordFamily)
def _(family: Any, variables: dict[str, Any], X: Any) -> Any:
    import pytensor.tensor as pt

    return (_statistics(family, X).counts[:, None] * pt.log(variables["probability"])).sum(-1)


@row_densities.register
def _(family: IndependentNormals, variables: dict[str, Any], X: Array) -> Any:
    rows = _statistics(family, X)
    count, mean, scatter = (of_rows[:, None] for of_rows in (rows.count, rows.mean, rows.scatter))
    return normal_terms(family, variables, count, mean, scatter).sum(-1)


@row_densities.register
def _(family: CorrelatedNormals, variables: dict[str, Any], X: Array) -> Any:
    if family.predictors or have_gaps(family, X).any():
        return row_densities.dispatch(Family)(family, variables, X)
    spread, centre = variables["spread"], X.mean(0)
    rows = spread.whiten((X - centre).T)
    means = spread.whiten(columns_of(variables["mean"] - centre, family.tied))
    if family.tied:
        squares = ((rows[:, :, None] - means[:, None, :]) ** 2).sum(0)
    else:
        squares = ((rows - means) ** 2).sum(1).T
    return -0.5 * (squares + spread.log_det + X.shape[1] * LOG_2PI)


@row_densities.register
def _(family: CompositeFamily, variables: dict[str, Any], X: BlockRows) -> Any:
    return sum(row_densities(part, variables[block], X.parts[block]) for block, part in family.parts.items())


@row_densities.register
def _(family: Transformed, variables: dict[str, Any], X: Array) -> Any:
    return row_densities(family.inner, variables, family.transform(X))
