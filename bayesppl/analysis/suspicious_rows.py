r"""Rows whose label the other rows hold improbable, and how probable it is that the label is wrong.

Labels are taken to be recorded wrongly with probability ε, each of the other classes being as likely to be written
in place of the right one. With :math:`p_i = p(y_i \mid x_i, D_{-i})` from exact leave-one-out,

.. math:: P(\text{label } i \text{ is wrong}) = \frac{\epsilon\, (1 - p_i) / (K - 1)}
   {(1 - \epsilon)\, p_i + \epsilon\, (1 - p_i) / (K - 1)},

which is the model of Lawrence & Schölkopf (2001, "Estimating a kernel Fisher discriminant in the presence of label
noise") with equal rates. The denominators multiply to the likelihood of ε, a concave function on the logarithmic
scale; ε is the mode under a Beta(2, 20) prior.

Wrong labels spoil the densities by which they are judged: predictions from all rows are of labels as they are
recorded, and find half of the errors only. So each row counts with the probability that its label is right, in
turn with the predictions, as in EM; each prediction stays exact, of one row from all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar

from bayesppl.analysis.leave_one_out import leave_one_out, leave_out_each
from bayesppl.analysis.left_out_joints import require_exact
from bayesppl.data.labels import one_hot
from bayesppl.errors import ImproperError
from bayesppl.kernels.arrays import Array
from bayesppl.model.calibration import Calibration
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Exact
from bayesppl.model.training_rows import encoded, require_training_rows

if TYPE_CHECKING:
    import pandas as pd

# The search ends when no probability of a wrong label changes by as much, or after the most steps.
_TOLERANCE, _MOST_STEPS = 1e-4, 200

#: Rows, and wrong ones among them, that the prior of the share of wrong labels counts for.
_PRIOR_ROWS, _PRIOR_WRONG = 20.0, 1.0


def suspicious_rows(fitted: Fitted, X: Any = None, y: Any = None, sample_weight: Any = None) -> pd.DataFrame:
    """Sort rows of the fit by the probability that their label is wrong, the most suspicious first.

    Every row is predicted from all others, exactly and without refits, by the predictive rule whatever the rule of
    the fit; each row counts with the probability that its label is right, which takes some five to thirty passes.
    Of an overconfident model every error is sure, and the label is blamed for it: fit with
    ``calibration="temperature"`` where columns depend on each other. The temperature is learned anew with the
    weights of the rows.

    Parameters
    ----------
    fitted : Fitted
    X, y, sample_weight : optional
        The rows of the fit; needed only where they are no longer held, or where they were changed since.

    Returns
    -------
    pandas.DataFrame
        Indexed by the place of the row among those given to ``fit``, also where some of them have no label:
        ``label`` as it is, ``suggested`` the most probable class by the other rows, ``probability`` of the label
        by the other rows, and ``wrong``, the probability that it is wrong. Its ``attrs["noise"]`` is the share of
        wrong labels that was found. Rows of weight zero, which took no part in the fit, are predicted like the
        others.

    Raises
    ------
    ValueError, NotConjugateError
        As :meth:`loo`; also of posteriors that were sampled.
    ImproperError
        If the prior is improper, and the rows whose labels are right are too few for it.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[3, 140]] = 2, 0
    >>> found = bp.QuadraticDiscriminantAnalysis().fit(X, y).suspicious_rows()
    >>> sorted(found.index[:2].tolist())
    [3, 140]
    >>> found["suggested"].loc[[3, 140]].tolist(), bool((found["wrong"][:2] > 0.99).all())
    ([0, 2], True)
    """
    import pandas as pd

    model = require_exact(fitted, "suspicious rows are found by").model
    if model.n_classes < 2:
        raise ValueError("there is one class only, so that no label can be another; fit two classes at least")
    rows = require_training_rows(fitted, X, y, sample_weight)
    loo = leave_one_out(fitted, X, y, sample_weight, rule="predictive")
    table, power, wrong = encoded(model.family, rows.table), fitted.calibration, np.zeros(len(rows))
    for _ in range(_MOST_STEPS):
        noise = noise_rate(loo.log_score_i, rows.weights, model.n_classes)
        before, wrong = wrong, wrong_label(loo.log_score_i, noise, model.n_classes)
        if np.abs(wrong - before).max() < _TOLERANCE:
            break
        power = loo.calibration if isinstance(power, Calibration) else power
        weights = rows.weights * (1 - wrong)
        known = model.statistics(table, one_hot(rows.codes, model.n_classes, weights))
        try:
            loo = leave_out_each(Exact.of(model, known), table, rows.codes, weights, calibration=power)
        except ImproperError as error:
            raise ImproperError(
                f"once rows count with the probability that their label is right, {error}"
            ) from None
    columns = {
        "label": loo.classes[loo.codes],
        "suggested": loo.classes[loo.log_proba.argmax(1)],
        "probability": np.exp(loo.log_score_i),
        "wrong": wrong,
    }
    found = pd.DataFrame(columns, index=rows.places_given(rows.known_places)).sort_values(
        ["wrong", "probability"], ascending=[False, True], kind="stable"
    )
    found.attrs["noise"] = noise
    return found


def noise_rate(log_score: Array, weights: Array, n_classes: int) -> float:
    """Find the share of wrong labels: the mode of its posterior.

    Parameters
    ----------
    log_score : (n_rows,)
        log p of the label of every row, from the others.
    weights : (n_rows,)
    n_classes : int
    """
    right = np.exp(log_score)
    other = -np.expm1(log_score) / (n_classes - 1)

    def loss(noise: float) -> float:
        prior = _PRIOR_WRONG * np.log(noise) + (_PRIOR_ROWS - _PRIOR_WRONG) * np.log1p(-noise)
        return -float(prior + (weights * np.log((1 - noise) * right + noise * other)).sum())

    return float(minimize_scalar(loss, bounds=(0.0, 1 - 1 / n_classes), method="bounded").x)


def wrong_label(log_score: Array, noise: float, n_classes: int) -> Array:
    """Compute the probability that a label is wrong, from log p of it and the share of wrong labels: (n_rows,)."""
    wrong = noise * -np.expm1(log_score) / (n_classes - 1)
    return np.asarray(wrong / (wrong + (1 - noise) * np.exp(log_score)))
