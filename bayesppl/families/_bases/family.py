"""The contract of a class-conditional family, and what families of numbers share.

A family is a frozen dataclass whose fields declare the prior. ``bind`` tells it the columns and classes of the
data (and lets it learn what the declaration left open, such as the levels of a category); every other method
works on the arrays that ``encode`` returns. Adding a family means one file and one import line in
``bayesppl/families/__init__.py``; ``bayesppl.evaluation.contract.check_family`` proves that it keeps the contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, final

import numpy as np

from bayesppl.beliefs import Conjugate
from bayesppl.beliefs.declared_priors import Declared
from bayesppl.beliefs.statistics import Statistics
from bayesppl.data.table import Table
from bayesppl.errors import ImproperError, RowError
from bayesppl.families._bases.covariates import NO_COVARIATES, Covariates
from bayesppl.families._bases.membership import Membership
from bayesppl.families._bases.missing import observed_mask
from bayesppl.families._bases.support import Support, check_support, numbers_of
from bayesppl.kernels.arrays import Array, Responsibilities, Theta, dense

#: Every family by name; filled as the files of this folder are imported.
REGISTRY: dict[str, type[Family]] = {}


class Evidence(NamedTuple):
    """Log evidence of one block of columns, one entry per independent factor of the prior."""

    dims: tuple[str, ...]
    values: Array


#: A function of encoded rows to their log density under every class: (..., n_rows, n_classes), draw axes leading. Its
#: result is an array of its own, which the caller may overwrite.
LogDensity = Callable[[Any], Array]

#: What a density is taken over. Evidences of models that differ in it measure different things.
Measure = Literal["mass", "mass given the row total", "density"]


class Family(ABC):
    """Class-conditional density p(x | y = k, θ) of all classes at once, with a prior on θ."""

    name: ClassVar[str]

    #: Whether sparse matrices are welcome, whether cells may be missing, and whether such rows can be fitted too.
    allows_sparse: ClassVar[bool] = False
    allows_missing: ClassVar[bool] = True
    fits_missing: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in vars(cls):
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

    @abstractmethod
    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        """Return this family for the columns of ``table`` and for ``classes``."""

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
    def sufficient_statistics(self, X: Any, responsibilities: Responsibilities) -> Statistics:
        """Sum the rows into their classes."""

    @abstractmethod
    def read_statistics(self, table: Table, responsibilities: Responsibilities) -> Statistics:
        """Check the rows of a table and sum them, as ``encode`` and ``sufficient_statistics`` do one after the other.

        Where sums tell whether a number lies outside the support, a pass over the rows is saved; other families are
        :class:`CheckedFirst`.
        """

    @abstractmethod
    def resolve_prior(self, statistics: Any) -> Conjugate | Declared:
        """The prior as declared; defaults that depend on the data read them from ``statistics``."""

    @abstractmethod
    def with_prior(self, prior: Any) -> Self:
        """Return this family with an explicit prior, such as a resolved one."""

    @abstractmethod
    def mle(self, statistics: Any) -> Theta:
        """Maximum likelihood; raises UndefinedEstimateError where the likelihood has no maximum."""

    @abstractmethod
    def likelihood(self, theta: Theta, *, common: bool = True) -> LogDensity:
        """log p(x | y = k, θ) as a function of the encoded rows x; what depends on θ alone is computed here, once.

        Parameters
        ----------
        theta : Theta
            Draw axes may lead.
        common : bool
            If False, terms may be left out that are the same for all classes of a row, as class probabilities under
            this θ do not need them. Such terms may depend on θ: an average over several θ needs them.
        """

    @abstractmethod
    def predictive(self, posterior: Any, *, common: bool = True) -> LogDensity:
        """log p(x | y = k, data), parameters integrated out, as a function of the encoded rows x.

        Parameters
        ----------
        posterior : Conjugate
        common : bool
            As for :meth:`likelihood`.
        """

    @final
    def log_likelihood(self, theta: Theta, X: Any) -> Array:
        """log p(x | y = k, θ): (..., n_rows, n_classes), the draw axes of ``theta`` leading."""
        return self.likelihood(theta)(X)

    @final
    def log_predictive(self, posterior: Any, X: Any) -> Array:
        """log p(x | y = k, data), parameters integrated out: (n_rows, n_classes)."""
        return self.predictive(posterior)(X)

    @abstractmethod
    def loo_log_predictive(self, posterior: Any, X: Any, members: Membership) -> tuple[Array, Array]:
        """log p(x_i | y = k, ·) of rows that are among the data, given all data and given all but row i itself.

        Parameters
        ----------
        posterior : Conjugate
            Of all rows, ``X`` among them.
        members : Membership
            The class and the weight with which each row entered the posterior.

        Returns
        -------
        with_row : (n_rows, n_classes)
            As :meth:`log_predictive`.
        without_row : (n_rows, n_classes)
            Not finite where the posterior without the row is improper, or where rounding leaves nothing of it.
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

    @abstractmethod
    def label_rows(self, X: Any, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        """Encoded rows as named arrays with their dims, the first of which is "row"."""

    @abstractmethod
    def log_evidence(self, prior: Any, statistics: Any) -> dict[str, Evidence]:
        """log p(X | y) per block of columns (the empty name for a family of one block)."""

    @final
    def declare(self, prior: Any, prefix: str = "") -> dict[str, Any]:
        """Declare the parameters as random variables of the current ``pm.Model``, and return them."""
        return dict(prior.declared_in(self, prefix))

    @final
    def named(self, parameter: str, prefix: str = "") -> dict[str, Any]:
        """Name and dims of a parameter, as keyword arguments of a PyMC distribution."""
        return {"name": prefix + parameter, "dims": prefixed(self.dims[parameter], prefix)}

    @abstractmethod
    def declare_conjugate(self, prior: Any, prefix: str) -> dict[str, Any]:
        """Declare the parameters under a conjugate prior."""

    @abstractmethod
    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> None:
        """Declare every row as observed, given its class."""

    @abstractmethod
    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> None:
        """Declare the same likelihood through the sufficient statistics: its cost does not grow with the rows."""

    @abstractmethod
    def recover(self, draws: dict[str, Array], prior: Any, prefix: str = "") -> Theta:
        """Parameters from draws of the free random variables of ``declare``; (chain, draw) axes lead."""


class CheckedFirst(Family):
    """A family whose rows are checked before they are summed."""

    @final
    def read_statistics(self, table: Table, responsibilities: Responsibilities) -> Statistics:
        return self.sufficient_statistics(self.encode(table), responsibilities)


@dataclass(frozen=True, eq=False)
class ColumnFamily(Family):
    """A family whose parameters have one dimension named "feature", labelled by columns of the table."""

    support: ClassVar[Support]
    measure: ClassVar[Measure]

    columns: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)
    classes: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)

    @property
    @abstractmethod
    def factor_dims(self) -> tuple[str, ...]:
        """Dimensions over which the posterior splits into independent factors."""

    @final
    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        return replace(self, classes=tuple(classes))

    @property
    @final
    def measures(self) -> dict[Hashable, Measure]:
        return dict.fromkeys(self.columns, self.measure)

    @final
    def log_evidence(self, prior: Conjugate, statistics: Any) -> dict[str, Evidence]:
        if not prior.is_proper().all():
            raise ImproperError(
                f"the evidence is undefined under the improper prior of the {self.name} family: a density that does "
                "not integrate to one can be scaled at will. Use a proper prior, for example the default one."
            )
        base = np.asarray(statistics.log_base)
        dims = ("class", "feature")[: base.ndim]
        base = base.sum(tuple(axis for axis, dim in enumerate(dims) if dim not in self.factor_dims))
        return {"": Evidence(self.factor_dims, prior.log_increment(statistics) + base)}

    @final
    def label_features(self, features: Any, prefix: str) -> dict[str, tuple[tuple[str, ...], Array]]:
        """Features, one column each, under the name and dims they have in a PyMC model and a DataTree."""
        return {f"{prefix}x": (("row", f"{prefix}feature"), dense(features))}


@dataclass(frozen=True, eq=False)
class NumericFamily(ColumnFamily):
    """A family all of whose columns are features."""

    @final
    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        return replace(self, columns=table.names, classes=tuple(classes))

    @final
    def numbers(self, table: Table) -> Any:
        """The columns as numbers, not checked yet."""
        return numbers_of(table, self.columns, self.name, self.support, allows_sparse=self.allows_sparse)

    @final
    def encode(self, table: Table) -> Any:
        X = self.numbers(table)
        check_support(X, self.columns, self.name, self.support)
        present = None if self.allows_missing else observed_mask(X)
        if present is not None:
            row, column = np.argwhere(~present)[0]
            raise RowError(
                f"column {self.columns[column]!r} is missing in row ",
                int(row),
                f", but the {self.name} family models a row as a whole: a missing cell is neither zero nor can it be left "
                "out. Fill it in, drop the row, or use a family that treats columns one by one.",
            )
        return X

    @final
    def label_rows(self, X: Any, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return self.label_features(X, prefix)

    @final
    def decode(self, X: Any) -> dict[Hashable, Array]:
        return dict(zip(self.columns, dense(X).T, strict=True))


def prefixed(dims: Sequence[str], prefix: str) -> tuple[str, ...]:
    """Dimension names of a block within a product; the class axis is common to all blocks."""
    return tuple(dim if dim == "class" else prefix + dim for dim in dims)
