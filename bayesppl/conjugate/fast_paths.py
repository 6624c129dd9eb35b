"""Kinds of rows whose closed forms have a quicker formula than the generic one, by pair and kind of rows.

An entry stands here as long as a measurement shows that it pays. Each is tested against the generic formula, which
needs nothing but ``select_classes``, ``update`` and ``log_increment`` of the pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from bayesppl.conjugate import correlated_normals, heavy_tails, independent_normals, regressions
from bayesppl.conjugate.beta import Beta
from bayesppl.conjugate.bits import Bits, bits_average, bits_leave_one_out, bits_log_predictive
from bayesppl.conjugate.cell_rows import SparseCells, sparse_average, sparse_leave_one_out, sparse_log_predictive
from bayesppl.conjugate.dirichlet import Dirichlet
from bayesppl.conjugate.gamma import Gamma
from bayesppl.conjugate.log_density import LogDensity, mixture
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import NumberRows
from bayesppl.conjugate.normal_inverse_gamma import NormalInverseGamma
from bayesppl.conjugate.normal_inverse_wishart import NormalInverseWishart
from bayesppl.conjugate.normal_means import NormalMeans, NormalMeanVectors
from bayesppl.conjugate.outcomes import (
    Outcomes,
    outcomes_average,
    outcomes_leave_one_out,
    outcomes_log_predictive,
)
from bayesppl.conjugate.sparse_means import SparseMeans
from bayesppl.conjugate.tree_densities import trees_leave_one_out, trees_log_predictive
from bayesppl.conjugate.tree_dirichlet import TreeDirichlet
from bayesppl.conjugate.tree_normals import TreeNormals
from bayesppl.conjugate.words import Words, words_leave_one_out, words_log_predictive
from bayesppl.kernels.arrays import Array


class FastPath(NamedTuple):
    """Quicker formulas of one pair and one kind of rows; None where there is none.

    Attributes
    ----------
    log_predictive : callable
        From a posterior to the predictive density of rows.
    leave_one_out : callable
        From posterior, statistics of all rows, rows, and their classes and weights to the densities of
        :func:`bayesppl.conjugate.pair_forms.leave_one_out`; None where it does not apply.
    inclusion_averaged : callable, optional
        From a posterior of the classes, one of all rows together, and the log odds of "the factor depends on the
        class", one for each factor, to the density of :func:`bayesppl.conjugate.pair_forms.inclusion_averaged`.
    """

    log_predictive: Callable[[Any], LogDensity]
    leave_one_out: Callable[[Any, Any, Any, Membership], tuple[Array, Array] | None]
    inclusion_averaged: Callable[[Any, Any, Array], LogDensity] | None = None


#: By pair and kind of rows.
FAST_PATHS: Mapping[tuple[type, type], FastPath] = {
    (Beta, Bits): FastPath(bits_log_predictive, bits_leave_one_out, bits_average),
    **{
        (pair, SparseCells): FastPath(sparse_log_predictive, sparse_leave_one_out, sparse_average)
        for pair in (Beta, Gamma)
    },
    (Dirichlet, Outcomes): FastPath(outcomes_log_predictive, outcomes_leave_one_out, outcomes_average),
    (Dirichlet, Words): FastPath(
        words_log_predictive, words_leave_one_out, partial(mixture, words_log_predictive)
    ),
    (TreeDirichlet, Outcomes): FastPath(trees_log_predictive, trees_leave_one_out),
    (TreeNormals, NumberRows): FastPath(trees_log_predictive, trees_leave_one_out),
    (NormalInverseGamma, NumberRows): FastPath(
        independent_normals.log_predictive,
        independent_normals.leave_one_out,
        independent_normals.inclusion_averaged,
    ),
    (NormalInverseWishart, heavy_tails.TailedRows): FastPath(heavy_tails.log_predictive, lambda *_: None),
    (SparseMeans, NumberRows): FastPath(
        independent_normals.log_sparse_predictive,
        independent_normals.leave_one_out_sparse,
        independent_normals.sparse_averaged,
    ),
    (NormalMeans, NumberRows): FastPath(independent_normals.log_normal_predictive, lambda *_: None),
    (NormalMeanVectors, NumberRows): FastPath(correlated_normals.log_normal_predictive, lambda *_: None),
    **{
        (pair, NumberRows): FastPath(
            closed.log_predictive, closed.leave_one_out, partial(mixture, closed.log_predictive)
        )
        for pair, closed in (
            (NormalInverseWishart, correlated_normals),
            (MatrixNormalInverseWishart, regressions),
        )
    },
}
