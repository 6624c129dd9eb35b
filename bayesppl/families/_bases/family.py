"""The contract of a class-conditional family, and what families of numbers share.

A family is a frozen dataclass whose fields declare the prior. ``bind`` gives it the columns and classes of the
data (from which it learns what the declaration left open, such as the levels of a category); every other method
works on the arrays that ``encode`` returns. Adding a family means one file and one import line in
``bayesppl/families/__init__.py``; ``bayesppl.evaluation.contract.check_family`` proves that it keeps the contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.declared_priors import Declared
from bayesppl.conjugate.statistics import Statistics
from bayesppl.conjugate.weighted_rows import WeightedRows
from bayesppl.data.table import Table
from bayesppl.errors import NotConjugateError, UndefinedEstimateError
from bayesppl.families._bases.covariates import NO_COVARIATES, Covariates
from bayesppl.families._bases.log_density import LogDensity
from bayesppl.families._bases.membership import Membership
from bayesppl.families._bases.observe_weighted import observe_weighted
from bayesppl.families._bases.support import Support
from bayesppl.families._bases.units import Unit, together
from bayesppl.kernels.arrays import Array, Responsibilities, Theta

#: Every family by name; filled as the files of this folder are imported.
REGISTRY: dict[str, type[Family]] = {}


class Evidence(NamedTuple):
    """Log evidence of one block of columns, one entry per independent factor of the prior."""

    dims: tuple[str, ...]
    values: Array


#: What a density is taken over. Evidences of models that differ in it measure different things.
Measure = Literal[
    "mass",
    "mass given the row total",
    "approximate mass given the row total",
    "density",
    "mass at zero, density elsewhere",
]

#: Measures of rows of counts: a document without a word is another document, not a row with a gap.
GIVEN_TOTAL: tuple[Measure, ...] = ("mass given the row total", "approximate mass given the row total")

#: What the cells of a family can be, as far as other libraries have words for it.
Takes = Literal["numbers", "positive numbers", "whole numbers", "levels", "columns of any kind"]


class Family(ABC):
    """Class-conditional density p(x | y = k, θ) of all classes at once, with a prior on θ.

    What is not abstract serves every family. A family with sufficient statistics and a conjugate prior is a
    :class:`~bayesppl.families._bases.conjugate_family.ConjugateFamily`; any other is sampled on its rows, which are their
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
        "the {} family has no conjugate prior, so that neither its predictive nor its evidence has a closed form: it is fitted "
        "by sampling, with inference='nuts' (or 'auto'), or approximated, as by 'laplace'."
    )
    #: What cells can be.
    takes: ClassVar[Takes] = "numbers"

    def __init_subclass__(cls, *, listed: bool = True, **options: Any) -> None:
        super().__init_subclass__(**options)
        if listed and "name" in vars(cls):
            REGISTRY[cls.name] = cls

    @property
    @abstractmethod
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Dimension names of every parameter, the class axis among them."""

    @property
    @abstractmethod
    def coords(self) -> dict[str, list[Hashable]]:
        """Coordinate labels of every dimension but "class"; known once bound."""

    @property
    @abstractmethod
    def measures(self) -> dict[Hashable, Measure]:
        """For every column, what the family's density of it is taken over; known once bound."""

    @property
    def family_names(self) -> dict[Hashable, str]:
        """For every column, the name of the family that describes it; known once bound."""
        return dict.fromkeys(self.measures, self.name)

    @property
    def levels_of_columns(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """The levels of every column that has any; known once bound."""
        return {}

    @abstractmethod
    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        """Return this family for the columns of ``table`` and for ``classes``."""

    def bind_labelled(self, table: Table, classes: Sequence[Hashable], codes: Array, weights: Array) -> Self:
        """:meth:`bind` to rows whose classes are known; overridden where the classes matter for what the rows are to show.

        Parameters
        ----------
        table : Table
        classes : sequence
        codes, weights : (n_rows,)
            Class and weight of every row of the table.
        """
        return self.bind(table, classes)

    @abstractmethod
    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        """Return this bound family for other classes; columns, and what was learned of them, stay."""

    @abstractmethod
    def encode(self, table: Table) -> Any:
        """Check the support and return the rows as this family computes with them.

        Raises
        ------
        ValueError
            Naming the column, the value found and the remedy.
        """

    @abstractmethod
    def decode(self, X: Any) -> dict[Hashable, Array]:
        """The values of every column, from encoded rows."""

    @abstractmethod
    def label_rows(self, X: Any, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        """Encoded rows as named arrays with their dims, the first of which is "row"."""

    @abstractmethod
    def resolve_prior(self, statistics: Any) -> Conjugate | Declared:
        """The prior as declared; defaults that depend on the data read them from ``statistics``."""

    def tunable(self, prior: Any) -> Mapping[str, tuple[float, float]]:
        """Hyperparameters of a resolved prior that can be tuned, each with bounds of the logarithm of its factor."""
        found: Mapping[str, tuple[float, float]] = prior.tunable
        return found

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
    def units(self) -> tuple[Unit, ...]:
        """What is independent given the class and the parameters, in order; known once bound.

        All columns as one, where a family does not say otherwise.
        """
        return together(tuple(self.measures))

    def seen(self, X: Any, units: Sequence[int]) -> Any:
        """Encoded rows of which only these units are seen, the others missing.

        Parameters
        ----------
        X : encoded rows
        units : sequence of int
            Places in :attr:`units`.
        """
        if len(units) < len(self.units):
            raise ValueError(
                f"the {self.name} family models rows as a whole, and has no density of rows without cells"
            )
        return X

    # --- what a family has that is fitted by its rows -------------------------------------------------------

    def sufficient_statistics(self, X: Any, responsibilities: Responsibilities) -> Statistics:
        """What the likelihood of every class needs of the rows: here, the rows themselves and their weights."""
        return WeightedRows.of(X, responsibilities)

    def read_statistics(self, table: Table, responsibilities: Responsibilities) -> Statistics:
        """Check the rows of a table and sum them, as ``encode`` and ``sufficient_statistics`` do one after the other.

        Overridden where sums show whether a number lies outside the support: a pass over the rows is saved.
        """
        return self.sufficient_statistics(self.encode(table), responsibilities)

    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> None:
        """Declare the same likelihood as ``observe_rows``, through the statistics of weighted rows."""
        observe_weighted(lambda X, codes: self.observe_rows(variables, X, codes, prefix), statistics)

    def with_prior(self, prior: Any) -> Self:
        """Return this family with an explicit prior, such as a resolved one."""
        raise self._no_closed_form()

    def mle(self, statistics: Any) -> Theta:
        """Maximum likelihood; raises UndefinedEstimateError where the likelihood has no maximum."""
        raise UndefinedEstimateError(
            f"maximum likelihood of the {self.name} family has no closed form; use rule='map', 'mean' or 'predictive'"
        )

    def log_predictive(self, posterior: Any) -> LogDensity:
        """log p(x | y = k, data), parameters integrated out, as a function of the encoded rows x.

        Parameters
        ----------
        posterior : Conjugate
        """
        raise self._no_closed_form()

    def loo_log_predictive(
        self, posterior: Any, statistics: Any, X: Any, members: Membership
    ) -> tuple[Array, Array]:
        """log p(x_i | y = k, ·) of rows that are among the data, given all data and given all but row i itself.

        Parameters
        ----------
        posterior : Conjugate
            Of all rows, ``X`` among them.
        statistics : Statistics
            Of all rows.
        X : encoded rows
            All, or some of them.
        members : Membership
            The class and the weight with which each row entered the posterior.

        Returns
        -------
        with_row : (n_rows, n_classes)
            As :meth:`log_predictive`.
        without_row : (n_rows, n_classes)
            Not finite where the posterior without the row is improper, or where rounding leaves nothing of it.
        """
        raise self._no_closed_form()

    def loo_of_units(
        self, posterior: Any, statistics: Any, X: Any, members: Membership
    ) -> Iterator[tuple[Array, Array]]:
        """:meth:`loo_log_predictive` of each unit by itself, in order."""
        for unit in range(len(self.units)):
            yield self.loo_log_predictive(posterior, statistics, self.seen(X, [unit]), members)

    def log_evidence(self, prior: Any, statistics: Any) -> dict[str, Evidence]:
        """log p(X | y) per block of columns (the empty name for a family of one block)."""
        raise self._no_closed_form()

    def common_prior(self, statistics: Any) -> Any:
        """The prior of one distribution in place of those of the classes, from the statistics of the classes."""
        raise self._no_closed_form()

    def log_dependence(self, prior: Any, common: Any, statistics: Any) -> dict[str, Evidence]:
        """Log Bayes factor between "one distribution per class" and "one for all", of every unit of columns.

        Parameters
        ----------
        prior, common : Conjugate
            Of the classes, and of the one distribution.
        statistics : Statistics
            Of the classes.
        """
        raise self._no_closed_form()

    def averaged_predictive(self, posterior: Any, common: Any, log_odds: Mapping[str, Array]) -> LogDensity:
        """The predictive averaged over which units depend on the class, up to a term that all classes of a row share.

        Parameters
        ----------
        posterior, common : Conjugate
            Beliefs about the classes, and about one distribution for all of them.
        log_odds : mapping of str to array
            That each unit depends on the class; units as in :meth:`log_dependence`.
        """
        raise self._no_closed_form()

    def simulate_predictive(
        self, posterior: Any, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Any:
        """Draw one row for each class code, all given one draw of the parameters: each has density p(x | y = k, data).

        As :meth:`simulate`, from a conjugate posterior. Overridden where most of the parameters need not be drawn.
        """
        theta = {name: values[0] for name, values in posterior.draw(1, rng).items()}
        return self.simulate(theta, codes, rng, covariates)

    def narrowed(self, posterior: Any, X: Any) -> tuple[Any, Any]:
        """A smaller posterior and rows whose densities have the same joint distribution, where there is one.

        Rows of counts show few words of a large vocabulary: the probabilities of the others matter by their sum only.
        """
        return posterior, X

    def _no_closed_form(self) -> NotConjugateError:
        return NotConjugateError(self.no_closed_form.format(self.name))


def prefixed(dims: Sequence[str], prefix: str) -> tuple[str, ...]:
    """Dimension names of a block within a product; the class axis is common to all blocks."""
    return tuple(dim if dim == "class" else prefix + dim for dim in dims)
