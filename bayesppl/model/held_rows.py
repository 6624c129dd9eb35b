"""The rows of a fit, where they are still held and still the same."""

from __future__ import annotations

import numpy as np

from bayesppl.data.rows import Rows
from bayesppl.errors import ChangedRowsError
from bayesppl.kernels.arrays import leaves
from bayesppl.model.fitted import Fitted


def held_rows(fitted: Fitted) -> Rows | None:
    """The rows of the fit, None where they are not held.

    Raises
    ------
    ChangedRowsError
        If the caller has changed them since the fit.
    """
    rows = fitted.rows
    if rows is not None and not rows.is_copy and not _sum_to_the_same(fitted, rows):
        raise ChangedRowsError(
            "the rows given to fit have been changed in place since then: they do not add up to the sums of the fit. "
            "Undo the change, fit again, or pass a copy to fit. (Small tables are copied by fit itself, large ones "
            "are not; predictions do not need the rows, and loo takes X, y and sample_weight as they were)"
        )
    return rows


def _sum_to_the_same(fitted: Fitted, rows: Rows) -> bool:
    """Whether these are, to the last bit, the rows that were summed.

    A cell that changed changes a sum. Only values that changed places within their class and column can be missed.
    """
    try:
        found = fitted.model.summarise(rows)
    except ValueError:  # not even rows that this family takes
        return False
    pairs = zip(leaves(found), leaves(fitted.learned.statistics), strict=True)
    return all(np.array_equal(one, other, equal_nan=one.dtype.kind == "f") for (_, one), (_, other) in pairs)
