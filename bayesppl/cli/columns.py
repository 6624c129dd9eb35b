"""Columns of a data frame: which of them are used, as what, and what looks wrong about them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from bayesppl.cli.dialect import Chosen
from bayesppl.cli.terminal import is_number
from bayesppl.data.columns import listed

# Text is near-unique where more than this share of its cells differ from all others, and there are more than so many texts.
_UNIQUE_SHARE, _FEW_TEXTS = 0.5, 20

# Texts that often stand for a missing cell.
_MARKS = ("?", "-", "--", ".", "n.a.", "unknown", "missing", "none")

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


def with_own_levels(X: Any, names: Collection[str]) -> Any:
    """The same rows; columns of levels know those that occur in these rows, and not those of rows held out."""
    categories = [name for name in names if name in X.columns]
    return X.assign(**{name: X[name].cat.remove_unused_categories() for name in categories})


def remarks(X: Any) -> Iterator[str]:
    """What looks wrong about columns of text: numbers that odd cells made text of, texts that hardly ever repeat, marks of missing cells."""
    marked: dict[str, list[Hashable]] = {}
    for name, dtype in X.dtypes.items():
        if not is_text(dtype):
            continue
        cells = X[name]
        n_cells = int(cells.count())
        texts = Counter(cell for cell in cells.tolist() if isinstance(cell, str))
        if not texts and n_cells:
            continue  # truth values beside gaps
        odd = Counter({cell: count for cell, count in texts.items() if not is_number(cell)})
        n_different = len(texts) if texts.total() == n_cells else int(cells.nunique())
        if odd.total() < (1 - _NUMBERS_SHARE) * n_cells:
            yield _of_numbers(name, odd, n_cells)
        elif n_different > max(_FEW_TEXTS, _UNIQUE_SHARE * n_cells):
            yield (
                f"column {name!r} holds {n_different} different texts in {n_cells} rows; as levels they hold no information "
                f"about new rows. Leave it out with --drop {name!r}"
            )
        else:
            for mark in (text for text in texts if text.lower() in _MARKS):
                marked.setdefault(mark, []).append(name)
    for mark, names in marked.items():
        yield f"{mark!r} is taken for a level of {listed(names)}; if it means a missing value, pass --na-values {shlex.quote(mark)}"


def _of_numbers(name: Hashable, odd: Counter[str], n_cells: int) -> str:
    """About a column of numbers that odd cells made text of."""
    if not odd:
        return f"column {name!r} is text, but all its cells are numbers"
    common = ", ".join(f"{cell!r} ({count})" for cell, count in odd.most_common(3))
    found = f"column {name!r} is text, but only {odd.total()} of its {n_cells} cells are no numbers: {common}{', …' if len(odd) > 3 else ''}"
    if all(is_number(cell.replace(",", "")) for cell in odd):
        return f"{found}; if commas part the thousands, pass --thousands ,"
    options = " ".join(f"--na-values {shlex.quote(cell)}" for cell, _ in odd.most_common(3))
    return f"{found}; if that means missing values, pass {options}"


def described(X: Any, families: Mapping[Hashable, str]) -> list[Column]:
    """Every column with the family that models it."""
    return [
        Column(str(name), families.get(name, "covariate"), int(X[name].nunique()), int(X[name].isna().sum()))
        for name in X.columns
    ]


def is_text(dtype: Any) -> bool:
    """Whether a column of this type may hold text."""
    from pandas.api.types import is_object_dtype, is_string_dtype

    return bool(is_object_dtype(dtype) or is_string_dtype(dtype))
