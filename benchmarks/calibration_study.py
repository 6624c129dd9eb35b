"""The default answer on real data beside scikit-learn's: log scores, accuracy, calibration on held-out halves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit

from bayesppl.analysis.scores import expected_calibration_error, hits, log_scores
from bayesppl.data.labels import encode_labels
from bayesppl.estimators.auto import AutoClassifier
from bayesppl.kernels.arrays import Array, draw_codes
from bayesppl.plots.style import colour, tidy
from benchmarks.rivals import DISCRIMINATIVE, GENERATIVE, DataSet, average, difference, log_proba_of_rival

#: Columns that are printed; all are too many for a terminal.
SHOWN = ("set", "log score", "− generative", "± generative", "accuracy", "ECE")

_SIMULATIONS = 400


def score_set(data: DataSet, splits: int, seed: int) -> list[dict[str, Any]]:
    """Score a set in the one row that it has in the table: averages over stratified halves."""
    scores, right, facts = [], [], []
    for train, test in StratifiedShuffleSplit(splits, test_size=0.5, random_state=seed).split(data.X, data.y):
        X, X_test, y = data.X.iloc[train], data.X.iloc[test], data.y[train]
        stack = AutoClassifier().fit(X, y)
        codes = encode_labels(data.y[test], stack.classes_.tolist())[1]
        log_proba = {"stack": stack.predict_log_proba(X_test)}
        for name, model in (GENERATIVE | DISCRIMINATIVE).items():
            log_proba[name] = log_proba_of_rival(clone(model), X, y, X_test, len(stack.classes_))
        scores.append({name: log_scores(values, codes) for name, values in log_proba.items()})
        right.append({name: hits(values, codes) for name, values in log_proba.items()})
        error = expected_calibration_error(log_proba["stack"], codes)
        low, high = np.quantile(_simulated_errors(log_proba["stack"], seed), [0.025, 0.975])
        ece = {"ECE": error, "ECE from": low, "ECE to": high, "halves in range": low <= error <= high}
        facts.append({"by left-out labels": stack.stack_.log_score, **ece})
    best = max(GENERATIVE, key=lambda name: average(scores, name))
    most = max(GENERATIVE, key=lambda name: average(right, name))
    differences = {}
    for title, name in (("generative", best), *((name, name) for name in DISCRIMINATIVE)):
        differences[f"− {title}"], differences[f"± {title}"] = difference(scores, "stack", name)
    averages = pd.DataFrame(facts).mean().to_dict()
    row = {
        "set": data.name,
        "rows": len(data.y),
        "columns": data.X.shape[1],
        "classes": len(np.unique(data.y)),
        "log score": average(scores, "stack"),
        "by left-out labels": averages.pop("by left-out labels"),
        "best generative": best,
        **differences,
        "accuracy": average(right, "stack"),
        "accuracy, best generative": average(right, most),
        "± accuracy": difference(right, "stack", most)[1],
        **averages,
    }
    return [row]


def _simulated_errors(log_proba: Array, seed: int) -> Array:
    """Compute calibration errors of labels drawn from the probabilities themselves: those of noise alone."""
    rng = np.random.default_rng(seed)
    drawn = (draw_codes(np.exp(log_proba), rng) for _ in range(_SIMULATIONS))
    return np.asarray([expected_calibration_error(log_proba, codes) for codes in drawn])


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """Count the sets on which the stack wins or ties, within one standard error of the held-out difference."""
    claims = {
        f"log score, {name}": (table[f"− {name}"], table[f"± {name}"]) for name in ("generative", *DISCRIMINATIVE)
    }
    gained = table["accuracy"] - table["accuracy, best generative"]
    claims["accuracy, generative"] = gained, table["± accuracy"]
    rows = [
        {
            "against": name,
            "better": int((difference > 0).sum()),
            "within one SE or better": int((difference >= -error).sum()),
            "sets": len(table),
        }
        for name, (difference, error) in claims.items()
    ]
    inside = int((table["halves in range"] >= 0.5).sum())
    rows.append(
        {
            "against": "calibrated within noise",
            "better": inside,
            "within one SE or better": inside,
            "sets": len(table),
        }
    )
    return pd.DataFrame(rows)


def picture(table: pd.DataFrame) -> Figure:
    """Draw differences of log scores, and the calibration error in the range that noise alone would give."""
    ordered = table.sort_values("− generative", ignore_index=True)
    at = np.arange(len(ordered))
    figure = Figure(figsize=(10, 1.5 + 0.3 * len(ordered)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for place, name in enumerate(("generative", *DISCRIMINATIVE)):
        left.errorbar(
            ordered[f"− {name}"],
            at + 0.2 * (place - 1),
            xerr=ordered[f"± {name}"],
            fmt="osD"[place],
            color=colour(place),
            markersize=4,
            label=f"less {'best ' if not place else ''}{name}",
        )
    left.axvline(0, color="0.6", linewidth=1)
    left.set_xscale("symlog", linthresh=0.1)
    left.set_yticks(at, ordered["set"])
    left.set_xlabel("log score of AutoClassifier, nats per row, right is better")
    left.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    right.hlines(
        at, ordered["ECE from"], ordered["ECE to"], color="0.75", linewidth=5, label="95 % of noise alone"
    )
    right.plot(ordered["ECE"], at, "o", color=colour(0), label="attained")
    right.set_xlabel("expected calibration error")
    right.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    for ax in (left, right):
        tidy(ax)
    return figure
