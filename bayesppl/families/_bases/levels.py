"""What the families of categories share: the levels of every column, declared or learned.

Where levels are learned, every column gets one more outcome, ``"(unseen)"``, which stands for all levels still to come: it
has a prior concentration and no counts. Its probability in a class falls with the rows of the class, so that a
level that did not occur would be evidence for the class of the fewest rows, and strong evidence. Rows come from an open
vocabulary rather: something new turns up as often in one class as in another, and is then no evidence for any class. By
default such a cell is skipped, as a missing one is, with a warning; as an outcome like any other it is on request.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, final, get_args

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.association import log_association
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership, counts_without, weight_by_weight
from bayesppl.conjugate.simplices import SimplexPrior
from bayesppl.conjugate.statistics import Counts
from bayesppl.data.levels import factorize, refuse_other_types
from bayesppl.data.table import Table
from bayesppl.errors import RowError
from bayesppl.families._bases.conjugate_family import ConjugateColumns
from bayesppl.families._bases.find_levels import Levels, declared_levels, levels_that_occur
from bayesppl.families._bases.level_names import unseen_beside
from bayesppl.families._bases.unseen_levels import refuse_unseen, skip_unseen
from bayesppl.families.bound import Measure
from bayesppl.families.family import Takes
from bayesppl.kernels.arrays import Array, Responsibilities, Theta
from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.levels import Places, outcome_counts, smallest_type

# in the place of a code, for a value that is no level
_UNKNOWN = -2

#: What an unseen level is: a missing cell, an error, or an outcome of each class with a probability of its own.
Unseen = Literal["missing", "error", "learned"]


@dataclass(frozen=True, eq=False)
class LevelFamily(ConjugateColumns):
    """A family of columns that hold levels; encoded rows are the codes of the levels, -1 where a cell is missing."""

    measure: ClassVar[Measure] = "mass"
    takes: ClassVar[Takes] = "levels"
    prior_field: ClassVar[str] = "probability"

    probability: Dirichlet | Any = Dirichlet()
    levels: Levels | None = None
    unseen: Unseen = "missing"

    #: Levels of every column once bound, in the order of ``columns``.
    outcomes: tuple[tuple[Hashable, ...], ...] = field(default=(), kw_only=True, repr=False)

    @abstractmethod
    def _tables(self, X: Array) -> tuple[Array, tuple[int, ...]]:
        """Rows as outcomes of independent tables: codes (n_rows, n_tables), and the sizes of the tables."""

    @abstractmethod
    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior: ...

    @final
    def sufficient_statistics(self, X: Array, responsibilities: Responsibilities) -> Counts:
        codes, sizes = self._tables(X)
        counts = outcome_counts(responsibilities, codes, sizes)
        return Counts(counts, np.zeros((len(counts), len(sizes))[: len(self.factor_dims)]))

    @final
    def mle(self, statistics: Counts) -> Theta:
        return self.resolve_prior(statistics).mle(statistics)

    @final
    def log_predictive(self, posterior: Dirichlet) -> LogDensity:
        return self.log_likelihood(posterior.mean())

    @final
    def loo_log_predictive(
        self, posterior: Dirichlet, statistics: Any, X: Array, members: Membership
    ) -> tuple[Array, Array]:
        if members.few_weights is not None:
            return weight_by_weight(partial(self._by_class, posterior), X, members)
        starts, totals = self._totals(posterior)
        own = np.empty(len(X))
        for rows in row_blocks(*X.shape):
            outcomes, _ = self._tables(X[rows])
            k, w = members.codes[rows], members.weights[rows, None]
            level = counts_without(posterior.concentration[k[:, None], outcomes + starts], w)
            with np.errstate(divide="ignore", invalid="ignore"):  # where rounding leaves nothing of the class
                terms = np.log(level) - np.log(totals[k] - w)
            own[rows] = np.where(outcomes < 0, 0.0, terms).sum(1)
        fitted = self.log_predictive(posterior)(X)
        return fitted, members.replaced(fitted, own)

    def _by_class(self, posterior: Dirichlet, X: Array, members: Membership) -> tuple[Array, Array]:
        """Where all rows weigh the same: each class as it is and as it is without one of its rows, looked up together."""
        alpha, w = posterior.concentration, members.weights[0]
        starts, totals = self._totals(posterior)
        totals = totals.repeat(np.diff(starts, append=alpha.shape[1]), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # a class without rows has none to lose
            probability = np.concatenate([alpha / totals, counts_without(alpha, w) / (totals - w)])
        both = self.log_likelihood({"probability": probability})(X)
        fitted, without = both[:, : len(alpha)], both[:, len(alpha) :]
        return fitted, members.replaced(fitted, members.own(without))

    def _totals(self, posterior: Dirichlet) -> tuple[Array, Array]:
        """Where each table starts among the cells, and its total concentration: (n_classes, n_tables)."""
        _, sizes = self._tables(np.empty((0, len(self.columns)), dtype=np.intp))
        starts = np.cumsum((0, *sizes))[:-1]
        return starts, np.add.reduceat(posterior.concentration, starts, axis=1)

    @final
    def _log_dependence(self, prior: Any, common: Any, statistics: Counts) -> Array:
        starts, _ = self._totals(prior)
        found = log_association(prior.concentration, statistics.counts, starts)
        return found if "feature" in self.factor_dims else found[0]

    @final
    def marginal_rows(self, X: Array, units: Sequence[int]) -> Array:
        if len(units) == len(self.factors):
            return X
        out = np.full_like(X, -1)
        out[:, units] = X[:, units]
        return out

    @final
    def decode(self, X: Array) -> dict[Hashable, Array]:
        return {
            name: np.asarray(levels, dtype=object)[X[:, j]]
            for j, (name, levels) in enumerate(zip(self.columns, self.outcomes, strict=True))
        }

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        return {"probability": ("class", "cell")}

    @property
    def levels_of_columns(self) -> dict[Hashable, tuple[Hashable, ...]]:
        return dict(zip(self.columns, self._named, strict=True))

    @final
    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        if self.unseen not in get_args(Unseen):
            raise ValueError(
                f"unseen must be one of {', '.join(map(repr, get_args(Unseen)))}, found {self.unseen!r}"
            )
        if self.levels is None:
            outcomes = tuple((*levels, unseen_beside(levels)) for levels in levels_that_occur(table))
        else:
            declared = declared_levels(self.levels, table.names)
            outcomes = tuple(declared[name] for name in table.names)
        return replace(self, columns=table.names, classes=tuple(classes), outcomes=outcomes)

    @final
    def encode(self, table: Table) -> Array:
        codes = self._encode(table)
        if self.levels is None and self.unseen != "learned":
            handle = skip_unseen if self.unseen == "missing" else refuse_unseen
            handle(table, codes, self.columns, np.array(self._sizes) - 1)
        return codes

    @final
    def read_statistics(self, table: Table, responsibilities: Responsibilities) -> Counts:
        # here only rows of weight zero can hold unseen levels
        return self.sufficient_statistics(self._encode(table), responsibilities)

    def _encode(self, table: Table) -> Array:
        table = table.select(self.columns)
        codes = np.empty((len(table), len(self.columns)), dtype=smallest_type(max(self._sizes)))
        whole = table.integers()
        if whole is None or self._places is None or not self._places.look_up(whole, codes):
            known = False
        else:
            known = self.levels is None or not (codes == _UNKNOWN).any()
        if not known:
            for j, name in enumerate(self.columns):
                codes[:, j] = self._codes(table.column(name), j)
        return codes

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(levels) for levels in self.outcomes)

    @cached_property
    def _positions(self) -> tuple[dict[Hashable, int], ...]:
        """The code of every level of every column."""
        return tuple({level: i for i, level in enumerate(levels)} for levels in self._named)

    @property
    def _named(self) -> tuple[tuple[Hashable, ...], ...]:
        """The levels of every column that a cell can hold."""
        return tuple(levels[:-1] for levels in self.outcomes) if self.levels is None else self.outcomes

    @cached_property
    def _places(self) -> Places | None:
        """Codes of whole numbers; None where some level is no whole number."""
        if not all(isinstance(level, Integral) for levels in self._named for level in levels):
            return None
        unknown = [len(levels) if self.levels is None else _UNKNOWN for levels in self._named]
        # every level is a whole number, as was checked above; mypy takes no Hashable for an Integral
        return Places.of([[int(level) for level in levels] for levels in self._named], unknown)  # type: ignore[call-overload]

    def _codes(self, values: Array, j: int) -> Array:
        found, codes = factorize(values, self.columns[j])
        position = self._positions[j]
        if self.levels is None:
            refuse_other_types(self.columns[j], position, found, codes)
            known = [position.get(level, len(position)) for level in found]
        else:
            unknown = [level for level in found if level not in position]
            if unknown:
                row = int(np.argmax(codes == found.index(unknown[0])))
                raise RowError(
                    f"column {self.columns[j]!r} holds {unknown[0]!r} in row ",
                    row,
                    f", which is not among its declared levels {list(self.outcomes[j])}. Correct the value, declare the "
                    "level, or leave levels=None to learn them and to allow for unseen ones.",
                )
            known = [position[level] for level in found]
        return np.asarray([*known, -1])[codes]


def draw_outcomes(probability: Array, codes: Array, rng: np.random.Generator) -> Array:
    """One outcome for each class code: (n_rows,), from probabilities (n_classes, n_outcomes)."""
    edges, heights = np.cumsum(probability, axis=1)[:, :-1], rng.random(len(codes))
    out = np.empty(len(codes), dtype=np.intp)
    for k, steps in enumerate(edges):
        own = codes == k
        out[own] = np.searchsorted(steps, heights[own], side="right")
    return out
