"""The results as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HEADER = (
    "| problem | operation | ms | times faster | than | aim | peak MB (theirs) | GB/s | reads of X |\n"
    "|---|---|---:|---:|---|---:|---:|---:|---:|\n"
)

FIRST = """## The first call in a new process

Gaussian Naive Bayes on 1e5×20, in milliseconds of processor time. "Compiled" loads numba and the compiled loops
from the cache on disk at once, which a process does by itself only after a billion cells.

| | import | first fit | second fit |
|---|---:|---:|---:|
"""

STEADY = """
## Later calls

Ratios below one are red; the section on limits has the reasons.

"""


def markdown(setting: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> str:
    """A table with one row per measurement, and a line that says what it was measured with."""
    versions = ", ".join(f"{name} {version}" for name, version in setting.items() if isinstance(version, str))
    loops = "compiled loops loaded" if setting["numba"] else "numpy kernels only"
    return HEADER + "".join(_row(record) for record in records) + f"\nMeasured with {versions}; {loops}.\n"


def first_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Import, first and second fit of new processes; empty where they were not measured."""
    if not records:
        return ""
    rows: dict[str, list[str]] = {}
    for record in records:
        rows.setdefault(record["who"], []).append(f"{record['milliseconds']:.0f}")
    return FIRST + "".join(f"| {who} | {' | '.join(cells)} |\n" for who, cells in rows.items()) + STEADY


def _row(record: Mapping[str, Any]) -> str:
    cells = [
        record["problem"],
        record["operation"],
        f"{record['milliseconds']:.2f}",
        _ratio(record["ratio"]),
        record["beside"],
        _shown(record["target"], "g"),
        f"{record['peak_mb']:.0f}"
        + ("" if record["other_peak_mb"] is None else f" ({record['other_peak_mb']:.0f})"),
        _shown(record["gb_per_s"], ".1f"),
        _shown(record["reads"], ".1f"),
    ]
    return f"| {' | '.join(cells)} |\n"


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _ratio(value: float | None) -> str:
    """The ratio, in red where it is below one, to two digits."""
    if value is None or value >= 0.95:
        return _shown(value, ".1f")
    return f'<span style="color:#c00">{value:.2g}</span>'
