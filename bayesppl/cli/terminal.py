"""Text from data on its way to a terminal or a spreadsheet, either of which would take some of it for commands."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from bayesppl.data.names import short_names, visible

if TYPE_CHECKING:
    from rich.table import Table

#: Characters of a line where there is no terminal to ask; of a name at most and at least, and between columns.
WIDTH, LONGEST_NAME, _SHORTEST_NAME, _GAP = 80, 28, 8, 2

#: Spaces that part thousands: the plain one, and those that do not end a line, wide and narrow.
SPACES = " \u00a0\u202f"

# what makes a formula of a cell, unless the cell is a number
_FORMULA = re.compile(r"[=+\-@\t\r]")


def say(text: str, *, err: bool = False) -> None:
    """Print a line that may hold names from the data."""
    click.echo(visible(text), err=err)


def warn(remarks: Iterable[str]) -> None:
    """Print warnings on standard error."""
    for remark in remarks:
        say(f"bayesppl: warning: {remark}", err=True)


@contextmanager
def status(message: str, is_slow: bool = False) -> Iterator[None]:
    """Say on standard error what is being waited for; where there is no terminal, only about what is slow."""
    from rich.console import Console

    console = Console(stderr=True)
    if is_slow and not console.is_terminal:
        say(f"bayesppl: {message}", err=True)
    with console.status(safe(message)):  # which prints to terminals only
        yield


def shown(parts: Iterator[tuple[Sized, Any]], doing: str, total: int) -> Iterator[Any]:
    """Pass parts of a file on, and show on a terminal how many of its rows have been read."""
    from bayesppl.estimators.batches import rows_shown

    return rows_shown(parts, lambda part: len(part[0]), doing, total) if sys.stderr.isatty() else parts


def cell(value: Any, decimal: str = ".", thousands: str | None = None) -> Any:
    """Write an apostrophe before text that a spreadsheet would take for a formula, but not before numbers."""
    is_formula = isinstance(value, str) and _FORMULA.match(value) and not is_number(value, decimal, thousands)
    return f"'{value}" if is_formula else value


def cells(frame: Any, decimal: str = ".", thousands: str | None = None) -> Any:
    """Write every text of a data frame, names of columns included, as :func:`cell` does."""
    from pandas import Series

    texts = [name for name, dtype in frame.dtypes.items() if dtype.kind not in "biufcmM"]
    write = partial(cell, decimal=decimal, thousands=thousands)
    # objects, for whole numbers beside gaps would become others
    written = {str(name): Series([*map(write, frame[name])], frame.index, dtype=object) for name in texts}
    safe = frame.assign(**written) if texts else frame
    return safe.set_axis([cell(name) for name in safe.columns], axis=1)


def leave_columns_to_remarks() -> None:
    """Ignore warnings about columns of text, of which the command line has remarks with advice of its own."""
    for words in ("written as text", "different texts in"):
        warnings.filterwarnings("ignore", f".* {words}")


def is_number(text: Any, decimal: str = ".", thousands: str | None = None) -> bool:
    """Return whether a text is written as a number, in the way that files are read."""
    if isinstance(text, str):
        marks, text = parting(thousands), text.strip()
        if not set(marks).isdisjoint(text) and not grouped(re.escape(marks)).fullmatch(text):
            return False
        text = text.translate(str.maketrans(decimal, ".", marks))
    try:
        float(text)
    except ValueError:
        return False
    return str(text).isascii() and "_" not in str(text)  # which Python reads, and DuckDB does not


def parting(thousands: str | None) -> str:
    """List the marks that part thousands: the one that is given, or any space."""
    return SPACES if thousands == " " else thousands or ""


def grouped(marks: str) -> re.Pattern[str]:
    """Describe numbers whose thousands are parted: groups of three digits, and of two before them, as in India."""
    return re.compile(rf"[+-]?\d{{1,3}}([{marks}]\d{{2,3}})*[{marks}]\d{{3}}([^\d{marks}][^{marks}]*)?")


def table(
    title: str,
    texts: Mapping[str, Sequence[Any]],
    numbers: Mapping[str, Sequence[str]],
    caption: str | None = None,
) -> Table:
    """Lay columns out under their headings: texts, shortened to the room that is left, then numbers."""
    from rich import box
    from rich.table import Table

    found = Table(
        title=safe(title),
        caption=caption,
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
    )
    left = WIDTH - sum(_GAP + max(map(len, (heading, *column))) for heading, column in numbers.items())
    room = min(LONGEST_NAME, max(_SHORTEST_NAME, left // max(1, len(texts)) - _GAP))
    for heading in texts:
        found.add_column(safe(heading), no_wrap=True)
    for heading in numbers:
        found.add_column(heading, justify="right", no_wrap=True)
    for line in zip(*(short_names(names, room) for names in texts.values()), *numbers.values(), strict=True):
        found.add_row(*map(safe, line))
    return found


def safe(text: str) -> str:
    """Write text from the data with neither markup nor control characters."""
    from rich.markup import escape

    return escape(visible(text))
