"""What a choice of densities for columns has found."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from bayesppl.kernels.arrays import Array

#: Least and largest value that a column can take in rows to come, for the columns where they are known.
Ranges = Mapping[Hashable, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class ColumnChoice:
    """What was tried for every column, and what was chosen.

    Attributes
    ----------
    columns : tuple
    densities : tuple of str
    log_evidence : (n_columns, n_densities)
        Of the cells of the column given their classes; NaN where a density is none of the column.
    rounding : (n_columns,)
        The step of the values, which all evidences of the column take for granted; 0 of levels.
    """

    columns: tuple[Hashable, ...]
    densities: tuple[str, ...]
    log_evidence: Array
    rounding: Array

    @property
    def chosen(self) -> tuple[str, ...]:
        """The density of each column."""
        return tuple(self.densities[j] for j in np.nanargmax(self.log_evidence, axis=1))
