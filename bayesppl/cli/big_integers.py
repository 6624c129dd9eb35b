"""Integers of a text file that floating-point numbers would round: pandas reads a column with gaps as such numbers."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol

_INTEGER = re.compile(r"\s*[+-]?\d+\s*")

# Rows read as text at a time.
_ROWS = 50_000


class Written(Protocol):
    """How a text file is written."""

    def options(self) -> dict[str, Any]:
        """For ``pandas.read_csv``."""

    @property
    def thousands(self) -> str | None:
        """Between the thousands of a number."""


def refuse_rounded(frame: Any, path: Path, dialect: Written, checked: Collection[str] = ()) -> set[str]:
    """Refuse a column of integers in which gaps have turned integers beyond 2^53 into other ones.

    Parameters
    ----------
    frame : pandas.DataFrame
        Some rows of the file.
    path : path
    dialect : Dialect
    checked : collection of str
        Columns that need no other look.

    Returns
    -------
    set of str
        The columns that were looked at, in the whole file, and hold no such integer.

    Raises
    ------
    ValueError
        Naming the column, the integer, its row and the remedy.
    """
    suspects = {name for name in frame.columns if name not in checked and _may_be_rounded(frame[name])}
    if suspects:
        _look_at_text(path, dialect, suspects)
    return suspects


def _may_be_rounded(column: Any) -> bool:
    import numpy as np

    if column.dtype != np.float64:
        return False
    numbers = column.to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    # a column of fractions is one of floating-point numbers, large or not
    return bool(numbers.size < len(column) and (np.abs(numbers) >= 2**53).any() and (numbers % 1 == 0).all())


def _look_at_text(path: Path, dialect: Written, names: Collection[str]) -> None:
    import pandas as pd

    options = {**dialect.options(), "dtype": str, "usecols": sorted(names), "chunksize": _ROWS}
    with pd.read_csv(path, **options) as chunks:
        for texts in chunks:
            for name, column in texts.items():
                for row, text in column.dropna().items():
                    cell = text.replace(dialect.thousands, "") if dialect.thousands else text
                    if _INTEGER.fullmatch(cell) and int(cell) != int(float(cell)):
                        raise ValueError(
                            f"column {name!r} holds the integer {int(cell)} in row {row}, beyond 2^53, and missing cells: "
                            "the column is read as floating-point numbers, which round it. If it identifies rows, leave it out "
                            "(--drop); otherwise subtract an offset, or write letters before it to make it a level"
                        )
