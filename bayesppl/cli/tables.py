"""The result of a comparison as tables for people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesppl.cli.columns import Column
from bayesppl.cli.report import Facts, Record, parameter_records, score_records
from bayesppl.cli.terminal import visible
from bayesppl.evaluation.comparison import SCORES
from bayesppl.model.rules import REFERENCE

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from bayesppl.evaluation.comparison import Comparison

# Lines of a table; the files and the JSON hold all of them.
_MOST_LINES = 40

# Columns of the data that are listed one by one.
_MOST_COLUMNS = 12

# Characters per line where there is no terminal to ask, of a name, and of a model.
_WIDTH, _LONGEST_NAME, _LONGEST_MODEL = 80, 28, 24

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
        f"\n[bold]{settings['model']}[/] on [bold]{_safe(facts.data)}[/] ({settings['inference']}): fitted to {facts.n_train} "
        f"rows, scored on {facts.n_test} others, seed {settings['seed']}\n"
    )
    for table in (_score_table(result), _difference_table(result)):
        console.print(table, "")
    console.print(_column_table(columns), "")
    for table in _parameter_tables(result) if with_parameters else ():
        console.print(table, "")
    for note in _notes(result, with_parameters):
        console.print(note)
    for path in written:
        console.print(f"wrote {_safe(str(path))}", soft_wrap=True)


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
        f"\n[bold]auto[/] on [bold]{_safe(facts.data)}[/]: fitted to {facts.n_train} rows, scored on {facts.n_test} others, seed "
        f"{facts.settings['seed']}\n"
    )
    table = _table(
        f"scores on {facts.n_test} held-out rows (better: more; ECE less)",
        "difference: of the log score from all together, ± its paired standard error",
    )
    table.add_column("model", no_wrap=True, overflow="ellipsis", max_width=_LONGEST_MODEL)
    for heading in ("weight", "accuracy", "log score", "± difference", "ECE"):
        table.add_column(heading, justify="right", no_wrap=True)
    for i, record in enumerate(records):
        difference = f"{record['log_score_difference']:+.3f} ±{record['log_score_difference_se']:.3f}"
        table.add_row(
            _safe(record["model"]),
            f"{record['weight']:.2f}" if i else "",
            f"{record['accuracy']:.3f}",
            f"{record['log_score']:.3f}",
            difference if i else "",
            f"{record['ece']:.3f}",
        )
    console.print(table, "")
    for line in summary:
        console.print(_safe(line))
    for part in ("", _column_table(columns, "taken for"), ""):
        console.print(part)
    console.print(
        "Each model is tempered and weighed by the labels that it predicts of left-out\ntraining rows. --model NAME compares the "
        "four rules of one model instead."
    )
    for path in written:
        console.print(f"wrote {_safe(str(path))}", soft_wrap=True)


def _console() -> Console:
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDTH)


def _table(title: str, caption: str | None = None) -> Table:
    from rich import box
    from rich.table import Table

    return Table(
        title=title,
        caption=caption,
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        pad_edge=False,
        show_edge=False,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
    )


def _parameter_tables(result: Comparison) -> Iterator[Table]:
    parameters = result.parameters
    tails = (1 - parameters.attrs["prob"]) / 2
    shown = {"sd": "sd", "lower": f"{100 * tails:.3g}%", "upper": f"{100 - 100 * tails:.3g}%"}
    for name in parameters.data_vars:
        dims = [str(dim) for dim in parameters[name].dims if dim != "estimate"]
        is_symmetric = any(dim.endswith("other_feature") for dim in dims)
        records = list(parameter_records(parameters[[name]]))
        if is_symmetric:
            records = _without_mirror_images(records, dims)
        surplus = len(records) - _MOST_LINES
        caption = f"… and {surplus} more lines; --json and --out DIR have all of them" if surplus > 0 else None
        table = _table(f"{name} (each pair of features once)" if is_symmetric else _safe(str(name)), caption)
        for dim in dims:
            table.add_column(
                _safe(dim.replace("_", " ")), overflow="ellipsis", no_wrap=True, max_width=_LONGEST_NAME
            )
        for estimate in parameters["estimate"].values.tolist():
            table.add_column(shown.get(estimate, estimate), justify="right", no_wrap=True)
        for record in records[:_MOST_LINES]:
            table.add_row(*(_cell(value) for key, value in record.items() if key != "parameter"))
        yield table


def _without_mirror_images(records: list[Record], dims: list[str]) -> list[Record]:
    """Drop the second of the two equal entries of every pair of features."""
    first: dict[Any, Record] = {}
    for record in records:
        pair = frozenset(record[dim] for dim in dims if dim.endswith("feature"))
        rest = tuple(record[dim] for dim in dims if not dim.endswith("feature"))
        first.setdefault((rest, pair), record)
    return list(first.values())


def _score_table(result: Comparison) -> Table:
    table = _table(f"scores on {result.scores.attrs['rows']} held-out rows (better: ↑ more, ↓ less)")
    table.add_column("rule")
    for score in SCORES:
        table.add_column(_HEADINGS[score], justify="right", no_wrap=True)
    for record in score_records(result):
        table.add_row(record["rule"], *(_cell(record[score]) for score in SCORES))
    return table


def _difference_table(result: Comparison) -> Table:
    table = _table(f"difference from {REFERENCE}, ± its standard error, paired by row")
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
    table = _table("columns", f"… and {surplus} more" if surplus > 0 else None)
    table.add_column("column", overflow="ellipsis", no_wrap=True, max_width=_LONGEST_NAME)
    table.add_column(heading, no_wrap=True)
    for count in ("distinct values", "missing cells"):
        table.add_column(count, justify="right", no_wrap=True)
    odd_first = sorted(columns, key=lambda column: column.missing == 0) if surplus > 0 else columns
    for column in odd_first[:_MOST_COLUMNS]:
        table.add_row(_cell(column.name), column.family, f"{column.distinct}", f"{column.missing}")
    return table


def _notes(result: Comparison, with_parameters: bool) -> Iterator[str]:
    attrs = result.parameters.attrs
    yield (
        "mle, map and mean classify with one estimate of the parameters; predictive\naverages over their posterior.\n"
        + (
            f"sd and the {100 * attrs['prob']:g}% credible interval come from {attrs['draws']} posterior draws."
            if with_parameters
            else "--parameters prints the estimates of all parameters; --json and --out DIR hold them."
        )
    )
    temperature = result.scores.attrs["temperature"]
    if temperature != 1:
        yield f"calibrated by left-out training rows: T = {temperature:.2f} (above 1: too sure without)."
    for rule, reason in result.undefined.items():
        yield f"[yellow]{rule} is undefined:[/] {_safe(reason)}"
    for record in score_records(result):
        rule = record["rule"]
        if record["log_score"] == -math.inf:
            yield f"[yellow]{rule}:[/] a true label got probability zero, so the log score is -inf."
        if record["impossible_rows"] > 0:
            yield (
                f"[yellow]{rule}:[/] {record['impossible_rows']:g} rows have probability zero under every class and were "
                "classified by class weights alone."
            )


def _difference(record: Record, score: str) -> str:
    difference, standard_error = record[f"{score}_difference"], record[f"{score}_difference_se"]
    if math.isnan(difference):
        return "undefined"
    if math.isnan(standard_error):
        return _cell(difference)
    if standard_error == 0:
        return f"{difference:+.4g} ±0" if difference else "0 ±0"
    if standard_error < _SMALL:
        return f"{_short(difference, '+.2g')} ±{_short(standard_error, '.1g')}"
    decimals = max(0, 1 - math.floor(math.log10(standard_error)))  # two digits of the standard error
    return f"{difference:+.{decimals}f} ±{standard_error:.{decimals}f}"


def _short(number: float, how: str) -> str:
    """A number whose exponent has no zero in front."""
    return format(number, how).replace("e-0", "e-").replace("e+0", "e+")


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return _safe(str(value))
    if math.isnan(value):
        return "undefined"
    return f"{value:.4g}"


def _safe(text: str) -> str:
    """Text from the data, with neither markup nor control characters."""
    from rich.markup import escape

    return escape(visible(text))
