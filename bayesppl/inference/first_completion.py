"""A fit to rows that are known only in part: its prior, and how these rows are completed first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy.special import logsumexp

from bayesppl.conjugate import Conjugate, Dirichlet, Fixed, Joint
from bayesppl.conjugate.joint import of_classes_apart
from bayesppl.conjugate.statistics import Counts, JointStatistics
from bayesppl.data.partly_known import PartlyKnown
from bayesppl.data.rows import Rows
from bayesppl.errors import ImproperError, NotConjugateError, UndefinedEstimateError, rows_at
from bayesppl.families.closed_forms import for_any_class
from bayesppl.families.gaps import have_gaps
from bayesppl.families.mixture import Mixture
from bayesppl.inference.augmentation import Incomplete, search_start
from bayesppl.inference.mixture_start import search_components
from bayesppl.inference.unknown_classes import UnknownClasses, with_part
from bayesppl.kernels.arrays import Array, draw_codes, logarithm
from bayesppl.kernels.ranges import Extent, row_ranges, sum_over_ranges
from bayesppl.model.declaration import CLASS_WEIGHTS, CONFUSION, GenerativeModel
from bayesppl.model.training_rows import encoded

_PARTLY_KNOWN = (
    "rows known only in part (without a label or with one in doubt, without cells that others depend on, or of a "
    "component or weight that is not observed, as in mixtures and t densities)"
)


@dataclass(frozen=True, eq=False)
class _Beginning:
    """The rows of a fit before those that are known only in part are completed.

    Attributes
    ----------
    rows : UnknownClasses
        Those that are known only in part.
    known : JointStatistics
        Of the others.
    errors : mapping of str to Conjugate
        The prior of the errors of annotators, if there are any.
    is_in_doubt : bool
        Whether labels that are there may be wrong.
    are_labelled : bool
        Whether all rows have a label.
    """

    rows: UnknownClasses
    known: JointStatistics
    errors: Mapping[str, Conjugate]
    is_in_doubt: bool
    are_labelled: bool

    def prior(self, statistics: JointStatistics) -> Joint:
        """Resolve the prior, with that of the errors."""
        prior = self.rows.model.prior(statistics)
        if self.is_in_doubt or not self.are_labelled:
            # classes that are not told apart yet are alike, and would be held to be
            prior = of_classes_apart(prior)
        if self.is_in_doubt:
            prior = for_any_class(prior)
        prefixes = {**prior.prefixes, **dict.fromkeys(self.errors, "")}
        return replace(prior, parts={**prior.parts, **self.errors}, prefixes=prefixes)

    def shared_out(self, shares: Array) -> JointStatistics:
        """Sum the rows, shared out among the classes: (n_rows, n_classes), each summing to one, or to zero."""
        rows, shares = self.rows, shares * self.rows.weights[:, None]

        def share(at: slice) -> JointStatistics:
            return rows.with_votes(rows.model.share_statistics(rows.X[at], shares[at]), at, shares[at])

        return cast(JointStatistics, sum_over_ranges(share, Extent(rows.n_rows, rows.cells_per_row)))

    def search(
        self, seeds: Callable[[np.random.Generator], JointStatistics], restarts: int, seed: int | None
    ) -> JointStatistics:
        """Complete all rows by the best of some short runs of EM."""
        rng = np.random.default_rng(seed)
        return search_start(self.prior, self.known, self.rows, seeds, restarts, rng)

    def ranges(self) -> list[slice]:
        return row_ranges(self.rows.n_rows, self.rows.cells_per_row)


def incomplete(
    model: GenerativeModel, known: JointStatistics, rows: Rows, restarts: int, seed: int | None
) -> Incomplete:
    """Set up a fit in which some rows are known only in part.

    Priors that depend on the data are resolved from the rows that have a label. Where one is in doubt or a cell
    missing, all rows are completed first, by a short run of EM with the prior resolved anew in every step; where
    some class has no label, by the best of ``restarts`` such runs from random places.

    Parameters
    ----------
    model : GenerativeModel
    known : JointStatistics
        Of the rows that are known completely.
    rows : Rows
        With those that are not.
    restarts : int
    seed : int or None
        Of the random places.
    """
    partly = rows.partly
    assert partly is not None
    with rows_at(partly.places.__getitem__):
        X = encoded(model.family, partly.table)
    votes = partly.votes
    dims: dict[str, tuple[str, ...]] = {}
    errors, record = dict[str, Conjugate](), dict[str, Any]()
    if votes is not None:
        dims[CONFUSION] = "annotator", "class", "given_label"
        errors[CONFUSION] = (Fixed if votes.are_known else Dirichlet)(votes.errors, parameter=CONFUSION)
        record["annotators"] = tuple(map(str, votes.names))
        known = with_part(known, Counts(np.zeros_like(votes.errors), np.zeros(())))
    augmentation = UnknownClasses(model, X, partly.weights, partly.log_prior, votes)
    told = _told(partly, model.n_classes)
    begin = _Beginning(augmentation, known, errors, partly.is_in_doubt, bool((told == 1).any(1).all()))
    begun = known if partly.log_prior is None and votes is None else known + begin.shared_out(told)
    elsewhere: Callable[[np.random.Generator], JointStatistics] | None = None
    if votes is not None and len(votes.names) > 1:

        def elsewhere(rng: np.random.Generator) -> JointStatistics:
            return known + begin.shared_out(_one_vote_each(told, rng))

    first = _completed(begin, told, begun, restarts, seed)
    return Incomplete(model, begin.prior(first), known, augmentation, first, dims, record, elsewhere)


def _completed(
    begin: _Beginning,
    told: Array,
    begun: JointStatistics,
    restarts: int,
    seed: int | None,
) -> JointStatistics:
    """Complete the rows; as they are begun, where the labels alone complete them well enough.

    Raises
    ------
    ImproperError, NotConjugateError
    """
    rows, known = begin.rows, begin.known
    family, n_rows = rows.model.family, rows.n_rows
    empty = np.flatnonzero(begun.parts[CLASS_WEIGHTS].counts == 0)
    even = np.full_like(told, 1 / rows.model.n_classes)
    prior = begin.prior(known + begin.shared_out(even) if len(empty) else begun)
    require_conjugate(prior)
    reason = f"{_PARTLY_KNOWN} are completed under a prior that is proper beside the rows that are known"
    refuse_improper(prior.update(known), reason)
    if isinstance(family, Mixture):
        told = told * (rows.weights > 0)[:, None]
        told[:, ~told.any(0)] = 1.0  # of a class without labels any row may be
        return search_components(rows.model, begin.prior, known, rows, rows.X, told, prior, restarts, seed)
    if len(empty):

        def seeds(rng: np.random.Generator) -> JointStatistics:
            """Complete all rows, each by the class it is closest to: its known rows, or one drawn at random."""
            chosen = np.zeros_like(told)
            chosen[rng.choice(n_rows, len(empty), replace=n_rows < len(empty)), empty] = 1.0
            theta = prior.update(begun + begin.shared_out(chosen)).mean()
            density = family.log_likelihood(theta)
            codes = np.concatenate([density(rows.X[at]).argmax(1) for at in begin.ranges()])
            return known + begin.shared_out(np.eye(rows.model.n_classes)[codes])

        return begin.search(seeds, restarts, seed)
    if any(have_gaps(family, rows.X[at]).any() for at in begin.ranges()):
        return begin.search(lambda _: begun, 1, seed)
    if begin.is_in_doubt and prior.is_proper().all():
        with suppress(UndefinedEstimateError):  # of trees, which have no mean
            found = begin.search(lambda _: begun, 1, seed)
            theta = prior.update(begun).mean()
            if prior.log_prob(theta) != begin.prior(found).log_prob(theta):  # it depends on the rows
                return found
    return begun


def _told(partly: PartlyKnown, n_classes: int) -> Array:
    """Return the probabilities of the classes of rows by their labels alone; zeros for rows that have none."""
    log_told = np.zeros((len(partly), n_classes)) if partly.log_prior is None else partly.log_prior.copy()
    votes = partly.votes
    if votes is not None and (votes.are_known or len(votes.names) == 1):
        # of one vote a row the share tells nothing
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
                f"the prior of {names} is declared in PyMC, and {_PARTLY_KNOWN} are completed under conjugate "
                "priors only. Use one where the family has one, as bayesppl.NormalInverseWishart of correlated "
                "numbers; or leave such rows out (those without a label by unlabelled='drop'), and fit the others "
                "with inference='nuts'"
            )


def refuse_improper(belief: Joint, reason: str) -> None:
    """Refuse a belief of which some part is improper, for a reason in words.

    Raises
    ------
    ImproperError
    """
    for prefix, part in belief.leaves():
        if not part.is_proper().all():
            names = " and ".join(repr(prefix + name) for name in part.parameters)
            raise ImproperError(f"{reason}, and that of {names} is not: use the default prior, or one of your own")
