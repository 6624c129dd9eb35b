"""Text from data on its way to a terminal or a spreadsheet, either of which would take some of it for commands."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from bayesppl.data.names import visible

# what makes a formula of a cell, unless the cell is a number
_FORMULA = re.compile(r"[=+\-@\t\r]")


def say(text: str, *, err: bool = False) -> None:
    """Print a line that may hold names from the data."""
    click.echo(visible(text), err=err)


def wrapped(line: str) -> str:
    """A line of words on as many lines as the terminal needs, or as 80 columns do where there is none."""
    width = shutil.get_terminal_size((80, 24)).columns
    return "\n".join(textwrap.wrap(line, width, subsequent_indent="  ")) if len(line) > width else line


def counting[T](
    parts: Iterable[T], rows_of: Callable[[T], int], doing: str, total: int | None = None
) -> Iterator[T]:
    """Pass parts of a file on, and show on a terminal how many rows there have been, of how many, and how fast."""
    if not sys.stderr.isatty():
        yield from parts
        return
    seen, start = 0, time.monotonic()
    for part in parts:
        yield part
        seen += rows_of(part)
        share = f" of {total:,}" if total else ""
        rate = seen / max(time.monotonic() - start, 1e-3)
        click.echo(f"\r\x1b[K{doing}: {seen:,}{share} rows, {rate:,.0f} a second", err=True, nl=False)
    click.echo("", err=True)


def cell(value: Any) -> Any:
    """A cell of a CSV file: an apostrophe stands before text that a spreadsheet would take for a formula."""
    if isinstance(value, str) and _FORMULA.match(value) and not is_number(value):
        return f"'{value}"
    return value


def cells(frame: Any) -> Any:
    """A data frame with every text, names of columns included, as :func:`cell` writes it."""
    texts = [name for name, dtype in frame.dtypes.items() if dtype.kind not in "biufcmM"]
    safe = frame.assign(**{str(name): frame[name].map(cell) for name in texts}) if texts else frame
    return safe.set_axis([cell(name) for name in safe.columns], axis=1)


def is_number(text: Any) -> bool:
    """Whether a text is written as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
