"""What a comparison found: for programs (JSON), for people (tables and sentences), and as files of ``--out``."""

from __future__ import annotations

import json
import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bayesppl.cli.terminal import WIDTH, cells, safe
from bayesppl.files import replacing

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table


Record = dict[str, Any]


class Findings(NamedTuple):
    """What a comparison found.

    Attributes
    ----------
    document : dict
        For programs.
    shown : iterable of tables and texts
        For people, made while they are printed.
    files : mapping of str to callable
        By the name of a file, what writes it to a path.
    """

    document: Record
    shown: Iterable[Table | str]
    files: Mapping[str, Callable[[Path], object]]


def parameter_records(parameters: xr.Dataset) -> Iterator[Record]:
    """Make one record per number: the parameter, its coordinates, and its estimates."""
    for name, values in parameters.data_vars.items():
        frame = values.to_dataset("estimate").to_dataframe().reset_index()
        yield from ({"parameter": str(name), **record} for record in frame.to_dict("records"))


def write_csv(records: list[Record], path: Path) -> None:
    """Write a header line, then a line per record; a cell is empty where a number does not exist."""
    import pandas as pd

    # a record lacks the dimensions that its parameter does not have: names stand by their rightmost place
    places = [(name, place) for record in records for place, name in enumerate(record)]
    last = dict(sorted(places, key=operator.itemgetter(1)))
    frame = pd.DataFrame(records, columns=sorted(last, key=last.__getitem__), dtype=object)
    cells(frame).to_csv(path, index=False, lineterminator="\n")


def to_json(document: Record) -> str:
    """Write strict JSON: infinities are the strings "inf" and "-inf", NaN is null."""
    return json.dumps(_strict(document), indent=2, ensure_ascii=False, allow_nan=False)


def _strict(value: Any) -> Any:
    """Replace numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _strict(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_strict(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def show(shown: Iterable[Table | str], written: Iterable[Path]) -> None:
    """Print tables, as wide as they are, texts, as wide as the terminal is, and what was written."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    width = console.width
    unbounded = console.options.update(max_width=sys.maxsize)
    for part in shown:
        # a table that is wider than the terminal runs over, for numbers are never cut
        whole = console.measure(part, options=unbounded).maximum if isinstance(part, Table) else 0
        console.width = max(width, whole)
        console.print(part)
    console.width = width
    for path in written:
        console.print(f"wrote {safe(str(path))}", soft_wrap=True)


def write(directory: Path, files: Mapping[str, Callable[[Path], object]]) -> list[Path]:
    """Write files into a folder, where they appear only once all of them are complete, or none does.

    Files of the same names in an existing folder are replaced.
    """
    is_new = not directory.exists()
    directory.mkdir(exist_ok=True)
    try:
        with ExitStack() as stack:
            for name, write in files.items():
                write(stack.enter_context(replacing(directory / name)))
    finally:
        if is_new and not any(directory.iterdir()):
            directory.rmdir()
    return [directory / name for name in sorted(files)]
