"""Predictions and questions of all estimators: functions of the fitted value. No mathematics lives here."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, ClassVar, Concatenate, Self, get_args

import numpy as np
from joblib import parallel_config

from bayesppl.analysis import predictions
from bayesppl.analysis.column_weights import column_weights
from bayesppl.analysis.decisions import decide, expected_error_rate, threshold_for
from bayesppl.analysis.evidence import averaged_proba, feature_relevance, log_evidence
from bayesppl.analysis.explanation import explain
from bayesppl.analysis.imputation import impute
from bayesppl.analysis.leave_one_out import leave_one_out
from bayesppl.analysis.new_rows import sample
from bayesppl.analysis.novelty import novelty
from bayesppl.analysis.parameter_tables import diagnostics, estimates
from bayesppl.analysis.prediction_sets import predict_set
from bayesppl.analysis.prior_shift import estimate_class_weights
from bayesppl.analysis.summary import summary
from bayesppl.analysis.suspicious_rows import suspicious_rows
from bayesppl.analysis.uncertainty import predict_proba_interval, uncertainty
from bayesppl.analysis.value_of_labels import value_of_labels
from bayesppl.data.arguments import one_of
from bayesppl.data.frames import Container, as_frame
from bayesppl.data.lazy import is_lazy, map_rows
from bayesppl.estimators.shell import Shell
from bayesppl.files.provenance import provenance
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import ClassWeights
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import RuleName
from bayesppl.model.stack import Stack

#: Probabilities of float32 arrays are rounded to float32, as scikit-learn's are in some estimators.
KEEP_FLOAT32: Mapping[Any, Callable[[Array], Array]] = {np.dtype("float32"): partial(np.asarray, dtype=np.float32)}


def ask[F: Fitted | Stack, **P, T](question: Callable[Concatenate[F, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Turn a function of a fitted model into a method of estimators, with its signature and its docstring.

    Ranges of rows are shared among ``n_jobs`` threads by those functions that divide them.
    """

    @wraps(question)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with parallel_config(n_jobs=self.n_jobs):
            return question(self.fitted_, *args, **kwargs)

    signature = inspect.signature(question)
    first, *others = signature.parameters.values()
    signature = signature.replace(parameters=[first.replace(name="self", annotation=first.empty), *others])
    vars(method)["__signature__"] = signature
    # a method has no parameter for the fitted model
    docstring = re.sub(r"Parameters\n-+\nfitted : Fitted\n(\n|$)", "", inspect.getdoc(question) or "", count=1)
    method.__doc__ = re.sub(r"(Parameters\n-+\n)fitted(?: : \w+\n|, )", r"\1", docstring, count=1)
    return method


@dataclass(eq=False, repr=False, kw_only=True)
class BayesClassifier(Shell[Fitted], ABC):
    """Methods shared by all estimators of one model; see :class:`~bayesppl.GenerativeClassifier`."""

    rule: RuleName = "predictive"
    classes: Sequence[Hashable] | None = None
    n_jobs: int | None = None

    #: What becomes of probabilities, by the type of the array that holds the rows.
    _finish: ClassVar[Mapping[Any, Callable[[Array], Array]]] = {}

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the posterior of all parameters; what was learned before is dropped."""

    @property
    def fitted_(self) -> Fitted:
        """Return all that the fit has found, as one immutable value."""
        fitted = self._held
        return fitted if fitted.rule == self.rule else replace(fitted, rule=self.rule)

    @property
    def posterior_(self) -> Posterior:
        """Return the exact or sampled posterior of all parameters."""
        return self._held.posterior

    @property
    def class_count_(self) -> Array:
        """Return the total weight of the rows of each class: (n_classes,)."""
        return self._held.learned.class_count.copy()

    def predict_proba(
        self, X: Any, rule: RuleName | None = None, class_weights: ClassWeights | None = None
    ) -> Any:
        """Return the class probabilities of every row: (n_rows, n_classes).

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        rule : {"predictive", "mle", "map", "mean"}, optional
            ``predictive`` integrates the parameters out; the others plug in one estimate of them.
        class_weights : optional
            Class frequencies where the classifier is used, if they differ from those of training; see
            :meth:`estimate_class_weights`.

        Returns
        -------
        (n_rows, n_classes)
            In the container chosen by ``set_output``. Lazy where ``X`` is a dask array or data frame, computed
            block by block. Of float64, but that ``GaussianNB`` and ``LinearDiscriminantAnalysis`` round those of a
            float32 array to float32, as scikit-learn's do.

        Examples
        --------
        Two rows of "a" are ones. Their share is one by maximum likelihood, 3/4 under the uniform prior:

        >>> import bayesppl as bp
        >>> clf = bp.BernoulliNB().fit([[1], [1], [0], [0]], ["a", "a", "b", "b"])
        >>> clf.predict_proba([[1]], rule="mle").tolist()
        [[1.0, 0.0]]
        >>> clf.predict_proba([[1]]).round(2).tolist()
        [[0.75, 0.25]]
        """
        if is_lazy(X):
            return self._lazy_probabilities(X, rule, class_weights, log=False)
        finish = self._finish.get(getattr(X, "dtype", None))
        proba = predictions.probabilities(self.fitted_, X, rule, class_weights, n_jobs=self.n_jobs, finish=finish)
        container = vars(self).get("_sklearn_output_config", {}).get("transform", "default")
        return proba if container == "default" else as_frame(proba, self.classes_, X, container)

    def probabilities(
        self, X: Any, rule: RuleName | None = None, class_weights: ClassWeights | None = None
    ) -> Array:
        """Return ``predict_proba`` as an array of float64, whatever the rows and the setting of ``set_output``."""
        return predictions.probabilities(self.fitted_, X, rule, class_weights, n_jobs=self.n_jobs)

    def predict_log_proba(
        self, X: Any, rule: RuleName | None = None, class_weights: ClassWeights | None = None
    ) -> Array:
        """Return log p(y = k | x) for every row and class: (n_rows, n_classes)."""
        if is_lazy(X):
            return self._lazy_probabilities(X, rule, class_weights, log=True)
        finish = self._finish.get(getattr(X, "dtype", None))
        return predictions.probabilities(
            self.fitted_, X, rule, class_weights, log=True, n_jobs=self.n_jobs, finish=finish
        )

    def predict(self, X: Any, rule: RuleName | None = None, class_weights: ClassWeights | None = None) -> Array:
        """Return the most probable label of every row: (n_rows,)."""
        fitted = self.fitted_
        if is_lazy(X):
            label = partial(predictions.labels, fitted, rule=rule, class_weights=class_weights)
            return map_rows(label, X, None, fitted.classes.dtype)
        return predictions.labels(fitted, X, rule, class_weights, n_jobs=self.n_jobs)

    def predict_joint_log_proba(self, X: Any, rule: RuleName | None = None) -> Array:
        """Return log p(y = k, x) for every row and class: (n_rows, n_classes)."""
        return self.fitted_.log_joint(X, rule, n_jobs=self.n_jobs)

    predict_proba_mcse = ask(predictions.predict_proba_mcse)
    log_density = ask(predictions.log_density)
    predict_proba_interval = ask(predict_proba_interval)
    uncertainty = ask(uncertainty)
    predict_set = ask(predict_set)
    decide = ask(decide)
    threshold_for = ask(threshold_for)
    expected_error_rate = ask(expected_error_rate)
    estimate_class_weights = ask(estimate_class_weights)
    explain = ask(explain)
    novelty = ask(novelty)
    value_of_labels = ask(value_of_labels)
    sample = ask(sample)
    impute = ask(impute)
    estimates = ask(estimates)
    log_evidence = ask(log_evidence)
    loo = ask(leave_one_out)
    suspicious_rows = ask(suspicious_rows)
    feature_relevance = ask(feature_relevance)
    averaged_proba = ask(averaged_proba)
    column_weights = ask(column_weights)
    diagnostics = ask(diagnostics)
    summary = ask(summary)
    provenance = ask(provenance)

    def set_output(self, *, transform: Container | None = None) -> Self:
        """Choose what ``predict_proba`` returns: an array by default, or a data frame with a column per class.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            Named as in scikit-learn, where it is about ``transform``; None changes nothing. Tools of scikit-learn
            that compute with probabilities, such as scorers of two classes and ``CalibratedClassifierCV``, take
            arrays alone: leave the default within them.
        """
        if transform is not None:
            one_of("transform", transform, get_args(Container))
            self._sklearn_output_config = {"transform": transform}  # the name under which clone copies it
        return self

    def _lazy_probabilities(
        self, X: Any, rule: RuleName | None, class_weights: ClassWeights | None, *, log: bool
    ) -> Any:
        fitted = self.fitted_
        score = partial(predictions.probabilities, fitted, rule=rule, class_weights=class_weights, log=log)
        return map_rows(score, X, len(fitted.classes), float)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the training rows, which no pickle should carry along."""
        state = dict(super().__getstate__())
        if "_fitted" in state:
            state["_fitted"] = replace(state["_fitted"], rows=None)
        return state
