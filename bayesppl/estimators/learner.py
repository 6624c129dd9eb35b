"""What changes an estimator: fit, batches, forgetting, merging, discounting.

A conjugate fit needs the rows only through their sufficient statistics, which are sums. So a batch is an addition,
forgetting a subtraction, merging two fits an addition again, and discounting the past a multiplication. Priors that
depend on the data are resolved from the sums afterwards, so that the way in which the rows came does not matter.

Every method computes everything first and stores it last: an error leaves the estimator as it was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from bayesppl.beliefs import Dirichlet
from bayesppl.beliefs.statistics import JointStatistics
from bayesppl.data.rows import Learned, Rows, counted, read_rows, union
from bayesppl.data.table import Table, as_table
from bayesppl.errors import ImproperError
from bayesppl.estimators.batches import fit_parquet
from bayesppl.estimators.distributed import fit_lazy, is_lazy
from bayesppl.estimators.sklearn_names import refuse_foreign_parameters
from bayesppl.families import Family
from bayesppl.files.provenance import UNKNOWN, fingerprint, of_fit
from bayesppl.files.serialize import same
from bayesppl.inference import Inference, choose
from bayesppl.kernels.arrays import Array, brief_arrays
from bayesppl.model.declaration import CLASS_WEIGHTS, ClassWeights, GenerativeModel
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import Rule, check_rule

#: Attributes of a fitted estimator, apart from its rows.
_LEARNED = (
    "classes_",
    "n_features_in_",
    "feature_names_in_",
    "_columns",
    "_model",
    "_statistics",
    "_posterior",
    "_data",
)

#: Arrays of up to this many numbers are written out where an estimator is printed.
_WRITTEN_OUT = 8


class Learner(ClassifierMixin, BaseEstimator, ABC):
    """State and learning of all estimators; see :class:`~bayesppl.GenerativeClassifier`."""

    classes_: Array
    n_features_in_: int
    feature_names_in_: Array

    _columns: tuple[Hashable, ...]
    _model: GenerativeModel
    _statistics: JointStatistics
    _posterior: Posterior | None
    _rows: Rows | None
    _data: Mapping[str, Any] | None

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        refuse_foreign_parameters(cls.__name__, parameters)
        return super().__new__(cls)

    def __init__(
        self,
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.class_weights = class_weights
        self.inference = inference
        self.rule = rule
        self.classes = classes
        self.n_jobs = n_jobs

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        with brief_arrays(_WRITTEN_OUT, digits=4):
            return str(super().__repr__(N_CHAR_MAX))

    @abstractmethod
    def _declared_family(self) -> Family:
        """The family, not yet bound to columns."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the posterior of all parameters; what was learned before is dropped.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
            A dask array or data frame is read once, partition by partition, where its partitions are.
        y : (n_rows,) array-like
            Class labels.
        sample_weight : (n_rows,) array-like, optional
            A row of weight 2 counts as two rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For values outside the family's support, a single class, or priors that do not fit the data.
        """
        if is_lazy(X):
            return fit_lazy(self, X, y, sample_weight)
        return self._start(X, y, self.classes, sample_weight, batch=False)

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
        ``inference="nuts"`` every call samples the posterior of all rows seen so far. Levels of categories are
        learned from the first batch; declare them where later batches may hold others.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        y : (n_rows,) array-like
        classes : sequence, optional
            All labels that can occur; required in the first call, unless the estimator was constructed with
            ``classes``. In later calls, labels that are new are added behind those known.
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
        if not self._is_fitted:
            declared = self.classes if classes is None else classes
            if declared is None:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit: later batches may hold labels that this one "
                    "lacks"
                )
            return self._start(X, y, declared, sample_weight, batch=True)
        widened = self._among(self.classes_ if classes is None else union(self.classes_, classes))
        batch = widened.summed(self._aligned(X), y, sample_weight, n_jobs=self.n_jobs)
        return self._settle(widened._replace(statistics=widened.statistics + batch))

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows that were learned before, exactly.

        Afterwards the posterior is what a fit without these rows would have given; rows keep no other trace.

        Parameters
        ----------
        X, y, sample_weight
            As they were given to ``fit`` or ``partial_fit``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If these rows cannot have been part of the fit.

        Examples
        --------
        >>> import bayesppl as bp
        >>> clf = bp.BernoulliNB().fit([[1], [0], [1]], ["a", "b", "b"])
        >>> clf.forget([[1]], ["b"]).class_count_.tolist()
        [1.0, 1.0]
        """
        self._fitted()
        learned = self._among(self.classes_)
        rows = learned.summed(self._aligned(X), y, sample_weight, refuse_new=False, n_jobs=self.n_jobs)
        return self._settle(learned._replace(statistics=learned.statistics - rows))

    def merge(self, other: Self) -> Self:
        """Learn what another estimator has learned from other rows: the result is one fit on the rows of both.

        ``one + other`` does the same and leaves both as they are.

        Parameters
        ----------
        other : estimator of the same class, prior and columns
            Classes that only ``other`` knows are added behind those known.

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
            raise TypeError(f"cannot merge a {type(self).__name__} with a {type(other).__name__}")
        self._require_fitted()
        other._require_fitted()
        classes = union(self.classes_, other.classes_)
        one, two = self._among(classes), other._among(classes)
        if not same(one.model, two.model):
            raise ValueError(
                "cannot merge fits of different models: the columns, the levels of categories, the priors and the class "
                "weights of both must be equal"
            )
        return self._settle(one._replace(statistics=one.statistics + two.statistics))

    def __add__(self, other: Self) -> Self:
        return copy(self).merge(other)

    def discount(self, factor: float) -> Self:
        r"""Let every row learned so far count only ``factor`` times, for streams that drift.

        The posterior becomes :math:`p(\theta)\, p(D \mid \theta)^{a}` with ``factor`` a: the power prior of Ibrahim &
        Chen (2000, "Power prior distributions for regression models"), which then serves as the prior of
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
        self._fitted()
        if not 0 < factor <= 1:
            raise ValueError(
                f"factor must be above 0 and at most 1, found {factor:g}; 1 keeps all, 0.5 counts half"
            )
        learned = self._among(self.classes_)
        return self._settle(learned._replace(statistics=learned.statistics.scale(factor)))

    @property
    def posterior_(self) -> Posterior:
        """Exact or sampled posterior of all parameters."""
        return self._fitted()

    @property
    def class_count_(self) -> Array:
        """Total weight of the rows of each class: (n_classes,)."""
        self._require_fitted()
        return np.asarray(self._statistics.parts[CLASS_WEIGHTS].counts)

    @property
    def _is_fitted(self) -> bool:
        return "classes_" in vars(self)

    def _require_fitted(self) -> None:
        if not self._is_fitted:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    def _fitted(self) -> Posterior:
        self._require_fitted()
        if self._posterior is None:  # too few rows so far: the same refusal again
            return choose(self.inference).infer(self._model, self._statistics)
        return self._posterior

    def _start(
        self, X: Any, y: Any, declared: Sequence[Hashable] | None, sample_weight: Any, *, batch: bool
    ) -> Self:
        check_rule(self.rule)  # before the sampler runs, not after
        table, classes, codes, weights = read_rows(X, y, declared, sample_weight)
        if len(classes) < 2:
            raise ValueError(
                f"the target holds one class only, {classes.tolist()[0]!r}; a classifier needs at least two. Pass classes=[...] "
                "to declare classes that do not occur in these rows"
            )
        if weights is not None and not weights.any() and not batch:
            raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
        family = self._declared_family().bind(counted(table, weights), tuple(classes.tolist()))
        model = GenerativeModel(family, self.class_weights, tuple(classes.tolist()))
        statistics = model.labelled_statistics(table, codes, weights, self.n_jobs)
        learned = Learned(classes, model, statistics)
        if batch:
            self._settle(learned)
        else:
            rows = Rows(family, table.held(), codes, weights)
            posterior = choose(self.inference).infer(model, statistics, rows)
            self._store(learned, posterior, rows)
        self.n_features_in_ = len(table.names)
        self._columns = table.names
        self.__dict__.pop("feature_names_in_", None)
        if table.is_named:
            self.feature_names_in_ = np.asarray(table.names, dtype=object)
        return self

    def _among(self, classes: Array) -> Learned:
        """What has been learned, in terms of these classes, which include all those known."""
        known, new = self.classes_.tolist(), classes.tolist()
        if known == new:
            return Learned(self.classes_, self._model, self._statistics)
        codes = np.asarray([new.index(label) for label in known])
        return Learned(classes, self._model.among(new), self._statistics.among(len(new), codes))

    def _settle(self, learned: Learned) -> Self:
        """Make these statistics what has been learned."""
        posterior: Posterior | None
        try:
            posterior = choose(self.inference).infer(learned.model, learned.statistics)
        except ImproperError:
            # Under an improper prior the first batches may not determine the parameters yet; later ones may.
            posterior = None
        return self._store(learned, posterior)

    def _store(self, learned: Learned, posterior: Posterior | None, rows: Rows | None = None) -> Self:
        self.classes_, self._model, self._statistics = learned
        self._posterior = posterior
        self._rows = rows
        self._data = None
        return self

    def _fingerprint(self) -> Mapping[str, Any]:
        """What tells the rows of the fit from others, found when first asked for."""
        if self._data is None:
            self._data = UNKNOWN if self._rows is None else fingerprint(self._model, self._rows)
        return self._data

    def _provenance(self) -> dict[str, Any]:
        prior = None if self._posterior is None else self._posterior.prior
        return of_fit(prior, self._statistics, self._fingerprint())

    def _aligned(self, X: Any) -> Table:
        """The columns of the fit, found by name, or by position where ``X`` or the fit has no names."""
        table = as_table(X)
        known = self._columns
        if table.is_named and "feature_names_in_" in vars(self):
            expected = set(known)
            surplus = [name for name in table.names if name not in expected]
            if surplus:
                raise ValueError(f"unknown column {surplus[0]!r}; the fit had {list(known)}")
            return table.select(known)
        if len(table.names) != len(known):
            raise ValueError(
                f"X has {len(table.names)} features, but {type(self).__name__} is expecting {len(known)} features "
                "as input"
            )
        return table.renamed(known)

    def _state(self) -> dict[str, Any]:
        """All that has been learned, without the rows."""
        self._require_fitted()
        self._fingerprint()
        return {name: value for name, value in vars(self).items() if name in _LEARNED}

    def _restore(self, state: dict[str, Any]) -> None:
        if not set(state) <= set(_LEARNED):
            raise ValueError(f"unknown state {sorted(set(state) - set(_LEARNED))}")
        self.__dict__.update({"_data": UNKNOWN, **state, "_rows": None})

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the training rows, which no pickle should carry along."""
        state = super().__getstate__()
        return {**state, "_rows": None} if "_rows" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = self._declared_family()
        tags.input_tags.sparse = family.allows_sparse
        tags.input_tags.allow_nan = family.allows_missing and family.fits_missing
        return tags
