"""Linear and quadratic discriminant analysis, and the location model. No mathematics lives here."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from bayesppl.analysis import discriminant
from bayesppl.conjugate import Dirichlet, MatrixNormalInverseWishart, NormalInverseWishart
from bayesppl.estimators.classifier import KEEP_FLOAT32, ask
from bayesppl.estimators.learner import Learner
from bayesppl.estimators.sklearn_bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from bayesppl.families import ConditionalGaussian, Family, Gaussian
from bayesppl.families.choosing.infer_families import Integers
from bayesppl.families.conditional_gaussian import CategoryTables
from bayesppl.families.find_levels import Levels
from bayesppl.families.level_columns import Unseen
from bayesppl.kernels.arrays import Array
from bayesppl.model.learned import Learned


def _check_axes(clf: LinearDiscriminantAnalysis, learned: Learned) -> None:
    discriminant.check_n_components(clf.n_components, len(learned.classes), len(learned.columns.names))


@dataclass(eq=False, repr=False)
class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Learner):
    """Linear discriminant analysis: a mean per class and one covariance matrix for all.

    Parameters
    ----------
    prior : str or NormalInverseWishart
        See :func:`bayesppl.Gaussian`.
    n_components : int, optional
        Number of axes of ``transform``; by default as many as there are, at most n_classes − 1.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

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

    _checks = (_check_axes,)
    _finish = KEEP_FLOAT32

    decision_function = ask(discriminant.decision_function)
    mahalanobis = ask(discriminant.mahalanobis)
    quadratic = ask(discriminant.quadratic)

    def _declare_family(self) -> Family:
        return Gaussian("tied", self.prior)

    def transform(self, X: Any) -> Array:
        """Project rows on the discriminant axes: (n_rows, n_components), unit variance within classes.

        The axes are those of the estimates of ``rule`` (of the posterior mean, where it is ``"predictive"``).
        """
        found = self._axes
        return (discriminant.numbers(self.fitted_, X) - found.centre) @ found.directions

    @property
    def explained_variance_ratio_(self) -> Array:
        """Return the share of the variance between classes along every axis of ``transform``."""
        return self._axes.explained_variance_ratio

    @property
    def coef_(self) -> Array:
        """Return coefficients of linear log odds: (1, n_features) of two classes, else (n_classes, n_features)."""
        return discriminant.linear(discriminant.plug_in(self.fitted_), self.fitted_.temperature)[0]

    @property
    def intercept_(self) -> Array:
        """Return intercepts of linear log odds, class weights included: (1,) or (n_classes,)."""
        return discriminant.linear(discriminant.plug_in(self.fitted_), self.fitted_.temperature)[1]

    @property
    def _axes(self) -> discriminant.Axes:
        return discriminant.axes(discriminant.plug_in(self.fitted_), self.n_components)

    @property
    def _n_features_out(self) -> int:
        return self._axes.directions.shape[1]


@dataclass(eq=False, repr=False)
class QuadraticDiscriminantAnalysis(Learner):
    """Quadratic discriminant analysis: a mean and a covariance matrix per class.

    Parameters
    ----------
    prior : str or NormalInverseWishart
        See :func:`bayesppl.Gaussian`.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> clf = bp.QuadraticDiscriminantAnalysis().fit(*load_iris(return_X_y=True))
    >>> clf.predict([[5.0, 3.4, 1.5, 0.2]]).tolist()
    [0]
    """

    prior: str | NormalInverseWishart = "hierarchical"

    decision_function = ask(discriminant.decision_function)
    mahalanobis = ask(discriminant.mahalanobis)
    quadratic = ask(discriminant.quadratic)

    def _declare_family(self) -> Family:
        return Gaussian("full", self.prior)


@dataclass(eq=False, repr=False)
class LocationModel(Learner):
    """Categories, and beside them correlated numbers whose mean depends on the categories.

    Columns are told apart by their dtypes: text, categories and Booleans are categories, floating-point columns
    numbers.

    Parameters
    ----------
    covariance, table, prior, probability, levels, unseen, integers, categories
        See :class:`bayesppl.families.ConditionalGaussian`.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Examples
    --------
    >>> import bayesppl as bp
    >>> import pandas as pd
    >>> sex = ["f", "m", "f", "m", "f", "m", "f", "m"]
    >>> X = pd.DataFrame({"sex": sex, "mass": [3.4, 4.0, 3.5, 4.1, 4.6, 5.4, 4.7, 5.5]})
    >>> clf = bp.LocationModel().fit(X, list("aaaabbbb"))
    >>> clf.predict(pd.DataFrame({"sex": ["m", "f"], "mass": [4.4, 4.4]})).tolist()
    ['a', 'b']

    Where the sex is missing, its levels are summed over:

    >>> clf.predict_proba(pd.DataFrame({"sex": ["m", None], "mass": [4.4, 4.4]})).round(2).tolist()
    [[0.79, 0.21], [0.5, 0.5]]
    """

    covariance: Literal["tied", "full"] = "tied"
    table: CategoryTables = "evidence"
    prior: str | MatrixNormalInverseWishart = "hierarchical"
    probability: Dirichlet = Dirichlet(1.0)
    levels: Levels | None = None
    unseen: Unseen = "missing"
    integers: Integers | None = None
    categories: Any = None

    def _declare_family(self) -> Family:
        return ConditionalGaussian(
            self.covariance,
            self.table,
            self.prior,
            self.probability,
            self.levels,
            self.unseen,
            self.integers,
            self.categories,
        )
