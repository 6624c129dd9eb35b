"""Options for how a text file is written, and which of its columns are used as what."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import click

from bayesppl.cli.text_files import Dialect


def csv_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a text file, which reach it as ``dialect``."""

    @click.option(
        "--sep", default=",", show_default=True, help="Separator of the columns of a CSV file; 'tab' for tabs."
    )
    @click.option("--decimal", default=".", show_default=True, help="Decimal mark in the numbers of a CSV file.")
    @click.option("--encoding", default="utf-8", show_default=True, help="Text encoding of a CSV file.")
    @click.option(
        "--na-values",
        metavar="TEXT",
        multiple=True,
        help="What stands for a missing cell besides empty cells, NA, NaN, nan, N/A, n/a, NULL, null, None, <NA> and #N/A, such as "
        "'n.a.' or ?; may be repeated.",
    )
    @click.option("--thousands", metavar="MARK", help="Mark between thousands in the numbers of a CSV file.")
    @wraps(command)
    def with_dialect(
        *args: Any,
        sep: str,
        decimal: str,
        encoding: str,
        na_values: tuple[str, ...],
        thousands: str | None,
        **options: Any,
    ) -> None:
        dialect = _dialect(sep, decimal, encoding)._replace(na_values=na_values, thousands=thousands)
        command(*args, dialect=dialect, **options)

    return with_dialect


def _dialect(sep: str, decimal: str, encoding: str) -> Dialect:
    sep = "\t" if sep == "tab" else sep
    for option, mark in {"--sep": sep, "--decimal": decimal}.items():
        if len(mark) != 1:
            raise ValueError(f"{option} {mark!r} must be a single character")
    if sep == decimal:
        raise ValueError(f"--sep and --decimal are both {sep!r}; columns and decimals need marks of their own")
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ValueError(
            f"there is no --encoding {encoding!r}; utf-8, latin-1 and utf-16 are common ones"
        ) from None
    return Dialect(sep, decimal, encoding)


class Chosen(NamedTuple):
    """Which columns are features, and which of them hold levels."""

    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()


def column_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose columns, which reach it as ``chosen``."""

    @click.option("--drop", metavar="COLUMN", multiple=True, help="Leave a column out; may be repeated.")
    @click.option(
        "--keep",
        metavar="COLUMN",
        multiple=True,
        help="Use this column as a feature and no others; may be repeated.",
    )
    @click.option(
        "--categorical",
        metavar="COLUMN",
        multiple=True,
        help="Take the values of a column for levels, whatever they look like, as --model mixed-nb does with text; may be "
        "repeated.",
    )
    @wraps(command)
    def with_columns(
        *args: Any, drop: tuple[str, ...], keep: tuple[str, ...], categorical: tuple[str, ...], **options: Any
    ) -> None:
        if drop and keep:
            raise ValueError("--drop and --keep are both given; name the columns to leave out, or those to use")
        command(*args, chosen=Chosen(drop, keep, categorical), **options)

    return with_columns


#: Options about rows.
MISSING_OPTION = click.option(
    "--missing",
    type=click.Choice(["skip", "refuse"]),
    default="skip",
    show_default=True,
    help="What to do about empty cells: leave them out of the likelihood, or stop.",
)
UNLABELLED_OPTION = click.option(
    "--unlabelled",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="What to do about rows without a label: stop, or leave them out.",
)
MOST_ROWS_OPTION = click.option(
    "--most-rows",
    type=click.IntRange(min=100),
    default=100_000,
    show_default=True,
    help="Rows of a larger file that --model auto draws at random; it leaves each of them out in turn. Other models take "
    "all rows.",
)
