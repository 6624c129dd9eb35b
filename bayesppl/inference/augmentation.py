r"""Data augmentation: rows that are only partly known are completed given the parameters.

Let z be what is not known of the rows (a class, a cell, a component) and D what is. Every pair of this package is
conjugate once z is known, so that two steps in turn do all the work:

- *complete* the rows given the parameters θ: draw z from p(z | D, θ) (Gibbs sampling; Tanner & Wong 1987), or
  take the expectation of the sufficient statistics over it (EM; Dempster, Laird & Rubin 1977);
- *update* the conjugate prior by the completed statistics, and draw θ, or take its mode.

An :class:`Augmentation` is the first step. The second is :meth:`~bayesppl.conjugate.Conjugate.update`, and needs
nothing of its own. Rows that are known completely are summed once, before the first step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple, Self, final

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.kernels.arrays import Theta
from bayesppl.kernels.ranges import in_order, row_ranges
from bayesppl.model.declaration import GenerativeModel

# Steps of a short run of EM, and the gain per row at which it ends
_SHORT_RUN, _SHORT_GAIN = 50, 1e-3


class Completion(NamedTuple):
    """Completed rows: their sufficient statistics and their log density.

    Attributes
    ----------
    statistics : JointStatistics
        Of the rows, with one draw of what is not known of them, or their expectation over it. Its parts are those
        of the prior.
    log_density : float
        log p(what is known of the rows | θ), each row taken as often as its weight says.
    """

    statistics: JointStatistics
    log_density: float

    # tuples are concatenated, completions are added
    def __add__(self, other: Self) -> Self:  # type: ignore[override]
        return type(self)(self.statistics + other.statistics, self.log_density + other.log_density)


class Augmentation(ABC):
    """Rows that are only partly known, and how they are completed.

    An augmentation supplies four things: ``n_rows`` and ``cells_per_row``, by which the rows are divided into
    ranges; :meth:`expect` for EM and :meth:`draw` for Gibbs sampling, each of one range of rows.
    Ranges are worked on by several threads, so that neither may change anything, and each range has a stream of
    random numbers of its own, so that results do not depend on the number of threads.

    Attributes
    ----------
    n_rows : int
    total_weight : float
        Of all rows, by which gains of an objective are judged.
    cells_per_row : int
        Numbers of the largest temporary per row: ranges have about half a million of them.
    """

    n_rows: int
    total_weight: float
    cells_per_row: int

    @abstractmethod
    def expect(self, theta: Theta) -> Callable[[slice], Completion]:
        """Return a function that completes a range of rows by the expected statistics given ``theta``.

        Parameters
        ----------
        theta : Theta
            All parameters of the prior, without draw axes. What depends on them alone is computed once, here.
        """

    @abstractmethod
    def draw(self, theta: Theta) -> Callable[[slice, np.random.Generator], Completion]:
        """Return a function that completes a range of rows by one draw of what is unknown, given ``theta``."""

    @final
    def expected(self, theta: Theta) -> Completion:
        """Complete all rows by their expectations."""
        ranges = row_ranges(self.n_rows, self.cells_per_row)
        return reduce(Completion.__add__, in_order(self.expect(theta), ranges, None))

    @final
    def drawn(self, theta: Theta, rng: np.random.Generator) -> Completion:
        """Complete all rows by one draw."""
        ranges, complete = row_ranges(self.n_rows, self.cells_per_row), self.draw(theta)
        streams = dict(zip((rows.start for rows in ranges), rng.spawn(len(ranges)), strict=True))
        return reduce(Completion.__add__, in_order(lambda rows: complete(rows, streams[rows.start]), ranges, None))


@dataclass(frozen=True, eq=False)
class Incomplete:
    """A model, and data of which only a part is known.

    Attributes
    ----------
    model : GenerativeModel
    prior : Joint
        Resolved. It may have parts beside those of the model, of whatever else is learned, such as the errors of
        annotators.
    known : JointStatistics
        Of the rows that are known completely, with all parts of the prior.
    augmentation : Augmentation
        Of the others.
    first : JointStatistics
        What the first parameters follow from: the known rows, or all rows, completed in some way, where the known
        ones say nothing of some parameter (see :func:`search_start`).
    extra_dims : mapping of str to dims
        Dimension names of the parameters that are not the model's.
    record : mapping
        What else is recorded of the fit.
    elsewhere : callable, optional
        Draws statistics from which a search may begin as well as from ``first``, where one place is not enough.
    """

    model: GenerativeModel
    prior: Joint
    known: JointStatistics
    augmentation: Augmentation
    first: JointStatistics
    extra_dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)
    elsewhere: Callable[[np.random.Generator], JointStatistics] | None = None

    def log_prior_and_known(self, theta: Theta) -> float:
        """Compute log p(θ) + log p(known rows | θ), up to a constant."""
        return float(self.prior.update(self.known).log_prob(theta))


def search_start(
    prior_of: Callable[[JointStatistics], Joint],
    known: JointStatistics,
    augmentation: Augmentation,
    seeds: Callable[[np.random.Generator], JointStatistics],
    restarts: int,
    rng: np.random.Generator,
) -> JointStatistics:
    """Complete all rows by the best of some short runs of EM from random places.

    A prior that depends on the data is resolved anew in every step; in the end it is resolved from the rows as
    they are completed here.

    Parameters
    ----------
    prior_of : callable
        The prior, resolved from statistics.
    seeds : callable
        Statistics of the rows that a run begins with.
    """
    found = []
    for _ in range(restarts):
        statistics, log_density = seeds(rng), -np.inf
        for _ in range(_SHORT_RUN):
            theta = prior_of(statistics).update(statistics).mean()
            completion = augmentation.expected(theta)
            statistics = known + completion.statistics
            gained, log_density = completion.log_density - log_density, completion.log_density
            if abs(gained) < _SHORT_GAIN * augmentation.total_weight:
                break
        found.append((log_density, statistics))
    return max(found, key=lambda run: run[0])[1]
