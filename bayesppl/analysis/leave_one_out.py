"""Leave-one-out: every row predicted by the model of all the others, exactly or by importance weights of draws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayesppl.analysis.left_out_draws import joints_of_draws
from bayesppl.analysis.left_out_joints import Joints, factor_joints, row_joints
from bayesppl.analysis.left_out_predictions import LeaveOneOut
from bayesppl.data.rows import warn_of_counts
from bayesppl.errors import NotConjugateError
from bayesppl.kernels.arrays import Array
from bayesppl.model.calibration import Power
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import log_probabilities, powered
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import RuleName, check_rule
from bayesppl.model.training_rows import encoded, require_training_rows

#: Most rows without which a model is sampled anew.
REFITS = 10


def leave_one_out(
    fitted: Fitted,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    rule: RuleName | None = None,
    refits: int = REFITS,
) -> LeaveOneOut:
    """Predict every row of the fit from all the others, exactly where the posterior has a closed form.

    Of the predictive it costs one to three ``predict_proba`` of a large table, and some seven under the default
    prior of independent columns, which a row changes for every class; where many rows have a weight of their own,
    several times more, for without each the posterior is another one. A rule that plugs in an estimate takes it
    anew for every row from the sums of the others, which costs about a millisecond a row, and more for models of
    many parameters.

    The prior is held as resolved from all rows: this equals refitting once per row where the prior is explicit,
    and refitting with the resolved prior where it is a default that depends on the data. Where the prior is made
    of the rows (``"hierarchical"``, of full covariances and of independent columns), the row is taken out of it
    too, and what remains is how alike the classes were found. Densities and bins that the rows have chosen
    (``columns="evidence"``) and tuned hyperparameters are held: of few rows for each column, scores are too high
    then.

    It is the model that is scored: where its posterior has a closed form, this is used, though the fit was sampled
    or approximated. Other factors are predicted by importance weights of the draws; see
    :mod:`bayesppl.analysis.left_out_draws`. ``draws`` of what is returned holds k-hat and the Monte-Carlo error of
    every row. After EM, the prior and the rows that are partly known stay as they are, though the row left out had
    a part in both: ``approximation`` then says so. Only rows that are known completely are left out.

    Parameters
    ----------
    fitted : Fitted
    X, y, sample_weight : optional
        The rows of the fit; needed only where they are no longer held, or where they were changed since.
    rule : {"predictive", "mle", "map", "mean"}, optional
        How rows are predicted; by default as ``predict`` does. Of draws, by "predictive" only.
    refits : int
        Where weights of draws cannot be trusted, the model is sampled again without the row: for how many rows at
        most. A fit that was loaded, or has learned from rows partly known, is not sampled again.

    Raises
    ------
    ImproperError
        If the posterior without a row is improper.
    UndefinedEstimateError
        If the rule plugs in an estimate that does not exist without some row, as the maximum likelihood of a class
        of one row.
    ValueError
        If the rows are not held any more.
    ChangedRowsError
        If the rows were changed in place since the fit.
    NotConjugateError
        If an estimate without a row is needed of a posterior that is known by draws.

    Warns
    -----
    ConvergenceWarning
        If rows remain whose importance weights cannot be trusted.
    UserWarning
        If the weights look like counts of equal rows, all of which are left out together.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> clf = bp.QuadraticDiscriminantAnalysis().fit(*load_iris(return_X_y=True))
    >>> accuracy, se = clf.loo().accuracy
    >>> round(accuracy, 3), round(se, 3)
    (0.98, 0.011)
    >>> round(clf.loo(rule="mle").accuracy[0], 3)
    0.973
    """
    rule = fitted.rule if rule is None else rule
    check_rule(rule)
    posterior, rows = fitted.posterior, require_training_rows(fitted, X, y, sample_weight)
    warn_of_counts(rows)
    X = encoded(fitted.model.family, rows.table)
    with rows.naming_rows():
        found = leave_out_each(posterior, X, rows.codes, rows.weights, rule, fitted.calibration, refits)
    return replace(found, places=rows.places_given(rows.known_places))


def leave_out_each(
    posterior: Posterior,
    X: Any,
    codes: Array,
    weights: Array,
    rule: RuleName = "predictive",
    calibration: Power | None = None,
    refits: int = REFITS,
    some: Array | None = None,
) -> LeaveOneOut:
    """Predict every row from the others.

    Parameters
    ----------
    posterior : Posterior
        Of these rows and no others.
    X : encoded rows
    codes, weights : (n_rows,)
    rule : {"predictive", "mle", "map", "mean"}
    calibration : Power, optional
    refits : int
    some : array of int, optional
        Places of the rows that are predicted; all by default.
    """
    of_draws = None
    try:
        found = row_joints(posterior, X, codes, weights, rule, some)
    except NotConjugateError:
        if rule != "predictive":
            raise NotConjugateError(
                f"rule={rule!r} plugs in an estimate, which would have to be sampled without each row; use "
                "loo(rule='predictive'), which weighs the draws there are"
            ) from None
        found, of_draws = joints_of_draws(posterior, X, codes, weights, refits)
        if some is not None:
            without, class_weights, log_class_weights, fitted = (values[some] for values in found[:-1])
            found = Joints(without, class_weights, log_class_weights, fitted, found.fitted_weights)
    labels, labels_fitted = found.without, found.fitted
    if calibration is not None:
        data = posterior, X, codes, weights, rule, some
        both = calibration.of_left_out(
            np.stack([found.without, found.fitted]),
            lambda: (np.stack([factor.without, factor.fitted]) for factor in factor_joints(*data)),
        )
        all_weights = np.stack(np.broadcast_arrays(found.class_weights, found.fitted_weights))
        labels, labels_fitted = powered(both, all_weights)
    log_proba = log_probabilities(labels, found.class_weights)
    return LeaveOneOut(
        rule,
        found.without,
        found.log_class_weights,
        log_proba,
        found.fitted,
        found.fitted_weights,
        codes if some is None else codes[some],
        weights if some is None else weights[some],
        np.asarray(posterior.model.classes),
        labels_fitted,
        1.0 if calibration is None else calibration.overall_temperature,
        of_draws,
        posterior.about_draws.record.get("approximation") if posterior.is_exact or of_draws else None,
    )
