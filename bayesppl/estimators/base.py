"""What every estimator holds: its parameters, and one immutable fitted value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

from bayesppl.analysis.calibrated import calibrated
from bayesppl.analysis.tuning import tune
from bayesppl.conjugate import Dirichlet
from bayesppl.data.read_table import Columns
from bayesppl.data.rows import Rows
from bayesppl.errors import ImproperError
from bayesppl.estimators.fitted_columns import FittedColumns
from bayesppl.estimators.parameters import Nested
from bayesppl.estimators.scoring import ScoredMixin
from bayesppl.estimators.sklearn_names import refuse_foreign_parameters
from bayesppl.families import Family
from bayesppl.inference import Inference, choose
from bayesppl.kernels.arrays import Array, brief_arrays
from bayesppl.model.calibration import Option, check_option
from bayesppl.model.declaration import ClassWeights, Declaration
from bayesppl.model.fitted import Fitted
from bayesppl.model.learned import Learned
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import RuleName, check_rule
from bayesppl.model.tuning import Objective, Tuning, as_tuning


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse a number of threads that is none."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be None, a positive number of threads or -1 for all cores, found {n_jobs!r}"
        )


#: Arrays of up to this many numbers are written out where an estimator is printed.
_WRITTEN_OUT = 8


@dataclass(eq=False, repr=False, kw_only=True)
class Base(FittedColumns, ScoredMixin, Nested):
    """Parameters and fitted state of all estimators; see :class:`~bayesppl.GenerativeClassifier`.

    All that a fit finds is one value, which is replaced as a whole: an error or another thread meets the former fit or
    the new one, never a part of each.
    """

    class_weights: ClassWeights = Dirichlet(1.0)
    inference: str | Inference = "closed_form"
    rule: RuleName = "predictive"
    classes: Sequence[Hashable] | None = None
    n_jobs: int | None = None
    calibration: Option | None = None
    tuning: Objective | Tuning | None = None

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        refuse_foreign_parameters(cls.__name__, parameters)
        return super().__new__(cls)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        with brief_arrays(_WRITTEN_OUT, digits=4):
            return str(super().__repr__(N_CHAR_MAX))

    @abstractmethod
    def declare_family(self) -> Family:
        """The family, not yet bound to columns."""

    @property
    def declaration(self) -> Declaration:
        """The family and the class weights, not yet bound to columns and classes."""
        return Declaration(self.declare_family(), self.class_weights)

    @property
    def fitted_(self) -> Fitted:
        """All that the fit has found, as one immutable value."""
        fitted: Fitted | None = vars(self).get("_fitted")
        if fitted is None:
            raise self._not_fitted()
        return fitted if fitted.rule == self.rule else replace(fitted, rule=self.rule)

    @property
    def posterior_(self) -> Posterior:
        """Exact or sampled posterior of all parameters."""
        return self.fitted_.posterior

    @property
    def classes_(self) -> Array:
        """Labels in the order of the class axis: (n_classes,)."""
        return self.fitted_.classes

    @property
    def class_count_(self) -> Array:
        """Total weight of the rows of each class: (n_classes,)."""
        return self.fitted_.learned.class_count

    def _columns_of_fit(self) -> Columns:
        return self.fitted_.columns

    def levels_of_columns(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """The levels of every column that the fit takes for levels."""
        return self.fitted_.model.family.levels_of_columns

    def columns_read(self) -> set[Hashable]:
        """The columns of the fit on which answers depend: all of them."""
        return set(self.fitted_.columns.names)

    def infer(self, learned: Learned, rows: Rows | None = None) -> Fitted:
        """The posterior of what was learned, as a fitted value; the estimator stays as it is.

        Parameters
        ----------
        learned : Learned
        rows : Rows, optional
            All rows behind it, where they are held.

        Raises
        ------
        ImproperError
            If the prior is improper and the rows, all of which are given, do not determine the posterior. Without
            ``rows`` more of them may come; the reason is then kept until the posterior is asked for.
        """
        check_rule(self.rule)
        check_option(self.calibration)
        self.check_parameters(learned)
        if self.calibration is not None and rows is None:
            raise ValueError(
                f"calibration={self.calibration!r} learns from every row of the fit left out, and rows that come in batches, or "
                "are merged, forgotten or discounted, are not held. Fit all rows at once, or set_params(calibration=None)"
            )
        model, search = learned.model, None
        try:
            if self.tuning is not None:
                model, search = tune(model, learned.statistics, rows, as_tuning(self.tuning))
            posterior = choose(self.inference).infer(model, learned.statistics, rows)
        except ImproperError as reason:
            if rows is not None:
                raise
            return Fitted(learned, None, self.rule, undetermined=str(reason))
        fitted = Fitted(learned, posterior, self.rule, rows, search=search)
        return fitted if self.calibration is None or rows is None else calibrated(fitted, rows, self.calibration)

    def check_parameters(self, learned: Learned) -> None:
        """Refuse parameters that no fit to these columns and classes has; extended where an estimator has more of them."""
        check_n_jobs(self.n_jobs)

    def adopt(self, fitted: Fitted) -> Self:
        """Hold this value from now on."""
        self._fitted = fitted
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the training rows, which no pickle should carry along."""
        state = dict(super().__getstate__())
        if "_fitted" in state:
            state["_fitted"] = replace(state["_fitted"], rows=None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = self.declare_family()
        tags.input_tags.sparse = family.allows_sparse
        tags.input_tags.allow_nan = family.allows_missing and family.fits_missing
        # scikit-learn has no word for counts; what it calls categorical are whole numbers from zero
        tags.input_tags.categorical = family.takes in ("whole numbers", "levels")
        # and what it tries them on are distances from the smallest number, of which shares and rates say little
        tags.classifier_tags.poor_score = family.takes == "whole numbers"
        tags.input_tags.positive_only = family.takes in ("whole numbers", "positive numbers")
        tags.input_tags.string = family.takes in ("levels", "columns of any kind")
        return tags
