"""scikit-learn's generative classifiers in terms of this package: its constructors and fitted attributes, our
fits.

Each class turns scikit-learn's arguments into a prior and a plug-in rule, fits the estimator of this package and
reads scikit-learn's attributes off its answers. scikit-learn's own tests can then be run on them; see
scikit_learn_plugin. A posterior mean under a prior is what smoothing and shrinkage amount to, so that ``alpha``
and ``var_smoothing`` are exact, and so is what support.scikit_discriminants makes of ``shrinkage`` and
``reg_param``.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import binarize

import bayesppl as bp
from bayesppl.estimators.classifier import BayesClassifier

#: A prior location that is worth nothing: the posterior mean of the means is that of the rows.
NOTHING = 1e-300


class Adapter(ClassifierMixin, BaseEstimator):
    """What all have in common: one fitted estimator of this package under scikit-learn's names."""

    #: The estimator of this package.
    ours: Any

    def declare(self, X: Any, y: Any, sample_weight: Any) -> BayesClassifier:
        """The estimator of this package that scikit-learn's arguments amount to for these rows."""
        raise NotImplementedError

    def read(self, X: Any) -> Any:
        return X

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Adapter":
        X = self.read(X)
        self._fit = self.declare(X, y, sample_weight).fit(X, y, sample_weight)
        return self

    @property
    def _fitted(self) -> BayesClassifier:
        if "_fit" not in vars(self):
            raise NotFittedError(f"this {type(self).__name__} is not fitted")
        return self._fit

    def __sklearn_is_fitted__(self) -> bool:
        return "_fit" in vars(self)

    def __sklearn_tags__(self) -> Any:
        return self.ours().__sklearn_tags__()

    def predict(self, X: Any) -> Any:
        return self._fitted.predict(self.read(X))

    def predict_proba(self, X: Any) -> Any:
        return self._fitted.predict_proba(self.read(X))

    def predict_log_proba(self, X: Any) -> Any:
        return self._fitted.predict_log_proba(self.read(X))

    def predict_joint_log_proba(self, X: Any) -> Any:
        return self._fitted.predict_joint_log_proba(self.read(X))

    @property
    def classes_(self) -> np.ndarray:
        return self._fitted.classes_

    @property
    def class_count_(self) -> np.ndarray:
        return self._fitted.class_count_

    @property
    def n_features_in_(self) -> int:
        return self._fitted.n_features_in_

    def estimate(self, name: str) -> np.ndarray:
        """A parameter of the plug-in rule, without labels."""
        ours = self._fitted
        return ours.estimates([ours.rule])[name].to_numpy()[0]


class Incremental(Adapter):
    """The Naive Bayes classifiers, which learn in batches."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "Adapter":
        X = self.read(X)
        if "_fit" not in vars(self):
            self._fit = self.declare(X, None, None)  # which labels there are, the first batch may not show
        self._fit.partial_fit(X, y, classes, sample_weight)
        return self


def weights_of_classes(y: Any, sample_weight: Any) -> np.ndarray:
    """Total weight of the rows of each class."""
    return np.bincount(np.unique(y, return_inverse=True)[1], sample_weight)


# --- Naive Bayes --------------------------------------------------------------------------------------------


class GaussianNB(Incremental):
    """A variance of S/n + ε is the posterior mean (b + S/2) / (a + n/2 − 1) for a = 1 and b = nε/2."""

    ours = bp.GaussianNB

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def declare(self, X: Any, y: Any, sample_weight: Any) -> BayesClassifier:
        weights = "empirical" if self.priors is None else self.priors
        added = self.var_smoothing * np.var(np.asarray(X, dtype=float), axis=0).max()
        if added == 0:
            return self.ours(rule="mle", class_weights=weights)
        n = np.ones((1, 1)) if y is None else np.maximum(weights_of_classes(y, sample_weight), 1.0)[:, None]
        prior = bp.NormalInverseGamma(0.0, NOTHING, 1.0, np.broadcast_to(n * added / 2, (len(n), X.shape[1])))
        return self.ours(prior, rule="mean", class_weights=weights)

    @property
    def class_prior_(self) -> np.ndarray:
        return self.estimate("class_weights")

    @property
    def theta_(self) -> np.ndarray:
        return self.estimate("mean")

    @property
    def var_(self) -> np.ndarray:
        return self.estimate("variance")


class DiscreteNB(Incremental):
    """Pseudo-counts alpha are a Dirichlet (or beta) prior, and smoothed frequencies its posterior mean."""

    def __init__(
        self, *, alpha: Any = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: Any = None
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    @property
    def options(self) -> dict[str, Any]:
        named = "empirical" if self.fit_prior else "uniform"
        weights = named if self.class_prior is None else self.class_prior
        return {"class_weights": weights, "rule": "mle" if np.all(self.pseudo_counts == 0) else "mean"}

    @property
    def pseudo_counts(self) -> np.ndarray:
        alpha = np.asarray(self.alpha, dtype=float)
        if self.force_alpha or not (alpha < 1e-10).any() or (alpha < 0).any():
            return alpha
        warnings.warn("alpha too small will result in numeric errors, setting alpha = 1.0e-10", stacklevel=2)
        return np.maximum(alpha, 1e-10)

    @property
    def prior_counts(self) -> np.ndarray:
        """Those of a prior that rule="mle" does not look at, where alpha is zero."""
        alpha = self.pseudo_counts
        return np.ones_like(alpha) if np.all(alpha == 0) else alpha

    @property
    def counts(self) -> Any:
        """Sums over the rows: no answer has them, so that they are read off the sufficient statistics of the
        fit."""
        return self._fitted.fitted_.learned.statistics.parts["features"]

    @property
    def class_log_prior_(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.estimate("class_weights"))

    @property
    def feature_log_prob_(self) -> Any:
        with np.errstate(divide="ignore"):
            return np.log(self.estimate("probability"))


class MultinomialNB(DiscreteNB):
    ours = bp.MultinomialNB

    def declare(self, X: Any, y: Any, sample_weight: Any) -> BayesClassifier:
        return self.ours(bp.Dirichlet(self.prior_counts), **self.options)

    @property
    def feature_count_(self) -> np.ndarray:
        return self.counts.counts


class BernoulliNB(DiscreteNB):
    ours = bp.BernoulliNB

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.binarize = binarize

    def read(self, X: Any) -> Any:
        return X if self.binarize is None else binarize(X, threshold=self.binarize)

    def declare(self, X: Any, y: Any, sample_weight: Any) -> BayesClassifier:
        alpha = self.prior_counts
        return self.ours(bp.Beta(alpha, alpha), **self.options)

    @property
    def feature_count_(self) -> np.ndarray:
        return self.counts.successes


class CategoricalNB(DiscreteNB):
    ours = bp.CategoricalNB

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
    ) -> None:
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.min_categories = min_categories

    def read(self, X: Any) -> Any:
        return np.asarray(X).astype(int)  # as scikit-learn does: levels are 0, 1, 2, …

    def declare(self, X: Any, y: Any, sample_weight: Any) -> BayesClassifier:
        least = np.broadcast_to(1 if self.min_categories is None else self.min_categories, X.shape[1:])
        sizes = np.maximum(X.max(0) + 1, least)
        levels = {f"x{d}": range(size) for d, size in enumerate(sizes)}
        return self.ours(bp.Dirichlet(self.prior_counts), levels, **self.options)

    @property
    def n_categories_(self) -> np.ndarray:
        cells = self._fitted.estimates([self._fitted.rule])["cell"].to_numpy()
        return np.unique([cell.rsplit("=", 1)[0] for cell in cells], return_counts=True)[1]

    @property
    def category_count_(self) -> list[np.ndarray]:
        return np.split(self.counts.counts, np.cumsum(self.n_categories_)[:-1], axis=1)

    @property
    def feature_log_prob_(self) -> list[np.ndarray]:
        return np.split(super().feature_log_prob_, np.cumsum(self.n_categories_)[:-1], axis=1)


class ComplementNB(DiscreteNB):
    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ) -> None:
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.norm = norm

    @property
    def ours(self) -> Any:
        raise NotImplementedError("ComplementNB is not a generative model")

    def declare(self, X: Any, y: Any, sample_weight: Any) -> BayesClassifier:
        return self.ours()
