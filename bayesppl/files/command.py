"""The command line that is being run, for the record of what it makes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_typed: ContextVar[str | None] = ContextVar("typed", default=None)


@contextmanager
def running(arguments: Sequence[str]) -> Iterator[None]:
    """Record ``bayesppl`` with these arguments in whatever is made meanwhile."""
    token = _typed.set(shlex.join(["bayesppl", *arguments]))
    try:
        yield
    finally:
        _typed.reset(token)


def command() -> str:
    """The command as it was typed, for ``bayesppl`` itself.

    Of another program only the name is given: its arguments may be nobody's business, and those of a notebook are not
    its user's.
    """
    return _typed.get() or Path(sys.argv[0]).name or "python"
