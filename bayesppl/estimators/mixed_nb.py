"""The estimators of tables of numbers and levels: blocks of columns with a family each, and trees of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from bayesppl.analysis.edges import edge_probabilities, sample_trees
from bayesppl.analysis.evidence import column_choice
from bayesppl.data.arguments import one_of
from bayesppl.estimators.classifier import ask
from bayesppl.estimators.learner import Learner
from bayesppl.families import AveragedTree, Family, GaussianTree, Product
from bayesppl.families.choosing.infer_families import Integers
from bayesppl.families.composite import Blocks
from bayesppl.families.find_levels import Levels
from bayesppl.families.level_columns import Unseen
from bayesppl.families.product import Pick

if TYPE_CHECKING:
    import xarray as xr


@dataclass(eq=False, repr=False)
class MixedNB(Learner):
    """Blocks of columns of different kinds, independent given the class.

    Parameters
    ----------
    blocks : mapping of str to (columns, family), optional
        Picked from the dtypes of the columns by default. See :class:`bayesppl.Product`.
    integers : {"gaussian", "poisson", "categorical"} or mapping of columns to these, optional
        What integer columns are, all of them or each by name, where the blocks are picked from dtypes.
    columns : {"dtype", "evidence"}
        Whether the density of each column is picked from its dtype, or is the one of the highest evidence on the
        training rows.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        What becomes of rows without a label, and how far labels may be wrong; see there.

    Attributes
    ----------
    families_ : dict of str to (columns, family)
        The blocks of the fit.
    columns_ : xarray.Dataset
        With ``columns="evidence"``: what was tried for each column, what was chosen, and by how much.

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

    blocks: Blocks | None = None
    integers: Integers | None = None
    columns: Pick = "dtype"

    @property
    def columns_(self) -> xr.Dataset:
        """Return the densities that were tried for each column: log evidence, choice and margin."""
        return column_choice(cast(Product, self.fitted_.model.family).choice)

    @property
    def families_(self) -> Blocks:
        """Return the blocks of the fit: name → (columns, family)."""
        return dict(cast(Product, self.fitted_.model.family).blocks or {})

    def _declare_family(self) -> Family:
        return Product(self.blocks, self.integers, self.columns)


@dataclass(eq=False, repr=False)
class TreeNB(Learner):
    """Naive Bayes whose columns may depend on each other along a tree, averaged over all trees.

    Parameters
    ----------
    tree : {"common", "per_class"}
        Whether the classes share one tree or have one each.
    prior : "evidence" or float
        How many rows of each class the prior is worth; by default the number of the highest evidence.
    numbers : {"bins", "gaussian"}
        Whether columns of numbers are cut into bins, or are normal: see :class:`bayesppl.families.GaussianTree`,
        where all columns are numbers.
    bins : int
        How many bins columns of numbers are cut into.
    levels, unseen
        See :class:`bayesppl.families.AveragedTree`, also for the other parameters.
    class_weights, inference, rule, classes, n_jobs, calibration, tuning
        See :class:`GenerativeClassifier`. Beside the closed form there is ``inference="gibbs"``, for labels in
        doubt.
    unlabelled, unlabelled_label, unlabelled_weight, label_noise
        See :class:`GenerativeClassifier`. Trees do not learn from rows without a label, but these can be dropped.

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
    numbers: Literal["bins", "gaussian"] = "bins"
    bins: int = 5
    levels: Levels | None = None
    unseen: Unseen = "missing"

    edge_probabilities = ask(edge_probabilities)
    sample_trees = ask(sample_trees)

    def _declare_family(self) -> Family:
        one_of("numbers", self.numbers, ("bins", "gaussian"))
        if self.numbers == "bins":
            return AveragedTree(self.tree, self.prior, self.bins, self.levels, self.unseen)
        if self.levels is not None:
            raise ValueError("levels= declares columns that are no numbers; use numbers='bins', or drop them")
        return GaussianTree(self.tree, self.prior)
