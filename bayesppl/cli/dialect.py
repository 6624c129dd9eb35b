"""Options that say how a CSV file is written."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from bayesppl.cli.batches import Dialect


def csv_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a CSV file, which reach it as ``dialect``."""

    @click.option("--sep", default=",", show_default=True, help="Between columns of a CSV file; 'tab' for tabs.")
    @click.option("--decimal", default=".", show_default=True, help="Decimal point of a CSV file.")
    @click.option("--encoding", default="utf-8", show_default=True, help="Of the text of a CSV file.")
    @wraps(command)
    def with_dialect(*args: Any, sep: str, decimal: str, encoding: str, **options: Any) -> None:
        command(*args, dialect=_dialect(sep, decimal, encoding), **options)

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
