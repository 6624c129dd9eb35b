"""Whether what was read hangs together: columns, classes, sums and posterior are of one model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayesppl.files.serialize import same
from bayesppl.model.fitted import Fitted


def check_consistent(fitted: Fitted) -> None:
    """Refuse a fitted value whose parts are not of one model.

    Raises
    ------
    ValueError
        If they are not; any other error of an array may come up too.
    """
    learned, names = fitted.learned, fitted.columns.names
    model, classes = learned.model, learned.classes
    if (
        classes.ndim != 1
        or classes.tolist() != list(model.classes)
        or len(set(model.classes)) < max(1, len(classes))
    ):
        raise ValueError(f"classes {classes.tolist()} are not those of the model, {list(model.classes)}")
    if not names or len(set(names)) < len(names) or learned.class_count.shape != classes.shape:
        raise ValueError("columns or counts of classes are missing")
    if not set(model.family.bound.measures) <= set(names):
        raise ValueError(f"columns {names} are not those of the model, {list(model.family.bound.measures)}")
    if fitted.inferred is None:
        return
    # a tuned posterior is of the declared model times the factors that its rows chose
    if not same(replace(fitted.inferred.model, factors=model.factors), model):
        raise ValueError("the posterior is one of another model")
    import pandas as pd

    # no rows go the way of all rows, and show whether shapes agree
    frame = pd.DataFrame(np.empty((0, len(names))), columns=pd.Index(names, tupleize_cols=False))
    found = fitted.log_joint(frame if fitted.columns.are_named else frame.to_numpy(), "predictive")
    if found.shape != (0, len(classes)):
        raise ValueError(f"predictions have shape {found.shape}")
