"""``bayesppl compare --model auto``: models alone and together, on left-out and on held-out rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from bayesppl.analysis.scores import brier_scores, expected_calibration_error, hits, log_scores
from bayesppl.cli.columns import Column, described
from bayesppl.cli.report import Facts, publish, strict, write_csv
from bayesppl.cli.rows import Rows
from bayesppl.data.labels import encode_labels
from bayesppl.data.read_table import as_table
from bayesppl.data.recoding import read_columns
from bayesppl.estimators.auto import AutoClassifier
from bayesppl.files import gathering
from bayesppl.files.provenance import environment
from bayesppl.kernels.arrays import Array

#: The stack itself, beside its models.
TOGETHER = "all together"


class StackComparison(NamedTuple):
    """A stack, and the scores of its models on held-out rows.

    Attributes
    ----------
    classifier : AutoClassifier
        Fitted to the training rows.
    records : list of dict
        One for the stack and one for each model.
    """

    classifier: AutoClassifier
    records: list[dict[str, Any]]


def compare(classifier: AutoClassifier, train: Rows, test: Rows) -> StackComparison:
    """Fit to one part of the rows, and score the stack and its models on the other."""
    clf = classifier.fit(train.X, train.y)
    codes = encode_labels(test.y, clf.classes_.tolist())[1]
    stack = clf.stack_
    table = stack.columns.align(test.X)
    together = clf.predict_log_proba(test.X)
    reference = log_scores(together, codes)
    records = [_record(TOGETHER, 1.0, together, codes, stack.log_score, reference)]
    for member, weight in zip(stack.members, stack.weights.tolist(), strict=True):
        records.append(_record(member.name, weight, member.log_proba(table), codes, member.log_score, reference))
    return StackComparison(clf, records)


def show(found: StackComparison, facts: Facts, taken: list[Column], *, as_json: bool, out: Path | None) -> None:
    """Print the scores, or the same as JSON, and write the files that were asked for."""
    from bayesppl.cli import tables

    written = [] if out is None else _write(out, found)
    if as_json:
        click.echo(_as_json(found, facts))
    else:
        tables.print_stack(found.records, found.classifier.summary().splitlines(), facts, taken, written)


def taken_for(X: Any) -> list[Column]:
    """Describe what every column is to the models of the stack; constant ones are left out."""
    kinds = {
        column.name: ("number or levels" if column.levels else "number") if column.is_number else "levels"
        for column in read_columns(as_table(X))
    }
    return described(X, kinds, "left out")


def _record(
    name: str, weight: float, log_proba: Array, codes: Array, expected: float, reference: Array
) -> dict[str, Any]:
    scores = log_scores(log_proba, codes)
    with np.errstate(invalid="ignore"):
        differences = scores - reference
    return {
        "model": name,
        "weight": weight,
        "accuracy": float(hits(log_proba, codes).mean()),
        "log_score": float(scores.mean()),
        "log_score_difference": float(differences.mean()),
        "log_score_difference_se": float(differences.std(ddof=1) / np.sqrt(len(codes)))
        if len(codes) > 1
        else np.nan,
        "log_score_left_out": expected,
        "brier": float(brier_scores(log_proba, codes).mean()),
        "ece": expected_calibration_error(log_proba, codes),
    }


def _as_json(found: StackComparison, facts: Facts) -> str:
    report = {
        "data": facts.data,
        "target": facts.target,
        "classes": found.classifier.classes_.tolist(),
        "rows": {"train": facts.n_train, "test": facts.n_test},
        "settings": facts.settings,
        "provenance": environment(),
        "summary": found.classifier.summary().splitlines(),
        "scores": {record["model"]: {k: v for k, v in record.items() if k != "model"} for record in found.records},
    }
    return json.dumps(strict(report), indent=2, ensure_ascii=False, allow_nan=False)


def _write(directory: Path, found: StackComparison) -> list[Path]:
    """The model, the scores and a picture of the weights: all of them or none."""
    from bayesppl.plots import plot_stack

    with gathering(directory.resolve()) as work:
        found.classifier.save(work / "model.npz")
        write_csv(iter(found.records), work / "scores.csv")
        plot_stack(found.classifier).figure.savefig(work / "weights.png", dpi=150)  # type: ignore[union-attr]
        return publish(work, directory)
