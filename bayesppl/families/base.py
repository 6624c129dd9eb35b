"""The contract of a class-conditional family, and what families of numbers share.

A family is a frozen dataclass whose fields declare the prior. ``bind`` tells it the columns and classes of the
data (and lets it learn what the declaration left open, such as the levels of a category); every other method
works on the arrays that ``encode`` returns. Adding a family means one file and one import line in
``bayesppl/families/__init__.py``; ``bayesppl.testing.check_family`` proves that it keeps the contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, final

import numpy as np
from scipy.sparse import issparse

from bayesppl.arrays import Array, Responsibilities, Theta, dense
from bayesppl.conjugates import Conjugate
from bayesppl.data import Table
from bayesppl.errors import ImproperError
from bayesppl.families.membership import Membership
from bayesppl.kernels.blocks import BLOCK_CELLS, row_blocks
from bayesppl.priors import Declared
from bayesppl.statistics import Statistics, class_sums

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

    @abstractmethod
    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        """Return this family for the columns of ``table`` and for ``classes``."""

    @abstractmethod
    def among(self, classes: Sequence[Hashable]) -> Self:
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
    def log_predictive_with_and_without(self, posterior: Any, X: Any, members: Membership) -> tuple[Array, Array]:
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

    @abstractmethod
    def simulate(self, theta: Theta, codes: Array, rng: np.random.Generator) -> Any:
        """Draw one row for each class code from a single ``theta``."""

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


class Support(NamedTuple):
    """The values a family can take: in words, as a test of finite values, and what to do about others.

    Where all integers between two numbers are among them, the ends of this range tell sooner.
    """

    words: str
    contains: Callable[[Array], Array] | None  # None: every number below LARGEST in magnitude
    remedy: str
    integers: tuple[float, float] | None = None


# cells of a scalar product
_PIECE = 1 << 12

#: Squares of larger numbers, and sums of these, may be no floating-point numbers.
LARGEST = 1e150

REAL_NUMBERS = Support(
    "finite real numbers below 1e150 in magnitude, so that their squares are numbers too",
    None,
    "Replace infinities, drop the rows that hold them, or rescale the column.",
)


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
    def among(self, classes: Sequence[Hashable]) -> Self:
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
        X = table.select(self.columns).numeric()
        if issparse(X) and not self.allows_sparse:
            refuse_sparse(self.name)
        return X

    @final
    def encode(self, table: Table) -> Any:
        X = self.numbers(table)
        check_support(X, self.columns, self.name, self.support)
        present = None if self.allows_missing else observed_mask(X)
        if present is not None:
            row, column = np.argwhere(~present)[0]
            raise ValueError(
                f"column {self.columns[column]!r} is missing in row {row}, but the {self.name} family models a row as a "
                "whole: a missing cell is neither zero nor can it be left out. Fill it in, drop the row, or use a family "
                "that treats columns one by one."
            )
        return X

    @final
    def label_rows(self, X: Any, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return self.label_features(X, prefix)

    @final
    def decode(self, X: Any) -> dict[Hashable, Array]:
        return dict(zip(self.columns, dense(X).T, strict=True))


def refuse_sparse(name: str) -> None:
    """Refuse sparse input for a family that needs every cell."""
    raise TypeError(
        f"Sparse data was passed for the {name} family, but dense data is required. "
        "Use '.toarray()' to convert to a dense numpy array."
    )


def check_support(X: Any, columns: Sequence[Hashable], name: str, support: Support) -> None:
    """Refuse numbers outside ``support``; missing cells pass.

    Raises
    ------
    ValueError
        Naming the column, the value found, its row and the remedy.
    """
    values = X.data if issparse(X) else X
    if issparse(X) and observed_mask(values) is not None:
        raise ValueError("a sparse matrix holds NaN; sparse input cannot have missing cells, make it dense")
    cells = BLOCK_CELLS * (8 // min(8, values.dtype.itemsize) if support.contains is not None else 4)
    for rows in row_blocks(len(values), 1 if issparse(X) else X.shape[1], cells):
        wrong = _outside(values[rows], support)
        if wrong is not None:
            row, column = _locate(X, rows.start, wrong)
            raise ValueError(
                f"column {columns[column]!r} holds {X[row, column]:g} in row {row}, but the {name} family "
                f"models {support.words}. {support.remedy}"
            )


def _outside(values: Array, support: Support) -> Array | None:
    """Where numbers lie outside the support, or None where all are within it."""
    if support.contains is None:
        if np.isfinite(_sum_of_squares(values)):
            return None
        wrong = np.abs(values, dtype=np.float64) >= LARGEST
    elif values.dtype.kind in "biu" and support.integers is not None and _is_between(values, *support.integers):
        return None
    else:
        wrong = ~support.contains(values)
        if not wrong.any() and (values.dtype.kind != "f" or np.isfinite(_total(values))):
            return None
    if values.dtype.kind == "f":
        wrong = (wrong | np.isinf(values)) & ~np.isnan(values)
    return wrong if wrong.any() else None


def _is_between(values: Array, low: float, high: float) -> bool:
    unsigned = values.dtype.kind in "bu" and low == 0
    return bool((unsigned or values.min(initial=0) >= low) and (high == np.inf or values.max(initial=0) <= high))


def _sum_of_squares(values: Array) -> Any:
    """Infinite or NaN if one of the cells is, or is so large that its square is; cheaper than looking at each."""
    flat = values.ravel(order="K").astype(np.float64, copy=False)
    # in pieces so short that BLAS starts no threads, which cost more than they gain, and far more on a busy machine
    whole = len(flat) // _PIECE * _PIECE
    pieces, rest = flat[:whole].reshape(-1, _PIECE), flat[whole:]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.vecdot(pieces, pieces).sum() + np.dot(rest, rest)


def _total(values: Array) -> Any:
    """Sum of all cells: infinite or NaN if one of them is, and cheaper than looking at each."""
    with np.errstate(over="ignore", invalid="ignore"):
        return values.sum()


def _locate(X: Any, start: int, wrong: Array) -> tuple[int, int]:
    """Row and column of the first wrong cell of a block that begins at ``start``."""
    if issparse(X):
        entries = X.tocoo()
        at = start + int(np.argmax(wrong))
        return int(entries.row[at]), int(entries.col[at])
    row, column = np.argwhere(wrong)[0]
    return start + int(row), int(column)


def prefixed(dims: Sequence[str], prefix: str) -> tuple[str, ...]:
    """Dimension names of a block within a product; the class axis is common to all blocks."""
    return tuple(dim if dim == "class" else prefix + dim for dim in dims)


def observed_mask(X: Any) -> Array | None:
    """Where cells are present, or None when all are (as in every sparse matrix)."""
    if issparse(X) or X.dtype.kind != "f":
        return None
    if not np.isnan(_total(X)):
        return None
    mask = ~np.isnan(X)
    return None if mask.all() else mask


def split_missing(X: Any) -> tuple[Any, Array | None]:
    """Rows with zeros for missing cells, and where cells are present (None when all are)."""
    present = observed_mask(X)
    return (X, None) if present is None else (np.where(present, X, 0.0), present)


def present_cells(X: Array, codes: Array, prefix: str) -> tuple[Any, Any, tuple[str, ...] | None]:
    """What a PyMC model observes: all rows, or a flat list of the cells that are present.

    Returns
    -------
    index
        Of the parameters (class, feature) of what is observed.
    at
        Index of what is observed in ``X``, and in other arrays of its shape.
    dims
        Names of the dimensions of what is observed; None for a flat list.
    """
    present = observed_mask(X)
    if present is None:
        return (codes,), ..., ("row", f"{prefix}feature")
    rows, columns = np.nonzero(present)
    return (codes[rows], columns), present, None


def observed_weight(responsibilities: Responsibilities, X: Any, present: Array | None) -> Array:
    """Total weight of the present cells of every class and column: (n_classes, n_columns)."""
    if present is not None:
        return class_sums(responsibilities, present)
    totals = np.asarray(responsibilities.sum(axis=0), dtype=np.float64)
    return np.repeat(totals[:, None], X.shape[1], axis=1)
