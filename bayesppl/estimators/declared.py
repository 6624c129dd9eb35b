"""Estimators that are declared by a family and class weights: how the posterior follows from what was learned."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from joblib import parallel_config

from bayesppl.analysis.annotators import annotators, completed_proba
from bayesppl.analysis.column_weights import calibrated
from bayesppl.analysis.pymc_and_arviz import to_datatree, to_pymc
from bayesppl.analysis.tune import path_of, tune
from bayesppl.analysis.unlabelled_weight import judge, label_missingness, unlabelled_gain, weigh
from bayesppl.conjugate import Dirichlet
from bayesppl.data.arguments import real
from bayesppl.data.label_cells import Action, Unlabelled
from bayesppl.data.names import listed
from bayesppl.data.partly_known import PartlyKnown
from bayesppl.data.rows import Rows
from bayesppl.errors import ImproperError, NotConjugateError, warn
from bayesppl.estimators.classifier import BayesClassifier, ask
from bayesppl.estimators.reading import require_order
from bayesppl.estimators.shell import check_n_jobs
from bayesppl.families import Family
from bayesppl.families.fixed_by_rows import fixed_by_rows
from bayesppl.files.saving import write
from bayesppl.inference import Inference, choose
from bayesppl.model.calibration import Option, check_option
from bayesppl.model.declaration import ClassWeights, Declaration
from bayesppl.model.fitted import Fitted
from bayesppl.model.learned import Learned
from bayesppl.model.rules import check_rule
from bayesppl.model.training_rows import gaps_apart
from bayesppl.model.tuning import Objective, Tuning, as_tuning

if TYPE_CHECKING:
    import xarray as xr

COMPLETED_AGAIN = (
    "rows whose label is missing or may be wrong, that lack cells, or whose component or weight no row shows (as "
    "in mixtures and MultivariateT), are completed again and again, and rows that come in batches, or are merged, "
    "forgotten or discounted, are not held. Fit all rows at once; or, of the first two kinds, the complete ones "
    "alone: fit them anew after set_params(unlabelled='drop', label_noise=None), without rows that lack cells"
)


@dataclass(eq=False, repr=False, kw_only=True)
class DeclaredClassifier(BayesClassifier, ABC):
    """A family, class weights and how to infer them; see :class:`~bayesppl.GenerativeClassifier`."""

    class_weights: ClassWeights = Dirichlet(1.0)
    inference: str | Inference = "closed_form"
    calibration: Option | None = None
    tuning: Objective | Tuning | None = None
    unlabelled: Action = "refuse"
    unlabelled_label: Hashable | None = None
    unlabelled_weight: float | Literal["loo"] = "loo"
    label_noise: Any = None

    #: What refuses parameters that no fit to these columns and classes has.
    _checks: ClassVar[tuple[Callable[[Any, Learned], None], ...]] = ()

    @abstractmethod
    def _declare_family(self) -> Family:
        """Declare the family, not yet bound to columns."""

    @property
    def declaration(self) -> Declaration:
        """Return the family and the class weights, not yet bound to columns and classes."""
        require_order(self.class_weights, self.classes)
        return Declaration(self._declare_family(), self.class_weights)

    @property
    def missing_labels(self) -> Unlabelled:
        """Return what becomes of rows without a label."""
        return Unlabelled(self.unlabelled, self.unlabelled_label)

    def _given_weight(self) -> float | None:
        """Return λ, None where it is to be chosen.

        Raises
        ------
        ValueError
        """
        if self.unlabelled_weight == "loo":
            return None
        requirement = "be 'loo' or positive (unlabelled='drop' leaves such rows out)"
        real("unlabelled_weight", self.unlabelled_weight, requirement, lambda weight: 0 < weight < np.inf)
        return float(self.unlabelled_weight)

    def _infer(self, learned: Learned, rows: Rows | None = None) -> Fitted:
        """Infer the posterior of what was learned, as a fitted value; the estimator stays as it is.

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
        check_n_jobs(self.n_jobs)
        for check in self._checks:
            check(self, learned)
        if self.calibration is not None and rows is None:
            raise ValueError(
                f"calibration={self.calibration!r} learns from every row of the fit left out, and rows that come "
                "in batches (as those of dask do), or are merged, forgotten or discounted, are not held. Fit all "
                "rows at once, in memory, or set_params(calibration=None)"
            )
        weight, inference = self._given_weight(), choose(self.inference)
        learns = self.unlabelled in ("learn", "informative")
        partly = None if rows is None else rows.partly
        if self.unlabelled == "informative" and partly is not None and partly.is_in_doubt:
            raise ValueError(
                "unlabelled='informative' takes the labels that are there for right, and some are in doubt here: "
                "use unlabelled='learn', or labels without label_noise, annotations and probabilities"
            )
        require_complete_rows(rows, inference)
        if (learns or self.label_noise is not None or learned.completed is not None) and rows is None:
            raise ValueError(COMPLETED_AGAIN)
        model, search, gain, counted = learned.model, None, None, rows
        try:
            if self.tuning is not None:
                model, search = tune(model, learned.statistics, rows, as_tuning(self.tuning))
            with parallel_config(n_jobs=self.n_jobs):
                are_judged = rows is not None and _can_be_judged(rows)
                if rows is not None and are_judged and partly is not None and partly.is_unlabelled:
                    tempered = weight is None or self.calibration is not None
                    gain = weigh(model, learned.statistics, rows, weight, tempered=tempered)
                    counted = rows.with_weight_of_partly(gain.weight)
                elif rows is not None and weight is not None and self.unlabelled == "learn":
                    counted = rows.with_weight_of_partly(weight)
                elif rows is not None and partly is not None and partly.is_blank.any() and not len(rows):
                    _require_weight(partly)
                posterior = inference.infer(model, learned.statistics, counted)
                if rows is not None and are_judged and partly is not None and partly.is_informative:
                    gain = judge(model, learned.statistics, rows, posterior)
        except ImproperError as reason:
            if rows is not None:
                raise
            return Fitted(learned, None, self.rule, undetermined=str(reason))
        if gain is not None:
            gain = replace(gain, tempers=weight is None and self.calibration is None)
        fitted = Fitted(learned, posterior, self.rule, rows, search=search, unlabelled=gain)
        if gain is not None and gain.tempers:
            return replace(fitted, calibration=gain.calibration if gain.calibration.temperature > 1 else None)
        return fitted if self.calibration is None or rows is None else calibrated(fitted, rows, self.calibration)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that was learned to a file, for :func:`bayesppl.load`.

        The file holds the declaration, the sufficient statistics and the posterior (with its draws, where it was
        sampled), but no training rows and no code: of a prior declared in PyMC it keeps the words, so that the
        loaded fit predicts, but has no mode, and cannot be fitted again. The default priors of
        :class:`~bayesppl.families.StudentT` and :class:`~bayesppl.families.VonMises` are such priors; with them
        it can be fitted again. The file appears complete or not at all.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.

        Raises
        ------
        TypeError
            If a parameter of the estimator is an object from outside this package.
        """
        if not type(self).__module__.startswith("bayesppl."):
            raise TypeError(f"{type(self).__qualname__} is not an estimator of bayesppl; pickle it instead")
        write(self.fitted_, type(self).__name__, self.get_params(deep=False), path)

    @property
    def tuning_(self) -> xr.Dataset:
        """Return the search for a prior, over "step": ``objective``, and ``factor`` by "hyperparameter"."""
        search = self.fitted_.search
        if search is None:
            raise AttributeError("the prior of this fit was not tuned; use tuning='evidence' or tune_prior()")
        return path_of(search)

    unlabelled_gain = ask(unlabelled_gain)
    label_missingness = ask(label_missingness)
    annotators = ask(annotators)
    completed_proba = ask(completed_proba)
    to_datatree = ask(to_datatree)
    to_pymc = ask(to_pymc)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = self._declare_family()
        tags.input_tags.sparse = family.allows_sparse
        tags.input_tags.allow_nan = family.missing == "fitted"
        # scikit-learn has no word for counts; what it calls categorical are whole numbers from zero
        tags.input_tags.categorical = family.support.takes in ("whole numbers", "levels")
        # and what it tries them on are distances from the smallest number, of which shares and rates say little
        tags.classifier_tags.poor_score = family.support.takes == "whole numbers"
        tags.input_tags.positive_only = family.support.takes in ("whole numbers", "positive numbers")
        tags.input_tags.string = family.support.takes in ("levels", "columns of any kind")
        return tags


def _require_weight(partly: PartlyKnown) -> None:
    """Refuse to choose λ where labels are there, but all rows that have one are completed too.

    Raises
    ------
    ValueError
    """
    if partly.is_certain.any():
        raise ValueError(
            "unlabelled_weight='loo' is judged by labelled rows left out, and here all of them are completed too, "
            "by their component or their missing cells: give a weight, such as unlabelled_weight=1.0"
        )


def _can_be_judged(rows: Rows) -> bool:
    """Return whether labelled rows of every class stand beside unlabelled ones, so that these can be judged."""
    if rows.partly is None or not rows.partly.weights.any():
        return False
    return len(rows.counted()) > 1 and bool(np.bincount(rows.codes, rows.weights, len(rows.classes)).all())


def require_complete_rows(rows: Rows | None, inference: Inference) -> None:
    """Refuse rows without labels where the inference cannot complete them.

    Raises
    ------
    NotConjugateError
    """
    if rows is None or rows.partly is None:
        return
    if rows.partly.is_informative and not inference.learns_missingness:
        raise NotConjugateError(
            "that labels are missing for a reason leaves no closed form given completed rows: use "
            "inference='nuts', or unlabelled='learn', which takes them to be missing at random given the features"
        )
    if not rows.partly.is_informative and not inference.completes_rows:
        raise NotConjugateError(
            f"{len(rows.partly)} row{'s' * (len(rows.partly) > 1)} without a label, or with one in doubt: the "
            "posterior has no closed form. Under conjugate priors inference='gibbs' draws from it, and "
            "inference='em' finds its mode; under others leave such rows out (those without a label by "
            "unlabelled='drop')"
        )


def with_gaps_apart(clf: DeclaredClassifier, rows: Rows) -> Rows:
    """Count rows that lack cells which sums need among those partly known, where these are completed."""
    if not choose(clf.inference).completes_rows or not len(rows):
        return rows
    return gaps_apart(clf.declaration.bind(rows).family, rows)


def start(clf: DeclaredClassifier, rows: Rows) -> Learned:
    """Bind the declaration of an estimator to its first rows, and sum them."""
    return Learned.start(clf.declaration, rows, type(clf).__name__, clf.n_jobs, clf.missing_labels)


def warn_of_first_batch(learned: Learned) -> None:
    """Warn where a first batch without rows of some class has fixed what the rows of that class would change."""
    absent, fixed = learned.classes[learned.class_count == 0], fixed_by_rows(learned.model.family)
    if len(absent) and fixed:
        warn(
            f"the first batch has no rows of {listed(absent.tolist())}, and what it shows is kept for all: "
            f"{fixed}, or mix the rows, so that the first batch is like the others",
            UserWarning,
        )
