"""Progress messages on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from time import monotonic

# Seconds of silence before a message.
_SHORT = 1.0


def is_watched() -> bool:
    """Whether somebody may be looking: standard error is a terminal, or this is a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def say(words: str) -> None:
    print(f"bayesppl: {words} ...", file=sys.stderr, flush=True)


def counted[T](steps: Sequence[T], words: str) -> Iterator[T]:
    """Yield the steps one by one, and count them on standard error once a second."""
    said = monotonic()
    for number, step in enumerate(steps, start=1):
        if is_watched() and monotonic() - said > _SHORT:
            say(f"{words}, {number} of {len(steps)}")
            said = monotonic()
        yield step


@contextmanager
def announce_if_slow(words: str, wanted: bool) -> Iterator[None]:
    """Say what is being done, if it takes more than a second."""
    if not wanted:
        yield
        return
    timer = Timer(_SHORT, say, [words])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
