"""scikit-learn estimators: one line each over a family. No mathematics lives here."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from bayesppl.beliefs import Beta, Dirichlet, Gamma, NormalInverseGamma, NormalInverseWishart
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.estimators.discriminant import Axes, DiscriminantAnalysis, axes, linear
from bayesppl.families import (
    Bernoulli,
    Binomial,
    Categorical,
    Family,
    Gaussian,
    JointCategorical,
    Multinomial,
    Poisson,
    Product,
)
from bayesppl.families._bases.infer_families import Integers
from bayesppl.families._bases.levels import Levels
from bayesppl.families.product import Blocks
from bayesppl.inference import Inference
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import ClassWeights
from bayesppl.model.rules import Rule


class GenerativeClassifier(BayesClassifier):
    """Bayesian generative classifier: class weights times a family, priors on all parameters.

    Parameters
    ----------
    family : Family
        Class-conditional density of the features, with its prior.
    class_weights : Dirichlet, "uniform", "empirical", sequence or mapping
        Prior of the class weights, or known weights.
    inference : "conjugate", "nuts" or an inference with settings, such as NUTS(draws=2000)
        Closed form, or sampling of the same declaration with PyMC.
    rule : {"predictive", "mle", "map", "mean"}
        Default rule of ``predict_proba`` and ``predict``.
    classes : sequence, optional
        All labels that can occur, in the order wanted; learned from ``y`` by default.
    n_jobs : int, optional
        Threads of ``fit`` and ``predict``, as scikit-learn counts them: None is one, -1 all cores. Results are the same to
        the last bit whatever their number.

    Attributes
    ----------
    classes_ : (n_classes,)
    class_count_ : (n_classes,)
        Total weight of the rows of each class.
    n_features_in_ : int
    posterior_ : Posterior
        Exact or sampled posterior of all parameters.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = bp.GenerativeClassifier(bp.Gaussian(covariance="full"), class_weights=bp.Dirichlet(1.0))
    >>> clf.fit(X, y).predict_proba(X[:1]).round(6).tolist()
    [[1.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        family: Family,
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.family = family

    def _declared_family(self) -> Family:
        return self.family


class CategoricalNB(BayesClassifier):
    """Categorical Naive Bayes: a probability per class, feature and level.

    Parameters
    ----------
    probability, levels
        See :class:`bayesppl.Categorical`.
    class_weights, inference, rule, classes, n_jobs
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [["red", "S"], ["red", "M"], ["blue", "M"], ["blue", None]]
    >>> bp.CategoricalNB().fit(X, list("aabb")).predict([["red", "L"]]).tolist()
    ['a']
    """

    def __init__(
        self,
        probability: Dirichlet = Dirichlet(1.0),
        levels: Levels | None = None,
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.probability = probability
        self.levels = levels

    def _declared_family(self) -> Family:
        return Categorical(self.probability, self.levels)


class JointCategoricalNB(BayesClassifier):
    """Several discrete features with their full joint table per class.

    Only the columns of different blocks of a :class:`MixedNB` are independent given the class; these are not.

    Parameters
    ----------
    probability, levels
        See :class:`bayesppl.JointCategorical`.
    class_weights, inference, rule, classes, n_jobs
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]], [0, 1, 1, 0]
    >>> bp.JointCategoricalNB().fit(X, y).predict(X).tolist()
    [0, 1, 1, 0]
    """

    def __init__(
        self,
        probability: Dirichlet = Dirichlet(1.0),
        levels: Levels | None = None,
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.probability = probability
        self.levels = levels

    def _declared_family(self) -> Family:
        return JointCategorical(self.probability, self.levels)


class MultinomialNB(BayesClassifier):
    """Multinomial Naive Bayes: counts of words, or of anything else.

    Parameters
    ----------
    probability
        See :class:`bayesppl.Multinomial`.
    class_weights, inference, rule, classes, n_jobs
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [[3, 0, 1], [2, 1, 0], [0, 2, 2], [1, 0, 4]], list("aabb")
    >>> bp.MultinomialNB().fit(X, y).predict([[2, 0, 0]]).tolist()
    ['a']
    """

    def __init__(
        self,
        probability: Dirichlet = Dirichlet(1.0),
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.probability = probability

    def _declared_family(self) -> Family:
        return Multinomial(self.probability)


class MixedNB(BayesClassifier):
    """Blocks of columns of different kinds, independent given the class.

    Parameters
    ----------
    blocks : mapping of str to (columns, family), optional
        Picked from the dtypes of the columns by default. See :class:`bayesppl.Product`.
    integers : {"gaussian", "poisson", "categorical"} or mapping of columns to these, optional
        What integer columns are, all of them or each by name, where the blocks are picked from dtypes.
    class_weights, inference, rule, classes, n_jobs
        See :class:`GenerativeClassifier`.

    Attributes
    ----------
    families_ : dict of str to (columns, family)
        The blocks of the fit.

    Examples
    --------
    >>> import bayesppl as bp
    >>> import pandas as pd
    >>> X = pd.DataFrame({"length": [1.0, 1.2, 3.1, None], "island": ["a", "a", "b", "b"]})
    >>> clf = bp.MixedNB().fit(X, list("uuvv"))
    >>> {block: columns for block, (columns, family) in clf.families_.items()}
    {'gaussian': ('length',), 'categorical': ('island',)}
    >>> clf.predict(X).tolist()
    ['u', 'u', 'v', 'v']
    """

    def __init__(
        self,
        blocks: Blocks | None = None,
        *,
        integers: Integers | None = None,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.blocks = blocks
        self.integers = integers

    @property
    def families_(self) -> Blocks:
        """The blocks of the fit: name → (columns, family)."""
        return dict(cast(Product, self._fitted().model.family).blocks or {})

    def _declared_family(self) -> Family:
        return Product(self.blocks, self.integers)


class GaussianNB(BayesClassifier):
    """Gaussian Naive Bayes: a mean and a variance per class and feature.

    Parameters
    ----------
    prior : str or NormalInverseGamma
        See :func:`bayesppl.Gaussian`.
    class_weights, inference, rule, classes, n_jobs
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], [0, 0, 1, 1]).predict([[0.2]]).tolist()
    [0]
    """

    def __init__(
        self,
        prior: str | NormalInverseGamma = "fraley-raftery",
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.prior = prior

    def _declared_family(self) -> Family:
        return Gaussian("diag", self.prior)


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DiscriminantAnalysis):
    """Linear discriminant analysis: a mean per class and one covariance matrix for all.

    Parameters
    ----------
    prior : str or NormalInverseWishart
        See :func:`bayesppl.Gaussian`.
    n_components : int, optional
        Number of axes of ``transform``; by default as many as there are, at most n_classes − 1.
    class_weights, inference, rule, classes, n_jobs
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> clf = bp.LinearDiscriminantAnalysis().fit(*load_iris(return_X_y=True))
    >>> clf.predict([[5.0, 3.4, 1.5, 0.2]]).tolist()
    [0]
    """

    def __init__(
        self,
        prior: str | NormalInverseWishart = "fraley-raftery",
        *,
        n_components: int | None = None,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.prior = prior
        self.n_components = n_components

    def _declared_family(self) -> Family:
        return Gaussian("tied", self.prior)

    def transform(self, X: Any) -> Array:
        """Project rows on the discriminant axes: (n_rows, n_components), unit variance within classes.

        The axes are those of the estimates of ``rule`` (of the posterior mean, where it is ``"predictive"``).
        """
        found = self._axes
        return (self._numbers(X) - found.centre) @ found.directions

    @property
    def explained_variance_ratio_(self) -> Array:
        """Share of the variance between classes along every axis of ``transform``."""
        return self._axes.explained_variance_ratio

    @property
    def coef_(self) -> Array:
        """Coefficients of the linear log odds: (1, n_features) for two classes, else (n_classes, n_features)."""
        return linear(self._plug_in(None))[0]

    @property
    def intercept_(self) -> Array:
        """Intercepts of the linear log odds, class weights included: (1,) or (n_classes,)."""
        return linear(self._plug_in(None))[1]

    @property
    def _axes(self) -> Axes:
        found = axes(self._plug_in(None))
        most = found.directions.shape[1]
        kept = most if self.n_components is None else self.n_components
        if not 0 < kept <= most:
            raise ValueError(
                f"n_components must lie between 1 and min(n_classes - 1, n_features) = {most}, found {kept}"
            )
        return Axes(found.centre, found.directions[:, :kept], found.explained_variance_ratio[:kept])

    @property
    def _n_features_out(self) -> int:
        return self._axes.directions.shape[1]


class QuadraticDiscriminantAnalysis(DiscriminantAnalysis):
    """Quadratic discriminant analysis: a mean and a covariance matrix per class.

    Parameters
    ----------
    prior : str or NormalInverseWishart
        See :func:`bayesppl.Gaussian`.
    class_weights, inference, rule, classes, n_jobs
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> clf = bp.QuadraticDiscriminantAnalysis().fit(*load_iris(return_X_y=True))
    >>> clf.predict([[5.0, 3.4, 1.5, 0.2]]).tolist()
    [0]
    """

    def __init__(
        self,
        prior: str | NormalInverseWishart = "fraley-raftery",
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.prior = prior

    def _declared_family(self) -> Family:
        return Gaussian("full", self.prior)


class BernoulliNB(BayesClassifier):
    """Bernoulli Naive Bayes: a probability per class and binary feature.

    Parameters
    ----------
    probability : Beta
        Prior of the probabilities; uniform by default.
    class_weights, inference, rule, classes, n_jobs
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.BernoulliNB().fit([[1, 0], [1, 1], [0, 1], [0, 0]], list("aabb")).predict([[1, 0]]).tolist()
    ['a']
    """

    def __init__(
        self,
        probability: Beta = Beta(1.0, 1.0),
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.probability = probability

    def _declared_family(self) -> Family:
        return Bernoulli(self.probability)


class BinomialNB(BayesClassifier):
    """Binomial Naive Bayes: a success probability per class and feature, numbers of trials known.

    Parameters
    ----------
    trials : int, sequence of int, mapping of column to int, or str
        Numbers of trials, or the column that holds them; see :class:`bayesppl.Binomial`.
    probability : Beta
        Prior of the probabilities; uniform by default.
    class_weights, inference, rule, classes, n_jobs
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.BinomialNB(trials=10).fit([[1], [2], [7], [9]], list("aabb")).predict([[3]]).tolist()
    ['a']
    """

    def __init__(
        self,
        trials: int | Sequence[int] | Mapping[Hashable, int] | str,
        probability: Beta = Beta(1.0, 1.0),
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.trials = trials
        self.probability = probability

    def _declared_family(self) -> Family:
        return Binomial(self.trials, probability=self.probability)


class PoissonNB(BayesClassifier):
    """Poisson Naive Bayes: a rate per class and count.

    Parameters
    ----------
    rate : "overall" or Gamma
        Prior of the rates; see :class:`bayesppl.Poisson`.
    exposure : str, optional
        Column that holds the exposure of each row.
    class_weights, inference, rule, classes, n_jobs
        See :class:`GenerativeClassifier`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.PoissonNB().fit([[0], [1], [4], [7]], list("aabb")).predict([[1]]).tolist()
    ['a']
    """

    def __init__(
        self,
        rate: str | Gamma = "overall",
        exposure: str | None = None,
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weights=class_weights, inference=inference, rule=rule, classes=classes, n_jobs=n_jobs
        )
        self.rate = rate
        self.exposure = exposure

    def _declared_family(self) -> Family:
        return Poisson(self.rate, self.exposure)
