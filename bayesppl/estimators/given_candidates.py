"""Candidates of a user: pipelines of ours, left out exactly, and any other classifiers, left out by folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bayesppl.analysis.stacking import MOST_LEFT_OUT, LeftOut, cross_validate, leave_out, leave_out_by_folds
from bayesppl.data.leaves import PARTS, Leaves
from bayesppl.data.names import spelled
from bayesppl.data.preprocessing import AnyRecoding, Preprocessing
from bayesppl.data.recoding import Unrecoded
from bayesppl.data.rows import Rows
from bayesppl.data.table import MatrixTable
from bayesppl.estimators.declared import start, with_gaps_apart
from bayesppl.estimators.learner import Learner
from bayesppl.families.fixed_by_rows import is_chosen_by_labels


def named(candidates: Any) -> dict[str, Any]:
    """Name candidates; those of a list are called after the classes of their steps.

    Raises
    ------
    TypeError
        For what is no classifier with probabilities, or a name that is no text.
    ValueError
        If there are none.
    """
    of_several = candidates.values() if isinstance(candidates, Mapping) else candidates
    for clf in of_several if isinstance(candidates, Mapping | list | tuple) else ():
        if isinstance(clf, type):
            raise TypeError(f"candidates hold the class {clf.__name__}; make one of it, as in {clf.__name__}()")
    if isinstance(candidates, Mapping):
        found = dict(candidates)
    elif isinstance(candidates, list | tuple):
        names = [_name(clf) for clf in candidates]
        several = Counter(names)
        found = {
            f"{name} ({place})" if several[name] > 1 else name: clf
            for place, (name, clf) in enumerate(zip(names, candidates, strict=True), start=1)
        }
    else:
        raise TypeError(
            "candidates must be a list of estimators, or a mapping of names to them, as in "
            f"{{'counts': bayesppl.PoissonNB()}}, found {spelled(candidates)}"
        )
    if not found:
        raise ValueError("candidates is empty; name estimators, or leave it None to have them picked")
    for name, clf in found.items():
        if not isinstance(name, str):
            raise TypeError(f"names of candidates must be text, found {spelled(name)}; write {spelled(str(name))}")
        if not (hasattr(clf, "fit") and hasattr(clf, "predict_proba")):
            raise TypeError(
                f"candidates[{spelled(name)}] is {spelled(clf)}, which has no predict_proba: a candidate is an "
                "estimator of bayesppl (a family goes into bayesppl.GenerativeClassifier), a pipeline that ends "
                "in one, or any other classifier with probabilities"
            )
    return found


def _name(clf: Any) -> str:
    steps = [step for _, step in clf.steps] if isinstance(clf, Pipeline) else [clf]
    return ", ".join(step if isinstance(step, str) else type(step).__name__ for step in steps)


def try_candidate(name: str, clf: Any, rows: Rows, n_jobs: int | None) -> LeftOut:
    """Fit a candidate of a user, and predict every row by it without that row.

    Of a pipeline that ends in an estimator of ours, the transformers are fitted once, without labels, and the last
    step is left out exactly. Where a transformer wants labels, or the inference completes rows, as of mixtures, it
    is a guest, refitted for every fold.
    """
    try:
        return _try(name, clf, rows, n_jobs)
    except Exception as error:
        error.add_note(f"This was raised by candidates[{spelled(name)}].")
        raise


def _try(name: str, clf: Any, rows: Rows, n_jobs: int | None) -> LeftOut:
    transformers, last = (clf[:-1], clf[-1]) if isinstance(clf, Pipeline) else (None, clf)
    if not isinstance(last, Learner):
        return cross_validate(name, clf, rows, n_jobs)
    for option in ("rule", "classes", "label_noise", "unlabelled_label"):
        value = getattr(last, option)
        if value is not None and not (option == "rule" and value == "predictive"):
            raise ValueError(
                f"candidates[{spelled(name)}] has {option}={spelled(value)}, but members of an AutoClassifier are "
                "compared by rule='predictive', have its classes, and take its labels as known and right: leave "
                "the option out, or fit this model by itself"
            )
    recoding: AnyRecoding = Unrecoded()
    if transformers:
        try:
            recoding = Preprocessing(clone(transformers).fit(rows.table.native()))
        except (TypeError, ValueError):  # without labels; with them it may fit
            return cross_validate(name, clf, rows, n_jobs)
    if with_gaps_apart(last, replace(rows, table=recoding.transform(rows.table))).partly is not None:
        return cross_validate(name, clf, rows, n_jobs)
    return fit_and_leave_out(name, recoding, last, rows)


def fit_and_leave_out(name: str, recoding: AnyRecoding, clf: Learner, rows: Rows) -> LeftOut:
    """Fit an estimator of ours to recoded rows, and predict each of them from the others.

    Exactly, where all that the rows determine is learned anew without each of them. Densities that labels choose,
    and weights of columns, are found anew for folds, where rows are so few that one of them matters.
    """
    seen = recoding.grow(rows.table, rows.codes, rows.weights) if isinstance(recoding, Leaves) else None
    recoded = replace(rows, table=recoding.transform(rows.table))
    fitted = replace(clf._infer(start(clf, recoded), recoded), rows=None)
    by_labels = clf.calibration == "weights" or is_chosen_by_labels(fitted.model.family)
    if by_labels and len(rows) <= MOST_LEFT_OUT:
        if clf.calibration is None:
            return fit_and_leave_out(name, recoding, clone(clf).set_params(calibration="temperature"), rows)
        return leave_out_by_folds(name, recoding, fitted, recoded, lambda part: clf._infer(start(clf, part), part))
    if seen is None:
        return leave_out(name, recoding, fitted, recoded)
    cells = np.where(seen, np.nan, recoded.table.numeric())
    unseen = MatrixTable(recoded.table.names, cells, True, frozenset(recoded.table.names))
    return leave_out(name, recoding, fitted, replace(recoded, table=unseen), share_of_columns=1 / PARTS)
