"""What changes an estimator: fit, batches, forgetting, merging, discounting, tuning.

A conjugate fit needs the rows only through their sufficient statistics, which are sums; see
:mod:`bayesppl.model.learned`. Priors that depend on the data are resolved from the sums afterwards, so that the
way in which the rows came does not matter. Every method finds the new fitted value first and holds it last: an
error leaves the estimator as it was.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self, cast

from sklearn.base import clone

from bayesppl.analysis.certificate import certificate
from bayesppl.data.arguments import real
from bayesppl.data.lazy import is_lazy
from bayesppl.data.rows import NOTHING_COUNTS
from bayesppl.errors import ImproperError, warn
from bayesppl.estimators.batches import fit_lazy, fit_parquet
from bayesppl.estimators.classifier import ask
from bayesppl.estimators.declared import (
    COMPLETED_AGAIN,
    DeclaredClassifier,
    start,
    warn_of_first_batch,
    with_gaps_apart,
)
from bayesppl.estimators.reading import read_first, read_labelled
from bayesppl.files.provenance import described, difference
from bayesppl.files.serialize import same
from bayesppl.model.calibration import check_option
from bayesppl.model.learned import Learned, Removal
from bayesppl.model.rules import check_rule
from bayesppl.model.training_rows import training_rows
from bayesppl.model.tuning import Objective, Tuning


@dataclass(eq=False, repr=False, kw_only=True)
class Learner(DeclaredClassifier, ABC):
    """Learning of all declared estimators; see :class:`~bayesppl.GenerativeClassifier`."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, annotations: Any = None) -> Self:
        """Learn the posterior of all parameters; what was learned before is dropped.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
            A dask array or data frame is read once, partition by partition, where its partitions are.
        y : (n_rows,) array-like
            Class labels; what becomes of missing ones is said by ``unlabelled``. Where ``classes`` are declared,
            also (n_rows, n_classes) probabilities of the classes, for labels in doubt, in columns named by the
            classes or in their ascending order; rows of NaN have no label.
        sample_weight : (n_rows,) array-like, optional
            A row of weight 2 counts as two rows, which are left out together wherever rows are left out (by
            ``loo``, ``calibration``, ``tuning``). Weights are numbers of rows: divide relative ones by their mean,
            not by their sum.
        annotations : table or (n_rows, n_annotators) array-like, optional
            In place of ``y``, labels by annotators who may err: a table with the columns ``item`` (the place of
            the row in ``X``), ``annotator`` and ``label``, or a column for every annotator, with gaps or
            ``unlabelled_label`` where there is no label. Their errors are learned; ``label_noise`` is the prior of
            them. ``unlabelled`` says what becomes of rows without any.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For values outside the family's support, a single class, or priors that do not fit the data.

        Examples
        --------
        >>> import bayesppl as bp
        >>> bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], ["a", "a", "b", "b"]).predict([[0.2]]).tolist()
        ['a']

        Notes
        -----
        What needs the rows again (``loo``, the predictive groups of ``to_datatree``, the fingerprint in a saved
        file) finds them here. A table of up to a megabyte is copied. A larger one is not, for a copy would double
        its memory and take longer than the fit: what changes in it afterwards is found by adding it up again, and
        refused.
        """
        if is_lazy(X):
            if annotations is not None:
                raise TypeError(
                    "annotations are learned from a table in memory, and X is a dask table: pass X.compute()"
                )
            return fit_lazy(self, X, y, sample_weight)
        check_rule(self.rule)  # before the sampler runs, not after
        check_option(self.calibration)
        known = self.classes, self.missing_labels, self.label_noise, annotations
        rows = with_gaps_apart(self, read_labelled(X, y, sample_weight, *known))
        return self._adopt(self._infer(start(self, rows), rows.snapshot()))

    def fit_parquet(
        self,
        path: Any,
        target: str,
        *,
        columns: Sequence[str] | None = None,
        sample_weight: str | None = None,
        progress: bool = False,
    ) -> Self:
        """Learn from Parquet files, a batch of rows at a time: memory does not grow with the rows.

        Parameters
        ----------
        path : str, Path, list of paths, or pyarrow.dataset.Dataset
            Of files, or of folders of files; those named like ``region=north`` make a column ``region``.
        target, sample_weight : str
            Columns of the labels and, if any, of the row weights.
        columns : sequence of str, optional
            Columns of the features; all others by default.
        progress : bool
            Show how many rows have been read.

        Returns
        -------
        self
        """
        return fit_parquet(self, path, target, columns, sample_weight, progress)

    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[Hashable] | None = None, sample_weight: Any = None
    ) -> Self:
        """Learn from a further batch of rows.

        Batches in any order and of any size lead to the same posterior as one ``fit`` on all rows. With
        ``inference="nuts"`` every call samples the posterior of all rows seen so far. Levels of categories, which
        of them share a table, bins, and densities chosen by evidence are those of the first batch; declare them
        where later batches may differ.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        y : (n_rows,) array-like
        classes : sequence, optional
            All labels that can occur; required in the first call, unless the estimator was constructed with
            ``classes``. In later calls, labels that are new join those known.
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        self

        Examples
        --------
        >>> import bayesppl as bp
        >>> clf = bp.GaussianNB().partial_fit([[0.0], [1.0]], [0, 0], classes=[0, 1])
        >>> clf.partial_fit([[4.0], [5.5]], [1, 1]).predict([[0.2]]).tolist()
        [0]
        """
        declared = self.classes if classes is None else classes
        if self.__sklearn_is_fitted__():
            learned = self._summed() if declared is None else self._summed().widened(declared)
            return self._adopt(self._infer(learned.plus(X, y, sample_weight, n_jobs=self.n_jobs)))
        if declared is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: later batches may hold labels that this "
                "one lacks"
            )
        rows = read_first(X, y, sample_weight, declared, self.missing_labels)
        try:
            learned = start(self, rows)
        except ValueError as error:
            if len(rows.counted()):
                raise
            raise ValueError(f"{NOTHING_COUNTS}; begin with a batch that has some") from error
        warn_of_first_batch(learned)
        return self._adopt(self._infer(learned.tracking(rows)))

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows that were learned before, exactly.

        Afterwards the posterior is what a fit without these rows would have given, with the same bins, levels and
        densities: what the first rows have fixed (edges of histograms, levels that were learned, densities and
        blocks chosen by evidence) stays. Where rows may leave no trace at all, declare these (``edges=``,
        ``levels=``, blocks).

        Parameters
        ----------
        X, y, sample_weight
            As they were given to ``fit`` or ``partial_fit``. Where rows were discounted since, ``sample_weight``
            must be what each row counts by now: its weight times the factors of all discounts since.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If these rows cannot have been part of the fit, if numbers in them are so large that those of the other
            rows were rounded away beside them, or if rows were discounted and these have no weights.

        Warns
        -----
        UserWarning
            If the last call of ``forget`` took away rows equal to these.

        Examples
        --------
        >>> import bayesppl as bp
        >>> clf = bp.BernoulliNB().fit([[1], [0], [1]], ["a", "b", "b"])
        >>> clf.forget([[1]], ["b"]).class_count_.tolist()
        [1.0, 1.0]
        """
        learned, held = self._determined(), self.fitted_.rows
        if held is not None and held.is_copy:
            learned = learned.tracking(held)
        if learned.is_discounted and sample_weight is None:
            raise ValueError(
                "rows of this fit were discounted: pass sample_weight, what each of these rows counts by now, "
                "which is its weight times the factor of every discount since it was learned"
            )
        rows = learned.read(X, y, sample_weight)
        removal = Removal(
            len(rows), float(rows.weights.sum()), described(learned.model, rows.counted())["data_hash"]
        )
        left = learned.minus(rows, n_jobs=self.n_jobs)
        found = self._infer(replace(left, removals=(*learned.removals, removal)))
        if learned.removals[-1:] == (removal,):
            warn(
                "the last call of forget took away rows equal to these: if they were learned only once, they are "
                "subtracted twice now; partial_fit undoes this call",
                UserWarning,
            )
        return self._adopt(found)

    certificate = ask(certificate)

    def merge(self, other: Self) -> Self:
        """Learn what another estimator has learned from other rows: the result is one fit on the rows of both.

        ``one + other`` does the same and leaves both as they are.

        Parameters
        ----------
        other : estimator of the same class, prior and columns
            Classes of ``other`` that are new join those of this estimator.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If the two declare different models.

        Examples
        --------
        >>> import bayesppl as bp
        >>> one = bp.GaussianNB().fit([[0.0], [4.0]], ["a", "b"])
        >>> other = bp.GaussianNB().fit([[1.0], [5.5], [9.0]], ["a", "b", "c"])
        >>> (one + other).class_count_.tolist()
        [2.0, 2.0, 1.0]
        """
        if type(other) is not type(self):
            raise TypeError(
                f"cannot merge {type(self).__name__} with {type(other).__name__}; give a fitted estimator of the "
                "same class"
            )
        mine, others = self._summed(), other._summed()
        mine = mine.widened(others.classes)
        others = others.with_classes(mine.classes)
        if not same(mine.model, others.model):
            raise ValueError(f"cannot merge fits of different models: {difference(mine, others)}")
        return self._adopt(self._infer(mine.merged(others)))

    def __add__(self, other: Self) -> Self:
        return copy(self).merge(other)

    def discount(self, factor: float) -> Self:
        r"""Let every row learned so far count only ``factor`` times, for streams that drift.

        The posterior becomes :math:`p(\theta)\, p(D \mid \theta)^{a}` with ``factor`` a: the power prior of
        Ibrahim & Chen (2000, "Power prior distributions for regression models"), which then serves as the prior of
        the rows to come. Called before every batch, the rows of a batch b calls ago weigh
        :math:`a^b`, as if the model remembered 1/(1 − a) batches.

        Parameters
        ----------
        factor : float
            0 < factor ≤ 1.

        Returns
        -------
        self

        Examples
        --------
        >>> import bayesppl as bp
        >>> clf = bp.BernoulliNB().fit([[1], [0], [1]], ["a", "b", "b"])
        >>> clf.discount(0.5).partial_fit([[0]], ["a"]).class_count_.tolist()
        [1.5, 1.0]
        """
        learned = self._determined()
        real(
            "factor",
            factor,
            "be above 0 and at most 1 (1 keeps all, 0.5 counts half)",
            lambda factor: 0 < factor <= 1,
        )
        return self._adopt(self._infer(learned.discounted(factor)))

    def tune_prior(
        self, names: str | Sequence[str] | None = None, objective: Objective = "evidence", max_steps: int = 100
    ) -> Self:
        """Fit the same estimator with ``tuning`` to the same data; see :func:`bayesppl.analysis.tune.tune`.

        Parameters
        ----------
        names : str or sequence of str, optional
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
        other = clone(self).set_params(tuning=Tuning(objective, names, max_steps))
        held = training_rows(self.fitted_)
        learned = self._summed() if held is None else self._as_declared()
        return cast(Self, other._adopt(other._infer(learned, held)))

    def _determined(self) -> Learned:
        """Return what was learned, where it determines the posterior."""
        fitted = self.fitted_
        if fitted.inferred is None:
            raise ImproperError(fitted.undetermined)
        return self._summed()

    def _summed(self) -> Learned:
        """Return what was learned, where sums hold all of it."""
        if self.fitted_.learned.completed is not None:
            raise ValueError(COMPLETED_AGAIN)
        return self._as_declared()

    def _as_declared(self) -> Learned:
        """Return what was learned, where it is of the model that is declared, to read further rows as declared."""
        learned, missing = self.fitted_.learned, self.missing_labels
        is_other = learned.declaration is not None and not same(learned.declaration, self.declaration)
        if is_other or (learned.completed is not None and learned.unlabelled != missing):
            raise ValueError(
                "the sums of this fit are those of another model: a parameter that defines it (its family, priors "
                "or class weights, or what becomes of rows without a label) was changed since by set_params; set "
                "it back, or fit all rows anew"
            )
        return replace(learned, unlabelled=missing)
