r"""Categories as predictors: an indicator for every level, centred so that the levels of a column add up to nothing.

Level l of a column of L levels becomes :math:`e_l - 1/L`, so that the intercept is the mean over all levels with equal weights. An
outcome that stands for levels still to come has an indicator of its own and is not among the L.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from bayesppl.families._bases.level_names import cell_names
from bayesppl.kernels.arrays import Array

#: A row is one of at most so many, where several of its categories are missing.
MOST_COMPLETIONS = 20_000


@dataclass(frozen=True)
class LevelCoding:
    """The indicators of several columns side by side.

    Attributes
    ----------
    columns : tuple
    outcomes : tuple of tuples
        Of each column.
    has_unseen : bool
        Whether the last outcome of each column stands for levels still to come.
    """

    columns: tuple[Hashable, ...]
    outcomes: tuple[tuple[Hashable, ...], ...]
    has_unseen: bool

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Names of the indicators."""
        pairs = (
            (name, level) for name, levels in zip(self.columns, self.outcomes, strict=True) for level in levels
        )
        return tuple(cell_names(pairs, "="))

    def indicators(self, codes: Array) -> Array:
        """Of rows of codes (n_rows, n_columns), zeros where a code is missing: (n_rows, n_indicators)."""
        blocks = []
        for column, levels in zip(codes.T, self.outcomes, strict=True):
            n_named = len(levels) - self.has_unseen
            table = np.eye(len(levels))
            table[:, :n_named] -= 1 / max(n_named, 1)
            blocks.append(np.vstack([table, np.zeros(len(levels))])[column.astype(np.intp)])
        return np.hstack(blocks)

    def completions(self, missing: Sequence[int]) -> list[tuple[int, ...]]:
        """All codes that the missing columns can have together.

        Raises
        ------
        ValueError
            If they are too many.
        """
        sizes = [len(self.outcomes[j]) for j in missing]
        if prod(sizes) > MOST_COMPLETIONS:
            names = ", ".join(repr(self.columns[j]) for j in missing)
            raise ValueError(
                f"a row lacks the categories {names}, which have {prod(sizes):,} combinations of levels, and its density is the sum "
                f"over them; at most {MOST_COMPLETIONS:,} are summed. Fill some of the cells, or use bayesppl.MixedNB, which "
                "leaves missing cells out."
            )
        return list(product(*map(range, sizes)))
