"""Families picked from the dtypes of columns: Boolean, text, floating point, and integers as declared."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import issparse

from bayesppl.data.arguments import by_name
from bayesppl.data.columns import Kind
from bayesppl.data.names import listed, spelled
from bayesppl.data.table import Table
from bayesppl.errors import UndeclaredIntegersError, warn
from bayesppl.families.bernoulli import Bernoulli
from bayesppl.families.categorical import Categorical
from bayesppl.families.choosing.block_columns import selected
from bayesppl.families.family import Family
from bayesppl.families.gaussian import Gaussian
from bayesppl.families.poisson import Poisson

IntegerFamily = Literal["gaussian", "poisson", "categorical"]

#: What integer columns are: all of them the same, or each by name.
Integers = IntegerFamily | Mapping[Hashable, IntegerFamily]

#: What models the columns of one kind.
FAMILIES: dict[str, Callable[[], Family]] = {
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "gaussian": Gaussian,
    "poisson": Poisson,
}

_FAMILY_OF: dict[Kind, str] = {"boolean": "bernoulli", "category": "categorical", "continuous": "gaussian"}


def families_by_dtype(table: Table, integers: Integers | None) -> dict[str, tuple[tuple[Hashable, ...], Family]]:
    """Return one block for each family, named after it, with the columns whose dtype calls for it.

    Raises
    ------
    ValueError
        If there are integer columns and ``integers`` does not declare what they are, if it names other columns, or
        for columns of other dtypes.
    """
    kinds = {name: table.kind(name) for name in table.names}
    of_integers = _families_of([name for name, kind in kinds.items() if kind == "integer"], integers)
    if isinstance(integers, str) and integers != "gaussian" and not issparse(table.matrix):
        _warn_of_gaps(table, [name for name, kind in kinds.items() if kind == "continuous"], integers)
    by_family: dict[str, list[Hashable]] = {}
    for name, kind in kinds.items():
        family = of_integers[name] if kind == "integer" else _FAMILY_OF[kind]
        by_family.setdefault(family, []).append(name)
    return {family: (tuple(names), FAMILIES[family]()) for family, names in by_family.items()}


def categories_and_numbers(
    table: Table, categories: Any, integers: Integers | None
) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
    """Divide the columns into categories and numbers, as declared or by their dtypes.

    Raises
    ------
    ValueError
        If there are none of either, and as :func:`families_by_dtype`.
    """
    if categories is None:
        found = _by_dtype(table, integers)
    else:
        if integers is not None:
            raise ValueError(
                "integers says which integers are categories, and so does categories=; drop one of the two"
            )
        named = tuple(dict.fromkeys(selected(categories, table)))
        table.require(named)
        found = named, tuple(name for name in table.names if name not in named)
    for names, kind, other in zip(
        found, ("categories", "numbers"), ("Gaussian('tied')", "Categorical()"), strict=True
    ):
        if not names:
            raise ValueError(
                f"no column holds {kind}, so that there is nothing for the others to depend on; use "
                f"bayesppl.{other}, or convert the columns that are {kind} (integers= says what integers are)"
            )
    return found


def _by_dtype(table: Table, integers: Integers | None) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
    try:
        by_family = {family: names for family, (names, _) in families_by_dtype(table, integers).items()}
    except UndeclaredIntegersError as error:
        raise UndeclaredIntegersError(
            f"integer columns may hold codes or measurements: {listed(error.columns)}. Pass "
            "integers='categorical' or 'gaussian', or a mapping of columns to these, or convert the columns",
            error.columns,
        ) from None
    if "poisson" in by_family:
        raise ValueError(
            f"integers makes column {by_family['poisson'][0]!r} a count, but here numbers are correlated "
            "Gaussians: pass 'gaussian' or 'categorical', or declare a bayesppl.Product"
        )
    levels = {*by_family.get("categorical", ()), *by_family.get("bernoulli", ())}
    return tuple(name for name in table.names if name in levels), by_family.get("gaussian", ())


def _warn_of_gaps(table: Table, columns: Sequence[Hashable], integers: str) -> None:
    """Warn of integers that gaps have made floating-point numbers, as in pandas and numpy."""
    for name in columns:
        cells = table.select((name,)).numeric()
        present = cells[~np.isnan(cells)]
        if 0 < len(present) < len(cells) and (present == np.round(present)).all():
            warn(
                f"column {name!r} holds whole numbers as floating-point numbers, as a column of integers does "
                f"once it has gaps; it is modelled as a measurement, not as integers={integers!r} has it. "
                f"Convert it, as in X[{name!r}] = X[{name!r}].astype('Int64'), or name the blocks yourself",
                UserWarning,
            )


def _families_of(columns: Sequence[Hashable], integers: Integers | None) -> dict[Hashable, str]:
    """Return the family of each of these integer columns, as declared."""
    integers = by_name(integers)
    chosen = dict(integers) if isinstance(integers, Mapping) else dict.fromkeys(columns, integers)
    given = chosen.values() if isinstance(integers, Mapping) else [integers]
    unknown = [family for family in given if family not in (None, *get_args(IntegerFamily))]
    if unknown:
        raise ValueError(
            f"integers must be one of {', '.join(map(repr, get_args(IntegerFamily)))} or None, or a mapping of "
            f"columns to these, found {spelled(unknown[0])}"
        )
    present = set(columns)
    others = [name for name in chosen if name not in present]
    if others:
        raise ValueError(
            f"integers names {spelled(others[0])}, which is no integer column of the data; these are "
            f"{listed(columns) or 'none'}"
        )
    undecided = [name for name in columns if chosen.get(name) is None]
    if undecided:
        raise UndeclaredIntegersError(
            "integer columns may hold counts, codes or measurements, and their dtype does not determine which: "
            f"{listed(undecided)}. Pass integers='poisson', 'categorical' or 'gaussian', or a mapping of columns "
            "to these; convert the columns; or name the blocks yourself",
            undecided,
        )
    return {name: str(chosen[name]) for name in columns}
