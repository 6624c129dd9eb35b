"""Transformers of a user's own before a candidate of a stack."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesppl.data.curves import Curves
from bayesppl.data.leaves import Leaves
from bayesppl.data.read_table import as_table
from bayesppl.data.recoding import Recoding, Unrecoded
from bayesppl.data.table import Table


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """Recode rows by the transformers of a pipeline, fitted without labels.

    Attributes
    ----------
    steps : transformer
        Fitted; a pipeline of several.
    """

    steps: Any

    def transform(self, X: Any) -> Table:
        """Recode rows."""
        table = as_table(X)
        found = as_table(self.steps.transform(table.native()))
        if len(found) != len(table):
            raise ValueError(
                f"the transformers of a candidate make {len(found)} rows of {len(table)}, as those of texts do "
                "with a table: name the column, as in sklearn.compose.make_column_transformer((CountVectorizer(), "
                f"{table.names[0]!r}))"
            )
        return found

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Name the columns of a table that matter: any of them may."""
        return names

    def known_levels(
        self, of_recoded: Mapping[Hashable, Sequence[Hashable]]
    ) -> dict[Hashable, tuple[Hashable, ...]]:
        """Find the levels of the columns that are recoded, which only the transformers know."""
        return {}


#: How the columns of a candidate are recoded.
AnyRecoding = Recoding | Unrecoded | Curves | Leaves | Preprocessing
