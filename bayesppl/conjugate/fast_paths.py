"""Kinds of rows whose closed forms have a quicker formula than the generic one, by pair and kind of rows.

An entry stands here as long as a measurement shows that it pays. Each is tested against the generic formula, which
needs nothing but ``select_classes``, ``update`` and ``log_increment`` of the pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bayesppl.conjugate import correlated_normals, independent_normals, regressions
from bayesppl.conjugate.beta import Beta
from bayesppl.conjugate.cells import (
    Bits,
    SparseCells,
    bits_average,
    bits_leave_one_out,
    bits_log_predictive,
    sparse_average,
    sparse_leave_one_out,
    sparse_log_predictive,
)
from bayesppl.conjugate.dirichlet import Dirichlet
from bayesppl.conjugate.gamma import Gamma
from bayesppl.conjugate.log_density import LogDensity, mixture
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import NumberRows
from bayesppl.conjugate.normal_inverse_gamma import NormalInverseGamma
from bayesppl.conjugate.normal_inverse_wishart import NormalInverseWishart
from bayesppl.conjugate.outcomes import (
    Outcomes,
    outcomes_average,
    outcomes_leave_one_out,
    outcomes_log_predictive,
)
from bayesppl.conjugate.tree_dirichlet import (
    PairedLevels,
    TreeDirichlet,
    trees_leave_one_out,
    trees_log_predictive,
)
from bayesppl.conjugate.words import Words, words_leave_one_out, words_log_predictive
from bayesppl.kernels.arrays import Array

#: A pair, and a kind of its rows.
Key = tuple[type, type]

#: From a posterior to the predictive density of rows.
LOG_PREDICTIVE: Mapping[Key, Callable[[Any], LogDensity]] = {
    (Beta, Bits): bits_log_predictive,
    (Beta, SparseCells): sparse_log_predictive,
    (Gamma, SparseCells): sparse_log_predictive,
    (Dirichlet, Outcomes): outcomes_log_predictive,
    (Dirichlet, Words): words_log_predictive,
    (TreeDirichlet, PairedLevels): trees_log_predictive,
    (NormalInverseGamma, NumberRows): independent_normals.log_predictive,
    (NormalInverseWishart, NumberRows): correlated_normals.log_predictive,
    (MatrixNormalInverseWishart, NumberRows): regressions.log_predictive,
}

#: From posterior, statistics of all rows, rows, and their classes and weights to the densities of
#: :func:`bayesppl.conjugate.closed_forms.leave_one_out`; None where it does not apply.
LEAVE_ONE_OUT: Mapping[Key, Callable[[Any, Any, Any, Membership], tuple[Array, Array] | None]] = {
    (Beta, Bits): bits_leave_one_out,
    (Beta, SparseCells): sparse_leave_one_out,
    (Gamma, SparseCells): sparse_leave_one_out,
    (Dirichlet, Outcomes): outcomes_leave_one_out,
    (Dirichlet, Words): words_leave_one_out,
    (TreeDirichlet, PairedLevels): trees_leave_one_out,
    (NormalInverseGamma, NumberRows): independent_normals.leave_one_out,
    (NormalInverseWishart, NumberRows): correlated_normals.leave_one_out,
    (MatrixNormalInverseWishart, NumberRows): regressions.leave_one_out,
}

#: From a posterior of the classes, one of all rows together, and the log odds of "the factor depends on the
#: class", one for each factor, to the density of :func:`bayesppl.conjugate.closed_forms.inclusion_averaged`.
INCLUSION_AVERAGED: Mapping[Key, Callable[[Any, Any, Array], LogDensity]] = {
    (Beta, Bits): bits_average,
    (Beta, SparseCells): sparse_average,
    (Gamma, SparseCells): sparse_average,
    (Dirichlet, Outcomes): outcomes_average,
    (Dirichlet, Words): partial(mixture, words_log_predictive),
    (NormalInverseGamma, NumberRows): independent_normals.inclusion_averaged,
    (NormalInverseWishart, NumberRows): partial(mixture, correlated_normals.log_predictive),
    (MatrixNormalInverseWishart, NumberRows): partial(mixture, regressions.log_predictive),
}
