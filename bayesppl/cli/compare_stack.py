"""``bayesppl compare --model auto``: models alone and together, on left-out and on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesppl.analysis.scores import log_scores, paired_difference
from bayesppl.cli.file_rows import FileRows
from bayesppl.cli.report import Findings, Record, write_csv
from bayesppl.cli.terminal import safe, table
from bayesppl.data.column_facts import read_columns
from bayesppl.data.labels import encode_labels
from bayesppl.data.read_table import as_table
from bayesppl.estimators.auto import AutoClassifier
from bayesppl.evaluation.comparison import average_scores
from bayesppl.files.provenance import environment
from bayesppl.kernels.arrays import Array

if TYPE_CHECKING:
    from rich.table import Table

#: The stack itself, beside its models.
TOGETHER = "all together"


def compare(classifier: AutoClassifier, train: FileRows, test: FileRows) -> list[Record]:
    """Fit to one part of the rows, and score the stack and its models on the other: a record for each."""
    clf = classifier.fit(train.X, train.y)
    codes = encode_labels(test.y, clf.classes_.tolist())[1]
    stack, together = clf.stack_, clf.predict_log_proba(test.X)
    table, reference = stack.columns.align(test.X), log_scores(together, codes)
    return [
        _record(TOGETHER, 1.0, together, codes, stack.log_score, reference),
        *(
            _record(member.name, weight, member.log_proba(table), codes, member.log_score, reference)
            for member, weight in zip(stack.members, stack.weights.tolist(), strict=True)
        ),
    ]


def report(classifier: AutoClassifier, records: list[Record], columns: Table | str, n_rows: int) -> Findings:
    """Report the scores of a fitted stack and its models on ``n_rows`` rows."""
    summary = classifier.summary().splitlines()
    document = {
        "classes": classifier.classes_.tolist(),
        "provenance": environment(),
        "summary": summary,
        "scores": {record["model"]: {k: v for k, v in record.items() if k != "model"} for record in records},
    }
    files: dict[str, Callable[[Path], object]] = {
        "model.npz": classifier.save,
        "scores.csv": partial(write_csv, records),
        "weights.png": partial(_save_picture, classifier),
    }
    return Findings(document, _shown(records, summary, columns, n_rows), files)


def taken_for(X: Any) -> dict[str, str]:
    """Find what every column is to the models; those that are constant, or differ in every row, are left out."""
    return {
        str(column.name): ("number or levels" if column.levels else "number") if column.is_number else "levels"
        for column in read_columns(as_table(X))
    }


def _save_picture(classifier: AutoClassifier, path: Path) -> None:
    from bayesppl.plots import plot_stack

    plot_stack(classifier).figure.savefig(path, dpi=150)  # type: ignore[union-attr]


def _record(name: str, weight: float, log_proba: Array, codes: Array, expected: float, reference: Array) -> Record:
    scores = average_scores(log_proba, codes)
    difference, error = paired_difference(log_scores(log_proba, codes), reference)
    return {
        "model": name,
        "weight": weight,
        "accuracy": scores["accuracy"],
        "log_score": scores["log_score"],
        "log_score_difference": difference,
        "log_score_difference_se": error,
        "log_score_left_out": expected,
        "brier": scores["brier"],
        "ece": scores["ece"],
    }


def _shown(
    records: Sequence[Record], summary: Sequence[str], columns: Table | str, n_rows: int
) -> Iterator[Table | str]:
    """Yield scores of the stack and its models, what was found, and what every column was taken for."""
    alone = records[1:]
    differences = [f"{r['log_score_difference']:+.3f} ±{r['log_score_difference_se']:.3f}" for r in alone]
    yield table(
        f"scores on {n_rows} held-out rows (better: more; ECE less)",
        {"model": [record["model"] for record in records]},
        {
            "weight": ["", *(f"{record['weight']:.2f}" for record in alone)],
            "accuracy": [f"{record['accuracy']:.3f}" for record in records],
            "log score": [f"{record['log_score']:.3f}" for record in records],
            "± difference": ["", *differences],
            "ECE": [f"{record['ece']:.3f}" for record in records],
        },
        "difference: of the log score from all together, ± its paired standard error",
    )
    yield from ("", *map(safe, summary), "", columns, "")
    yield (
        "Each model is tempered and weighed by the labels that it predicts of left-out\ntraining rows. --model "
        "NAME compares the four rules of one model instead."
    )
