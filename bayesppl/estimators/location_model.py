"""The location model as a scikit-learn estimator. No mathematics lives here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bayesppl.conjugate import Dirichlet, MatrixNormalInverseWishart
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.families import ConditionalGaussian, Family
from bayesppl.families._bases.find_levels import Levels
from bayesppl.families._bases.infer_families import Integers
from bayesppl.families._bases.levels import Unseen
from bayesppl.families.conditional_gaussian import CategoryTables


@dataclass(eq=False, repr=False)
class LocationModel(BayesClassifier):
    """Categories, and beside them correlated numbers whose mean depends on the categories.

    Columns are told apart by their dtypes: text, categories and Booleans are categories, floating-point columns numbers.

    Parameters
    ----------
    covariance, table, prior, probability, levels, unseen, integers, categories
        See :class:`bayesppl.ConditionalGaussian`.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.

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

    def declare_family(self) -> Family:
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
