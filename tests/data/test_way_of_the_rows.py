"""The way of an array to its class probabilities: few functions, each of which does something with it."""

import sys

import numpy as np
import pytest

import bayesppl as bp
from bayesppl.data.table import Table
from bayesppl.families.support import _outside
from bayesppl.kernels.ranges import Extent, row_ranges

#: Functions of ours that an array passes before the first arithmetic with it, and how deep this stands.
MOST_FUNCTIONS, DEEPEST = 11, 7
N_ROWS = 40
X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
Y = np.arange(N_ROWS) % 2


def passed(ask):
    """Return the functions that hold the array or a table of it, and how deep the first arithmetic stands."""
    found, depth, arithmetic = [], 0, []

    def record(frame, event, _):
        nonlocal depth
        if event not in ("call", "return") or "bayesppl" not in frame.f_globals.get("__name__", ""):
            return
        depth += 1 if event == "call" else -1
        if event == "return" or arithmetic:
            return
        if frame.f_code is _outside.__code__:
            arithmetic.append(depth)
        arguments = list(frame.f_locals.values())
        held = [vars(value).get("matrix") if isinstance(value, Table) else value for value in arguments]
        is_written = not frame.f_code.co_filename.startswith("<")  # by a person, not by a dataclass
        if is_written and any(value is X for value in held):
            found.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        ask()
    finally:
        sys.setprofile(before)
    return found, arithmetic[0]


@pytest.mark.parametrize("estimator", [bp.GaussianNB, bp.QuadraticDiscriminantAnalysis, bp.MixedNB])
def test_few_functions_stand_before_the_first_arithmetic(estimator):
    clf = estimator().fit(X, Y)
    clf.predict_proba(X)
    found, depth = passed(lambda: clf.predict_proba(X))
    assert found[0] == "BayesClassifier.predict_proba"
    assert len(found) <= MOST_FUNCTIONS + (estimator is bp.MixedNB)  # which has a block
    assert depth <= DEEPEST + (estimator is bp.MixedNB)


@pytest.mark.parametrize("width", [1, 700, 1 << 18])
@pytest.mark.parametrize("least_rows", [1, 400])
def test_ranges_of_an_extent_are_those_of_its_wider_side(width, least_rows):
    extent = Extent(1000, 300, least_rows)
    assert extent.ranges(width) == row_ranges(1000, max(300, width), least_rows=least_rows)
    assert [row for rows in extent.ranges(width) for row in range(rows.start, rows.stop)] == list(range(1000))
