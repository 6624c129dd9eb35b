"""Time the first import, fit and prediction of a process, each estimator in processes of its own."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.cases import Estimator, Problem, reason
from benchmarks.measure import in_new_process

_CHILD = """
import json, pickle, time
with open({data!r}, "rb") as file:
    X, y = pickle.load(file)
marks = [time.process_time()]
from {module} import {name} as Classifier
marks.append(time.process_time())
clf = Classifier(**{arguments!r}).fit(X, y)
marks.append(time.process_time())
clf.predict_proba(X)
marks.append(time.process_time())
print(json.dumps([after - before for before, after in zip(marks, marks[1:])]))
"""


def first_use(problem: Problem, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield least processor times of import, first fit and first probabilities, by our defaults, as records."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        data.write_bytes(pickle.dumps(problem.make()))
        runs = [[_run(estimator, data) for estimator in (problem.ours, problem.other)] for _ in range(repeats)]
    for i, what in enumerate(("import", "fit", "predict_proba")):
        ours, other = (min(run[side][i] for run in runs) for side in (0, 1))
        yield {
            "problem": problem.name,
            "operation": what,
            "milliseconds": 1e3 * ours,
            "ratio": other / ours,
            "why": reason(problem.name, f"first use, {what}"),
        }


def _run(estimator: Estimator, data: Path) -> list[float]:
    return in_new_process(_CHILD.format(data=str(data), **estimator._asdict()), {"OMP_NUM_THREADS": "1"})
