"""What scikit-learn expects of every fitted estimator: its columns, and an error before there are any."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable

import numpy as np
from sklearn.exceptions import NotFittedError

from bayesppl.data.read_table import Columns
from bayesppl.kernels.arrays import Array


class FittedColumns(ABC):
    """The columns of the fit, under scikit-learn's names."""

    @abstractmethod
    def _columns_of_fit(self) -> Columns:
        """The columns of the fit; raises ``NotFittedError`` where there is none."""

    @abstractmethod
    def levels_of_columns(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """The levels of every column that the fit takes for levels."""

    @abstractmethod
    def columns_read(self) -> set[Hashable]:
        """The columns of the fit on which answers depend."""

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the fit."""
        return len(self._columns_of_fit().names)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns of the fit, where they have any."""
        columns = self._columns_of_fit()
        if not columns.are_named:
            raise AttributeError("the columns of the fit have no names")
        return np.asarray(columns.names, dtype=object)

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(
            f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            "using this estimator."
        )
