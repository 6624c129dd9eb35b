"""``bayesppl compare --model auto``: models alone and together, on left-out and on held-out rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np

from bayesppl.answers.scores import expected_calibration_error, hits, log_scores
from bayesppl.cli.rows import Rows
from bayesppl.data.labels import encode_labels
from bayesppl.estimators.auto import AutoClassifier
from bayesppl.kernels.arrays import Array


def show(classifier: AutoClassifier, train: Rows, test: Rows, *, as_json: bool, out: Path | None) -> None:
    """Fit to one part of the rows, score the other, and print or write what was found."""
    from bayesppl.reproduce.studies.base import markdown

    clf = classifier.fit(train.X, train.y)
    codes = encode_labels(test.y, clf.classes_.tolist())[1]
    stack = clf.stack_
    table = stack.columns.align(test.X)
    weights = dict(zip((m.name for m in stack.members), stack.weights.tolist(), strict=True))
    records = [_record("all together", 1.0, clf.predict_log_proba(test.X), codes, stack.log_score)]
    for member in stack.members:
        log_proba = member.log_proba(table)
        records.append(_record(member.name, weights[member.name], log_proba, codes, member.log_score))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        clf.save(out / "model.nc")
    if as_json:
        found = {"summary": clf.summary().splitlines(), "rows": {"train": len(train.X), "test": len(test.X)}}
        click.echo(json.dumps({**found, "models": records}, indent=2))
        return
    import pandas as pd

    click.echo(clf.summary())
    click.echo(f"\nfitted to {len(train.X)} rows, scored on {len(test.X)} others\n")
    click.echo(markdown(pd.DataFrame(records)))


def _record(name: str, weight: float, log_proba: Array, codes: Array, expected: float) -> dict[str, Any]:
    return {
        "model": name,
        "weight": weight,
        "accuracy": float(hits(log_proba, codes).mean()),
        "log score": float(np.mean(log_scores(log_proba, codes))),
        "expected log score": expected,
        "ECE": expected_calibration_error(log_proba, codes),
    }
