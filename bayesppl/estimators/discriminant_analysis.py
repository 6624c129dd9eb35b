"""Linear and quadratic discriminant analysis as scikit-learn estimators. No mathematics lives here."""

from __future__ import annotations

from abc import ABC
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from bayesppl.analysis import discriminant
from bayesppl.conjugate import NormalInverseWishart
from bayesppl.estimators.asking import ask
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.families import Family, Gaussian
from bayesppl.kernels.arrays import Array
from bayesppl.model.learned import Learned


@dataclass(eq=False, repr=False, kw_only=True)
class DiscriminantAnalysis(BayesClassifier, ABC):
    """What linear and quadratic discriminant analysis share."""

    decision_function = ask(discriminant.decision_function)
    mahalanobis = ask(discriminant.mahalanobis)
    quadratic = ask(discriminant.quadratic)


@dataclass(eq=False, repr=False)
class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DiscriminantAnalysis):
    """Linear discriminant analysis: a mean per class and one covariance matrix for all.

    Parameters
    ----------
    prior : str or NormalInverseWishart
        See :func:`bayesppl.Gaussian`.
    n_components : int, optional
        Number of axes of ``transform``; by default as many as there are, at most n_classes − 1.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> clf = bp.LinearDiscriminantAnalysis().fit(*load_iris(return_X_y=True))
    >>> clf.predict([[5.0, 3.4, 1.5, 0.2]]).tolist()
    [0]
    """

    prior: str | NormalInverseWishart = "hierarchical"
    _: KW_ONLY
    n_components: int | None = None

    def declare_family(self) -> Family:
        return Gaussian("tied", self.prior)

    def check_parameters(self, learned: Learned) -> None:
        super().check_parameters(learned)
        if self.n_components is not None:
            discriminant.check_n_components(self.n_components, len(learned.classes), len(learned.columns.names))

    def transform(self, X: Any) -> Array:
        """Project rows on the discriminant axes: (n_rows, n_components), unit variance within classes.

        The axes are those of the estimates of ``rule`` (of the posterior mean, where it is ``"predictive"``).
        """
        found = self._axes
        return (discriminant.numbers(self.fitted_, X) - found.centre) @ found.directions

    @property
    def explained_variance_ratio_(self) -> Array:
        """Share of the variance between classes along every axis of ``transform``."""
        return self._axes.explained_variance_ratio

    @property
    def coef_(self) -> Array:
        """Coefficients of the linear log odds: (1, n_features) for two classes, else (n_classes, n_features)."""
        return discriminant.linear(discriminant.plug_in(self.fitted_), self.fitted_.temperature)[0]

    @property
    def intercept_(self) -> Array:
        """Intercepts of the linear log odds, class weights included: (1,) or (n_classes,)."""
        return discriminant.linear(discriminant.plug_in(self.fitted_), self.fitted_.temperature)[1]

    @property
    def _axes(self) -> discriminant.Axes:
        return discriminant.axes(discriminant.plug_in(self.fitted_), self.n_components)

    @property
    def _n_features_out(self) -> int:
        return self._axes.directions.shape[1]


@dataclass(eq=False, repr=False)
class QuadraticDiscriminantAnalysis(DiscriminantAnalysis):
    """Quadratic discriminant analysis: a mean and a covariance matrix per class.

    Parameters
    ----------
    prior : str or NormalInverseWishart
        See :func:`bayesppl.Gaussian`.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> clf = bp.QuadraticDiscriminantAnalysis().fit(*load_iris(return_X_y=True))
    >>> clf.predict([[5.0, 3.4, 1.5, 0.2]]).tolist()
    [0]
    """

    prior: str | NormalInverseWishart = "hierarchical"

    def declare_family(self) -> Family:
        return Gaussian("full", self.prior)
