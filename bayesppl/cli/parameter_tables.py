"""Estimates of parameters as tables of 80 columns: numbers in full, and names as long as there is room for."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bayesppl.cli.layout import LONGEST_NAME, WIDTH, number, safe, table_of
from bayesppl.cli.report import Record, parameter_records
from bayesppl.data.names import short_names

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table

# Lines of a parameter; the files and the JSON hold all of them.
_MOST_LINES = 40

# Characters of a name at least, and between columns.
_SHORTEST_NAME, _GAP = 8, 2


def parameter_tables(parameters: xr.Dataset) -> Iterator[Table | str]:
    """A table for every parameter, or one for every class of it where names need the room of the class."""
    for name in map(str, parameters.data_vars):
        dims = [str(dim) for dim in parameters[name].dims if dim != "estimate"]
        records = list(parameter_records(parameters[[name]]))
        title = name
        if any(dim.endswith("other_feature") for dim in dims):
            records = _without_mirror_images(records, dims)
            title += " (each pair of features once)"
        shown = records[:_MOST_LINES]
        needed = sum(_GAP + max(len(str(record[dim])) for record in shown) for dim in dims)
        by_class = len(dims) > 1 and dims[0] == "class" and needed > _room(_numbers(parameters, shown))
        if by_class:
            for label, part in itertools.groupby(shown, operator.itemgetter("class")):
                yield _table(f"{label}: {title}", dims[1:], list(part), parameters)
        else:
            yield _table(title, dims, shown, parameters)
        if len(records) > len(shown):
            yield f"… and {len(records) - len(shown)} more lines of {name}; --json and --out DIR have all of them"


def _table(title: str, dims: Sequence[str], records: Sequence[Record], parameters: xr.Dataset) -> Table:
    numbers = _numbers(parameters, records)
    room = min(LONGEST_NAME, max(_SHORTEST_NAME, _room(numbers) // max(1, len(dims)) - _GAP))
    table = table_of(safe(title), gap=_GAP - 2)
    for dim in dims:
        table.add_column(safe(dim.replace("_", " ")), overflow="ellipsis", no_wrap=True, max_width=room)
    for heading, cells in numbers.items():
        table.add_column(heading, justify="right", no_wrap=True, min_width=max(map(len, (heading, *cells))))
    names = [[safe(name) for name in short_names([record[dim] for record in records], room)] for dim in dims]
    for line in zip(*names, *numbers.values(), strict=True):
        table.add_row(*line)
    return table


def _numbers(parameters: xr.Dataset, records: Sequence[Record]) -> dict[str, list[str]]:
    """The cells of every estimate, by its heading."""
    tails = (1 - parameters.attrs["prob"]) / 2
    bounds = {"lower": f"{100 * tails:.3g}%", "upper": f"{100 - 100 * tails:.3g}%"}
    estimates = parameters["estimate"].values.tolist()
    return {bounds.get(name, name): [number(record[name], ".3g") for record in records] for name in estimates}


def _room(numbers: dict[str, list[str]]) -> int:
    """Characters of a line that numbers leave to names."""
    return WIDTH - sum(_GAP + max(map(len, (heading, *cells))) for heading, cells in numbers.items())


def _without_mirror_images(records: list[Record], dims: list[str]) -> list[Record]:
    """Drop the second of the two equal entries of every pair of features."""
    first: dict[Any, Record] = {}
    for record in records:
        pair = frozenset(record[dim] for dim in dims if dim.endswith("feature"))
        rest = tuple(record[dim] for dim in dims if not dim.endswith("feature"))
        first.setdefault((rest, pair), record)
    return list(first.values())
