"""What scikit-learn expects of a classifier, around one immutable value that holds all that a fit has found.

The value is replaced as a whole: an error or another thread meets the former fit or the new one, never a part of
each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from bayesppl.data.frames import warn_of_other_orders
from bayesppl.data.label_cells import REFUSED, without_missing
from bayesppl.data.labels import encode_labels
from bayesppl.data.names import spelled
from bayesppl.data.rows import check_weights
from bayesppl.errors import RowError
from bayesppl.estimators.parameters import by_owner, changed, nested_parameters, refuse_foreign_parameters
from bayesppl.estimators.sklearn_bases import BaseEstimator, ClassifierMixin
from bayesppl.kernels.arrays import Array, brief_arrays
from bayesppl.model.fitted import Fitted
from bayesppl.model.stack import Stack

#: Arrays of up to this many numbers are written out where an estimator is printed.
_WRITTEN_OUT = 8

#: What most functions of a fit take.
CLASSIFIER = "a fitted classifier of bayesppl (of a pipeline its last step, with rows as that takes them)"


class Shell[F: Fitted | Stack](ClassifierMixin, BaseEstimator, ABC):
    """A classifier in scikit-learn's sense that holds what a fit has found."""

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        refuse_foreign_parameters(cls.__name__, parameters)
        return super().__new__(cls)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        with brief_arrays(_WRITTEN_OUT, digits=4):
            return str(super().__repr__(N_CHAR_MAX))

    @abstractmethod
    def predict(self, X: Any) -> Any: ...

    def __dir__(self) -> Iterable[str]:
        return object.__dir__(self)  # scikit-learn's asks for each, and some are refused with a reason

    def _adopt(self, found: F) -> Self:
        """Hold this value from now on."""
        self._fitted = found
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    @property
    def _held(self) -> F:
        """Return the value that is held.

        Raises
        ------
        NotFittedError
        """
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )
        return self._fitted

    @property
    def classes_(self) -> Array:
        """Return the labels in the order of the class axis: (n_classes,)."""
        return self._held.classes.copy()

    @property
    def n_features_in_(self) -> int:
        """Return the number of columns of the fit."""
        return len(self._held.columns.names)

    @property
    def feature_names_in_(self) -> Array:
        """Return the names of the columns of the fit, where they have any."""
        columns = self._held.columns
        if not columns.are_named:
            raise AttributeError("the columns of the fit have no names")
        return np.asarray(columns.names, dtype=object)

    def levels_of_columns(self) -> Mapping[Hashable, tuple[Hashable, ...]]:
        """Return the levels of every column that the fit takes for levels."""
        return self._held.levels

    def columns_read(self) -> set[Hashable]:
        """Return the columns of the fit on which answers depend."""
        return self._held.columns_read

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the accuracy: the share of rows whose label is predicted.

        Labels of every kind that can be learned are compared, dates, decimals and large integers too.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        y : (n_rows,) array-like
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If a label is missing (``unlabelled_label`` too), or there are no rows to score.
        TypeError
            If labels are of another type than those of the fit.
        """
        warn_of_other_orders(X, y=y, sample_weight=sample_weight)
        absent = without_missing(y, replace(getattr(self, "missing_labels", REFUSED), action="drop"))[1]
        if absent.any():
            raise RowError(
                "Input y contains NaN: the label is missing in row ",
                int(np.argmax(absent)),
                ", so that no prediction is right or wrong there; leave such rows out",
            )
        labels, codes = encode_labels(y)
        predicted, predicted_codes = encode_labels(np.asarray(self.predict(X)))
        if len(codes) != len(predicted_codes):
            raise ValueError(f"X has {len(predicted_codes)} rows and y has {len(codes)} labels; they must match")
        if not len(codes):
            raise ValueError("X has no rows, so that there is nothing to score; pass at least one")
        if isinstance(labels.tolist()[0], str) != isinstance(predicted.tolist()[0], str):
            raise TypeError(
                f"y holds {labels.tolist()[0]!r} and the classes of the fit are such as "
                f"{predicted.tolist()[0]!r}: convert the labels to the type of those of the fit"
            )
        weights = check_weights(sample_weight, len(codes))
        if weights is not None and not weights.any():
            raise ValueError("every row has weight zero, so that there is nothing to score")
        place = {label: k for k, label in enumerate(labels.tolist())}
        same = np.array([place.get(label, -1) for label in predicted.tolist()])[predicted_codes] == codes
        return float(np.average(same, weights=weights))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Whether those of priors and families are among them, as in ``probability__concentration``.
        """
        found: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, value in super().get_params(deep=False).items():
                found.update((f"{name}__{inner}", held) for inner, held in nested_parameters(value))
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of priors and families too; nothing changes if one is refused.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a name that does not exist, with those that do.

        Examples
        --------
        >>> import bayesppl as bp
        >>> bp.CategoricalNB().set_params(probability__concentration=0.5).probability
        Dirichlet(concentration=0.5)
        """
        own = super().get_params(deep=False)
        given = {name: value for name, value in params.items() if "__" not in name}
        owners = by_owner(params)
        for name in [*given, *owners]:
            if name not in own:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {sorted(own)!r}."
                )
        for name, inner in owners.items():
            given[name] = changed(name, given.get(name, own[name]), inner)
        super().set_params(**given)
        return self


def check_n_jobs(n_jobs: Any) -> None:
    """Check a number of threads, and refuse what is none."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be None, a positive number of threads or -1 for all cores, found {spelled(n_jobs)}"
        )


def require_classifier(given: Any, words: str = CLASSIFIER, kind: type = Shell) -> Any:
    """Return a classifier as it is, and refuse anything else.

    Raises
    ------
    TypeError
    """
    if not isinstance(given, kind):
        raise TypeError(f"the first argument must be {words}, found {type(given).__name__}")
    return given
