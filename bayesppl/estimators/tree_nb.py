"""The scikit-learn estimator of columns that depend on each other along trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bayesppl.analysis.edges import edge_probabilities, sample_trees
from bayesppl.estimators.classifier import ask
from bayesppl.estimators.learner import Learner
from bayesppl.families import AveragedTree, Family
from bayesppl.families.find_levels import Levels
from bayesppl.families.levels import Unseen


@dataclass(eq=False, repr=False)
class TreeNB(Learner):
    """Naive Bayes whose columns may depend on each other along a tree, averaged over all trees.

    Parameters
    ----------
    tree : {"common", "per_class"}
        Whether the classes share one tree or have one each.
    prior : "evidence" or float
        How many rows of each class the prior is worth; by default the number of the highest evidence.
    bins : int
        How many bins columns of numbers are cut into.
    levels, unseen
        See :class:`bayesppl.families.AveragedTree`, also for the other parameters.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`. There is no inference but the closed form.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = bp.TreeNB().fit(X, y)
    >>> bool(clf.loo().accuracy[0] > 0.95)
    True
    >>> edges = clf.edge_probabilities()
    >>> edges.sel(column="petal length (cm)", neighbour="petal width (cm)").round(2).item()
    1.0
    """

    tree: Literal["common", "per_class"] = "common"
    prior: str | float = "evidence"
    bins: int = 5
    levels: Levels | None = None
    unseen: Unseen = "missing"

    edge_probabilities = ask(edge_probabilities)
    sample_trees = ask(sample_trees)

    def declare_family(self) -> Family:
        return AveragedTree(self.tree, self.prior, self.bins, self.levels, self.unseen)
