"""What every estimator holds: its parameters, and one immutable fitted value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from bayesppl.answers.leave_one_out import calibrated
from bayesppl.answers.tuning import tune
from bayesppl.beliefs import Dirichlet
from bayesppl.data.rows import Rows
from bayesppl.errors import ImproperError
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

#: Arrays of up to this many numbers are written out where an estimator is printed.
_WRITTEN_OUT = 8


@dataclass(eq=False, repr=False, kw_only=True)
class Base(ClassifierMixin, BaseEstimator, ABC):
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
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )
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

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the fit."""
        return len(self.fitted_.columns.names)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns of the fit, where they have any."""
        columns = self.fitted_.columns
        if not columns.are_named:
            raise AttributeError("the columns of the fit have no names")
        return np.asarray(columns.names, dtype=object)

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
        return tags
