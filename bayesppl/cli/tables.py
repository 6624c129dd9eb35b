"""The result of a comparison as tables for people."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesppl.cli.columns import Column
from bayesppl.cli.report import Facts, Record, parameter_records, score_records
from bayesppl.cli.terminal import LONGEST_NAME, WIDTH, number, safe, table_of
from bayesppl.data.names import short_names
from bayesppl.evaluation.comparison import SCORES
from bayesppl.model.rules import REFERENCE

if TYPE_CHECKING:
    import xarray as xr
    from rich.console import Console
    from rich.table import Table

    from bayesppl.evaluation.comparison import Comparison

# Columns of the data that are listed one by one.
_MOST_COLUMNS = 12

# Characters of the name of a model.
_LONGEST_MODEL = 24

# Lines of a parameter; the files and the JSON hold all of them. Characters of a name at least, and between
# columns.
_MOST_LINES, _SHORTEST_NAME, _GAP = 40, 8, 2

# Errors below this are written with an exponent.
_SMALL = 1e-3

_HEADINGS = {"accuracy": "accuracy ↑", "log_score": "log score ↑", "brier": "Brier ↓", "ece": "ECE ↓"}


def print_tables(
    result: Comparison,
    facts: Facts,
    columns: Sequence[Column],
    written: Sequence[Path],
    *,
    with_parameters: bool,
) -> None:
    """Print scores, differences, what every column was taken for, and remarks on them."""
    console = _console()
    settings = facts.settings
    console.print(
        f"\n[bold]{settings['model']}[/] on [bold]{safe(facts.data)}[/] ({settings['inference']}, seed "
        f"{settings['seed']})\n"
        f"fitted to {facts.n_train} rows, scored on {facts.n_test} others\n"
    )
    for table in (_score_table(result), _difference_table(result)):
        console.print(table, "")
    console.print(_column_table(columns), "")
    for part in _parameter_tables(result.parameters) if with_parameters else ():
        console.print(part, "")
    for note in _notes(result, with_parameters):
        console.print(note)
    for path in written:
        console.print(f"wrote {safe(str(path))}", soft_wrap=True)


def print_stack(
    records: Sequence[Record],
    summary: Sequence[str],
    facts: Facts,
    columns: Sequence[Column],
    written: Sequence[Path],
) -> None:
    """Print the scores of a stack and its models, what was found, and what every column was taken for."""
    console = _console()
    console.print(
        f"\n[bold]auto[/] on [bold]{safe(facts.data)}[/] (seed {facts.settings['seed']})\n"
        f"fitted to {facts.n_train} rows, scored on {facts.n_test} others\n"
    )
    table = table_of(
        f"scores on {facts.n_test} held-out rows (better: more; ECE less)",
        "difference: of the log score from all together, ± its paired standard error",
    )
    table.add_column("model", no_wrap=True, overflow="ellipsis", max_width=_LONGEST_MODEL)
    for heading in ("weight", "accuracy", "log score", "± difference", "ECE"):
        table.add_column(heading, justify="right", no_wrap=True)
    for i, record in enumerate(records):
        difference = f"{record['log_score_difference']:+.3f} ±{record['log_score_difference_se']:.3f}"
        table.add_row(
            safe(record["model"]),
            f"{record['weight']:.2f}" if i else "",
            f"{record['accuracy']:.3f}",
            f"{record['log_score']:.3f}",
            difference if i else "",
            f"{record['ece']:.3f}",
        )
    console.print(table, "")
    for line in summary:
        console.print(safe(line))
    for part in ("", _column_table(columns, "taken for"), ""):
        console.print(part)
    console.print(
        "Each model is tempered and weighed by the labels that it predicts of left-out\ntraining rows. --model "
        "NAME compares the four rules of one model instead."
    )
    for path in written:
        console.print(f"wrote {safe(str(path))}", soft_wrap=True)


def _console() -> Console:
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDTH)


def _score_table(result: Comparison) -> Table:
    table = table_of(f"scores on {result.scores.attrs['rows']} held-out rows (better: ↑ more, ↓ less)")
    table.add_column("rule")
    for score in SCORES:
        table.add_column(_HEADINGS[score], justify="right", no_wrap=True)
    for record in score_records(result):
        table.add_row(record["rule"], *(_score(record[score]) for score in SCORES))
    return table


def _difference_table(result: Comparison) -> Table:
    table = table_of(f"difference from {REFERENCE}, ± its standard error, paired by row")
    table.add_column("rule")
    for score in SCORES:
        table.add_column(_HEADINGS[score][:-2], justify="right", no_wrap=True)
    for record in score_records(result):
        if record["rule"] != REFERENCE:
            table.add_row(record["rule"], *(_difference(record, score) for score in SCORES))
    return table


def _column_table(columns: Sequence[Column], heading: str = "family") -> Table | str:
    """What every column was taken for: a line each, or a line for all where they are alike."""
    kinds = {(column.family, column.missing > 0) for column in columns}
    if len(columns) > _MOST_COLUMNS and kinds == {(columns[0].family, False)}:
        return f"all {len(columns)} columns: {columns[0].family}, no missing cells"
    surplus = len(columns) - _MOST_COLUMNS
    table = table_of("columns", f"… and {surplus} more" if surplus > 0 else None)
    table.add_column("column", overflow="ellipsis", no_wrap=True, max_width=LONGEST_NAME)
    table.add_column(heading, no_wrap=True)
    for count in ("distinct values", "missing cells"):
        table.add_column(count, justify="right", no_wrap=True)
    odd_first = sorted(columns, key=lambda column: column.missing == 0) if surplus > 0 else columns
    for column in odd_first[:_MOST_COLUMNS]:
        table.add_row(safe(column.name), column.family, f"{column.distinct}", f"{column.missing}")
    return table


def _notes(result: Comparison, with_parameters: bool) -> Iterator[str]:
    attrs = result.parameters.attrs
    yield (
        "mle, map and mean classify with one estimate of the parameters; predictive\naverages over their "
        "posterior.\n"
        + (
            f"sd and the {100 * attrs['prob']:g}% credible interval come from {attrs['draws']} posterior draws."
            if with_parameters
            else "--parameters prints the estimates of all parameters; --json and --out DIR\nhold them."
        )
    )
    temperature = result.scores.attrs["temperature"]
    if temperature != 1:
        yield f"calibrated by left-out training rows: T = {temperature:.2f} (above 1: too sure without)."
    for rule, reason in result.undefined.items():
        yield f"[yellow]{rule} is undefined:[/] {safe(reason)}"
    for record in score_records(result):
        rule = record["rule"]
        if record["log_score"] == -math.inf:
            yield f"[yellow]{rule}:[/] a true label got probability zero, so the log score is -inf."
        if record["impossible_rows"] > 0:
            yield (
                f"[yellow]{rule}:[/] {record['impossible_rows']:g} rows have probability zero under every class "
                "and were classified by class weights alone."
            )


def _score(value: float) -> str:
    """Write a score so that the decimal points of a column stand below each other."""
    return number(value, ".1e" if 0 < abs(value) < _SMALL else ".4f")


def _difference(record: Record, score: str) -> str:
    difference, standard_error = record[f"{score}_difference"], record[f"{score}_difference_se"]
    if math.isnan(difference):
        return "undefined"
    if math.isnan(standard_error):
        return number(difference)
    if standard_error == 0:
        return f"{difference:+.4g} ±0" if difference else "0 ±0"
    if standard_error < _SMALL:
        return f"{_short(difference, '+.2g')} ±{_short(standard_error, '.1g')}"
    decimals = max(0, 1 - math.floor(math.log10(standard_error)))  # two digits of the standard error
    return f"{difference:+.{decimals}f} ±{standard_error:.{decimals}f}"


def _short(number: float, how: str) -> str:
    """A number whose exponent has no zero in front."""
    return format(number, how).replace("e-0", "e-").replace("e+0", "e+")


def _parameter_tables(parameters: xr.Dataset) -> Iterator[Table | str]:
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
