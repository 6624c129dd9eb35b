"""Families picked from the dtypes of columns: Boolean, text, floating point, and integers as the user says."""

from __future__ import annotations

from collections.abc import Hashable

from bayesppl.data import Kind, Table
from bayesppl.families.base import REGISTRY, Family

_FAMILY_OF: dict[Kind, str] = {"boolean": "bernoulli", "category": "categorical", "continuous": "gaussian"}
INTEGERS = ("gaussian", "poisson", "categorical")


def families_by_dtype(table: Table, integers: str | None) -> dict[str, tuple[tuple[Hashable, ...], Family]]:
    """One block for each family, named after it, with the columns whose dtype calls for it.

    Raises
    ------
    ValueError
        If there are integer columns and ``integers`` does not say what they are, or for columns of other dtypes.
    """
    if integers is not None and integers not in INTEGERS:
        raise ValueError(f"integers must be one of {', '.join(map(repr, INTEGERS))} or None, found {integers!r}")
    kinds = {name: table.kind(name) for name in table.names}
    undecided = [name for name, kind in kinds.items() if kind == "integer"]
    if undecided and integers is None:
        raise ValueError(
            f"integer columns may hold counts, codes or measurements, and a dtype cannot tell which: "
            f"{', '.join(map(repr, undecided))}. Pass integers='poisson', 'categorical' or 'gaussian', convert the "
            "columns, or name the blocks yourself"
        )
    by_family: dict[str, list[Hashable]] = {}
    for name, kind in kinds.items():
        family = str(integers) if kind == "integer" else _FAMILY_OF[kind]
        by_family.setdefault(family, []).append(name)
    return {family: (tuple(names), REGISTRY[family]()) for family, names in by_family.items()}
