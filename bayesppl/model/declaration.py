"""One declared probability model: class weights times a family, p(y) p(x | y)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayesppl.conjugate import Conjugate, Dirichlet, Fixed, Joint
from bayesppl.conjugate.conjugate import ShapeError
from bayesppl.conjugate.declared_priors import Declared, is_declaration
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.simplices import simplex_prior
from bayesppl.conjugate.statistics import Counts, JointStatistics, Statistics
from bayesppl.data.arguments import as_named, by_name, named_once
from bayesppl.data.labels import one_hot
from bayesppl.data.names import spelled
from bayesppl.data.rows import Rows
from bayesppl.data.table import read_range
from bayesppl.errors import NotConjugateError
from bayesppl.families import closed_forms
from bayesppl.families.family import Evidence, Family
from bayesppl.families.gaps import drawn_statistics, expected_statistics
from bayesppl.kernels.arrays import Array, Responsibilities, Theta, logarithm
from bayesppl.kernels.class_sums import class_counts
from bayesppl.kernels.ranges import Extent, cells_per_row, sum_over_ranges

CLASS_WEIGHTS = "class_weights"
#: Name of the probabilities of the labels that annotators give to rows of each class.
CONFUSION = "confusion"
_PREFIXES = {CLASS_WEIGHTS: "", "features": ""}

ClassWeights = Dirichlet | Declared | str | Sequence[float] | Mapping[Hashable, float] | Array


@dataclass(frozen=True, eq=False)
class Declaration:
    """A family and class weights, before any row was seen."""

    family: Family
    class_weights: ClassWeights

    def bind(self, rows: Rows) -> GenerativeModel:
        """Bind the declaration to the columns and classes of these rows."""
        classes = tuple(rows.classes.tolist())
        if rows.partly is None:
            counted = rows.counted()
            table, members = counted.table, Membership(counted.codes, counted.weights)
        else:  # rows of which nothing is known bring levels, but no class; bins where there are no others
            partly, (table, weights) = rows.partly, rows.whole
            codes, known = np.zeros(len(table), dtype=np.intp), weights.copy()
            codes[partly.known_places], codes[partly.places] = rows.codes, partly.likeliest(len(classes))
            known[partly.places[partly.is_blank]] = 0
            count = np.flatnonzero(weights)
            table = table.take(count)
            members = Membership(codes[count], (known if known.any() else weights)[count])
        return GenerativeModel(self.family.bind(table, classes, members), self.class_weights, classes)


@dataclass(frozen=True, eq=False)
class GenerativeModel:
    """The joint distribution of label and features, with priors on all its parameters.

    Parameters
    ----------
    family : Family
        Class-conditional density, bound to columns and classes.
    class_weights : Dirichlet, "uniform", "empirical", sequence or mapping of probabilities
        Prior of the class weights, or the weights themselves. ``"empirical"`` fixes them at the observed
        frequencies.
    classes : tuple
        Labels in the order of the class axis.
    factors : mapping of str to float
        What hyperparameters of the family's prior are multiplied by, once it is resolved; see
        :func:`bayesppl.analysis.tune.tune`.
    """

    family: Family
    class_weights: ClassWeights
    classes: tuple[Hashable, ...]
    factors: Mapping[str, float] = field(default_factory=dict)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        """The dimension names of every parameter."""
        return {CLASS_WEIGHTS: ("class",), **self.family.bound.dims}

    @property
    def coords(self) -> dict[str, list[Hashable]]:
        """The labels of every dimension."""
        return {"class": list(self.classes), **self.family.bound.coords}

    def with_classes(self, classes: Sequence[Hashable]) -> GenerativeModel:
        """Return the same model for other classes."""
        return replace(self, family=closed_forms.with_classes(self.family, classes), classes=tuple(classes))

    def statistics(self, X: Any, responsibilities: Responsibilities, n_jobs: int | None = None) -> JointStatistics:
        """Sum encoded rows into sufficient statistics, ranges of rows on ``n_jobs`` threads."""
        return sum_over_ranges(
            lambda rows: _with_labels(
                closed_forms.sufficient_statistics(self.family, X[rows], responsibilities[rows]),
                responsibilities[rows],
            ),
            Extent(X.shape[0], cells_per_row(X)),
            n_jobs,
        )

    def share_statistics(
        self, X: Any, shares: Array, theta: Theta | None = None, rng: np.random.Generator | None = None
    ) -> JointStatistics:
        """Sum encoded rows each of which is shared out among the classes.

        Parameters
        ----------
        X : encoded rows
            Sums that cannot be taken over missing cells are taken in expectation over them.
        shares : (n_rows, n_classes)
            Weight with which a row belongs to every class.
        theta : Theta, optional
            Parameters, without draw axes, given which missing cells are expected; by default columns are
            independent.
        rng : numpy.random.Generator, optional
            Draw such cells instead, once for every class.
        """
        if theta is None or rng is None:
            features = expected_statistics(self.family, theta, X, shares)
        else:
            features = drawn_statistics(self.family, theta, X, shares, rng)
        labels = Counts(shares.sum(0), np.zeros(()))
        return JointStatistics({CLASS_WEIGHTS: labels, "features": features}, len(shares))

    def summarise(self, rows: Rows, n_jobs: int | None = None) -> JointStatistics:
        """Sum labelled rows into sufficient statistics.

        They are read a range at a time, so that no encoded copy of all of them is ever held.
        """
        table, codes, weights = rows.table, rows.codes, rows.given_weights

        def take(rows: slice) -> JointStatistics:
            of_rows = None if weights is None else weights[rows]
            responsibilities = one_hot(codes[rows], self.n_classes, of_rows)
            features = read_range(
                table, rows, lambda part: closed_forms.read_statistics(self.family, part, responsibilities)
            )
            return _with_labels(features, responsibilities)

        with rows.naming_rows():
            return sum_over_ranges(take, table.extent, n_jobs)

    def summarise_each(self, rows: Rows) -> JointStatistics:
        """Sum a few rows as :meth:`summarise` does, and track the rounding of the sums.

        Each is summed by itself and added in pairs of numbers, so that it can be taken out again to the last bit,
        with other rows or alone.
        """
        each = one_hot(np.arange(len(rows)), len(rows), rows.given_weights)
        of_rows = _with_labels(closed_forms.read_statistics(self.family, rows.table, each), each)
        return of_rows.of_classes(rows.codes, self.n_classes)

    def prior(self, statistics: JointStatistics) -> Joint:
        """Return the declared prior, with data-dependent defaults resolved from ``statistics``."""
        weights = resolve_class_weights(self.class_weights, statistics.parts[CLASS_WEIGHTS].counts, self.classes)
        features = self._rescaled(self.family.resolve_prior(statistics.parts["features"]))
        return Joint({CLASS_WEIGHTS: weights, "features": features}, _PREFIXES)

    def common_prior_of_features(self, statistics: Statistics) -> Conjugate:
        """Return the prior of one distribution in place of those of the classes, from their ``statistics``."""
        try:
            if self.factors:  # which are those of the prior of the classes: one of more rows would have others
                return closed_forms.of_one_class(self._rescaled(self.family.resolve_prior(statistics)), statistics)
            return closed_forms.common_prior(self.family, statistics)
        except ShapeError:
            raise NotConjugateError(
                "a prior whose hyperparameters differ between classes, or whose parameters are shared, cannot be "
                "the prior of one distribution for all classes, with which they would be compared; declare "
                "parameters of every class and column, with hyperparameters that the classes share"
            ) from None

    def _rescaled(self, prior: Any) -> Any:
        return prior.rescaled(self.factors) if self.factors else prior

    def mle(self, prior: Joint, statistics: JointStatistics) -> Theta:
        """Maximise the likelihood; class weights that are known stay as they are."""
        weights = prior.parts[CLASS_WEIGHTS].mle(statistics.parts[CLASS_WEIGHTS])
        return {**weights, **self.family.mle(statistics.parts["features"])}

    def log_joint(self, theta: Theta) -> LogDensity:
        """Return log p(y = k, x | θ) as a function of encoded rows x; draw axes lead.

        Raises
        ------
        ValueError
            If a parameter is missing, has fewer axes than ``dims`` names, or another length along one of them.
        """
        lengths = {"class": len(self.classes)}
        for name, dims in self.dims.items():
            found = theta.get(name)
            if getattr(found, "ndim", -1) < len(dims):
                shown = f"one of shape {found.shape}" if isinstance(found, np.ndarray) else spelled(found)
                raise ValueError(f"theta[{name!r}] must be an array with the axes {dims}, found {shown}")
            shape = np.shape(theta[name])
            for dim, length in zip(dims, shape[len(shape) - len(dims) :], strict=True):
                if length > 1 and length != lengths.setdefault(dim, length):
                    raise ValueError(
                        f"theta[{name!r}] has the axes {dims} and the shape {shape}: {length} entries along "
                        f"{dim!r}, where {lengths[dim]} are expected"
                    )
        return self.family.log_likelihood(theta).plus(logarithm(theta[CLASS_WEIGHTS])[..., None, :])

    def log_joint_predictive(self, posterior: Joint) -> LogDensity:
        """Return log E[π_k] p(x | y = k, data), all parameters integrated out, as a function of encoded rows x."""
        weights = posterior.parts[CLASS_WEIGHTS].mean()[CLASS_WEIGHTS]
        return closed_forms.log_predictive(self.family, posterior.parts["features"]).plus(logarithm(weights))

    def log_evidence(self, prior: Joint, statistics: JointStatistics) -> dict[str, Evidence]:
        """Return log p(X, y) by its parts: the labels under ``"class_weights"``, then every block of columns."""
        labels = Evidence((), prior.parts[CLASS_WEIGHTS].log_increment(statistics.parts[CLASS_WEIGHTS]))
        blocks = closed_forms.log_evidence(self.family, prior.parts["features"], statistics.parts["features"])
        return {CLASS_WEIGHTS: labels, **{name or "features": value for name, value in blocks.items()}}


def _with_labels(features: Statistics, responsibilities: Responsibilities) -> JointStatistics:
    """Put the statistics of the labels beside those of the features."""
    labels = Counts(class_counts(responsibilities), np.zeros(()))
    return JointStatistics({CLASS_WEIGHTS: labels, "features": features}, responsibilities.shape[0])


def resolve_class_weights(
    declared: ClassWeights, counts: Array, classes: Sequence[Hashable]
) -> Dirichlet | Fixed | Declared:
    """Turn a declaration of class weights into a belief about them.

    Raises
    ------
    ValueError
        If fixed weights are negative, do not sum to one, or do not match the classes.
    """
    n_classes = len(classes)
    if isinstance(declared, Declared):
        return declared
    if is_declaration(declared) or isinstance(declared, Dirichlet):
        return simplex_prior(declared, (n_classes,), parameter=CLASS_WEIGHTS)
    if isinstance(declared, str):
        if declared == "empirical" and not counts.any():
            raise ValueError("class_weights='empirical' needs rows to count, and there are none")
        named = {"uniform": np.full(n_classes, 1 / n_classes), "empirical": counts / (counts.sum() or 1.0)}
        if declared not in named:
            raise ValueError(
                f"class_weights={spelled(declared)} is not known; use 'uniform', 'empirical', a "
                "bayesppl.Dirichlet or probabilities"
            )
        return Fixed(named[declared], CLASS_WEIGHTS)
    declared = by_name(declared)
    if isinstance(declared, Mapping):
        declared = dict(zip(as_named(declared, classes), declared.values(), strict=True))
        named_once(CLASS_WEIGHTS, "class", declared, classes)
        declared = [declared[label] for label in classes]
    try:
        weights = np.asarray(declared, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            "class_weights must be 'uniform', 'empirical', a bayesppl.Dirichlet or a probability for each of "
            f"{list(classes)}, found {spelled(declared)}"
        ) from None
    if weights.shape != (n_classes,) or not (weights >= 0).all() or not np.isclose(weights.sum(), 1.0):
        raise ValueError(
            f"class_weights must be {n_classes} probabilities that sum to one (one per class, in the order "
            f"{list(classes)}), found {weights.tolist()}"
        )
    return Fixed(weights / weights.sum(), CLASS_WEIGHTS)


def class_weights_in_use(
    declared: ClassWeights | None, counts: Array, classes: Sequence[Hashable]
) -> Array | None:
    """Return the class weights where predictions are used, (n_classes,); None where they are those of the fit."""
    if declared is None:
        return None
    return np.asarray(resolve_class_weights(declared, counts, classes).mean()[CLASS_WEIGHTS])
