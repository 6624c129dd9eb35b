"""Interrupts that samplers swallow."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end if one was raised meanwhile and went no further.

    Samplers and optimisers return what they have when they are interrupted, or fail over it in ways of their own.
    Python delivers signals to the main thread only, so that nothing is done in others.
    """
    former = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(former):
        yield
        return
    interrupts: list[KeyboardInterrupt] = []

    def handler(number: int, frame: FrameType | None) -> None:
        try:
            former(number, frame)
        except KeyboardInterrupt as interrupt:
            interrupts.append(interrupt)
            raise

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
        if interrupts:
            raise KeyboardInterrupt from interrupts[0]
