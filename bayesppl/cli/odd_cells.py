"""Cells of text where numbers or truth values are expected: how they are written, and what to do about it."""

from __future__ import annotations

import re
import shlex
from collections import Counter

from bayesppl.cli.files import Dialect
from bayesppl.cli.terminal import SPACES, is_number

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

# Truth values in words that are not read as such.
_TRUTHS = ("yes", "no", "y", "n", "t", "f", "ja", "nein", "wahr", "falsch", "oui", "non", "vrai", "faux")


def of_numbers(odd: Counter[str], texts: Counter[str], drop: str, decimal: str) -> str:
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
    advice = spelling(odd, texts) or of_others(odd)
    return f"only {odd.total()} of its {texts.total()} cells are no numbers: {common(odd)}; {advice}"


def of_others(cells: Counter[str]) -> str:
    """Advise what to do about cells that are no numbers, in a column of numbers."""
    words = Counter({cell: n for cell, n in cells.items() if not any(map(str.isdigit, cell))})
    if words == cells:
        return f"if that means missing values, {_na_values(cells)}"
    marked = f", and {_na_values(words)} for those that are missing" if words else ""
    return f"write those that are numbers as such{marked}"


def _na_values(cells: Counter[str]) -> str:
    # no argument of a command can hold the NUL character
    marks = [f"--na-values {shlex.quote(cell)}" for cell, _ in cells.most_common(3) if "\0" not in cell]
    return "pass " + " ".join(marks) if marks else "leave such cells empty in the file"


def of_one_way(odd: Counter[str]) -> Counter[str]:
    """Select the cells that are numbers written in one other way, where most are."""
    ways = [Counter({cell: n for cell, n in odd.items() if way.fullmatch(cell.strip())}) for way in _SPELLINGS]
    for unit, _ in Counter(filter(None, map(_unit, odd))).most_common(1):
        ways.append(Counter({cell: n for cell, n in odd.items() if _unit(cell) == unit}))
    most = max(ways, key=Counter.total)
    return most if 2 * most.total() > odd.total() else Counter()


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


def common(cells: Counter[str]) -> str:
    shown = ", ".join(f"{cell!r} ({count})" for cell, count in cells.most_common(3))
    return shown + ", …" * (len(cells) > 3)


def remedy(cell: str, dialect: Dialect | None, *, among_numbers: bool) -> str:
    """Advise what to do about an odd cell of a file of this dialect, if it is one of text."""
    decimal, thousands = (None, None) if dialect is None else (dialect.decimal, dialect.thousands)
    is_parted = is_number(cell.replace(",", ""))
    if decimal not in (None, ".") and "." in cell and is_number(cell):
        return "if the point marks decimals, pass --decimal ."
    if decimal is not None and (is_number(cell, decimal, thousands) or cell.lower() in ("true", "false")):
        return "the column mixes numbers and truth values: write all of it as in the fit"
    if is_number(cell) or (is_parted and decimal is None):
        return "convert the column to numbers"
    if is_parted and "." not in cell and decimal == "." and not thousands:
        return "if the comma is part of a number, pass --decimal , or --thousands ,"
    if decimal is not None and (advice := spelling(Counter([cell]), Counter())):
        return advice
    if thousands and decimal and is_number(cell.replace(thousands, ""), decimal):
        return f"its mark of thousands, {thousands!r}, does not part groups of three digits: correct it"
    written = "the number 1 or 0" if among_numbers else "true or false"
    is_truth = cell.strip().lower() in _TRUTHS
    truth = f"if that is a truth value, write it as {written}; " if is_truth else ""
    return (
        f"{truth}if that means a missing value, leave the cell empty or pass --na-values {shlex.quote(cell)}; "
        "otherwise correct it, or fit a model to rows that hold such text too"
    )
