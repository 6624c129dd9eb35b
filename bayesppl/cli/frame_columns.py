"""Columns of a data frame: which of them are used, as what, and what looks wrong about them."""

from __future__ import annotations

import datetime
import re
import shlex
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.cli.files import SPACES
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

# Marks that part thousands.
_PARTS = f"[_'\u2019{SPACES}]"

# How else numbers are written, and what is to be done.
_SPELLINGS = {
    re.compile(r"-?[1-9]\d{0,2}(,\d{2,3})*,\d{3}(\.\d+)?"): "if commas part the thousands, pass --thousands ,",
    re.compile(rf"-?[1-9]\d{{0,2}}({_PARTS}\d{{3}})+(\.\d+)?"): (
        "if the mark parts the thousands, pass it as --thousands, any space as ' '"
    ),
    re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?"): "if commas mark decimals, pass --decimal ,",
    re.compile(rf"[+-]?\d{{1,3}}(({_PARTS}\d{{3}})*,\d+|({_PARTS}\d{{3}})+)"): (
        "if commas mark decimals, pass --decimal , and the mark that parts the thousands as --thousands, any "
        "space as ' '"
    ),
    re.compile(r"[+-]?\d{1,3}(\.\d{3})*,\d+"): (
        "pass --thousands . --decimal , if points part the thousands and commas mark decimals"
    ),
    re.compile(r"\u2212[\d.]+"): "write their minus signs as -",
    re.compile(r"(['\u2019`])[+-]?[\d.,]+\1"): "write numbers without quotes, or in double quotes",
    re.compile(r"\([\d.,]+\)"): "write negative amounts with a minus sign, and not in brackets",
}

# Numbers with a currency or a unit, as US$5.20, CHF 5 or 5 km/h, but not codes, as A12; the groups are the unit.
_SIGNS = "$€£¥₹₽₩₺₪฿₫₴₦"
_WITH_UNIT = re.compile(
    rf"[+-]?([^\W\d_]{{1,3}}\.?\s|[^\W\d_]{{0,2}}[{_SIGNS}])?\s?[+-]?\d[\d.,]*(?:{_PARTS}\d{{3}}[\d.,]*)*"
    rf"\s?([^\W\d_%°{_SIGNS}][^\s\d]{{0,5}}[23²³]?|[%°{_SIGNS}][^\s\d]{{0,2}})?"
)

# Thousands that are read as decimals, where it is not the comma that marks decimals.
_PARTED_BY_POINTS = re.compile(r"-?[1-9]\d{0,2}(\.\d{3})+")

# Numbers may be read in thousands where more than this share of them are whole.
_WHOLE_SHARE = 0.1

# Text is mostly numbers where more than this share of its cells are.
NUMBERS_SHARE = 0.5


def choose(X: Any, chosen: Chosen, target: str) -> Any:
    """Select the columns that were asked for, those of levels as categories.

    Raises
    ------
    ValueError
        If an option names a column that is not there, or a column of dates, of lists or none at all is left.
    """
    for option, names in (("--drop", chosen.drop), ("--only", chosen.keep), ("--categorical", chosen.categorical)):
        for name in names:
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
    decimal: str = ".",
    left_out: Collection[Hashable] = (),
    levels: Collection[Hashable] = (),
    *,
    are_all: bool = True,
) -> Iterator[str]:
    """Describe suspect columns: text among numbers, identifiers, marks of missing cells.

    Columns that are left out already need no advice to leave them out.

    Parameters
    ----------
    decimal : str
        The mark of decimals in the file.
    levels : collection of names
        Columns that were said to hold levels, whatever they look like.
    are_all : bool
        Whether these are all rows, so that a column without cells has none.
    """
    from pandas.api.types import CategoricalDtype, is_object_dtype, is_string_dtype

    marked: dict[str, list[Hashable]] = {}
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
        odd = Counter({text: count for text, count in texts.items() if not is_number(text, decimal)})
        if odd.total() < (1 - NUMBERS_SHARE) * n_cells:
            yield f"column {name!r} is text, but {_of_numbers(odd, texts, drop, decimal)}"
        elif advice := spelling(odd, texts):
            yield f"column {name!r} is text, but all its cells are numbers, such as {_common(odd)}; {advice}"
        elif (most := _of_one_way(odd)) and (advice := spelling(most, texts - odd)):
            yield (
                f"column {name!r} is text, but most of its cells are numbers, such as {_common(most)}; {advice}. "
                f"As to the others, {_common(odd - most)}: {_of_others(odd - most)}"
            )
        elif sum(count for text, count in texts.items() if _DATE.fullmatch(text)) > NUMBERS_SHARE * n_cells:
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


def _of_numbers(odd: Counter[str], texts: Counter[str], drop: str, decimal: str) -> str:
    """Describe what odd cells, or zeros before numbers, made text of a column of numbers."""
    if not odd and decimal != "." and all(map(_PARTED_BY_POINTS.fullmatch, texts)):
        return "all its cells are numbers; pass --thousands . if points part the thousands"
    if not odd and decimal != "." and any("." in text for text in texts):
        return (
            "all its cells are numbers; points mark no decimals under another --decimal: leave that out, or pass "
            "--thousands . if they part the thousands"
        )
    if not odd:
        return (
            "all its cells are numbers; the file declares them as text, or some begin with zeros, as codes do, "
            "have 19 digits or more, or are written in a way that would be lost. If they are numbers, store them "
            f"as numbers, without the zeros, or in a larger unit; if the column identifies rows, {drop}"
        )
    found = f"only {odd.total()} of its {texts.total()} cells are no numbers: {_common(odd)}"
    if advice := spelling(odd, texts):
        return f"{found}; {advice}"
    return f"{found}; {_of_others(odd)}"


def _of_others(cells: Counter[str]) -> str:
    """Advise what to do about cells that are no numbers, in a column of numbers."""
    words = Counter({cell: n for cell, n in cells.items() if not any(map(str.isdigit, cell))})
    if words == cells:
        return f"if that means missing values, {_na_values(cells)}"
    marked = f", and {_na_values(words)} for those that are missing" if words else ""
    return f"write those that are numbers as such{marked}"


def _na_values(cells: Counter[str]) -> str:
    return "pass " + " ".join(f"--na-values {shlex.quote(cell)}" for cell, _ in cells.most_common(3))


def _of_one_way(odd: Counter[str]) -> Counter[str]:
    """Select the cells that are numbers written in one other way, where most are."""
    ways = [Counter({cell: n for cell, n in odd.items() if way.fullmatch(cell.strip())}) for way in _SPELLINGS]
    for unit, _ in Counter(filter(None, map(_unit, odd))).most_common(1):
        ways.append(Counter({cell: n for cell, n in odd.items() if _unit(cell) == unit}))
    most = max(ways, key=Counter.total)
    return most if most.total() > NUMBERS_SHARE * odd.total() else Counter()


def spelling(odd: Counter[str], texts: Counter[str]) -> str | None:
    """Advise what to do about cells that are numbers, all written in the same other way."""
    odd = Counter({cell.strip(): count for cell, count in odd.items()})
    units = set(map(_unit, odd))
    if len(units) == 1 and all(units):
        return f"write them without {units.pop()}"
    advice = next((advice for way, advice in _SPELLINGS.items() if all(map(way.fullmatch, odd))), None)
    if advice and "--decimal" in advice and any("." in text for text in texts if text not in odd):
        return "write all decimals with the same mark"
    return advice


def _unit(cell: str) -> str:
    """Return the unit of a number that is written with one, and otherwise nothing."""
    found = _WITH_UNIT.fullmatch(cell.strip())
    return "".join(filter(None, found.groups())).strip() if found else ""


def _common(cells: Counter[str]) -> str:
    shown = ", ".join(f"{cell!r} ({count})" for cell, count in cells.most_common(3))
    return shown + ", …" * (len(cells) > 3)


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
