"""The choice of a density for every column, and cells that come later and that it excludes.

A declared density of positive numbers refuses a zero, for either the cell or the declaration is wrong. A density
that was chosen because no zero had occurred yet is wrong only now. The cell has the density zero in every class,
and so is no evidence of any: it is skipped, as a level is that did not occur in training.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from bayesppl.data.table import MatrixTable, Table
from bayesppl.errors import ImpossibleCellWarning, warn
from bayesppl.families.support import COUNTS, POSITIVE_NUMBERS, Support
from bayesppl.kernels.arrays import Array

# nats
_LEVEL = 1e-3


@dataclass(frozen=True, eq=False)
class ColumnChoice:
    """The densities that were tried for every column, with their evidences, and the one that was chosen.

    Attributes
    ----------
    columns : tuple
    densities : tuple of str
    log_evidence : (n_columns, n_densities)
        Of the cells of the column given their classes; NaN where a density was not tried for the column.
    rounding : (n_columns,)
        The step that the values are rounded to, which all evidences of the column assume; 0 for levels.
    """

    columns: tuple[Hashable, ...]
    densities: tuple[str, ...]
    log_evidence: Array
    rounding: Array

    @property
    def chosen(self) -> tuple[str, ...]:
        """The density of each column; the first of those that are level, as log-normals far from zero are."""
        best = np.nanmax(self.log_evidence, axis=1, keepdims=True)
        return tuple(self.densities[j] for j in np.argmax(self.log_evidence >= best - _LEVEL, axis=1))


#: What follows stands in the name of a density that has a probability of zero besides.
ZERO = "zero_or_"

_SUPPORTS: dict[str, Support] = {
    **dict.fromkeys(("lognormal", "exponential", "gamma"), POSITIVE_NUMBERS),
    **dict.fromkeys(("poisson", "negative_binomial"), COUNTS),
}


def skip_impossible(table: Table, density: str) -> Table:
    """Mask cells of new rows outside the support of a chosen density, with a warning.

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
        n_rows = int(outside[:, j].sum())
        warn(
            f"column {table.names[j]!r} holds {values[outside[:, j], j][0]:g}, which the {density} density that "
            f"was chosen for it excludes: it models {support.words}. Such cells are skipped, in {n_rows} "
            f"row{'s' * (n_rows > 1)}. Correct them, or fit a model in which the column has a family that takes "
            "them, as in MixedNB(blocks=…)",
            ImpossibleCellWarning,
        )
    return MatrixTable(table.names, np.where(outside, np.nan, values), table.is_named)
