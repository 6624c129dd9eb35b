"""All claims checked, with where the numbers come from, as text, JSON and Markdown."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bayesppl.files.provenance import environment
from bayesppl.reproduce import dake, short_texts
from bayesppl.reproduce.claims import Claim, Inputs, Outcome, Verdict
from bayesppl.reproduce.studies import boundaries, digits
from bayesppl.reproduce.studies.study import markdown

CLAIMS: tuple[Claim, ...] = (
    *dake.CLAIMS,
    *digits.CLAIMS,
    *short_texts.TABLE1,
    *short_texts.NOTES3B,
    *boundaries.CLAIMS,
    *short_texts.CH20,
)


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
