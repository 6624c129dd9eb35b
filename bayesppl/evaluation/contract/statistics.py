"""Statistics add up."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesppl.conjugate.weighted_rows import WeightedRows
from bayesppl.data.labels import one_hot
from bayesppl.evaluation.contract.case import Case, of_rows
from bayesppl.families import closed_forms
from bayesppl.kernels.arrays import leaves


def check_statistics_add_up(case: Case) -> None:
    """Halves add up to the whole; what was added can be subtracted; the order of rows does not matter."""
    half = len(case.codes) // 2
    first, second = (of_rows(case, rows) for rows in (slice(None, half), slice(half, None)))
    order = case.rng.permutation(len(case.codes))
    _assert_same(first + second, case.statistics)
    _assert_same(second + first, case.statistics)
    _assert_same(case.statistics - second, first, rtol=1e-7, atol=1e-7)
    _assert_same(of_rows(case, order), case.statistics)


def check_weight_two_is_a_duplicate(case: Case) -> None:
    """A row of weight 2 counts as two rows, a row of weight 0 as none."""
    weights = case.rng.integers(0, 3, size=len(case.codes))
    weighted = closed_forms.sufficient_statistics(
        case.family, case.X, one_hot(case.codes, case.n_classes, weights.astype(float))
    )
    _assert_same(weighted, of_rows(case, np.arange(len(case.codes)).repeat(weights)))
    _assert_same(case.statistics.scale(3.0), case.statistics + case.statistics + case.statistics)


def _assert_same(found: Any, expected: Any, rtol: float = 1e-9, atol: float = 1e-9) -> None:
    if isinstance(found, WeightedRows):  # equal up to the order of rows and to duplicates
        found, expected = found.merged(), expected.merged()
    for (path, left), (_, right) in zip(_numbers(found), _numbers(expected), strict=True):
        np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, err_msg=path)


def _numbers(value: Any) -> list[tuple[str, Any]]:
    """The arrays of statistics, without the pairs that track their rounding, which need not be there."""
    return [(path, array) for path, array in leaves(value) if ".sums" not in path]
