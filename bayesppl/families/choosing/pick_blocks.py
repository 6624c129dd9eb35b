"""Blocks of columns and their families: declared, or picked by dtype or by evidence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, get_args

from bayesppl.data.table import Table
from bayesppl.families.choosing.choose_columns import choose_columns
from bayesppl.families.choosing.column_choice import ColumnChoice, Ranges
from bayesppl.families.choosing.infer_families import Integers, families_by_dtype
from bayesppl.families.choosing.propose_blocks import propose_blocks
from bayesppl.families.composite import Blocks
from bayesppl.kernels.arrays import Array

#: What picks the families where there are no blocks.
Pick = Literal["dtype", "evidence", "blocks"]


def require_one_way(how: Pick, blocks: Blocks | None, ranges: Ranges | None) -> None:
    """Refuse what is no way to find blocks, and two ways at once."""
    if how not in get_args(Pick):
        raise ValueError(f"columns must be one of {', '.join(map(repr, get_args(Pick)))}, found {how!r}")
    if blocks is not None and not isinstance(blocks, Mapping):
        raise TypeError(
            "blocks must be a mapping of names to (columns, family), as in {'sizes': (['length'], "
            f"bayesppl.Gaussian())}}, found {blocks!r}"
        )
    if ranges is not None and (how != "evidence" or blocks is not None):
        raise ValueError("ranges is about the choice of columns='evidence' without blocks; drop it")
    if how == "evidence" and blocks is not None:
        raise ValueError("columns='evidence' chooses the blocks, and blocks are given; drop one of the two")


def pick_blocks(
    how: Pick,
    table: Table,
    classes: Sequence[Hashable],
    codes: Array,
    weights: Array,
    integers: Integers | None,
    ranges: Ranges | None,
) -> tuple[Blocks, ColumnChoice | None]:
    """Blocks of all columns of a table, and how they were chosen where it was by evidence.

    Parameters
    ----------
    how : {"dtype", "evidence", "blocks"}
    table : Table
    classes : sequence
    codes, weights : (n_rows,)
        Class and weight of every row.
    integers, ranges
        See :class:`~bayesppl.Product`.
    """
    if how == "dtype":
        return families_by_dtype(table, integers), None
    if how == "blocks":
        return propose_blocks(table, classes, codes, weights, integers), None
    if integers is not None:
        raise ValueError(
            "integers declares what integer columns are, which columns='evidence' finds out; drop one of the two"
        )
    return choose_columns(table, classes, codes, weights, ranges)
