"""The levels of columns: as declared, or those that occur, and what becomes of cells that hold none of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from bayesppl.data.arguments import by_name, named_once
from bayesppl.data.columns import missing
from bayesppl.data.levels import check_levels, factorize, lookalikes
from bayesppl.data.names import listed, spelled
from bayesppl.data.table import Table
from bayesppl.errors import RowError, UnseenLevelWarning, warn
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.integer_levels import distinct_integers, extremes

# Columns that a warning names.
_MOST_NAMED = 3

#: The level of values that did not occur where levels are learned.
UNSEEN: Final = "(unseen)"

Levels = Sequence[Hashable] | Mapping[Hashable, Sequence[Hashable]]


def _are_levels(levels: Any) -> bool:
    """Whether these are levels of all columns, no text, and no list of them for each column."""
    is_sequence = isinstance(levels, Sequence) or hasattr(levels, "__array__")  # of any library
    is_sequence &= getattr(levels, "ndim", 1) == 1
    return is_sequence and not isinstance(levels, str) and all(isinstance(level, Hashable) for level in levels)


def _as_tuple(levels: Any) -> tuple[Hashable, ...]:
    return tuple(np.asarray(levels) if hasattr(levels, "__array__") else levels)


def declared_levels(levels: Levels, columns: Sequence[Hashable]) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the levels of every column as declared, for all of them or by name.

    Raises
    ------
    ValueError, TypeError
        If levels are missing, occur twice or read alike, or columns are missing or unknown.
    """
    levels = by_name(levels)
    if isinstance(levels, Mapping) and all(map(_are_levels, levels.values())):
        by_column = {name: _as_tuple(of_column) for name, of_column in levels.items()}
        named_once("levels", "column", by_column, columns)
    elif _are_levels(levels):
        by_column = dict.fromkeys(columns, _as_tuple(levels))
    else:
        raise TypeError(
            "levels must be a sequence of levels for all columns, or a mapping of columns to these, "
            f"found {spelled(levels)}"
        )
    for name, found in by_column.items():
        if missing(np.fromiter(found, object)).any():
            raise ValueError(
                f"the levels of column {name!r} hold a missing value, which no cell has: leave it out. If a gap "
                "shall be a level, write one in its place, as by X.fillna('missing')"
            )
        if not found or len(set(found)) < len(found):
            raise ValueError(
                f"the levels of column {name!r} must be distinct, and at least one, found {listed(found)}"
            )
        alike = lookalikes(found)
        if alike is not None:
            raise ValueError(
                f"the levels {spelled(alike[0])} and {spelled(alike[1])} of column {name!r} read alike; declare "
                "one of the two, in the type that the column has"
            )
    return by_column


def levels_that_occur(table: Table) -> list[list[Hashable]]:
    """Find the levels of every column: those of its dtype where it has any, or else those in its cells."""
    whole = table.integers()
    found = None if whole is None or not len(table) else distinct_integers(whole)
    if found is not None:
        return [values.tolist() for values in found]
    return [_levels_of(table, name) for name in table.names]


def _levels_of(table: Table, name: Hashable) -> list[Hashable]:
    """Return the levels of a column: those of its dtype, such as pandas categories, or else those that occur."""
    declared = table.categories(name)
    levels, codes = factorize(table.column(name), name)
    check_levels(name, levels, codes)
    return levels if declared is None else declared


def unseen_beside(levels: Sequence[Hashable]) -> str:
    """Name the level of all others: "(unseen)", in further parentheses where that is a level itself."""
    name: str = UNSEEN
    while name in levels:
        name = f"({name})"
    return name


def skip_unseen(table: Table, codes: Array, names: Sequence[Hashable], unseen: Array) -> None:
    """Mask cells of unseen levels, with a warning.

    Parameters
    ----------
    table : Table
    codes : (n_rows, n_columns)
        Changed in place.
    names : sequence
        Of the columns of ``codes``.
    unseen : (n_columns,)
        The code of a level that did not occur, the largest of its column; negative where a column has none.
    """
    places = _columns_with(codes, unseen)
    if not places:
        return
    rows, found = np.zeros(len(codes), dtype=bool), list[list[Hashable]]()
    for j in places:
        new = codes[:, j] == unseen[j]
        found.append(list(dict.fromkeys(table.column(names[j])[new].tolist())))
        codes[new, j] = -1
        rows |= new
    warn(
        f"{skipped_in_words([names[j] for j in places], found, rows)}. unseen='error' of "
        "CategoricalNB, or of the Categorical of a block, refuses them; unseen='learned' takes them as evidence "
        "for classes of few rows",
        UnseenLevelWarning,
    )


def skipped_in_words(names: Sequence[Hashable], found: Sequence[Sequence[Hashable]], rows: Array) -> str:
    """Describe the levels of columns that did not occur, and in how many rows they are: ``rows`` is a mask."""
    n_rows = int(rows.sum())
    return (
        f"{_list_columns(names, found)} that did not occur in training, in {n_rows} row{'s' * (n_rows != 1)}: "
        "such cells are skipped"
    )


def refuse_unseen(table: Table, codes: Array, names: Sequence[Hashable], unseen: Array) -> None:
    """Refuse the first cell of an unseen level.

    Parameters
    ----------
    table, codes, names, unseen
        As for :func:`skip_unseen`.
    """
    places = _columns_with(codes, unseen)
    if places:
        j = places[0]
        row = int((codes[:, j] == unseen[j]).argmax())
        [value] = table.column(names[j])[[row]].tolist()
        raise RowError(
            f"column {names[j]!r} holds {value!r} in row ",
            row,
            ", a level that did not occur in training. Correct the value, or use unseen='missing' to skip such "
            "cells",
        )


def _columns_with(codes: Array, largest: Array) -> list[int]:
    """Find the columns in which some code is the largest that it can be."""
    return np.flatnonzero(extremes(codes)[1] == largest).tolist() if len(codes) else []


def _list_columns(names: Sequence[Hashable], found: Sequence[Sequence[Hashable]]) -> str:
    """Name the first columns, each with a level that is new in it, and count the others."""
    n_levels = sum(map(len, found))
    if len(names) == 1:
        others = f" and {n_levels - 1} more levels" if n_levels > 1 else ", a level"
        return f"column {names[0]!r} holds {found[0][0]!r}{others}"
    named = [f"{name!r} ({levels[0]!r})" for name, levels in zip(names[:_MOST_NAMED], found, strict=False)]
    surplus = len(names) - len(named)
    more = [f"{surplus} more columns"] if surplus else [named.pop()]
    return f"columns {', '.join(named)} and {more[0]} hold {n_levels} levels"
