r"""Mixtures within a class: each class has several components, each with a density of the same family.

.. math:: p(x \mid y = k, \theta) = \sum_{c=1}^{C} w_{kc}\, q(x \mid \theta_{kc}), \qquad
   w_k \sim \mathrm{Dirichlet}(\alpha / C, \ldots, \alpha / C).

(Hastie & Tibshirani 1996, "Discriminant analysis by Gaussian mixtures".) The components of all classes are what
the family q takes for classes. Nobody knows the component of a row; once it is known the family is conjugate, so
that rows are completed by it (:mod:`bayesppl.inference.augmentation`). With α = 1 a class leaves components that
it does not need empty (Rousseau & Mengersen 2011).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self, final

import numpy as np
from scipy.special import logsumexp

from bayesppl.conjugate import Dirichlet, Joint
from bayesppl.conjugate.averaged_trees import AveragedTrees
from bayesppl.conjugate.joint import of_classes_apart
from bayesppl.conjugate.log_density import Evaluate, LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.row_statistics import refuse_closed_form
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.arguments import real, whole
from bayesppl.data.table import Table
from bayesppl.errors import NotConjugateError
from bayesppl.families.bound import JointColumns
from bayesppl.families.components import (
    COMPONENT,
    COMPONENT_WEIGHT,
    Allocated,
    AllocatedRows,
    component_labels,
)
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily, Family, require_family
from bayesppl.families.support import ANYTHING, Support
from bayesppl.kernels.arrays import Array, Theta, draw_codes, logarithm


@final
@dataclass(frozen=True, eq=False)
class Mixture(Family):
    """Several components within each class, each with a density of a conjugate family.

    A posterior in closed form does not exist, for nobody knows the component of a row: fit it with
    ``inference="em"``, which finds a mode, or ``"gibbs"``, which draws. Components have no order: chains may
    number them differently, which changes no prediction, but averages of their parameters over chains mean
    nothing. Convergence is judged by what the numbers of components do not change: the class weights, what
    components share, and ``lp``, the log density of rows and parameters.

    Parameters
    ----------
    family : ConjugateFamily
        Of each component; a prior that depends on the data treats the components of all classes as classes.
    components : int
        Of every class; as many at most, for those that a class does not need are left empty.
    concentration : float
        How many rows the prior of the weights of a class is worth, in equal parts of its components. 1 leaves
        superfluous components empty; as many as there are components is uniform on their simplex.

    Raises
    ------
    NotConjugateError
        By a fit with another inference, in batches, or of a family that is not conjugate; by leave-one-out and
        evidence.

    References
    ----------
    Hastie, T. & Tibshirani, R. (1996). Discriminant analysis by Gaussian mixtures. Journal of the Royal
    Statistical Society B 58, 155-176.

    Examples
    --------
    Class "a" lies on both sides of "b":

    >>> import bayesppl as bp
    >>> X = [[0.0], [0.3], [0.1], [8.0], [8.2], [7.9], [4.0], [4.3], [3.9], [4.1]]
    >>> clf = bp.GenerativeClassifier(bp.Mixture(bp.Gaussian(), 2), inference="em").fit(X, list("aaaaaabbbb"))
    >>> clf.predict([[0.2], [4.2], [8.1]]).tolist()
    ['a', 'b', 'a']
    """

    name: ClassVar[str] = "mixture"
    support: ClassVar[Support] = ANYTHING
    has_pymc_model: ClassVar[bool] = False
    _no_closed_form: ClassVar[str] = (
        "nobody knows the component of a row, so that the {} family has no evidence and no leave-one-out in "
        "closed form. Its predictions are those of inference='gibbs' or 'em'; compare them by held-out rows."
    )

    family: Family
    components: int
    concentration: float = 1.0

    #: The family, bound to the components of all classes; known once bound.
    inner: Any = field(default=None, kw_only=True, repr=False)
    classes: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)

    @cached_property
    def bound(self) -> JointColumns:
        within = self.inner.bound
        dims = {
            parameter: tuple(COMPONENT if dim == "class" else dim for dim in of)
            for parameter, of in within.dims.items()
        }
        labels = component_labels(self.classes, self.components)
        return JointColumns(within, self.name, {**dims, COMPONENT_WEIGHT: (COMPONENT,)}, {COMPONENT: list(labels)})

    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        if not isinstance(require_family(self.family), ConjugateFamily):
            raise NotConjugateError(
                f"Mixture takes a conjugate family, and the {self.family.name} family is none: its components "
                "cannot be completed by draws in closed form. Use one such as bayesppl.Gaussian"
            )
        whole("Mixture: components", self.components, 1)
        real("Mixture: concentration", self.concentration, "be positive", lambda value: value > 0)
        labels = component_labels(classes, self.components)
        first = None if members is None else Membership(members.codes * self.components, members.weights)
        family = self.family if self.inner is None else self.inner
        return replace(self, inner=family.bind(table, labels, first), classes=tuple(classes))

    def resolve_prior(self, statistics: JointStatistics) -> Joint:
        concentration = np.full(len(self.classes) * self.components, self.concentration / self.components)
        of_components = self.inner.resolve_prior(statistics.parts[COMPONENT])
        if self.components > 1:
            # components that were begun at random are alike, and would be held to be
            of_components = of_classes_apart(of_components)
        parts = {
            COMPONENT: of_components,
            COMPONENT_WEIGHT: Dirichlet(
                concentration, (self.components,) * len(self.classes), parameter=COMPONENT_WEIGHT
            ),
        }
        prior = Joint(parts, dict.fromkeys(parts, ""))
        if any(isinstance(part, AveragedTrees) for _, part in prior.leaves()):
            raise NotConjugateError(
                "Mixture takes no trees: the search for components goes from mean to mean of the parameters, and "
                "the mean of several trees is no tree. Use components of another family, such as "
                "bayesppl.Categorical or bayesppl.Gaussian, or trees without components"
            )
        return prior

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return self.over_components(self.inner.log_likelihood(theta), theta[COMPONENT_WEIGHT])

    def over_components(self, density: LogDensity, weights: Array) -> LogDensity:
        """Sum the densities of components, times their weights (..., n_components), within each class."""

        def summed(evaluate: Evaluate) -> Evaluate:
            return lambda X: np.asarray(logsumexp(self._by_class(evaluate(X)), axis=-1))

        return density.plus(logarithm(weights)[..., None, :]).map(summed)

    def shares(self, theta: Theta | None, X: Any) -> Array:
        """Return probabilities of components within each class, given the row: (n_rows, n_classes, components)."""
        if theta is None:
            return np.full((X.shape[0], len(self.classes), self.components), 1 / self.components)
        log_weights = logarithm(theta[COMPONENT_WEIGHT])
        found = self.by_component(theta, X) + self._by_class(log_weights)
        # a row that no component explains is completed by the weights
        found = np.where(np.isneginf(found).all(-1, keepdims=True), self._by_class(log_weights), found)
        found = np.exp(found - found.max(-1, keepdims=True))
        return np.asarray(found / found.sum(-1, keepdims=True))

    def by_component(self, theta: Theta, X: Any) -> Array:
        """Return the log densities of rows in every component: (n_rows, n_classes, components)."""
        return self._by_class(self.inner.log_likelihood(theta)(X))

    def allocate(self, theta: Theta | None, X: Any, codes: Array, rng: np.random.Generator) -> Array:
        """Draw the component of every row within its class, (n_rows,); in turn where no parameters are known."""
        if theta is None:
            return np.arange(X.shape[0]) % self.components
        return draw_codes(self.shares(theta, X)[np.arange(X.shape[0]), codes], rng)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Any:
        drawn = draw_codes(self._by_class(theta[COMPONENT_WEIGHT])[codes], rng)
        return self.inner.simulate(theta, codes * self.components + drawn, rng, covariates)

    def rows(self, X: Any) -> AllocatedRows:
        if not isinstance(X, Allocated):
            X = Allocated(X, np.full(X.shape[0], -1))
        return AllocatedRows(self.inner.rows(X.X), X.components, self.components)

    def mle(self, statistics: JointStatistics) -> Theta:
        weights = self.resolve_prior(statistics).parts[COMPONENT_WEIGHT].mle(statistics.parts[COMPONENT_WEIGHT])
        return {**self.inner.mle(statistics.parts[COMPONENT]), **weights}

    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> NoReturn:
        refuse_closed_form("component")

    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> NoReturn:
        refuse_closed_form("component")

    def _by_class(self, values: Array) -> Array:
        """Reshape values of all components, (..., n_components), to (..., n_classes, components)."""
        return values.reshape(*values.shape[:-1], len(self.classes), self.components)
