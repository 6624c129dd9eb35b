"""Columns of a data frame: which of them are used, as what, and what looks wrong about them."""

from __future__ import annotations

import datetime
import re
import shlex
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.cli.files import PLAIN, Dialect
from bayesppl.cli.odd_cells import common, of_numbers, of_one_way, of_others, spelling
from bayesppl.cli.options import Chosen
from bayesppl.cli.terminal import is_number, table
from bayesppl.data.levels import FEW_LEVELS, are_near_unique
from bayesppl.data.names import listed, meant
from bayesppl.kernels.arrays import Array

if TYPE_CHECKING:
    from rich.table import Table

# Columns of the data that are listed one by one.
_MOST_COLUMNS = 12

# Texts that often stand for a missing cell.
_MARKS = ("?", "-", "--", ".", "n.a.", "unknown", "missing", "none")

# Dates in figures, such as 2007-11-11 or 3/4/98, and what may follow: a time.
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")

# Numbers may be read in thousands where more than this share of them are whole.
_WHOLE_SHARE = 0.1


def choose(X: Any, chosen: Chosen, target: str) -> Any:
    """Select the columns that were asked for, those of levels as categories.

    Raises
    ------
    ValueError
        If an option names a column that is not there, or a column of dates, of lists or none at all is left.
    """
    for option, names in (("--drop", chosen.drop), ("--only", chosen.keep), ("--categorical", chosen.categorical)):
        for name in names:
            if name == target:
                raise ValueError(f"{option} {name!r} is the target, which is no feature in any case; leave it out")
            if name not in X.columns:
                raise ValueError(
                    f"{option} {name!r}: there is no such column of features{meant(name, X.columns)}; there are "
                    f"{listed(X.columns)}"
                )
    X = X[list(chosen.keep)] if chosen.keep else X.drop(columns=list(chosen.drop))
    if X.columns.empty:
        raise ValueError(f"no column is left besides the target {target!r}; features are needed")
    for name in X.columns:
        found = next(iter(X[name].dropna()), None) if X[name].dtype == object else None
        if X[name].dtype.kind in "mM" or isinstance(found, datetime.time):
            raise ValueError(
                f"column {name!r} holds dates or times ({found or X[name].dtype}), which no model here describes; "
                f"leave it out with --drop {name!r}, or put numbers such as the year or the hour in its place"
            )
        if not isinstance(found, Hashable):
            what, remedy = "lists or records", "give each of their parts a column"
            if isinstance(found, bytearray):
                what, remedy = "bytes", "store them as text"
            raise ValueError(
                f"column {name!r} holds {what}, such as {found!r}; leave it out with --drop {name!r}, or {remedy}"
            )
    return X.astype({name: "category" for name in chosen.categorical if name in X.columns})


def remarks(
    X: Any,
    dialect: Dialect = PLAIN,
    left_out: Collection[Hashable] = (),
    levels: Collection[Hashable] = (),
    *,
    are_all: bool = True,
) -> Iterator[str]:
    """Describe suspect columns: text among numbers, identifiers, marks of missing cells.

    Columns that are left out already need no advice to leave them out.

    Parameters
    ----------
    dialect : Dialect
        How numbers are written in the file.
    levels : collection of names
        Columns that were said to hold levels, whatever they look like.
    are_all : bool
        Whether these are all rows, so that a column without cells has none.
    """
    from pandas.api.types import CategoricalDtype, is_object_dtype, is_string_dtype

    marked: dict[str, list[Hashable]] = {}
    decimal, thousands = dialect.decimal, dialect.thousands
    for name, cells in X.items():
        drop = f"leave it out with --drop {shlex.quote(str(name))}"
        n_cells, n_different = int(cells.count()), int(cells.nunique())
        if cells.dtype.kind in "iu" and n_different == n_cells > FEW_LEVELS:
            yield (
                f"column {name!r} holds a whole number of its own in each of {n_cells} rows, and is used as a "
                f"number; if it identifies rows, {drop}"
            )
        if cells.dtype.kind == "f" and _may_be_thousands(cells[np.isfinite(cells)].to_numpy()):
            yield (
                f"column {name!r} is read as numbers below 1000, which have three decimals or none; if a mark "
                "parts their thousands, pass it as --thousands, and another one as --decimal"
            )
        if not n_cells:
            if are_all and name not in left_out:
                yield f"column {name!r} is empty; {drop}"
            continue
        kept = cells.dtype.categories.dtype if isinstance(cells.dtype, CategoricalDtype) else cells.dtype
        if name in levels or not (is_object_dtype(kept) or is_string_dtype(kept)):
            continue
        texts = Counter(cells.dropna())
        odd = Counter({text: count for text, count in texts.items() if not is_number(text, decimal, thousands)})
        if 2 * odd.total() < n_cells:
            yield f"column {name!r} is text, but {of_numbers(odd, texts, drop, decimal)}"
        elif advice := spelling(odd, texts):
            yield f"column {name!r} is text, but all its cells are numbers, such as {common(odd)}; {advice}"
        elif (most := of_one_way(odd)) and (advice := spelling(most, texts - odd)):
            yield (
                f"column {name!r} is text, but most of its cells are numbers, such as {common(most)}; {advice}. "
                f"As to the others, {common(odd - most)}: {of_others(odd - most)}"
            )
        elif 2 * sum(count for text, count in texts.items() if _DATE.fullmatch(text)) > n_cells:
            yield (
                f"column {name!r} holds dates, taken for {n_different} levels, which new rows will not have: "
                f"{drop}, or put numbers such as the day of the year in its place"
            )
        elif are_near_unique(n_different, n_cells):
            if name not in left_out:
                yield (
                    f"column {name!r} holds {n_different} different texts in {n_cells} rows; as levels they hold "
                    f"no information about new rows: {drop}"
                )
        else:
            for mark in (text for text in texts if text.strip().lower() in _MARKS):
                marked.setdefault(mark, []).append(name)
    for mark, names in marked.items():
        yield (
            f"{mark!r} is taken for a level of {listed(names)}; if it means a missing value, pass --na-values "
            f"{shlex.quote(mark)}"
        )


def _may_be_thousands(numbers: Array) -> bool:
    """Whether numbers look as 1.429 beside 857 does: measurements of three decimals are rarely whole."""
    decimal, size = numbers % 1 != 0, np.abs(numbers)
    parts = size[decimal] * 1000
    of_three = np.isclose(parts, np.rint(parts), rtol=1e-12) & (size[decimal] >= 1)
    n_whole = np.count_nonzero(size[~decimal])
    return bool(
        n_whole > _WHOLE_SHARE * len(numbers)
        and len(parts) > 0
        and of_three.all()
        and np.mean(np.rint(parts) % 10 != 0) > 0.5
        and (size < 1000).all()
    )


def column_table(X: Any, kinds: Mapping[str, str], other: str, heading: str) -> Table | str:
    """Show what every column was taken for, or ``other``: a line each, or a line for all where they are alike."""
    columns = {str(name): kinds.get(name, other) for name in X.columns}
    missing = dict(zip(columns, X.isna().sum().tolist(), strict=True))
    surplus = len(columns) - _MOST_COLUMNS
    if surplus > 0 and len(set(columns.values())) == 1 and not any(missing.values()):
        return f"all {len(columns)} columns: {next(iter(columns.values()))}, no missing cells"
    shown = sorted(columns, key=lambda name: missing[name] == 0) if surplus > 0 else list(columns)
    shown = shown[:_MOST_COLUMNS]
    return table(
        "columns",
        {"column": shown, heading: [columns[name] for name in shown]},
        {
            "distinct values": [f"{X[name].nunique()}" for name in shown],
            "missing cells": [f"{missing[name]}" for name in shown],
        },
        f"… and {surplus} more" if surplus > 0 else None,
    )
