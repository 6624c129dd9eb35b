"""Whole numbers of a text file beside gaps: pandas reads such a column as floating-point numbers."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from bayesppl.cli.text_files import Dialect, without_thousands, written_cells

_INTEGER = re.compile(r"\s*[+-]?\d+\s*")


def with_whole_numbers(frame: Any, path: Path, dialect: Dialect, known: dict[str, bool]) -> Any:
    """The same rows; columns that hold nothing but integers and gaps, in the whole file, are of a type that has both.

    Parameters
    ----------
    frame : pandas.DataFrame
        Some rows of the file.
    path : path
    dialect : Dialect
    known : dict of str to bool
        Whether columns that were looked at before are such ones; those looked at now are added.

    Raises
    ------
    ValueError
        For an integer beyond 2^53, which has become another one, naming the column, its row and the remedy.
    """
    suspects = [name for name in frame.columns if _may_be_whole(frame[name])]
    unknown = [name for name in suspects if name not in known]
    if unknown:
        known |= _look_at_text(path, dialect, unknown)
    whole = [name for name in suspects if known[name]]
    return frame.astype(dict.fromkeys(whole, "Int64")) if whole else frame


def _may_be_whole(column: Any) -> bool:
    import numpy as np

    if column.dtype != np.float64:
        return False
    numbers = column.to_numpy()
    present = numbers[~np.isnan(numbers)]
    return bool(len(present) < len(numbers) and np.isfinite(present).all() and (present % 1 == 0).all())


def _look_at_text(path: Path, dialect: Dialect, names: Collection[str]) -> dict[str, bool]:
    """Whether all cells of each column but the missing ones are written as integers, and there are some."""
    integers, others = set[str](), set[str]()
    for name, column in written_cells(path, dialect, names):
        for row, text in column.items():
            cell = without_thousands(text, dialect)
            if not _INTEGER.fullmatch(cell):
                others.add(name)
                continue
            integers.add(name)
            if int(cell) != int(float(cell)):
                raise ValueError(
                    f"column {name!r} holds the integer {int(cell)} in row {row}, beyond 2^53, and missing cells: the column is "
                    "read as floating-point numbers, which round it. If it identifies rows, leave it out (--drop); otherwise "
                    "subtract an offset, or write letters before it to make it a level"
                )
    return {name: name in integers and name not in others for name in names}
