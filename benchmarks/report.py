"""The results as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HEADER = (
    "| problem | operation | ms | times faster than scikit-learn | aim | peak MB (scikit-learn) | GB/s | reads of X |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|\n"
)


def markdown(setting: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> str:
    """A table with one row per measurement, and a line that says what it was measured with."""
    versions = ", ".join(f"{name} {version}" for name, version in setting.items() if isinstance(version, str))
    return HEADER + "".join(_row(record) for record in records) + f"\nMeasured with {versions}.\n"


def _row(record: Mapping[str, Any]) -> str:
    aim = "" if record["target"] is None else f"{record['target']:g}"
    ratio = "" if record["ratio"] is None else f"{record['ratio']:.1f}"
    other = "" if record["other_peak_mb"] is None else f" ({record['other_peak_mb']:.0f})"
    reads = "" if record["reads"] is None else f"{record['reads']:.1f}"
    return (
        f"| {record['problem']} | {record['operation']} | {record['milliseconds']:.2f} | {ratio} | {aim} | "
        f"{record['peak_mb']:.0f}{other} | {record['gb_per_s']:.1f} | {reads} |\n"
    )
