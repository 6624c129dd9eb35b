"""Rows whose class is not known: completed by the probabilities of the classes given the features."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy.special import logsumexp

from bayesppl.conjugate import Dirichlet, Fixed, Joint, NormalInverseWishart
from bayesppl.conjugate.statistics import Counts, JointStatistics
from bayesppl.data.partly_known import PartlyKnown, Votes
from bayesppl.data.rows import Rows
from bayesppl.errors import ImproperError, NotConjugateError, UndefinedEstimateError, rows_at
from bayesppl.families.gaps import have_gaps
from bayesppl.families.mixture import Mixture
from bayesppl.inference.augmentation import Augmentation, Completion, Incomplete, search_start
from bayesppl.inference.mixture_start import search_components
from bayesppl.kernels.arrays import Array, Theta, draw_codes, draw_shares, logarithm
from bayesppl.kernels.ranges import Extent, cells_per_row, row_ranges, sum_over_ranges
from bayesppl.model.declaration import CLASS_WEIGHTS, CONFUSION, GenerativeModel
from bayesppl.model.training_rows import encoded


@dataclass(frozen=True, eq=False)
class UnknownClasses(Augmentation):
    """Rows of unknown class; the class of each is independent of the others' given the parameters.

    Attributes
    ----------
    model : GenerativeModel
    X : encoded rows
        Indexed by ranges of rows.
    weights : (n_rows,)
        A row of whole weight w is w rows, each with a class of its own. By Gibbs sampling a fraction of a row has
        one class that counts as that fraction, which approximates the density to that power.
    log_prior : (n_rows, n_classes), optional
    votes : Votes, optional
        See :class:`~bayesppl.data.partly_known.PartlyKnown`.
    """

    model: GenerativeModel
    X: Any
    weights: Array
    log_prior: Array | None
    votes: Votes | None = None

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return int(self.X.shape[0])

    @property
    def total_weight(self) -> float:  # type: ignore[override]
        return float(self.weights.sum())

    @property
    def cells_per_row(self) -> int:  # type: ignore[override]
        return max(cells_per_row(self.X), self.model.n_classes)

    def shares(self, theta: Theta) -> Callable[[slice], tuple[Any, Array, float]]:
        """Return a function of a range that finds its rows, their class probabilities, and their log density."""
        log_joint = self.model.log_joint(theta)
        log_errors = None if self.votes is None else logarithm(theta[CONFUSION])

        def find(rows: slice) -> tuple[Any, Array, float]:
            X = self.X[rows]
            found = log_joint(X)
            if self.log_prior is not None:
                found += self.log_prior[rows]
            if self.votes is not None and log_errors is not None:
                of_rows, annotators, labels = self.votes.within(rows)
                np.add.at(found, of_rows, log_errors[annotators, :, labels])
            largest = found.max(1)
            impossible = np.isneginf(largest)
            found -= np.where(impossible, 0.0, largest)[:, None]
            np.exp(found, out=found)
            # a row that no class explains is completed by the class weights
            found[impossible] = theta[CLASS_WEIGHTS]
            total = found.sum(1)
            found /= total[:, None]
            count = self.weights[rows] > 0  # those that do not may be impossible
            return X, found, float(self.weights[rows][count] @ (largest + np.log(total))[count])

        return find

    def expect(self, theta: Theta) -> Callable[[slice], Completion]:
        find = self.shares(theta)

        def complete(rows: slice) -> Completion:
            X, shares, log_density = find(rows)
            shares *= self.weights[rows, None]
            statistics = self.model.share_statistics(X, shares, theta)
            return Completion(self.with_votes(statistics, rows, shares), log_density)

        return complete

    def draw(self, theta: Theta) -> Callable[[slice, np.random.Generator], Completion]:
        find = self.shares(theta)

        def complete(rows: slice, rng: np.random.Generator) -> Completion:
            X, shares, log_density = find(rows)
            drawn = draw_shares(shares, self.weights[rows], rng)
            statistics = self.model.share_statistics(X, drawn, theta, rng)
            return Completion(self.with_votes(statistics, rows, drawn), log_density)

        return complete

    def with_votes(self, statistics: JointStatistics, rows: slice, shares: Array) -> JointStatistics:
        """Add the statistics of the votes on the rows: how often annotators gave rows of a class each label."""
        if self.votes is None:
            return statistics
        of_rows, annotators, labels = self.votes.within(rows)
        counts = np.zeros(self.votes.errors.shape)
        by_vote: Any = (annotators, slice(None), labels)
        np.add.at(counts, by_vote, shares[of_rows])
        return _with_part(statistics, Counts(counts, np.zeros(())))


def _told(partly: PartlyKnown, n_classes: int) -> Array:
    """Return the probabilities of the classes of rows by their labels alone; zeros for rows that have none."""
    log_told = np.zeros((len(partly), n_classes)) if partly.log_prior is None else partly.log_prior.copy()
    votes = partly.votes
    if votes is not None and (
        votes.are_known or len(votes.names) == 1
    ):  # of one vote a row the share tells nothing
        log_errors = logarithm(votes.errors / votes.errors.sum(-1, keepdims=True))
        np.add.at(log_told, votes.rows, log_errors[votes.annotators, :, votes.labels])
    elif votes is not None:
        shares = np.zeros_like(log_told)
        np.add.at(shares, (votes.rows, votes.labels), 1.0)
        log_told[votes.rows] += logarithm(shares[votes.rows])
    told = np.exp(log_told - logsumexp(log_told, axis=1, keepdims=True))
    told[(log_told == log_told[:, :1]).all(1)] = 0.0
    return told


def _one_vote_each(told: Array, rng: np.random.Generator) -> Array:
    """Return probabilities of classes where one vote on each row, drawn at random, counts nine times all."""
    drawn = np.eye(told.shape[1])[draw_codes(told, rng)]
    return np.where(told.any(1, keepdims=True), 0.9 * drawn + 0.1 * told, 0.0)


def _with_part(statistics: JointStatistics, counts: Counts) -> JointStatistics:
    return replace(statistics, parts={**statistics.parts, CONFUSION: counts})


def require_conjugate(prior: Joint) -> None:
    """Refuse to complete rows under a prior that has no update.

    Raises
    ------
    NotConjugateError
    """
    for prefix, part in prior.leaves():
        if not part.has_closed_form:
            names = " and ".join(repr(prefix + name) for name in part.declarations)
            raise NotConjugateError(
                f"the prior of {names} is declared in PyMC, and rows known only in part (without a label or with "
                "one in doubt, or without cells that others depend on) are completed under conjugate priors only. "
                "Use one where the family has one, as bayesppl.NormalInverseWishart of correlated numbers; or "
                "leave such rows out (those without a label by unlabelled='drop'), and fit the others with "
                "inference='nuts'"
            )


def _require_density(belief: Joint) -> None:
    """Refuse improper covariances, by whose density steps are compared.

    Raises
    ------
    ImproperError
    """
    for _, part in belief.leaves():
        if isinstance(part, NormalInverseWishart) and not part.is_proper().all():
            raise ImproperError(
                "rows known only in part (without a label or with one in doubt, or without cells that others "
                "depend on) are completed under a prior that is proper beside the rows that are known, and this "
                "one is not: use the default prior, prior='fraley-raftery', or one of your own"
            )


def incomplete(
    model: GenerativeModel, known: JointStatistics, rows: Rows, restarts: int, seed: int | None
) -> Incomplete:
    """Set up a fit in which some rows have no label.

    Priors that depend on the data are resolved from the rows that have one. Where a label is in doubt or a cell
    missing, all rows are completed first, by a short run of EM with the prior resolved anew in every step; where
    some class has no label, by the best of ``restarts`` such runs from random places.

    Parameters
    ----------
    model : GenerativeModel
    known : JointStatistics
        Of the rows that have a label.
    rows : Rows
        With those that have none.
    restarts : int
    seed : int or None
        Of the random places.
    """
    partly = rows.partly
    assert partly is not None
    with rows_at(partly.places.__getitem__):
        X = encoded(model.family, partly.table)
    augmentation = UnknownClasses(model, X, partly.weights, partly.log_prior, partly.votes)
    extra: dict[str, Any] = {}
    if partly.votes is not None:
        make = Fixed if partly.votes.are_known else Dirichlet
        extra = {CONFUSION: make(partly.votes.errors, parameter=CONFUSION)}
        known = _with_part(known, Counts(np.zeros_like(partly.votes.errors), np.zeros(())))

    def prior_of(statistics: JointStatistics) -> Joint:
        prior = model.prior(statistics)
        return replace(
            prior, parts={**prior.parts, **extra}, prefixes={**prior.prefixes, **dict.fromkeys(extra, "")}
        )

    ranges = row_ranges(len(partly), augmentation.cells_per_row)

    def completed(shares: Array) -> JointStatistics:
        shares = shares * partly.weights[:, None]

        def complete(at: slice) -> JointStatistics:
            return augmentation.with_votes(model.share_statistics(X[at], shares[at]), at, shares[at])

        return cast(JointStatistics, sum_over_ranges(complete, Extent(len(partly), augmentation.cells_per_row)))

    first: JointStatistics = known
    elsewhere: Callable[[np.random.Generator], JointStatistics] | None = None
    if partly.log_prior is not None or partly.votes is not None:
        told = _told(partly, model.n_classes)
        first = known + completed(told)
        if partly.votes is not None and len(partly.votes.names) > 1:

            def elsewhere(rng: np.random.Generator) -> JointStatistics:
                return known + completed(_one_vote_each(told, rng))

    def from_first() -> JointStatistics:
        return search_start(prior_of, known, augmentation, lambda _: first, 1, np.random.default_rng(seed))

    empty = np.flatnonzero(first.parts[CLASS_WEIGHTS].counts == 0)
    even, begun = np.full((len(partly), model.n_classes), 1 / model.n_classes), first
    family, common = model.family, prior_of(known + completed(even) if len(empty) else begun)
    require_conjugate(common)
    if isinstance(family, Mixture):
        told = _told(partly, model.n_classes) * (partly.weights > 0)[:, None]
        told[:, ~told.any(0)] = 1.0  # of a class without labels any row may be
        first = search_components(model, prior_of, known, augmentation, X, told, common, restarts, seed)
    elif len(empty):

        def seeds(rng: np.random.Generator) -> JointStatistics:
            """Complete all rows, each by the class it is closest to: its known rows, or one drawn at random."""
            chosen = np.zeros_like(even)
            chosen[rng.choice(len(partly), len(empty), replace=len(partly) < len(empty)), empty] = 1.0
            theta = common.update(begun + completed(chosen)).mean()
            density = model.family.log_likelihood(theta)
            codes = np.concatenate([density(X[at]).argmax(1) for at in ranges])
            return known + completed(np.eye(model.n_classes)[codes])

        first = search_start(prior_of, known, augmentation, seeds, restarts, np.random.default_rng(seed))
    elif any(have_gaps(model.family, X[at]).any() for at in ranges):
        first = from_first()
    elif partly.is_in_doubt and common.is_proper().all():
        with suppress(UndefinedEstimateError):  # of trees, which have no mean
            found = from_first()
            theta = common.update(first).mean()
            if common.log_prob(theta) != prior_of(found).log_prob(theta):  # it depends on the rows
                first = found
    dims: dict[str, tuple[str, ...]] = {CONFUSION: ("annotator", "class", "given_label")} if extra else {}
    record = {} if partly.votes is None else {"annotators": tuple(map(str, partly.votes.names))}
    prior = prior_of(first)
    _require_density(prior.update(known))
    return Incomplete(model, prior, known, augmentation, first, dims, record, elsewhere)
