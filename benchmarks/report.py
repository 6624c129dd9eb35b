"""The results as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

HEADER = (
    "| problem | operation | ms | times faster | than | why behind | aim | peak MB (theirs) | reads of X |\n"
    "|---|---|---:|---:|---|---|---:|---:|---:|\n"
)
FIRST_HEADER = (
    "| problem | import ms | times faster | first fit ms | times faster | first predict_proba ms | times faster "
    "| why behind |\n|---|---:|---:|---:|---:|---:|---:|---|\n"
)


def steady_table(setting: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> str:
    """A table with one row per measurement, and a line that says what it was measured with."""
    versions = ", ".join(f"{name} {version}" for name, version in setting.items() if isinstance(version, str))
    loops = "compiled loops loaded" if setting["numba"] else "numpy kernels only"
    return HEADER + "".join(_row(record) for record in records) + f"\nMeasured with {versions}; {loops}.\n"


def first_table(records: Sequence[Mapping[str, Any]]) -> str:
    """A table with one row per problem: import, fit and probabilities in a new process."""
    table = FIRST_HEADER
    for problem, found in groupby(records, key=lambda record: record["problem"]):
        rows = list(found)
        cells = [cell for r in rows for cell in (_milliseconds(r["milliseconds"]), _ratio(r["ratio"]))]
        table += f"| {problem} | {' | '.join(cells)} | {_why(rows)} |\n"
    return table


def peers_table(rows: Sequence[tuple[str, str, float, float]]) -> str:
    """A table of other libraries and ours."""
    table = "| library | operation | ours, ms | theirs, ms | times faster |\n|---|---|---:|---:|---:|\n"
    for name, operation, ours, theirs in rows:
        cells = [name, operation, _milliseconds(ours), _milliseconds(theirs), _ratio(theirs / ours)]
        table += f"| {' | '.join(cells)} |\n"
    return table


def _row(record: Mapping[str, Any]) -> str:
    behind_another = "ours" not in record["beside"]
    cells = [
        record["problem"],
        record["operation"],
        _milliseconds(record["milliseconds"]),
        _ratio(record["ratio"]) if behind_another else _shown(record["ratio"], ".2g"),
        record["beside"],
        _why([record]) if behind_another else "",
        _shown(record["target"], "g"),
        f"{record['peak_mb']:.0f}"
        + ("" if record["other_peak_mb"] is None else f" ({record['other_peak_mb']:.0f})"),
        _shown(record["reads"], ".1f"),
    ]
    return f"| {' | '.join(cells)} |\n"


def _milliseconds(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def is_behind(record: Mapping[str, Any]) -> bool:
    """Whether the other library is faster, by more than rounding."""
    return record["ratio"] is not None and record["ratio"] < 0.95


def _ratio(value: float | None) -> str:
    """The ratio, in red where it is below one, to two digits."""
    return f'<span style="color:#c00">{value:.2g}</span>' if is_behind({"ratio": value}) else _shown(value, ".1f")


def _why(records: Sequence[Mapping[str, Any]]) -> str:
    """The reasons of what is behind, each once."""
    return "; ".join(dict.fromkeys(record["why"] for record in records if is_behind(record)))
