"""Columns that are independent of all others given the class and the parameters: one by one, or a block of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple


class Unit(NamedTuple):
    """Columns whose log density can be taken by itself, so that those of all units add up to that of the row.

    Attributes
    ----------
    name : hashable
        Of the column, or of the block of several columns; empty for all columns of a family.
    columns : tuple
    """

    name: Hashable
    columns: tuple[Hashable, ...]


def separate(columns: Sequence[Hashable]) -> tuple[Unit, ...]:
    """Every column by itself."""
    return tuple(Unit(column, (column,)) for column in columns)


def together(columns: Sequence[Hashable]) -> tuple[Unit, ...]:
    """All columns as one."""
    return separate(columns) if len(columns) == 1 else (Unit("", tuple(columns)),)


def of_block(block: str, units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Units of a block of a product: those of several columns are named after it."""
    return tuple(
        unit
        if len(unit.columns) == 1
        else Unit("_".join(str(name) for name in (block, unit.name) if name != ""), unit.columns)
        for unit in units
    )
