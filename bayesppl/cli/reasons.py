"""The columns that decided a prediction, for a line of output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.errors import SeveralModelsError

if TYPE_CHECKING:
    from pathlib import Path

    from bayesppl.estimators.classifier import BayesClassifier


def require_one_model(classifier: Any, path: Path) -> None:
    """Refuse a stack, before its rows are classified."""
    try:
        _ = classifier.explain
    except SeveralModelsError:
        raise ValueError(
            f"--explain is for one model, and {str(path)!r} combines several, whose log odds are no sum over columns; fit one to the same "
            "file, with 'bayesppl fit --model mixed-nb --calibrate', and explain its predictions"
        ) from None


def reasons(
    classifier: BayesClassifier, X: Any, predicted: Any, rule: Any, most: int, seed: int
) -> dict[str, Any]:
    """The ``most`` columns of largest weight of evidence for or against the predicted label of each row, and these weights."""
    found = classifier.explain(X, rule=rule, random_state=seed)
    codes = np.searchsorted(classifier.classes_, predicted)
    weight = found["weight"].transpose("row", "class", "feature").values[np.arange(len(codes)), codes]
    order = np.argsort(-np.abs(weight), axis=1, kind="stable")[:, :most]
    names = found["feature"].values
    columns: dict[str, Any] = {}
    for place in range(order.shape[1]):
        columns[f"reason {place + 1}"] = names[order[:, place]]
        columns[f"weight {place + 1}"] = np.take_along_axis(weight, order[:, [place]], axis=1)[:, 0]
    return columns
