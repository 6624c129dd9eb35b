"""The accuracy of all estimators, for every kind of label that they learn."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from bayesppl.data.labels import check_weights, encode_labels


class ScoredMixin(ClassifierMixin):
    """What scikit-learn's mixin is, with a score that takes dates, decimals and large integers as labels too."""

    @abstractmethod
    def predict(self, X: Any) -> Any: ...

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the share of rows whose label is predicted.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        y : (n_rows,) array-like
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        float
        """
        labels, codes = encode_labels(y)
        predicted, predicted_codes = encode_labels(np.asarray(self.predict(X)))
        if len(codes) != len(predicted_codes):
            raise ValueError(f"X has {len(predicted_codes)} rows and y has {len(codes)} labels; they must match")
        if not len(codes):
            raise ValueError("X has no rows, so that there is nothing to score; pass at least one")
        if isinstance(labels.tolist()[0], str) != isinstance(predicted.tolist()[0], str):
            raise TypeError(
                f"y holds {labels.tolist()[0]!r} and the classes of the fit are such as {predicted.tolist()[0]!r}: convert "
                "the labels to the type of those of the fit"
            )
        weights = check_weights(sample_weight, len(codes))
        place = {label: k for k, label in enumerate(labels.tolist())}
        same = np.array([place.get(label, -1) for label in predicted.tolist()])[predicted_codes] == codes
        return float(np.average(same, weights=weights))
