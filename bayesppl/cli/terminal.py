"""Text from data on its way to a terminal or a spreadsheet, either of which would take some of it for commands."""

from __future__ import annotations

import math
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from bayesppl.data.names import visible

if TYPE_CHECKING:
    from rich.table import Table

#: Characters of a line where there is no terminal to ask, and of a name.
WIDTH, LONGEST_NAME = 80, 28

# what makes a formula of a cell, unless the cell is a number
_FORMULA = re.compile(r"[=+\-@\t\r]")


def say(text: str, *, err: bool = False) -> None:
    """Print a line that may hold names from the data."""
    click.echo(visible(text), err=err)


def wrapped(line: str) -> str:
    """Wrap a line of words into as many lines as the terminal needs, or as 80 columns do where there is none."""
    width = shutil.get_terminal_size((80, 24)).columns
    return "\n".join(textwrap.wrap(line, width, subsequent_indent="  ")) if len(line) > width else line


def warn(remarks: Iterable[str]) -> None:
    """Print warnings on standard error."""
    for remark in remarks:
        say(f"bayesppl: warning: {remark}", err=True)


@contextmanager
def status(message: str, is_slow: bool = False) -> Iterator[None]:
    """Say on standard error what is being waited for; where there is no terminal, only about what is slow."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(escape(visible(message))):
            yield
        return
    if is_slow:
        say(f"bayesppl: {message}", err=True)
    yield


def counting(parts: Iterable[tuple[Sized, Any]], doing: str, total: int) -> Iterator[Any]:
    """Pass parts of a file on, and show on a terminal how many of its rows have been read."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(doing, total=total)
        for part in parts:
            yield part
            bar.advance(task, len(part[0]))


def cell(value: Any) -> Any:
    """Write an apostrophe before text that a spreadsheet would take for a formula."""
    if isinstance(value, str) and _FORMULA.match(value) and not is_number(value):
        return f"'{value}"
    return value


def cells(frame: Any) -> Any:
    """Write every text of a data frame, names of columns included, as :func:`cell` does."""
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


def table_of(title: str, caption: str | None = None, gap: int = 1) -> Table:
    """Make an empty table with the layout of all tables."""
    from rich import box
    from rich.table import Table

    return Table(
        title=title,
        caption=caption,
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, gap),
        pad_edge=False,
        show_edge=False,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
    )


def number(value: Any, how: str = ".4g") -> str:
    """Write a number, or text as it is."""
    if not isinstance(value, float):
        return safe(str(value))
    if math.isnan(value):
        return "—"
    return format(value, how)


def safe(text: str) -> str:
    """Write text from the data with neither markup nor control characters."""
    from rich.markup import escape

    return escape(visible(text))
