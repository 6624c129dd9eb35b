"""Reports recomputed: a comparison is run again by the command that its provenance holds."""

from __future__ import annotations

import contextlib
import io
import json
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bayesppl.cli.compare import compare
from bayesppl.files import running

#: Relative difference allowed when a report is verified on another machine.
TOLERANCE = 1e-9

#: What may differ in a second run: it is another command, perhaps of another version.
_NOT_COMPARED = ("command", "_version")


def is_comparison(written: Any) -> bool:
    """Whether a JSON document is a report of ``bayesppl compare --json``."""
    return isinstance(written, dict) and {"settings", "provenance", "scores"} <= set(written)


def differences(written: dict[str, Any]) -> list[str]:
    """Run a comparison again, and list what differs.

    Raises
    ------
    ValueError
        If the report does not state how it was made.
    """
    return list(_differences(written, _again(written["provenance"].get("command", "")), ""))


def read(path: Path) -> Any:
    """The JSON document in a file; None for a folder."""
    if path.is_dir():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{str(path)!r} is not a report in JSON: {error}") from None


def _again(command: str) -> dict[str, Any]:
    program, *rest = shlex.split(command) or [""]
    if program != "bayesppl" or rest[:1] != ["compare"]:
        raise ValueError(
            f"the report was made by {command!r}, and only those of 'bayesppl compare … --json' can be run again"
        )
    context = compare.make_context("compare", rest[1:])
    printed = io.StringIO()
    with context, running(rest), contextlib.redirect_stdout(printed):
        # nothing is written but what is compared
        context.invoke(compare, **{**context.params, "as_json": True, "out": None})
    return dict(json.loads(printed.getvalue()))


def _differences(was: Any, now: Any, place: str) -> Iterator[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        for name in [*was, *(name for name in now if name not in was)]:
            if not name.endswith(_NOT_COMPARED):
                yield from _differences(was.get(name), now.get(name), f"{place}.{name}" if place else name)
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for i, (before, after) in enumerate(zip(was, now, strict=True)):
            yield from _differences(before, after, f"{place}[{i}]")
    elif not _same(was, now):
        yield f"{place}: was {was}, is {now}"


def _same(was: Any, now: Any) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (was, now))
    return math.isclose(was, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE) if numbers else was == now
