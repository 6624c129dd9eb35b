"""Cells of new rows that a density chosen from the rows of a fit holds impossible.

A declared density of positive numbers refuses a zero, for either the cell or the declaration is wrong. A density
that was chosen because no zero had occurred yet is wrong only now. The cell has the density zero in every class,
and so is no evidence of any: it is skipped, as a level is that did not occur in training.
"""

from __future__ import annotations

import numpy as np

from bayesppl.data.table import MatrixTable, Table
from bayesppl.errors import ImpossibleCellWarning, warn
from bayesppl.families.support import COUNTS, POSITIVE_NUMBERS, Support

#: What follows stands in the name of a density that has a probability of zero besides.
ZERO = "zero_or_"

_SUPPORTS: dict[str, Support] = {
    **dict.fromkeys(("lognormal", "exponential", "gamma"), POSITIVE_NUMBERS),
    **dict.fromkeys(("poisson", "negative_binomial"), COUNTS),
}


def skip_impossible(table: Table, density: str) -> Table:
    """The columns of new rows, cells outside of the support of a chosen density as missing, with a warning.

    Parameters
    ----------
    table : Table
        Columns for which this density was chosen.
    density : str
        Its name.
    """
    support = _SUPPORTS.get(density.removeprefix(ZERO))
    if support is None or support.contains is None:
        return table
    values = np.asarray(table.numeric(), dtype=np.float64)
    # infinities are refused by every family
    outside = np.isfinite(values) & ~support.contains(values)
    if density.startswith(ZERO):
        outside &= values != 0
    if not outside.any():
        return table
    for j in np.flatnonzero(outside.any(0)).tolist():
        row = int(outside[:, j].argmax())
        warn(
            f"column {table.names[j]!r} holds {values[row, j]:g} in row {row}, which the {density} density that "
            f"was chosen for it "
            f"excludes: it models {support.words}. {int(outside[:, j].sum())} such cells are skipped. "
            "ranges={column: (low, high)} declares what later rows can hold before a density is chosen",
            ImpossibleCellWarning,
        )
    return MatrixTable(table.names, np.where(outside, np.nan, values), table.is_named)
