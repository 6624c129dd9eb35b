"""Columns of a data frame: which of them are used, as what, and what looks wrong about them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayesppl.cli.dialect import Chosen
from bayesppl.cli.terminal import is_number
from bayesppl.data.columns import listed

# Text is near-unique where more than this share of its cells differ from all others, and there are more than so many texts.
_UNIQUE_SHARE, _FEW_TEXTS = 0.5, 20

# Text is mostly numbers where more than this share of its cells are.
_NUMBERS_SHARE = 0.5


class Column(NamedTuple):
    """One column as a model has taken it."""

    name: str
    family: str
    distinct: int
    missing: int


def choose(X: Any, chosen: Chosen) -> Any:
    """The columns that were asked for, those of levels as categories.

    Raises
    ------
    ValueError
        If an option names a column that is not there, or a column of dates is left.
    """
    for option, names in (("--drop", chosen.drop), ("--keep", chosen.keep), ("--categorical", chosen.categorical)):
        unknown = [name for name in names if name not in X.columns]
        if unknown:
            raise ValueError(
                f"{option} {unknown[0]!r}: there is no such column of features; there are {listed(X.columns)}"
            )
    X = X[list(chosen.keep)] if chosen.keep else X.drop(columns=list(chosen.drop))
    levels = {name: "category" for name in chosen.categorical if name in X.columns}
    X = X.astype(levels) if levels else X
    for name in X.columns:
        if X[name].dtype.kind in "mM":
            raise ValueError(
                f"column {name!r} holds dates or times ({X[name].dtype}), which no model here describes; leave it out with "
                f"--drop {name!r}, or put numbers such as the year or the hour in its place"
            )
    return X


def remarks(X: Any, na_values: Sequence[str] = ()) -> Iterator[str]:
    """What looks wrong about columns of text: numbers that one odd cell made text of, and texts that hardly ever repeat."""
    for name in X.columns:
        if not _is_text(X[name]):
            continue
        cells = X[name].dropna()
        texts = cells[cells.map(lambda cell: isinstance(cell, str))]
        odd = [cell for cell in texts if not is_number(cell)]
        if len(odd) < (1 - _NUMBERS_SHARE) * len(cells):
            yield (
                f"column {name!r} is text, but only {len(odd)} of its {len(cells)} cells are no numbers, the first being "
                f"{odd[0]!r}; if that means a missing value, pass --na-values {odd[0]!r}"
                if odd
                else f"column {name!r} is text, but all its cells are numbers"
            )
        elif cells.nunique() > max(_FEW_TEXTS, _UNIQUE_SHARE * len(cells)):
            yield (
                f"column {name!r} holds {cells.nunique()} different texts in {len(cells)} rows; as levels they hold no information "
                f"about new rows. Leave it out with --drop {name!r}"
            )


def described(X: Any, families: Mapping[Hashable, str]) -> list[Column]:
    """Every column with the family that models it."""
    return [
        Column(str(name), families.get(name, "covariate"), int(X[name].nunique()), int(X[name].isna().sum()))
        for name in X.columns
    ]


def _is_text(column: Any) -> bool:
    from pandas.api.types import is_object_dtype, is_string_dtype

    return bool(is_object_dtype(column.dtype) or is_string_dtype(column.dtype))
