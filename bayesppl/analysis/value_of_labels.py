r"""The value of the label of a row without one, before the label is known.

With the label k of row x the posterior is that of one row more, exactly, and so is every prediction. What the
prediction of another row z gains is known on average over the label, as the model predicts it,

.. math:: V(x) = \sum_k p(k \mid x, D)\; \overline{\mathrm{KL}}_z\bigl(
   p(\cdot \mid z, D \cup \{(x, k)\}) \,\|\, p(\cdot \mid z, D)\bigr),

the expected gain of the log score per row (Lindley 1956; for predictions, Bickford Smith et al. 2023, "Prediction-
oriented Bayesian active learning"). Entropy chooses the rows whose label is least sure, whether anything can be
learned from it or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesppl.analysis.left_out_joints import require_exact
from bayesppl.analysis.temperature import drawn_rows
from bayesppl.data.arguments import whole
from bayesppl.data.labels import one_hot
from bayesppl.families.gaps import require_summable
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import log_probabilities
from bayesppl.model.posterior import Exact

#: A label that is less probable than this is not tried.
_LEAST = 1e-8


@dataclass(frozen=True, eq=False)
class LabelValues:
    """The value of the label of every row.

    Attributes
    ----------
    gain : (n_rows,)
        Expected gain in log score of a row to be predicted, in nats.
    """

    gain: Array

    @property
    def best(self) -> int:
        """The place of the row whose label is worth most."""
        return int(self.gain.argmax())

    def worth_asking(self, n_rows: float, cost: float = 1.0) -> bool:
        """Whether one more label is worth its cost: the stopping rule.

        Parameters
        ----------
        n_rows : float
            Rows that will be predicted by the model.
        cost : float
            Of a label, in nats of log score.
        """
        return bool(self.gain.max() * n_rows > cost)


def value_of_labels(fitted: Fitted, X: Any, targets: Any = None, most: int = 200) -> LabelValues:
    """Compute the gain in log score expected of the label of each row, by exact updates of the posterior.

    It is the gain as the predictive rule expects it, whatever the rule of the fit: zero where the label is known
    already, or would change no other
    prediction. Priors and temperatures are held as they are. This takes as long as predicting the targets
    ``n_classes`` times for every row.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
        Rows without a label, one of which can be labelled next.
    targets : table or (n_targets, n_features) array-like, optional
        Rows like those to be predicted later; by default ``X``.
    most : int
        More targets than this are represented by a random choice of so many.

    Returns
    -------
    LabelValues

    Raises
    ------
    NotConjugateError
        If the posterior is not in closed form.
    RowError
        If a row of ``X`` lacks cells of columns that are correlated in the model.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB().fit([[0.0], [0.3], [4.0], [4.2]], list("aabb"))
    >>> values = clf.value_of_labels([[0.1], [2.2], [4.1]])
    >>> values.best, values.worth_asking(n_rows=1000), values.worth_asking(n_rows=1)
    (1, True, False)
    """
    posterior, model = require_exact(fitted, "the value of a label needs"), fitted.model
    rows = fitted.encode(X)
    if not rows.shape[0]:
        raise ValueError("X has no rows, so that there is no label to ask for")
    require_summable(model.family, rows)
    later = rows if targets is None else fitted.encode(targets)
    if not later.shape[0]:
        raise ValueError("targets has no rows; leave it out, and the labels are valued by the rows of X")
    later = later[drawn_rows(later.shape[0], whole("most", most, 1))]

    def predicted(by: Exact, some: Any) -> Array:
        log_joint, class_weights = by.scorer("predictive")
        return log_probabilities(fitted.calibrated(log_joint, class_weights)(some), class_weights)

    before, labels = predicted(posterior, later), np.exp(predicted(posterior, rows))
    gain = np.zeros(rows.shape[0])
    for i, k in np.argwhere(labels > _LEAST).tolist():
        row = model.statistics(rows[i : i + 1], one_hot(np.array([k]), model.n_classes))
        known = posterior.statistics + row
        after = predicted(Exact.of(model, known, posterior.prior), later)
        change = np.where(np.isneginf(after), 0.0, np.exp(after) * (after - before))
        gain[i] += labels[i, k] * change.sum(1).mean()
    return LabelValues(np.maximum(gain, 0.0))  # but for rounding no gain is negative
