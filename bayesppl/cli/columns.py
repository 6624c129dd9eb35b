"""Columns of a data frame: which of them are used, as what, and what looks wrong about them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from bayesppl.cli.options import Chosen
from bayesppl.cli.terminal import is_number
from bayesppl.data.names import listed

# Text is near-unique where more than this share of its cells differ from all others, and there are more than so
# many texts. Whole numbers number the rows where all of them differ, and there are more than so many.
_UNIQUE_SHARE, _FEW_TEXTS = 0.5, 20

# Texts that often stand for a missing cell.
_MARKS = ("?", "-", "--", ".", "n.a.", "unknown", "missing", "none")

# Text is mostly numbers where more than this share of its cells are.
NUMBERS_SHARE = 0.5


class Column(NamedTuple):
    """One column as a model has taken it."""

    name: str
    family: str
    distinct: int
    missing: int


def choose(X: Any, chosen: Chosen) -> Any:
    """Select the columns that were asked for, those of levels as categories.

    Raises
    ------
    ValueError
        If an option names a column that is not there, or a column of dates is left.
    """
    for option, names in (("--drop", chosen.drop), ("--only", chosen.keep), ("--categorical", chosen.categorical)):
        unknown = [name for name in names if name not in X.columns]
        if unknown:
            raise ValueError(
                f"{option} {unknown[0]!r}: there is no such column of features; there are {listed(X.columns)}"
            )
    X = X[list(chosen.keep)] if chosen.keep else X.drop(columns=list(chosen.drop))
    X = X.astype({name: "category" for name in chosen.categorical if name in X.columns})
    for name in X.columns:
        if X[name].dtype.kind in "mM":
            raise ValueError(
                f"column {name!r} holds dates or times ({X[name].dtype}), which no model here describes; leave it "
                f"out with --drop {name!r}, or put numbers such as the year or the hour in its place"
            )
    return X


def with_own_levels(X: Any, names: Collection[str]) -> Any:
    """Reduce the levels of these columns to those that occur in these rows, without those of rows held out."""
    categories = [name for name in names if name in X.columns]
    return X.assign(**{name: X[name].cat.remove_unused_categories() for name in categories})


def remarks(X: Any) -> Iterator[str]:
    """Describe suspect columns: text among numbers, identifiers, marks of missing cells."""
    from pandas.api.types import is_object_dtype, is_string_dtype

    marked: dict[str, list[Hashable]] = {}
    for name, dtype in X.dtypes.items():
        cells = X[name]
        n_cells, n_different = int(cells.count()), int(cells.nunique())
        if dtype.kind in "iu" and n_different == n_cells > _FEW_TEXTS:
            yield (
                f"column {name!r} holds a whole number of its own in each of {n_cells} rows, and is used as a "
                f"number; if it identifies rows, leave it out with --drop {shlex.quote(str(name))}"
            )
        if not (is_object_dtype(dtype) or is_string_dtype(dtype)):
            continue
        texts = Counter(cell for cell in cells.tolist() if isinstance(cell, str))
        odd = Counter({cell: count for cell, count in texts.items() if not is_number(cell)})
        if not texts:
            continue  # nothing but gaps
        if odd.total() < (1 - NUMBERS_SHARE) * n_cells:
            yield _of_numbers(name, odd, n_cells)
        elif n_different > max(_FEW_TEXTS, _UNIQUE_SHARE * n_cells):
            yield (
                f"column {name!r} holds {n_different} different texts in {n_cells} rows; as levels they hold no "
                f"information about new rows. Leave it out with --drop {name!r}"
            )
        else:
            for mark in (text for text in texts if text.lower() in _MARKS):
                marked.setdefault(mark, []).append(name)
    for mark, names in marked.items():
        yield (
            f"{mark!r} is taken for a level of {listed(names)}; if it means a missing value, pass --na-values "
            f"{shlex.quote(mark)}"
        )


def _of_numbers(name: Hashable, odd: Counter[str], n_cells: int) -> str:
    """Describe a column of numbers that odd cells, or zeros before numbers, made text of."""
    if not odd:
        return (
            f"column {name!r} is text, but all its cells are numbers; some begin with zeros, as codes do, or are "
            "written in a way that would be lost. If they are numbers, remove the zeros; if the column "
            f"identifies rows, leave it out with --drop {name!r}"
        )
    common = ", ".join(f"{cell!r} ({count})" for cell, count in odd.most_common(3))
    found = (
        f"column {name!r} is text, but only {odd.total()} of its {n_cells} cells are no numbers: {common}"
        f"{', …' if len(odd) > 3 else ''}"
    )
    if all(is_number(cell.replace(",", "")) for cell in odd):
        return f"{found}; if commas part the thousands, pass --thousands ,"
    options = " ".join(f"--na-values {shlex.quote(cell)}" for cell, _ in odd.most_common(3))
    return f"{found}; if that means missing values, pass {options}"


def described(X: Any, families: Mapping[Hashable, str], other: str) -> list[Column]:
    """Describe every column by the family that models it, or as ``other`` where there is none."""
    return [
        Column(str(name), families.get(name, other), int(X[name].nunique()), int(X[name].isna().sum()))
        for name in X.columns
    ]
