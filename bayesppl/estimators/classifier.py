"""Predictions and questions of all estimators. No mathematics lives here: each is a function of the fitted value."""

from __future__ import annotations

import os
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

from sklearn.base import clone

from bayesppl.analysis import predictions
from bayesppl.analysis.datatree import to_datatree
from bayesppl.analysis.decisions import decide, expected_error_rate, threshold_for
from bayesppl.analysis.evidence import log_evidence
from bayesppl.analysis.explanation import explain
from bayesppl.analysis.labelled import diagnostics, estimates
from bayesppl.analysis.leave_one_out import leave_one_out
from bayesppl.analysis.novelty import novelty
from bayesppl.analysis.prior_shift import estimate_class_weights
from bayesppl.analysis.pymc_model import to_pymc
from bayesppl.analysis.relevance import averaged_proba, feature_relevance
from bayesppl.analysis.sampling import sample
from bayesppl.analysis.summary import summary
from bayesppl.analysis.tuning import path_of
from bayesppl.analysis.uncertainty import predict_proba_interval, uncertainty
from bayesppl.analysis.weight_table import column_weights
from bayesppl.data.containers import Container, check_container, in_container
from bayesppl.data.lazy import is_lazy, map_rows
from bayesppl.estimators.asking import ask
from bayesppl.estimators.learner import Learner
from bayesppl.families import Family
from bayesppl.files.provenance import provenance
from bayesppl.files.saving import write
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import ClassWeights
from bayesppl.model.held_rows import held_rows
from bayesppl.model.rules import RuleName
from bayesppl.model.tuning import Objective, Tuning

if TYPE_CHECKING:
    import xarray as xr

#: Estimators of this package by name: those that a file can describe.
ESTIMATORS: dict[str, type[BayesClassifier]] = {}


@dataclass(eq=False, repr=False, kw_only=True)
class BayesClassifier(Learner, ABC):
    """Methods shared by all estimators; see :class:`~bayesppl.GenerativeClassifier`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("bayesppl."):
            ESTIMATORS[cls.__name__] = cls

    def predict_proba(
        self, X: Any, rule: RuleName | None = None, class_weights: ClassWeights | None = None
    ) -> Any:
        """Class probabilities of every row: (n_rows, n_classes).

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
            In the container chosen by ``set_output``. Lazy where ``X`` is a dask array or data frame, computed block by
            block.
        """
        if is_lazy(X):
            return self._lazy_probabilities(X, rule, class_weights, log=False)
        return in_container(self.probabilities(X, rule, class_weights), self.classes_, X, self._container)

    def probabilities(
        self, X: Any, rule: RuleName | None = None, class_weights: ClassWeights | None = None
    ) -> Array:
        """``predict_proba`` as an array, whatever the setting of ``set_output``."""
        return predictions.probabilities(self.fitted_, X, rule, class_weights, n_jobs=self.n_jobs)

    def predict_log_proba(
        self, X: Any, rule: RuleName | None = None, class_weights: ClassWeights | None = None
    ) -> Array:
        """log p(y = k | x) for every row and class: (n_rows, n_classes)."""
        if is_lazy(X):
            return self._lazy_probabilities(X, rule, class_weights, log=True)
        return predictions.probabilities(self.fitted_, X, rule, class_weights, log=True, n_jobs=self.n_jobs)

    def predict(self, X: Any, rule: RuleName | None = None, class_weights: ClassWeights | None = None) -> Array:
        """The most probable label of every row: (n_rows,)."""
        fitted = self.fitted_
        if is_lazy(X):
            return map_rows(
                lambda part: predictions.labels(fitted, part, rule, class_weights), X, None, fitted.classes.dtype
            )
        return predictions.labels(fitted, X, rule, class_weights, n_jobs=self.n_jobs)

    def predict_joint_log_proba(self, X: Any, rule: RuleName | None = None) -> Array:
        """log p(y = k, x) for every row and class: (n_rows, n_classes)."""
        return self.fitted_.log_joint(X, rule, n_jobs=self.n_jobs)

    predict_proba_mcse = ask(predictions.predict_proba_mcse)
    log_density = ask(predictions.log_density)
    predict_proba_interval = ask(predict_proba_interval)
    uncertainty = ask(uncertainty)
    decide = ask(decide)
    threshold_for = ask(threshold_for)
    expected_error_rate = ask(expected_error_rate)
    estimate_class_weights = ask(estimate_class_weights)
    explain = ask(explain)
    novelty = ask(novelty)
    sample = ask(sample)
    estimates = ask(estimates)
    log_evidence = ask(log_evidence)
    loo = ask(leave_one_out)
    feature_relevance = ask(feature_relevance)
    averaged_proba = ask(averaged_proba)
    column_weights = ask(column_weights)
    diagnostics = ask(diagnostics)
    summary = ask(summary)
    to_datatree = ask(to_datatree)
    to_pymc = ask(to_pymc)
    provenance = ask(provenance)

    def tune_prior(
        self, names: Sequence[str] | None = None, objective: Objective = "evidence", max_steps: int = 100
    ) -> Self:
        """The same estimator with ``tuning``, fitted to the same data; see :func:`bayesppl.analysis.tuning.tune`.

        Parameters
        ----------
        names : sequence of str, optional
            Hyperparameters to tune; all by default.
        objective : {"evidence", "loo"}
        max_steps : int

        Returns
        -------
        estimator
            A new one, which tunes its prior wherever it is fitted. Its ``tuning_`` is the path of the search.

        Examples
        --------
        >>> import bayesppl as bp
        >>> from sklearn.datasets import load_iris
        >>> clf = bp.QuadraticDiscriminantAnalysis("fraley-raftery").fit(*load_iris(return_X_y=True))
        >>> tuned = clf.tune_prior()
        >>> path = tuned.tuning_["objective"]
        >>> bool(path[-1] > path[0] + 10)
        True
        """
        chosen = None if names is None else tuple(names)
        other = clone(self).set_params(tuning=Tuning(objective, chosen, max_steps))
        return cast(Self, other.adopt(other.infer(self.fitted_.learned, held_rows(self.fitted_))))

    @property
    def tuning_(self) -> xr.Dataset:
        """The path of the search over "step", where the prior was tuned: ``objective``, and ``factor`` by "hyperparameter"."""
        search = self.fitted_.search
        if search is None:
            raise AttributeError("the prior of this fit was not tuned; use tuning='evidence' or tune_prior()")
        return path_of(search)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that was learned to a netCDF file, for :func:`bayesppl.load`.

        The file holds the declaration, the sufficient statistics and the posterior (with its draws, where it was
        sampled), but no training rows and no code: of a prior declared in PyMC it keeps the words, so that the loaded fit
        predicts, but cannot be fitted again. It appears complete or not at all.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.

        Raises
        ------
        TypeError
            If a parameter of the estimator is an object from outside this package.
        """
        name = type(self).__name__
        if ESTIMATORS.get(name) is not type(self):
            raise TypeError(f"{type(self).__qualname__} is not an estimator of bayesppl; pickle it instead")
        write(self.fitted_, name, self.get_params(deep=False), path)

    def set_output(self, *, transform: Container | None = None) -> Self:
        """Choose what ``predict_proba`` returns: an array by default, or a data frame with a column per class.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            Named as in scikit-learn, where it is about ``transform``; None changes nothing.
        """
        if transform is not None:
            check_container(transform)
            self._sklearn_output_config = {"transform": transform}  # the name under which clone copies it
        return self

    @property
    def _container(self) -> Container:
        return vars(self).get("_sklearn_output_config", {}).get("transform", "default")

    def _lazy_probabilities(
        self, X: Any, rule: RuleName | None, class_weights: ClassWeights | None, *, log: bool
    ) -> Any:
        fitted = self.fitted_
        score = partial(predictions.probabilities, fitted, rule=rule, class_weights=class_weights, log=log)
        return map_rows(score, X, len(fitted.classes), float)


@dataclass(eq=False, repr=False)
class GenerativeClassifier(BayesClassifier):
    """Bayesian generative classifier: class weights times a family, priors on all parameters.

    Parameters
    ----------
    family : Family
        Class-conditional density of the features, with its prior.
    class_weights : Dirichlet, "uniform", "empirical", sequence or mapping
        Prior of the class weights, or known weights; one per class in ascending order, or a mapping by class.
    inference : "closed_form", "nuts" or an inference with settings, such as NUTS(draws=2000)
        Closed form, or sampling of the same declaration with PyMC.
    rule : {"predictive", "mle", "map", "mean"}
        Default rule of ``predict_proba`` and ``predict``.
    classes : sequence, optional
        All labels that can occur, in any order; learned from ``y`` by default.
    n_jobs : int, optional
        Threads of ``fit`` and ``predict``, as scikit-learn counts them: None is one, -1 all cores. Results are the same to
        the last bit whatever their number.
    calibration : {"temperature", "weights"}, optional
        Learn from the exact leave-one-out of the fit how far the densities can be trusted where labels are predicted: with the
        power 1/T of all of them, π_k p(x | k)^(1/T), or with a power for every column that is independent of the others given
        the class, and for every block of columns that are not, π_k Π_b p(x_b | k)^(w_b). T costs about one prediction, weights one
        of every column; see :doc:`/howto/calibrate`.
    tuning : {"evidence", "loo"} or Tuning, optional
        Multiply the hyperparameters of the prior by factors that are chosen by the data, in every fit anew; see
        :func:`bayesppl.analysis.tuning.tune`. ``"evidence"`` needs sums alone, and so goes with ``partial_fit``.

    Attributes
    ----------
    classes_ : (n_classes,)
        In ascending order.
    class_count_ : (n_classes,)
        Total weight of the rows of each class.
    n_features_in_ : int
    fitted_ : Fitted
        All that the fit has found, as one immutable value.
    posterior_ : Posterior
        Exact or sampled posterior of all parameters.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = bp.GenerativeClassifier(bp.Gaussian(covariance="full"), class_weights=bp.Dirichlet(1.0))
    >>> clf.fit(X, y).predict_proba(X[:1]).round(6).tolist()
    [[1.0, 0.0, 0.0]]
    """

    family: Family

    def declare_family(self) -> Family:
        if not isinstance(self.family, Family):
            raise TypeError(f"family must be a family, such as bayesppl.Gaussian('diag'), found {self.family!r}")
        return self.family
