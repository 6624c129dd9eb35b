"""Cells of new rows that hold levels which did not occur in training are skipped with a warning, or refused."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from bayesppl.data.table import Table
from bayesppl.errors import RowError, UnseenLevelWarning, warn
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.levels import extremes

# Columns that a warning names.
_MOST_NAMED = 3


def skip_unseen(table: Table, codes: Array, names: Sequence[Hashable], unseen: Array) -> None:
    """Let cells of unseen levels count as missing, with a warning.

    Parameters
    ----------
    table : Table
    codes : (n_rows, n_columns)
        Changed in place.
    names : sequence
        Of the columns of ``codes``.
    unseen : (n_columns,)
        The code of a level that did not occur, the largest of its column.
    """
    if not len(codes):
        return
    places = np.flatnonzero(extremes(codes)[1] == unseen).tolist()
    if not places:
        return
    rows, found = np.zeros(len(codes), dtype=bool), list[list[Hashable]]()
    for j in places:
        new = codes[:, j] == unseen[j]
        found.append(list(dict.fromkeys(table.column(names[j])[new].tolist())))
        codes[new, j] = -1
        rows |= new
    warn(
        f"{_columns([names[j] for j in places], found)} that did not occur in training, in {int(rows.sum())} "
        "rows: such cells are skipped. unseen='error' refuses them; unseen='learned' takes them as evidence for "
        "classes of few rows",
        UnseenLevelWarning,
    )


def refuse_unseen(table: Table, codes: Array, names: Sequence[Hashable], unseen: Array) -> None:
    """Refuse the first cell of an unseen level.

    Parameters
    ----------
    table, codes, names, unseen
        As for :func:`skip_unseen`.
    """
    for j in np.flatnonzero(extremes(codes)[1] == unseen).tolist() if len(codes) else ():
        row = int((codes[:, j] == unseen[j]).argmax())
        [value] = table.column(names[j])[[row]].tolist()
        raise RowError(
            f"column {names[j]!r} holds {value!r} in row ",
            row,
            ", a level that did not occur in training. Correct the value, or use unseen='missing' to skip such "
            "cells",
        )


def _columns(names: Sequence[Hashable], found: Sequence[Sequence[Hashable]]) -> str:
    """The first columns, each with a level that is new in it, and how many others there are."""
    n_levels = sum(map(len, found))
    if len(names) == 1:
        others = f" and {n_levels - 1} more levels" if n_levels > 1 else ", a level"
        return f"column {names[0]!r} holds {found[0][0]!r}{others}"
    named = [f"{name!r} ({levels[0]!r})" for name, levels in zip(names[:_MOST_NAMED], found, strict=False)]
    surplus = len(names) - len(named)
    more = [f"{surplus} more columns"] if surplus else [named.pop()]
    return f"columns {', '.join(named)} and {more[0]} hold {n_levels} levels"
