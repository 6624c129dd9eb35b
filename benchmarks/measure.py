"""Time and memory of two functions that do the same job, measured fairly.

Both run alternately in one process, so that whatever else the machine does touches both alike; the ratio of the
medians is what is reported. Memory is what numpy allocates beyond the input, as ``tracemalloc`` sees it.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

Call = Callable[[], Any]


class Comparison(NamedTuple):
    """Medians of interleaved runs; None where there is nothing to compare with."""

    seconds: float
    other_seconds: float | None
    peak_mb: float
    other_peak_mb: float | None

    @property
    def ratio(self) -> float | None:
        return None if self.other_seconds is None else self.other_seconds / self.seconds


def compare(ours: Call, other: Call | None, repeats: int) -> Comparison:
    """Run both functions in turn, once for warming up and ``repeats`` times for the record.

    Processor time is what counts: on one thread it is that of the clock, less what other processes take.
    """
    calls = [ours] if other is None else [ours, other]
    for call in calls:
        call()
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, record in zip(calls, times, strict=True):
            start = time.process_time()
            call()
            record.append(time.process_time() - start)
    medians = [float(np.median(record)) for record in times]
    peaks = [peak_megabytes(call) for call in calls]
    if other is None:
        return Comparison(medians[0], None, peaks[0], None)
    return Comparison(medians[0], medians[1], peaks[0], peaks[1])


def peak_megabytes(call: Call) -> float:
    """Largest amount of memory allocated at once during a call, its result included."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = call()
        return tracemalloc.get_traced_memory()[1] / 2**20 + 0 * bool(kept is None)
    finally:
        tracemalloc.stop()


def repeated(call: Call, seconds: float = 0.02) -> Call:
    """A call repeated often enough for the clock, for work that takes less than a millisecond."""
    call()
    start = time.perf_counter()
    call()
    times = max(1, int(seconds / max(time.perf_counter() - start, 1e-6)))

    def many() -> None:
        for _ in range(times):
            call()

    return many


def streaming_seconds(X: Any) -> float:
    """Time of reading ``X`` once, by adding it up."""
    values = X.data if hasattr(X, "indptr") else X
    values = values.view(np.uint64) if values.nbytes % 8 == 0 and values.dtype.itemsize < 8 else values
    values.sum()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        values.sum()
        times.append(time.perf_counter() - start)
    return min(times)


def in_new_process(code: str, own: Mapping[str, str] = {}, patience: float | None = None) -> list[float]:
    """The numbers that a Python program prints last, as JSON.

    Parameters
    ----------
    own : mapping
        Environment variables of the process beside those of this one.
    patience : float, optional
        Seconds after which ``subprocess.TimeoutExpired`` is raised.
    """
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **own}, timeout=patience)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return list(json.loads(done.stdout.strip().splitlines()[-1]))
