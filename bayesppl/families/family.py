"""The contract of a class-conditional family, and what families of numbers share.

A family is a frozen dataclass whose fields declare the prior. ``bind`` gives it the columns and classes of the
data (from which it learns what the declaration left open, such as the levels of a category); every other method
works on the arrays that ``encode`` returns. Adding a family means one file and one import line in
``bayesppl/families/__init__.py``; ``bayesppl.evaluation.contract.check_family`` proves that it keeps the contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, final

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.declared_priors import Declared
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.data.names import spelled
from bayesppl.data.notebook import declaration_table
from bayesppl.data.table import Table
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.support import REAL_NUMBERS, Support
from bayesppl.kernels.arrays import Array, Theta

#: Every family by name; filled as the files of this folder are imported.
REGISTRY: dict[str, type[Family]] = {}


class Evidence(NamedTuple):
    """Log evidence of one block of columns, one entry per independent factor of the prior."""

    dims: tuple[str, ...]
    values: Array


#: What becomes of missing cells: rows that have some are fitted, or predicted only, or refused.
Missing = Literal["fitted", "predicted", "refused"]


class Family(ABC):
    """Class-conditional density p(x | y = k, θ) of all classes at once, with a prior on θ.

    A family with sufficient statistics and a conjugate prior is a
    :class:`ConjugateFamily`; any other is sampled on its rows, which are their
    own statistics.
    """

    _repr_html_ = declaration_table

    name: ClassVar[str]

    #: The values that a cell can have.
    support: ClassVar[Support] = REAL_NUMBERS
    #: Whether sparse matrices are taken.
    allows_sparse: ClassVar[bool] = False
    missing: ClassVar[Missing] = "fitted"
    #: Whether the density of a row with gaps is a sum over all levels that could stand in them.
    sums_over_gaps: ClassVar[bool] = False

    #: Why there is neither a predictive nor an evidence in closed form, and what can be done.
    _no_closed_form: ClassVar[str] = (
        "the {} family has no conjugate prior, so that neither its predictive nor its evidence has a closed "
        "form: it is fitted by sampling, with inference='nuts' (or 'auto'), or approximated, as by 'laplace'."
    )
    #: Whether its parameters can be declared in PyMC.
    has_pymc_model: ClassVar[bool] = True

    def __init_subclass__(cls, *, listed: bool = True, **options: Any) -> None:
        super().__init_subclass__(**options)
        if listed and "name" in vars(cls):
            REGISTRY[cls.name] = cls

    #: The classes it was bound to, and its columns: a :class:`~bayesppl.families.bound.BoundColumns`.
    classes: tuple[Hashable, ...]
    bound: Any

    def __getstate__(self) -> dict[str, Any]:
        """Keep the declaration and what ``bind`` learned; bound columns are made of these when they are needed."""
        return {name: value for name, value in vars(self).items() if name != "bound"}

    @abstractmethod
    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        """Return this family for the columns of ``table`` and for ``classes``.

        Parameters
        ----------
        table : Table
        classes : sequence
        members : Membership, optional
            Class and weight of every row of the table; by default one of the first class each.
        """

    @abstractmethod
    def resolve_prior(self, statistics: Any) -> Conjugate | Declared:
        """Return the prior as declared; defaults that depend on the data follow from ``statistics``."""

    @abstractmethod
    def log_likelihood(self, theta: Theta) -> LogDensity:
        """Return log p(x | y = k, θ) as a function of encoded rows x; what depends on θ alone is computed once.

        Parameters
        ----------
        theta : Theta
            Draw axes may lead.
        """

    @abstractmethod
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Any:
        """Draw one row for each class code from a single ``theta``, given the covariates of the rows.

        Parameters
        ----------
        theta : Theta
            No draw axes.
        codes : (n_rows,)
        rng : numpy.random.Generator
        covariates : mapping of str to (n_rows,), optional
            One entry for every name in ``bound.covariate_supports``.

        Returns
        -------
        Encoded rows, whose ``covariates`` are those given.
        """

    @abstractmethod
    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> None:
        """Declare every row as observed in the current ``pm.Model``, given its class.

        Of a family without sufficient statistics the leading axis of what is observed are the rows.
        """

    @abstractmethod
    def rows(self, X: Any) -> Any:
        """Return encoded rows as statistics not summed yet.

        See :class:`bayesppl.conjugate.row_statistics.RowStatistics`.
        """

    @abstractmethod
    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> None:
        """Declare the same likelihood as ``observe_rows``, through the statistics of weighted rows."""

    @abstractmethod
    def mle(self, statistics: Any) -> Theta:
        """Maximise the likelihood; raise UndefinedEstimateError where it has no maximum."""


class ConjugateFamily(Family):
    """A family with sufficient statistics and a conjugate prior.

    All closed forms follow from its rows and its pair: see :mod:`bayesppl.families.closed_forms`.
    """

    #: Whether "does the column depend on the class?" is asked given how often each value occurs, as for tables of
    #: counts.
    has_fixed_margins: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class OfColumns(Family):
    """A family whose columns are those of the table, whatever they hold."""

    columns: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)
    classes: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)

    #: A column that holds a number of each row, and is no feature.
    _row_column: ClassVar[str | None] = None

    @final
    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        columns = table.names
        if self._row_column is not None:
            table.require([self._row_column])
            columns = tuple(name for name in columns if name != self._row_column)
        return replace(self, columns=columns, classes=tuple(classes))

    @final
    def _require_values(self, count: Array, parameter: str) -> None:
        """Refuse the maximum likelihood estimate of a class without a value in some column.

        Parameters
        ----------
        count : (n_classes, n_features)
        parameter : str

        Raises
        ------
        UndefinedEstimateError
        """
        if (count <= 0).any():
            k, d = np.argwhere(count <= 0)[0]
            raise UndefinedEstimateError(
                f"class {self.classes[k]!r} has no observed value in column {self.columns[d]!r}, so the maximum "
                f"likelihood estimate of its {parameter} does not exist; use rule='mean' or 'predictive'"
            )


def require_family(value: Any) -> Family:
    """Return a family as it is, and refuse anything else.

    Raises
    ------
    TypeError
    """
    if not isinstance(value, Family):
        raise TypeError(f"family must be a family, such as bayesppl.Gaussian('diag'), found {spelled(value)}")
    return value
