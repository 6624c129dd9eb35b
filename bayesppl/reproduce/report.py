"""All claims checked, with where the numbers come from, as text, JSON and Markdown."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bayesppl.files.provenance import environment
from bayesppl.reproduce import dake, short_texts
from bayesppl.reproduce.claims import Claim, Inputs, Outcome, Verdict
from bayesppl.reproduce.studies import boundaries, digits
from bayesppl.reproduce.studies.base import markdown

CLAIMS: tuple[Claim, ...] = (
    *dake.CLAIMS,
    *digits.CLAIMS,
    *short_texts.TABLE1,
    *short_texts.NOTES3B,
    *boundaries.CLAIMS,
    *short_texts.CH20,
)

#: Relative difference allowed when a report is verified on another machine.
TOLERANCE = 1e-9

# What may differ in a second run: it is another command, perhaps of another version.
_NOT_COMPARED = ("command", "_version")


def select(only: Sequence[str] = ()) -> tuple[Claim, ...]:
    """Select the claims with these ids, or all of them.

    Raises
    ------
    ValueError
        If an id is not known.
    """
    known = {claim.id: claim for claim in CLAIMS}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ValueError(f"no claim is called {unknown[0]!r}; known are {', '.join(known)}")
    return tuple(known[name] for name in only) if only else CLAIMS


@dataclass(frozen=True)
class Report:
    """Outcomes and their provenance."""

    outcomes: tuple[Outcome, ...]
    inputs: Inputs

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Select the claims that should agree and do not."""
        return tuple(outcome for outcome in self.outcomes if outcome.verdict is Verdict.DISAGREES)

    def provenance(self) -> dict[str, Any]:
        """Record versions, command, platform, seed and data."""
        return {
            **environment(),
            "machine": platform.machine(),
            "seed": self.inputs.seed,
            "mnist": None if self.inputs.mnist is None else digits.fingerprint(self.inputs.mnist),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything in types that JSON has."""
        claims = []
        for outcome in self.outcomes:
            claim, erratum = outcome.claim, outcome.claim.erratum
            claims.append(
                {
                    "id": claim.id,
                    "source": claim.source,
                    "claim": claim.statement,
                    "published": claim.published.show(),
                    "ours": list(outcome.ours),
                    "verdict": str(outcome.verdict),
                    "erratum": erratum and erratum.id,
                    "corrected": erratum and erratum.corrected.show(),
                    "reason": erratum and erratum.reason,
                    "note": claim.note,
                }
            )
        return {"provenance": self.provenance(), "claims": claims}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_markdown(self) -> str:
        """Write a table with a line for every claim."""
        rows = [
            {
                "id": outcome.claim.id,
                "source": outcome.claim.source,
                "claim": outcome.claim.statement,
                "published": outcome.claim.published.show(),
                "here": outcome.show(),
                "verdict": ": ".join(filter(None, [str(outcome.verdict), outcome.remark])),
            }
            for outcome in self.outcomes
        ]
        return markdown(pd.DataFrame(rows)) + "\n"

    def to_text(self) -> str:
        """Write a paragraph for every claim, and a count of the verdicts."""
        lines = []
        for outcome in self.outcomes:
            claim, remark = outcome.claim, outcome.remark
            lines += [
                f"{claim.id:<4} {claim.source}: {claim.statement}",
                f"     published  {claim.published.show()}",
                *([f"     here       {outcome.show()}"] if outcome.ours else []),
                f"     {outcome.verdict}" + (f" ({remark})" if remark else ""),
                "",
            ]
        return "\n".join([*lines, self.summary()])

    def summary(self) -> str:
        """Count how often each verdict was reached."""
        counts = {verdict: sum(outcome.verdict is verdict for outcome in self.outcomes) for verdict in Verdict}
        return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)

    def write(self, folder: Path) -> list[Path]:
        """Write ``report.json``, ``report.md`` and the figures of the texts that the claims come from."""
        from bayesppl.reproduce import figures

        folder.mkdir(parents=True, exist_ok=True)
        files = {"report.json": self.to_json(), "report.md": self.to_markdown()}
        for name, content in files.items():
            (folder / name).write_text(content + "\n", encoding="utf-8")
        texts = [outcome.claim.source.split()[0] for outcome in self.outcomes]
        return [*(folder / name for name in files), *figures.write(folder, self.inputs, texts)]


def reproduce(only: Sequence[str] = (), seed: int = 0, mnist: Path | str | None = None) -> Report:
    """Recompute published numbers through the package and compare them.

    Parameters
    ----------
    only : sequence of str
        Ids of claims; all by default.
    seed : int
        Of everything that is random.
    mnist : Path or "openml", optional
        Folder of the four original files or a CSV file of the digits; without it, the claims that need them are
        not run.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If an id in ``only`` is not known.

    Examples
    --------
    >>> from bayesppl.reproduce import reproduce
    >>> print(reproduce(["D2", "T3"]).summary())
    1 agrees, 1 agrees after rounding
    """
    inputs = Inputs(seed, mnist)
    return Report(tuple(claim.check(inputs) for claim in select(only)), inputs)


def differences(report: Report, written: dict[str, Any]) -> list[str]:
    """Find where a report that was written earlier differs from ``report``."""
    earlier = {row["id"]: row for row in written["claims"]}
    lines = []
    for outcome in report.outcomes:
        row, now = earlier[outcome.claim.id], {"verdict": str(outcome.verdict), "ours": list(outcome.ours)}
        compared = ["verdict"] if outcome.claim.is_timing else ["verdict", "ours"]
        changed = [name for name in compared if any(changes(row[name], now[name]))]
        lines += [f"{outcome.claim.id}: was {row[name]}, is {now[name]}" for name in changed[:1]]
    return lines


def changes(was: Any, now: Any, place: str = "") -> Iterator[str]:
    """Say where two values of JSON differ by more than rounding, and by what."""
    if isinstance(was, dict) and isinstance(now, dict):
        for name in (name for name in {**was, **now} if not name.endswith(_NOT_COMPARED)):
            yield from changes(was.get(name), now.get(name), f"{place}.{name}" if place else name)
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for i, (before, after) in enumerate(zip(was, now, strict=True)):
            yield from changes(before, after, f"{place}[{i}]")
    else:
        are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (was, now))
        if not (math.isclose(was, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE) if are_numbers else was == now):
            yield f"{place}: was {was}, is {now}"


def read_report(path: Path) -> dict[str, Any]:
    """Read what :meth:`Report.write` or ``bayesppl compare --json`` wrote.

    Parameters
    ----------
    path : Path
        The file, or the folder that holds ``report.json``.

    Raises
    ------
    ValueError
        If it holds something else.
    """
    file = path / "report.json" if path.is_dir() else path
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{str(path)!r} is not a report in JSON: {error}") from None
    if not isinstance(written, dict) or not {"claims", "scores"} & set(written):
        raise ValueError(
            f"{str(path)!r} holds neither claims nor scores: give what 'bayesppl reproduce' or 'bayesppl compare' "
            "printed with --json, or the folder of --out"
        )
    return written


def verify(path: Path, mnist: Path | str | None = None) -> list[str]:
    """Recompute a report written by :meth:`Report.write`; return what differs, if anything.

    Parameters
    ----------
    path : Path
        ``report.json``, or the folder that holds it.
    mnist : Path or "openml", optional
        As for :func:`reproduce`.
    """
    written = read_report(path)
    only = [row["id"] for row in written["claims"]]
    return differences(reproduce(only, written["provenance"]["seed"], mnist), written)
