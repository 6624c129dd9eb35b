"""Families of rows of counts with a probability per class and word: all but what the counts are worth."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, final

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.simplices import SimplexPrior
from bayesppl.conjugate.statistics import Counts
from bayesppl.conjugate.words import Words, narrowed_words
from bayesppl.data.table import Table
from bayesppl.families import closed_forms
from bayesppl.families.bound import Measure, NumberColumns
from bayesppl.families.family import ConjugateFamily, Missing
from bayesppl.families.support import COUNTS, Support
from bayesppl.kernels.arrays import Theta

#: Counts of words, which are often passed as weights instead.
WORD_COUNTS = COUNTS._replace(
    remedy="Weights, such as tf-idf, are no counts and have no mass: pass the counts themselves, as "
    "CountVectorizer makes them. Otherwise correct the value, or choose a family of real numbers."
)


@dataclass(frozen=True, eq=False)
class WordFamily(ConjugateFamily):
    """Counts of words given their total, dense or sparse, with a simplex of probabilities for every class."""

    support: ClassVar[Support] = WORD_COUNTS
    allows_sparse: ClassVar[bool] = True
    missing: ClassVar[Missing] = "refused"
    has_fixed_margins: ClassVar[bool] = True

    _measure: ClassVar[Measure]

    probability: Any = Dirichlet()

    columns: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)
    classes: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)

    @abstractmethod
    def rows(self, X: Any) -> Words:
        """Return what the counts of rows are worth."""

    @abstractmethod
    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior: ...

    @final
    @cached_property
    def bound(self) -> NumberColumns:
        return NumberColumns(
            self,
            {"probability": ("class", "feature")},
            is_separate=False,
            has_total=True,
            measure_of=dict.fromkeys(self.columns, self._measure),
        )

    @final
    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        return replace(self, columns=table.names, classes=tuple(classes))

    @final
    def mle(self, statistics: Counts) -> Theta:
        return self.resolve_prior(statistics).mle(statistics)

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        density = Words.log_likelihood(theta["probability"])
        return density.map(lambda evaluate: lambda X: evaluate(self.rows(X)))

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Counts, prefix: str = "") -> None:
        Dirichlet.observe(f"{prefix}x", variables["probability"], statistics)


@closed_forms.narrowed.register(WordFamily)
def _(family: WordFamily, posterior: Dirichlet, X: Any) -> tuple[Dirichlet, Any]:
    return narrowed_words(posterior, X)
