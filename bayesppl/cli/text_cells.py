"""Text in columns that held none in the fit: in a text file, one such cell makes text of all numbers of its column."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Hashable
from typing import Any

from bayesppl.cli.columns import is_text
from bayesppl.cli.terminal import is_number
from bayesppl.errors import RowError

# How truth values are written in text files.
_TRUTHS = ("true", "false")


def refuse_text(features: Any, texts: Collection[str], read: Collection[Hashable]) -> None:
    """Refuse text where the fit had numbers or truth values.

    Parameters
    ----------
    features : pandas.DataFrame
        Some rows of a file.
    texts : collection of str
        Columns that held text in the fit.
    read : collection
        Columns on which predictions depend.

    Raises
    ------
    ValueError
        Naming the column, the cell that made text of it, its row and the remedy.
    """
    names = [
        name for name, dtype in features.dtypes.items() if name in read and name not in texts and is_text(dtype)
    ]
    for name in names:
        cells = [(row, cell) for row, cell in enumerate(features[name].tolist()) if isinstance(cell, str)]
        odd = [(row, cell) for row, cell in cells if not is_number(cell) and cell.lower() not in _TRUTHS]
        if not cells:
            continue
        row, cell = (odd or cells)[0]
        raise RowError(
            f"column {name!r} holds the text {cell!r} in row ",
            row,
            f" and held no text in the fit; {_remedy(cell)}",
        )


def _remedy(cell: str) -> str:
    if is_number(cell):
        return "convert the column to numbers"
    if is_number(cell.replace(",", "")):
        return "if the comma is part of a number, pass --decimal , or --thousands ,"
    return (
        f"if that means a missing value, leave the cell empty or pass --na-values {shlex.quote(cell)}; otherwise correct it, or fit "
        "a model to rows that hold such text too"
    )
