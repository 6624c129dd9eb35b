"""The contract of a class-conditional family, and what families of numbers share.

A family is a frozen dataclass whose fields declare the prior. ``bind`` gives it the columns and classes of the
data (from which it learns what the declaration left open, such as the levels of a category); every other method
works on the arrays that ``encode`` returns. Adding a family means one file and one import line in
``bayesppl/families/__init__.py``; ``bayesppl.evaluation.contract.check_family`` proves that it keeps the contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self, final

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.declared_priors import Declared
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.data.table import Table
from bayesppl.errors import NotConjugateError
from bayesppl.families.bound import Factor, together
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.support import Support
from bayesppl.kernels.arrays import Array, Theta

#: Every family by name; filled as the files of this folder are imported.
REGISTRY: dict[str, type[Family]] = {}


class Evidence(NamedTuple):
    """Log evidence of one block of columns, one entry per independent factor of the prior."""

    dims: tuple[str, ...]
    values: Array


#: What the cells of a family can be, as far as other libraries have words for it.
Takes = Literal["numbers", "positive numbers", "whole numbers", "levels", "columns of any kind"]


class Family(ABC):
    """Class-conditional density p(x | y = k, θ) of all classes at once, with a prior on θ.

    What is not abstract serves every family. A family with sufficient statistics and a conjugate prior is a
    :class:`ConjugateFamily`; any other is sampled on its rows, which are their
    own statistics.
    """

    name: ClassVar[str]

    #: Whether sparse matrices are taken, whether cells may be missing, and whether such rows can be fitted too.
    allows_sparse: ClassVar[bool] = False
    allows_missing: ClassVar[bool] = True
    fits_missing: ClassVar[bool] = True

    #: Whether predictive and evidence have a closed form under a conjugate prior.
    has_closed_forms: ClassVar[bool] = False
    #: Why there is none of those, and what can be done.
    no_closed_form: ClassVar[str] = (
        "the {} family has no conjugate prior, so that neither its predictive nor its evidence has a closed "
        "form: it is fitted by sampling, with inference='nuts' (or 'auto'), or approximated, as by 'laplace'."
    )
    #: What cells can be.
    takes: ClassVar[Takes] = "numbers"

    def __init_subclass__(cls, *, listed: bool = True, **options: Any) -> None:
        super().__init_subclass__(**options)
        if listed and "name" in vars(cls):
            REGISTRY[cls.name] = cls

    #: The columns and classes it was bound to.
    classes: tuple[Hashable, ...]

    @property
    @abstractmethod
    def bound(self) -> Any:
        """The columns of the family, once bound: a :class:`~bayesppl.families.bound.BoundColumns`."""

    @property
    def family_names(self) -> dict[Hashable, str]:
        """For every column, the name of the family that describes it; known once bound."""
        return dict.fromkeys(self.bound.measures, self.name)

    @property
    def levels_of_columns(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """The levels of every column that has any; known once bound."""
        return {}

    @final
    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        """Return this family for the columns of ``table`` and for ``classes``, whoever the rows belong to."""
        return self.bind_labelled(table, classes, np.zeros(len(table), dtype=np.intp), np.ones(len(table)))

    @abstractmethod
    def bind_labelled(self, table: Table, classes: Sequence[Hashable], codes: Array, weights: Array) -> Self:
        """Return this family for the columns of ``table`` and for ``classes``.

        Parameters
        ----------
        table : Table
        classes : sequence
        codes, weights : (n_rows,)
            Class and weight of every row of the table.
        """

    @abstractmethod
    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        """Return this bound family for other classes; columns, and what was learned of them, stay."""

    @abstractmethod
    def resolve_prior(self, statistics: Any) -> Conjugate | Declared:
        """The prior as declared; defaults that depend on the data read them from ``statistics``."""

    @abstractmethod
    def log_likelihood(self, theta: Theta) -> LogDensity:
        """log p(x | y = k, θ) as a function of the encoded rows x; what depends on θ alone is computed once.

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
            One entry for every name in ``covariate_supports``.

        Returns
        -------
        Encoded rows, whose ``covariates`` are those given.
        """

    @abstractmethod
    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> None:
        """Declare every row as observed in the current ``pm.Model``, given its class.

        Of a family without sufficient statistics the leading axis of what is observed are the rows.
        """

    @property
    def covariate_supports(self) -> Mapping[str, Support]:
        """What a row brings along that is not modelled, such as its number of trials: the values each can take.

        Nothing, for most families; :meth:`covariates` and this property go together.
        """
        return {}

    def covariates(self, X: Any) -> Covariates:
        """The covariates of encoded rows: (n_rows,) for every name in ``covariate_supports``."""
        return NO_COVARIATES

    @property
    def factors(self) -> tuple[Factor, ...]:
        """What is independent given the class and the parameters, in order; known once bound.

        All columns as one, where a family does not say otherwise.
        """
        return together(tuple(self.bound.measures))

    def marginal_rows(self, X: Any, units: Sequence[int]) -> Any:
        """Encoded rows of which only these units are seen, the others missing.

        Parameters
        ----------
        X : encoded rows
        units : sequence of int
            Places in :attr:`factors`.
        """
        if len(units) < len(self.factors):
            raise ValueError(
                f"the {self.name} family models rows as a whole, and has no density of rows without cells"
            )
        return X

    @abstractmethod
    def rows(self, X: Any) -> Any:
        """Return encoded rows as statistics that are not summed yet: a :class:`~bayesppl.conjugate.rows.Rows`."""

    @abstractmethod
    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> None:
        """Declare the same likelihood as ``observe_rows``, through the statistics of weighted rows."""

    @abstractmethod
    def with_prior(self, prior: Any) -> Self:
        """Return this family with an explicit prior, such as a resolved one."""

    @abstractmethod
    def mle(self, statistics: Any) -> Theta:
        """Maximum likelihood; raises UndefinedEstimateError where the likelihood has no maximum."""

    def _no_closed_form(self) -> NotConjugateError:
        return NotConjugateError(self.no_closed_form.format(self.name))


class ConjugateFamily(Family):
    """A family with sufficient statistics and a conjugate prior.

    All closed forms follow from its rows and its pair: see :mod:`bayesppl.families.closed_forms`.
    """

    has_closed_forms: ClassVar[bool] = True

    #: Whether "does the column depend on the class?" is asked given how often each value occurs, as for tables of
    #: counts.
    has_fixed_margins: ClassVar[bool] = False
