"""scikit-learn estimators of Naive Bayes: one line each over a family. No mathematics lives here."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesppl.conjugate import Beta, Dirichlet, Gamma, NormalInverseGamma
from bayesppl.errors import warn
from bayesppl.estimators.classifier import KEEP_FLOAT32
from bayesppl.estimators.learner import Learner
from bayesppl.families import (
    Bernoulli,
    Binomial,
    Categorical,
    DirichletMultinomial,
    Family,
    Gaussian,
    JointCategorical,
    Multinomial,
    Poisson,
)
from bayesppl.families.find_levels import Levels
from bayesppl.families.level_columns import Unseen
from bayesppl.kernels.arrays import Array
from bayesppl.model.learned import Learned

# Most different numbers that somebody may mean as levels, however few the rows.
_FEW_NUMBERS = 20


def _warn_of_measurements(clf: CategoricalNB, learned: Learned) -> None:
    """Warn of fractional numbers that were taken for levels, hardly one of which occurs twice."""
    n_rows = learned.class_count.sum()
    for name, levels in learned.model.family.bound.levels_of_columns.items():
        if clf.levels is None and isinstance(levels[0], float) and len(levels) > max(_FEW_NUMBERS, n_rows / 2):
            warn(
                f"column {name!r} holds {len(levels)} different fractional numbers in {n_rows:g} rows: as levels "
                "they hold no information about new rows. Model measurements with bayesppl.MixedNB or "
                "bayesppl.GaussianNB, or put them into bins",
                UserWarning,
            )


@dataclass(eq=False, repr=False)
class CategoricalNB(Learner):
    """Categorical Naive Bayes: a probability per class, feature and level.

    Parameters
    ----------
    probability, levels, unseen
        See :class:`bayesppl.Categorical`.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [["red", "S"], ["red", "M"], ["blue", "M"], ["blue", None]]
    >>> bp.CategoricalNB().fit(X, list("aabb")).predict([["red", None]]).tolist()
    ['a']
    """

    probability: Dirichlet = Dirichlet(1.0)
    levels: Levels | None = None
    unseen: Unseen = "missing"

    _checks = (_warn_of_measurements,)

    def _declare_family(self) -> Family:
        return Categorical(self.probability, self.levels, self.unseen)

    @property
    def category_count_(self) -> list[Array]:
        """Return the total weight of each class with each level: (n_classes, n_levels) for every feature.

        Levels are in the order of the dimension "cell" of ``estimates()``, ascending where they are not declared.
        The cell of values that did not occur is left out.
        """
        family: Any = self.fitted_.model.family
        sizes = [len(levels) for levels in family.outcomes]
        tables = np.split(_sums(self).counts, np.cumsum(sizes)[:-1], axis=1)
        return tables if family.levels is not None else [table[:, :-1] for table in tables]


@dataclass(eq=False, repr=False)
class JointCategoricalNB(Learner):
    """Several discrete features with their full joint table per class.

    Only the columns of different blocks of a :class:`MixedNB` are independent given the class; these are not.

    Parameters
    ----------
    probability, levels, unseen
        See :class:`bayesppl.families.JointCategorical`.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]], [0, 1, 1, 0]
    >>> bp.JointCategoricalNB().fit(X, y).predict(X).tolist()
    [0, 1, 1, 0]
    """

    probability: Dirichlet = Dirichlet(1.0)
    levels: Levels | None = None
    unseen: Unseen = "missing"

    def _declare_family(self) -> Family:
        return JointCategorical(self.probability, self.levels, self.unseen)


@dataclass(eq=False, repr=False)
class MultinomialNB(Learner):
    """Multinomial Naive Bayes: counts of words, or of anything else.

    Parameters
    ----------
    probability
        See :class:`bayesppl.Multinomial`.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [[3, 0, 1], [2, 1, 0], [0, 2, 2], [1, 0, 4]], list("aabb")
    >>> bp.MultinomialNB().fit(X, y).predict([[2, 0, 0]]).tolist()
    ['a']
    """

    probability: str | Dirichlet = Dirichlet(1.0)

    def _declare_family(self) -> Family:
        return Multinomial(self.probability)

    @property
    def feature_count_(self) -> Array:
        """Return the weighted sum of each feature over the rows of each class: (n_classes, n_features)."""
        return np.array(_sums(self).counts)


@dataclass(eq=False, repr=False)
class DirichletMultinomialNB(Learner):
    """Naive Bayes for texts: counts of words that come in bursts, in documents of any length.

    Parameters
    ----------
    probability, concentration
        See :class:`bayesppl.families.DirichletMultinomial`.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [[3, 0, 1], [2, 1, 0], [0, 2, 2], [1, 0, 4]], list("aabb")
    >>> bp.DirichletMultinomialNB().fit(X, y).predict([[2, 1, 0]]).tolist()
    ['a']
    """

    probability: str | Dirichlet = "overall"
    concentration: float = 60.0

    def _declare_family(self) -> Family:
        return DirichletMultinomial(self.probability, self.concentration)


@dataclass(eq=False, repr=False)
class GaussianNB(Learner):
    """Gaussian Naive Bayes: a mean and a variance per class and feature.

    Parameters
    ----------
    prior : str or NormalInverseGamma
        See :func:`bayesppl.Gaussian`.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], [0, 0, 1, 1]).predict([[0.2]]).tolist()
    [0]
    """

    prior: str | NormalInverseGamma = "hierarchical"

    _finish = KEEP_FLOAT32

    def _declare_family(self) -> Family:
        return Gaussian("diag", self.prior)


@dataclass(eq=False, repr=False)
class BernoulliNB(Learner):
    """Bernoulli Naive Bayes: a probability per class and binary feature.

    Parameters
    ----------
    probability : "overall" or Beta
        See :class:`bayesppl.Bernoulli`; uniform by default.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.BernoulliNB().fit([[1, 0], [1, 1], [0, 1], [0, 0]], list("aabb")).predict([[1, 0]]).tolist()
    ['a']
    """

    probability: str | Beta = Beta(1.0, 1.0)

    def _declare_family(self) -> Family:
        return Bernoulli(self.probability)

    @property
    def feature_count_(self) -> Array:
        """Return the total weight of each class in which each feature is one: (n_classes, n_features)."""
        return np.array(_sums(self).successes)


@dataclass(eq=False, repr=False)
class BinomialNB(Learner):
    """Binomial Naive Bayes: a success probability per class and feature, numbers of trials known.

    Parameters
    ----------
    trials : int, sequence of int, mapping of column to int, or str
        Numbers of trials, or the column that holds them; see :class:`bayesppl.Binomial`.
    probability : "overall" or Beta
        See :class:`bayesppl.Bernoulli`; uniform by default.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.BinomialNB(trials=10).fit([[1], [2], [7], [9]], list("aabb")).predict([[3]]).tolist()
    ['a']
    """

    trials: int | Sequence[int] | Mapping[Hashable, int] | str
    probability: str | Beta = Beta(1.0, 1.0)

    def _declare_family(self) -> Family:
        return Binomial(self.trials, probability=self.probability)


@dataclass(eq=False, repr=False)
class PoissonNB(Learner):
    """Poisson Naive Bayes: a rate per class and count.

    Parameters
    ----------
    rate : "overall" or Gamma
        Prior of the rates; see :class:`bayesppl.Poisson`.
    exposure : str, optional
        Column that holds the exposure of each row.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.PoissonNB().fit([[0], [1], [4], [7]], list("aabb")).predict([[1]]).tolist()
    ['a']
    """

    rate: str | Gamma = "overall"
    exposure: str | None = None

    def _declare_family(self) -> Family:
        return Poisson(self.rate, self.exposure)


def _sums(clf: Learner) -> Any:
    """Return the sums over the rows of the fit."""
    return clf.fitted_.learned.statistics.parts["features"]
