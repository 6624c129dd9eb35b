"""Leave-one-out: every row predicted by the model of all the others, exactly or by importance weights of draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesppl.analysis.calibration import Confidence, confidence, learn
from bayesppl.analysis.left_out_draws import ImportanceSampled, joints_of_draws
from bayesppl.analysis.left_out_joints import Joints, density_of, row_joints, unit_joints
from bayesppl.analysis.scores import hits, log_scores, weighted_average
from bayesppl.data.arguments import one_of
from bayesppl.errors import NotConjugateError
from bayesppl.kernels.arrays import Array
from bayesppl.model.calibration import Calibration, Power
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import log_probabilities, powered
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import RuleName, check_rule
from bayesppl.model.training_rows import encoded, require_training_rows

if TYPE_CHECKING:
    import xarray as xr

Target = Literal["joint", "label"]

#: Most rows without which a model is sampled anew.
REFITS = 10


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Predictions of every row of the fit from all the other rows, exact wherever the posterior has a closed form.

    Under a rule that plugs in an estimate, "given D" means: under the estimate from D.

    Attributes
    ----------
    rule : {"predictive", "mle", "map", "mean"}
        How rows are predicted.
    log_joint : (n_rows, n_classes)
        log p(x_i, y = k | D without row i).
    log_class_weights : (n_rows, n_classes)
        log p(y = k | D without row i).
    log_proba : (n_rows, n_classes)
        log p(y = k | x_i, D without row i), calibrated where the fit is.
    log_joint_fitted : (n_rows, n_classes)
        log p(x_i, y = k | D), with row i among the data.
    fitted_weights : (n_classes,)
        Class weights, with all rows among the data.
    codes : (n_rows,)
        Index of the label of each row in ``classes``.
    weights : (n_rows,)
        A row leaves with its whole weight. Scores are weighted averages; a row of weight zero has no part in them.
    classes : (n_classes,)
    log_labels_fitted : (n_rows, n_classes)
        log p(y = k | x_i, D), up to a term that all classes of a row share, calibrated where the fit is.
    temperature : float
        Of the calibration in use, which is held as learned from all rows; 1 where there is none.
    draws : ImportanceSampled, optional
        How well it is known where it came from draws: k-hat and Monte-Carlo error of every row; None where it is
        exact.
    approximation : str, optional
        How the posterior was found where it is none in closed form. After EM, other rows were completed with the
        help of the one that leaves, and it is predicted better than by a fit without it.
    """

    rule: RuleName
    log_joint: Array
    log_class_weights: Array
    log_proba: Array
    log_joint_fitted: Array
    fitted_weights: Array
    codes: Array
    weights: Array
    classes: Array
    log_labels_fitted: Array
    temperature: float = 1.0
    draws: ImportanceSampled | None = None
    approximation: str | None = None

    def __repr__(self) -> str:
        score, accuracy = (f"{value:.4g} ± {error:.2g}" for value, error in (self.log_score, self.accuracy))
        by = "".join(f", {known}" for known in (self.draws, self.approximation) if known is not None)
        return (
            f"LeaveOneOut({len(self.codes)} rows, {len(self.classes)} classes, log_score={score}, "
            f"accuracy={accuracy}{by})"
        )

    def _repr_html_(self) -> str:
        """The scores as a table in a notebook."""
        lines = [
            f"<tr><th>{name}</th><td>{value:.4g}</td><td>± {error:.2g}</td></tr>"
            for name, (value, error) in (("log score", self.log_score), ("accuracy", self.accuracy))
        ]
        heading = f"Leave-one-out of {len(self.codes)} rows, {len(self.classes)} classes"
        if self.approximation is not None:
            heading = f"{heading} ({self.approximation})"
        return f"<p>{heading}</p><table>{''.join(lines)}</table>"

    @property
    def log_predictive(self) -> Array:
        """log p(x_i, y_i | D without row i): (n_rows,)."""
        return self._own(self.log_joint)

    @cached_property
    def log_proba_fitted(self) -> Array:
        """log p(y = k | x_i, D), with row i among the data: (n_rows, n_classes)."""
        return log_probabilities(self.log_labels_fitted, self.fitted_weights)

    @cached_property
    def calibration(self) -> Calibration:
        """What ``calibration="temperature"`` learns from these rows, whether it is in use or not."""
        return learn(
            density_of(self.log_joint, self.log_class_weights), self.log_class_weights, self.codes, self.weights
        )

    @property
    def log_score_i(self) -> Array:
        """log p(y_i | x_i, D without row i): (n_rows,)."""
        return log_scores(self.log_proba, self.codes)

    @property
    def proba(self) -> Array:
        """Class probabilities of each row, from the other rows: (n_rows, n_classes)."""
        return np.exp(self.log_proba)

    @property
    def accuracy(self) -> tuple[float, float]:
        """Share of rows whose own label is the most probable one, and its standard error."""
        return weighted_average(hits(self.log_proba, self.codes), self.weights)

    @property
    def log_score(self) -> tuple[float, float]:
        """Average of log p(y_i | x_i, D without row i), and its standard error."""
        return weighted_average(self.log_score_i, self.weights)

    @cached_property
    def confidence(self) -> Confidence:
        """The log score that the probabilities themselves expect, beside the one attained."""
        return confidence(self.log_proba, self.codes, self.weights)

    def elpd(self, target: Target = "joint") -> Any:
        """Expected log predictive density in ArviZ's container, for ``arviz.compare``.

        Parameters
        ----------
        target : {"joint", "label"}
            ``joint`` scores p(x_i, y_i), as ``arviz.loo`` does for the log likelihood of rows; ``label`` scores
            p(y_i | x_i). A row of weight w is scored w times, as w rows would be that are left out together.

        Returns
        -------
        arviz_stats.utils.ELPDDataLOO
            The effective number of parameters ``p`` is the log score within the data less the one left out
            (Vehtari, Gelman & Gabry 2017). Where nothing is approximated, every Pareto k is zero, and no table of
            them is printed. Where a plug-in rule holds a row impossible, ``elpd`` is -inf and has no standard
            error.
        """
        import xarray as xr
        from arviz_stats.utils import ELPDDataLOO

        from bayesppl.analysis.arviz_elpd import ExactELPD

        pairs = {
            "joint": (self.log_joint, self.log_joint_fitted),
            "label": (self.log_proba, self.log_proba_fitted),
        }
        one_of("target", target, pairs)
        counted = np.flatnonzero(self.weights)
        left_out, fitted = (self.weights[counted] * self._own(values)[counted] for values in pairs[target])
        rows = {"row": counted}
        pareto_k = np.zeros(len(counted)) if self.draws is None else self.draws.pareto_k[counted]
        good_k = 0.7 if self.draws is None else self.draws.good_k
        return (ExactELPD if self.draws is None else ELPDDataLOO)(
            elpd=float(left_out.sum()),
            se=standard_error_of_sum(left_out),
            p=float((fitted - left_out).sum()),
            n_samples=0 if self.draws is None else self.draws.n_draws,
            n_data_points=len(left_out),
            scale="log",
            warning=bool((pareto_k > good_k).any()),
            good_k=good_k,
            elpd_i=xr.DataArray(left_out, dims=["row"], coords=rows),
            pareto_k=xr.DataArray(pareto_k, dims=["row"], coords=rows),
        )

    def to_dataset(self) -> xr.Dataset:
        """Everything per row, with named dims."""
        import xarray as xr

        from bayesppl.analysis.parameters import coord

        accuracy, accuracy_se = self.accuracy
        log_score, log_score_se = self.log_score
        of_draws = {} if self.draws is None else {"pareto_k": self.draws.pareto_k, "mcse": self.draws.mcse}
        return xr.Dataset(
            {
                **{name: ("row", values) for name, values in of_draws.items()},
                "log_predictive": ("row", self.log_predictive),
                "log_score_i": ("row", self.log_score_i),
                "proba": (("row", "class"), self.proba),
                "label": ("row", coord(self.classes[self.codes].tolist())),
                "accuracy": ((), accuracy),
                "accuracy_se": ((), accuracy_se),
                "log_score": ((), log_score),
                "log_score_se": ((), log_score_se),
            },
            coords={"row": np.arange(len(self.codes)), "class": coord(self.classes.tolist())},
            attrs={"rule": self.rule},
        )

    def _own(self, values: Array) -> Array:
        return np.asarray(values[np.arange(len(self.codes)), self.codes])


def standard_error_of_sum(values: Array) -> float:
    """Estimate the standard error of a sum over rows; nan for one row, or where a score is -inf."""
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    return float(np.sqrt(len(values) * values.var(ddof=1)))


def leave_one_out(
    fitted: Fitted,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    rule: RuleName | None = None,
    refits: int = REFITS,
) -> LeaveOneOut:
    """Predict every row of the fit from all the others, exactly where the posterior has a closed form.

    Of the predictive it costs one to three ``predict_proba``; where many rows have a weight of their own, several
    times more, for without each the posterior is another one. A rule that plugs in an estimate takes it anew for
    every row from the sums of the others, which costs about a millisecond a row, and more for models of many
    parameters.

    The prior is held as resolved from all rows: this equals refitting once per row where the prior is explicit,
    and refitting with the resolved prior where it is a default that depends on the data. Where the prior of each
    class is made of the rows of the others (``"hierarchical"``, of full covariances), the predictive takes the row
    out of it too.

    Factors of a posterior that are known by draws are predicted by importance weights of these; see
    :mod:`bayesppl.analysis.left_out_draws`. ``draws`` of what is returned holds k-hat and the Monte-Carlo error of
    every row. After EM, rows that are partly known stay completed as they are, though the row that leaves had a
    part in that: ``approximation`` says so. Only rows that are known completely are left out.

    Parameters
    ----------
    fitted : Fitted
    X, y, sample_weight : optional
        The rows of the fit; needed only where they are no longer held, or where they were changed since.
    rule : {"predictive", "mle", "map", "mean"}, optional
        How rows are predicted; by default as ``predict`` does. Of draws, by "predictive" only.
    refits : int
        Where weights of draws cannot be trusted, the model is sampled again without the row: for how many rows at
        most.

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
    X = encoded(fitted.model.family, rows.table)
    return leave_out_each(posterior, X, rows.codes, rows.weights, rule, fitted.calibration, refits)


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
    counts = np.bincount(codes, weights, posterior.model.n_classes)
    try:
        if not posterior.is_exact and not np.allclose(counts, posterior.statistics.parts[CLASS_WEIGHTS].counts):
            raise NotConjugateError("rows without a label were learned from too")
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
            lambda: (np.stack([unit.without, unit.fitted]) for unit in unit_joints(*data)),
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
        posterior.about_draws.record.get("approximation"),
    )
