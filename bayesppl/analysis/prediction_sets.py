r"""Full conformal prediction sets: the labels of a new row that are compatible with the rows of the fit.

Add the row with label k, predict each of the n + 1 rows from all others, and rank how probable each makes its own
label:

.. math:: s_i = p(y_i \mid x_i, D_{-i} \cup \{(x, k)\}), \qquad
   p_k = \frac{\#\{i : s_i \le s_{n+1}\}}{n + 1}.

If rows are exchangeable, the label of the new row has :math:`P(p_y \le \alpha) \le \alpha`, for any n and whatever
the distribution of rows (Vovk, Gammerman & Shafer 2005, proposition 2.3). A model that is wrong makes sets larger,
and leaves them valid. All that is needed is that a score does not depend on the order of the rows: whatever is
learned from them is learned from all n + 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from bayesppl.analysis.left_out_joints import Joints, density_of, require_exact, row_joints
from bayesppl.analysis.scores import log_scores
from bayesppl.analysis.temperature import temper
from bayesppl.conjugate import Joint
from bayesppl.conjugate.statistics import Counts, JointStatistics
from bayesppl.data.arguments import one_of, real
from bayesppl.data.columns import missing
from bayesppl.data.labels import one_hot
from bayesppl.data.rows import Rows
from bayesppl.data.table import Table
from bayesppl.errors import rows_before
from bayesppl.families.block_rows import stack_rows
from bayesppl.families.fixed_by_rows import fixed_by_rows
from bayesppl.families.gaps import require_summable
from bayesppl.kernels.arrays import Array, close_leaves, logarithm
from bayesppl.model.calibration import Calibration
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import log_probabilities
from bayesppl.model.posterior import Exact
from bayesppl.model.training_rows import encoded, training_rows


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """The labels that cannot be excluded, for every row.

    Attributes
    ----------
    p_values : (n_rows, n_classes)
        Of every label.
    classes : (n_classes,)
    level : float
        Share of rows whose set holds their label, at least.
    """

    p_values: Array
    classes: Array
    level: float

    def __repr__(self) -> str:
        sizes = ", ".join(f"{count} of {size}" for size, count in enumerate(np.bincount(self.sizes)) if count)
        return f"PredictionSets({len(self.p_values)} rows at level {self.level:g}; number of labels: {sizes})"

    @property
    def contains(self) -> Array:
        """Whether a label is in the set of a row: (n_rows, n_classes) bool."""
        return np.asarray(self.p_values > 1 - self.level + 1e-12)

    @property
    def sizes(self) -> Array:
        """The number of labels of every row: (n_rows,)."""
        return np.asarray(self.contains.sum(1))

    @property
    def labels(self) -> list[list[Hashable]]:
        """The labels of every row."""
        return [self.classes[inside].tolist() for inside in self.contains]


def predict_set(fitted: Fitted, X: Any, level: float = 0.9, by_class: bool = False) -> PredictionSets:
    """Find the labels of every row that conform with the rows of the fit: full conformal prediction, no refits.

    The set of a new row holds its label with a probability of at least ``level``, if only the new row and those of
    the fit are exchangeable (such as independent draws of one population). It is valid for any number of rows,
    and however wrong the model is; a better model gives smaller sets. See :doc:`/howto/prediction_sets`.

    The score of a row is the probability of its own label, predicted from all other rows, the new one among them,
    by the predictive rule whatever the rule of the fit.
    Priors that depend on the data, ``class_weights="empirical"`` and the temperature of a calibrated fit are
    resolved from all n + 1 rows for every new row and label, as validity demands. Every row takes as long as two
    leave-one-outs of the fit; where classes share parameters, or learn from each other, as long as ``n_classes``.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
    level : float
        Between 0 and 1.
    by_class : bool
        Whether rows are ranked among those of the same label only, so that the level holds within every class
        (Mondrian conformal prediction). A class needs some 1 / (1 - level) rows, or its label is never excluded.

    Returns
    -------
    PredictionSets
        A set may be empty: every label is then less probable than is usual. A row with a level of a category that
        no row of the fit shows has all labels.

    Raises
    ------
    ValueError
        If something was learned from the rows of the fit that cannot be learned anew with every row: tuned
        hyperparameters, weights of columns, densities or tables chosen by evidence, bins. If rows have weights, of
        which no rank is known to be valid. If the rows of the fit are not held any more.
    NotConjugateError
        If the posterior is not in closed form.
    RowError
        If a row of ``X`` lacks cells of columns that are correlated in the model.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = bp.GaussianNB().fit(X[::2], y[::2])
    >>> sets = clf.predict_set(X[1::10], level=0.95)
    >>> sets.labels[-5:]
    [[2], [2], [2], [2], [2]]
    >>> bool(sets.contains[range(15), y[1::10]].mean() >= 0.9)
    True
    """
    real("level", level, "lie between 0 and 1", lambda level: 0 < level < 1)
    one_of("by_class", by_class, (False, True))
    known = require_exact(fitted, "a prediction set needs").statistics
    held = training_rows(fitted)
    if held is None:
        raise ValueError(
            "a prediction set ranks the new row among the rows of the fit, which are not held (after loading, "
            "batches, merging and forgetting they never are); fit to all rows at once"
        )
    rows, table = held.counted(), fitted.columns.align(X)
    _require_symmetry(fitted, rows)
    model, family = fitted.model, fitted.model.family
    seen, new = encoded(family, rows.table)[:], family.bound.encode(table)
    p_values = np.ones((len(table), model.n_classes))
    codes, tempered = rows.codes.astype(np.intp), fitted.calibration is not None
    for i in np.flatnonzero(~_new_levels(fitted, table)).tolist():
        with rows_before(i):
            require_summable(family, new[i : i + 1])
        found = _left_out_joints(model, known, seen, new[i : i + 1], codes)
        for k, (density, log_weights) in enumerate(found):
            labels = np.append(codes, k)
            scores = _scores(density, log_weights, labels, tempered)
            scores = scores[labels == k] if by_class else scores
            # rows that are equal tie, whatever the rounding
            room = 1e-9 * (1 + abs(scores[-1])) if np.isfinite(scores[-1]) else 0.0
            p_values[i, k] = (scores <= scores[-1] + room).mean()
    return PredictionSets(p_values, fitted.classes, level)


def _left_out_joints(
    model: GenerativeModel, known: JointStatistics, seen: Any, row: Any, codes: Array
) -> Iterator[tuple[Array, Array]]:
    """Yield log density and log class weights of n + 1 rows, each from all others, for every label of the new one.

    Where no class shares a parameter with another, and the prior is the same whatever the label, a row added to
    class k changes the density of class k alone: it is added to all of them at once.

    Yields
    ------
    log_density, log_weights : (n_rows + 1, n_classes)
        The new row stands last.
    """
    n_rows, every = len(codes), np.arange(model.n_classes)
    added = [model.statistics(row, one_hot(every[[k]], len(every))) for k in every]
    priors = [model.prior(known + of_row) for of_row in added]
    if not _are_separate(priors):
        together = stack_rows([seen, row])
        for k, (prior, of_row) in enumerate(zip(priors, added, strict=True)):
            found = _row_joints(model, prior, known + of_row, together, np.append(codes, k))
            yield density_of(found.without, found.log_class_weights), found.log_class_weights
        return
    without = _row_joints(model, priors[0], known, seen, codes)
    in_all = stack_rows([seen, *[row] * len(every)])
    with_row = _row_joints(model, priors[0], reduce(add, added, known), in_all, np.append(codes, every))
    before, after = (density_of(found.without, found.log_class_weights) for found in (without, with_row))
    # the copy in class k, left out, is predicted by the rows of class k
    density = np.vstack([before, after[n_rows + every, every]])
    for k, (prior, of_row) in enumerate(zip(priors, added, strict=True)):
        labels = prior.parts[CLASS_WEIGHTS].update((known + of_row).parts[CLASS_WEIGHTS])
        left = labels.update(Counts(-np.eye(len(every)), np.zeros(()))).mean()[CLASS_WEIGHTS]
        log_weights = logarithm(np.broadcast_to(left, (len(every), len(every))))[np.append(codes, k)]
        of_label = density.copy()
        of_label[:n_rows, k] = after[:n_rows, k]
        yield of_label, log_weights


def _row_joints(model: GenerativeModel, prior: Joint, statistics: JointStatistics, X: Any, codes: Array) -> Joints:
    return row_joints(Exact.of(model, statistics, prior), X, codes, np.ones(len(codes)), "predictive")


def _are_separate(priors: Sequence[Joint]) -> bool:
    """Whether the classes share no parameter, under priors of the features that are alike."""
    first, *others = [
        dict(enumerate(part for _, part in prior.leaves() if part is not prior.parts[CLASS_WEIGHTS]))
        for prior in priors
    ]
    if any(part.hierarchy is not None or part.shared_by_classes for part in first.values()):
        return False
    return all(close_leaves(first, other, rtol=1e-9) for other in others)


def _scores(log_density: Array, log_weights: Array, codes: Array, tempered: bool) -> Array:
    """Compute log p(y_i | x_i, all other rows) of every row, at a temperature learned from all rows: (n_rows,)."""
    if tempered:
        log_density = log_density / temper(log_density, log_weights, codes, np.ones(len(codes)))
    return log_scores(log_probabilities(log_density + log_weights, np.exp(log_weights)), codes)


def _new_levels(fitted: Fitted, table: Table) -> Array:
    """Find rows with a level that no row of the fit has, and that a fit with them would have: (n_rows,)."""
    import pandas as pd

    found = np.zeros(len(table), dtype=bool)
    for name, levels in fitted.levels.items():
        cells = table.column(name)
        found |= ~(missing(cells) | pd.Series(cells).isin(levels).to_numpy())
    return found


def _require_symmetry(fitted: Fitted, rows: Rows) -> None:
    """Refuse a fit that would not be the same function of n + 1 rows, whichever of them came last."""
    reasons = {
        "hyperparameters were tuned on the rows of the fit; fit without tuning": fitted.search is not None,
        "weights of columns were learned from the labels of the fit; use calibration='temperature', or None": not (
            fitted.calibration is None or isinstance(fitted.calibration, Calibration)
        ),
        "rows have weights, and the rank of a weighted row is that of no row; repeat rows, or fit without": (
            not rows.is_unweighted
        ),
        fixed_by_rows(fitted.model.family): True,
    }
    reason = next((reason for reason, holds in reasons.items() if holds and reason), "")
    if reason:
        raise ValueError(f"a prediction set is valid where all rows are treated alike, but {reason}")
