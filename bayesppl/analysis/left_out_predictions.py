"""The result of leave-one-out: predictions of every row of a fit from all the other rows, and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesppl.analysis.left_out_draws import ImportanceSampled
from bayesppl.analysis.left_out_joints import density_of
from bayesppl.analysis.scores import hits, log_scores, standard_error_of_sum, weighted_average
from bayesppl.analysis.temperature import Confidence, confidence, learn
from bayesppl.data.arguments import one_of
from bayesppl.kernels.arrays import Array
from bayesppl.model.calibration import Calibration
from bayesppl.model.normalisation import log_probabilities
from bayesppl.model.rules import RuleName

if TYPE_CHECKING:
    import xarray as xr

Target = Literal["joint", "label"]


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
    places : (n_rows,), optional
        Of the rows among those given to ``fit``, some of which may have no label.
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
    places: Array | None = None

    def __repr__(self) -> str:
        score, accuracy = (f"{value:.4g} ± {error:.2g}" for value, error in (self.log_score, self.accuracy))
        by = "".join(f", {known}" for known in (self.draws, self.approximation) if known is not None)
        return (
            f"LeaveOneOut({len(self.codes)} rows, {len(self.classes)} classes, log_score={score}, "
            f"accuracy={accuracy}{by})"
        )

    def _repr_html_(self) -> str:
        """Show the scores as a table in a notebook."""
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
        """The log predictive density log p(x_i, y_i | D without row i): (n_rows,)."""
        return log_scores(self.log_joint, self.codes)

    @cached_property
    def log_proba_fitted(self) -> Array:
        """The log probabilities log p(y = k | x_i, D), with row i among the data: (n_rows, n_classes)."""
        return log_probabilities(self.log_labels_fitted, self.fitted_weights)

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration that ``calibration="temperature"`` learns from these rows, whether in use or not."""
        return learn(
            density_of(self.log_joint, self.log_class_weights), self.log_class_weights, self.codes, self.weights
        )

    @property
    def log_score_i(self) -> Array:
        """The log score of each row, log p(y_i | x_i, D without row i): (n_rows,)."""
        return log_scores(self.log_proba, self.codes)

    @property
    def proba(self) -> Array:
        """The class probabilities of each row, from the other rows: (n_rows, n_classes)."""
        return np.exp(self.log_proba)

    @property
    def accuracy(self) -> tuple[float, float]:
        """The share of rows whose own label is the most probable one, and its standard error."""
        return weighted_average(hits(self.log_proba, self.codes), self.weights)

    @property
    def log_score(self) -> tuple[float, float]:
        """The average of log p(y_i | x_i, D without row i), and its standard error."""
        return weighted_average(self.log_score_i, self.weights)

    @cached_property
    def confidence(self) -> Confidence:
        """The log score that the probabilities themselves expect, beside the one attained."""
        return confidence(self.log_proba, self.codes, self.weights)

    def elpd(self, target: Target = "joint") -> Any:
        """Return the expected log predictive density in ArviZ's container, for ``arviz.compare``.

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
        left_out, fitted = (
            self.weights[counted] * log_scores(values, self.codes)[counted] for values in pairs[target]
        )
        rows = {"row": counted if self.places is None else self.places[counted]}
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
        """Return everything per row, with named dims."""
        import xarray as xr

        from bayesppl.analysis.parameter_tables import coord

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
            coords={
                "row": np.arange(len(self.codes)) if self.places is None else self.places,
                "class": coord(self.classes.tolist()),
            },
            attrs={"rule": self.rule},
        )
