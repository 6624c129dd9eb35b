r"""Normal columns that depend on each other along a tree, averaged over all trees.

.. math:: x \mid y = k, T \sim N(\mu_k, \Sigma_k), \qquad (\Sigma_k^{-1})_{uv} = 0 \text{ unless } uv \in T,

with normal–inverse-Wishart priors of columns and of pairs whose margins agree. The sum over trees is a
determinant, as for levels: see :mod:`bayesppl.conjugate.tree_normals`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from bayesppl.conjugate.correlated_normals import log_density_of_vectors
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.moments import Moments, NumberRows
from bayesppl.conjugate.tree_normals import TreeNormals, covariances_along
from bayesppl.families.bound import NumberColumns
from bayesppl.families.covariance_prior import hierarchy
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import Missing, OfColumns
from bayesppl.families.support import require_finite_sums
from bayesppl.families.trees import TreeFamily, require_few_columns
from bayesppl.kernels.arrays import Array, Theta


@final
@dataclass(frozen=True, eq=False)
class GaussianTree(OfColumns, TreeFamily):
    """Gaussian columns that depend on each other along a tree, averaged over all trees exactly.

    Parameters
    ----------
    tree : {"common", "per_class"}
        Whether the classes share one tree, with covariances of their own along its edges, or have one each.
    prior : "evidence" or float
        How many rows of each class the prior is worth, which expects independent columns with the variances within
        the classes; by default the number of the highest evidence. The means shrink towards that of all rows as
        those of :class:`bayesppl.LinearDiscriminantAnalysis` do.

    Notes
    -----
    Trees have equal prior probabilities. All cells must be there, in fits and predictions: without a column that
    others depend on, the average over trees has no closed form. Of p columns a class has 2p − 1 parameters of
    spread, where :class:`bayesppl.QuadraticDiscriminantAnalysis` has p (p + 1) / 2. Time and memory grow as those
    of :class:`AveragedTree`.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> clf = bp.GenerativeClassifier(bp.families.GaussianTree()).fit(*load_iris(return_X_y=True))
    >>> bool(clf.loo().accuracy[0] > 0.95)
    True
    """

    name: ClassVar[str] = "gaussian_tree"
    missing: ClassVar[Missing] = "refused"

    @cached_property
    def bound(self) -> NumberColumns:
        cells = ("class", "feature")
        dims = {"edge": self.edge_dims, "mean": cells, "variance": cells, "covariance": ("class", "pair")}
        pairs: list[Hashable] = [f"{a}, {b}" for j, b in enumerate(self.columns) for a in self.columns[:j]]
        return NumberColumns(self, dims, is_separate=False, other_coords={"pair": pairs})

    def rows(self, X: Array) -> NumberRows:
        return NumberRows(X, True, False, self.columns)

    def priors(self, statistics: Moments) -> Callable[[float], TreeNormals]:
        require_few_columns(len(self.columns))
        require_finite_sums(statistics.scatter, self.columns, "sum of squares")
        found, n_classes = hierarchy(statistics, True, self.columns), len(statistics.count)
        location, kappa = np.tile(found.location, (n_classes, 1)), np.full(n_classes, found.kappa)
        variances = np.tile(np.diag(found.sd**2), (n_classes, 1, 1))

        def worth(strength: float) -> TreeNormals:
            dof = np.full(n_classes, strength)
            return TreeNormals(
                self.even_weights(n_classes), location, kappa, dof, strength * variances, hierarchy=found
            )

        return worth

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return log_density_of_vectors(theta["mean"], covariances_along(theta), False)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        mean, root = theta["mean"][codes], np.linalg.cholesky(covariances_along(theta))
        return mean + np.einsum("nij,nj->ni", root[codes], rng.standard_normal(mean.shape))
