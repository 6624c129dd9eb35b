"""scikit-learn's discriminant analysis in terms of this package; see support.scikit_adapters."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.covariance import ledoit_wolf
from support.scikit_adapters import NOTHING, Adapter

import bayesppl as bp
from bayesppl.estimators.classifier import BayesClassifier

#: How many rows a covariance is worth that is taken as known.
CERTAIN = 1e12


class DiscriminantAnalysis(Adapter):
    """A covariance of (1 − s) S/n + s C is the posterior mean under an inverse Wishart of scale n s/(1 − s) C."""

    @property
    def share(self) -> float:
        """How much of the covariance is that of the prior."""
        return self.shrinkage if isinstance(self.shrinkage, float) else 0.0

    def known_covariance(self, X: np.ndarray) -> np.ndarray | None:
        """The covariance of the rows of a class where it is estimated elsewhere, and so known here."""
        if self.covariance_estimator is not None:
            if self.shrinkage is not None:
                raise ValueError("give either shrinkage or covariance_estimator")
            self.covariance_estimator.fit(X)
            if not hasattr(self.covariance_estimator, "covariance_"):
                raise ValueError(f"{self.covariance_estimator!r} estimates no covariance")
            return self.covariance_estimator.covariance_
        if self.shrinkage == "auto":  # of standardised columns, in scikit-learn's definition
            scale = np.where(X.std(0) > 0, X.std(0), 1.0)
            return ledoit_wolf(X / scale)[0] * np.outer(scale, scale)
        return None

    def fit(self, X: Any, y: Any) -> "Adapter":
        super().fit(X, y)
        self.estimate("covariance")  # one that does not exist is refused here, as in scikit-learn
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self._fitted.decision_function(X)

    @property
    def means_(self) -> np.ndarray:
        return self.estimate("mean")

    @property
    def priors_(self) -> np.ndarray:
        return self.estimate("class_weights")

    @property
    def class_weights(self) -> Any:
        return "empirical" if self.priors is None else self.priors

    @property
    def covariance_(self) -> np.ndarray:
        if self.is_covariance_hidden:
            raise AttributeError("covariance_ was not asked for")
        return self.estimate("covariance")


def shrinking(share: float, weight: Any, target: Any, n_features: int) -> bp.NormalInverseWishart:
    """The prior under which the posterior mean of a covariance is (1 − share) S/weight + share · target ·
    identity."""
    rows = np.asarray(weight * share / (1 - share))
    psi = (rows * target)[..., None, None] * np.eye(n_features)
    return bp.NormalInverseWishart(0.0, NOTHING, rows + n_features + 1, psi)


def certain(covariance: Any) -> bp.NormalInverseWishart:
    """The prior that is all but certain of a covariance."""
    return bp.NormalInverseWishart(0.0, NOTHING, CERTAIN, CERTAIN * np.asarray(covariance))


def by_class(X: Any, y: Any) -> list[np.ndarray]:
    X = np.asarray(X, dtype=float)
    return [X[np.equal(y, label)] for label in np.unique(y)]


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DiscriminantAnalysis):
    ours = bp.LinearDiscriminantAnalysis

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def declare(self, X: Any, y: Any, sample_weight: Any) -> BayesClassifier:
        options: dict[str, Any] = {"class_weights": self.class_weights, "n_components": self.n_components}
        classes = by_class(X, y)
        known = [self.known_covariance(rows) for rows in classes]
        if known[0] is not None:
            prior = certain(np.average(known, axis=0, weights=[len(rows) for rows in classes]))
        elif self.share:
            within = sum(((rows - rows.mean(0)) ** 2).sum() for rows in classes)
            prior = shrinking(self.share, len(X), within / np.size(X), np.shape(X)[1])
        else:
            return self.ours(rule="mle", **options)
        return self.ours(prior, rule="mean", **options)

    @property
    def is_covariance_hidden(self) -> bool:
        return self.solver == "svd" and not self.store_covariance

    def transform(self, X: Any) -> np.ndarray:
        return self._fitted.transform(X)

    @property
    def coef_(self) -> np.ndarray:
        return self._fitted.coef_

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        return self._fitted.explained_variance_ratio_

    @property
    def _n_features_out(self) -> int:
        return self._fitted._n_features_out


class QuadraticDiscriminantAnalysis(DiscriminantAnalysis):
    ours = bp.QuadraticDiscriminantAnalysis

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def declare(self, X: Any, y: Any, sample_weight: Any) -> BayesClassifier:
        options = {"class_weights": self.class_weights}
        classes = by_class(X, y)
        n, n_features = np.asarray([len(rows) for rows in classes]), np.shape(X)[1]
        known = [self.known_covariance(rows) for rows in classes]
        if known[0] is not None:
            prior = certain(known)
        elif self.share:
            prior = shrinking(self.share, n, np.asarray([rows.var(0).mean() for rows in classes]), n_features)
        elif self.reg_param:  # towards the identity itself
            prior = shrinking(self.reg_param, n, 1.0, n_features)
        else:
            return self.ours(rule="mle", **options)
        return self.ours(prior, rule="mean", **options)

    @property
    def is_covariance_hidden(self) -> bool:
        return not self.store_covariance
