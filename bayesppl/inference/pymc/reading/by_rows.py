"""The likelihood of a part of a model as its user wrote it, as a family of this package.

It has no sufficient statistics and no closed form: densities of rows under draws of the user's own variables.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from bayesppl.conjugate.declared_priors import Declared, Dims
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.row_statistics import RowStatistics
from bayesppl.conjugate.statistics import Counts
from bayesppl.data.table import Table
from bayesppl.errors import NotConjugateError, RowError, UndefinedEstimateError
from bayesppl.families import Family
from bayesppl.families.block_rows import BlockRows
from bayesppl.families.bound import BoundColumns, Described, Factor, Measure, together
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import Missing
from bayesppl.inference.pymc.reading.layout import Layout
from bayesppl.inference.pymc.reading.observed import Observed
from bayesppl.kernels.arrays import Array, Responsibilities, Theta
from bayesppl.kernels.class_sums import class_counts

_SAMPLED = (
    "a part of the model written in PyMC was sampled, so that neither its predictive nor its evidence has a "
    "closed form; recognition() gives the reason, part by part. For the evidence, sample the model by "
    "pm.sample_smc"
)


@dataclass(frozen=True, eq=False)
class UserPrior(Declared):
    """The prior of variables as the user's model declares it."""

    names: tuple[str, ...]

    @property
    def declarations(self) -> Mapping[str, Any]:
        return dict.fromkeys(self.names, "as in the model")

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.names

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        return self._refuse()

    def log_volume(self, model: Any, prefix: str) -> Any:
        return self._refuse()

    def mle(self, statistics: Any) -> NoReturn:
        self._refuse()

    def _reason(self) -> str:
        return _SAMPLED


@dataclass(frozen=True, eq=False)
class CountedRows(RowStatistics):
    """Rows of which only their number in each class is a statistic."""

    X: BlockRows

    def sum_rows(self, responsibilities: Responsibilities) -> Counts:
        return Counts(class_counts(responsibilities), np.zeros(()))


def _measure(variable: Any) -> Measure:
    """Return what the density of an observed variable is taken over."""
    if not variable.dtype.startswith("float"):
        return "mass"
    kinds = {type(node.owner.op).__name__ for node in (variable, *variable.owner.inputs) if node.owner is not None}
    if "CensoredRV" in kinds:
        return "mass at limits, density between"
    return "mass at zero, density elsewhere" if "DiracDeltaRV" in kinds else "density"


@dataclass(frozen=True, eq=False)
class ObservedColumns(BoundColumns):
    """The columns of observed variables of a user's model, all of them one factor.

    Parameters
    ----------
    observed, layout, dims, labels
        As of :class:`ByRows`.
    """

    observed: tuple[Observed, ...]
    layout: Layout
    dims: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, list[Hashable]]

    @cached_property
    def described(self) -> dict[Hashable, Described]:
        return {
            column: Described("PyMC", _measure(x.variable))
            for x in self.observed
            for column in self.layout.columns[x.name]
        }

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        return together(tuple(self.described))

    @property
    def coords(self) -> dict[str, list[Hashable]]:
        return dict(self.labels)

    def encode(self, table: Table) -> BlockRows:
        rows = {x.name: self.layout.rows(table, x.name) for x in self.observed}
        given = dict.fromkeys(name for x in self.observed for name in x.given if name not in rows)
        rows |= {name: self.layout.rows(table, name, given=True) for name in given}
        found = {name: v.reshape(len(v), math.prod(v.shape[1:])) for name, v in rows.items()}
        for x in self.observed:
            for name, held in {x.name: x.observed, **x.held}.items():
                infinite = np.isinf(found[name]) & ~np.isinf(held).any()
                for row, column in np.argwhere(infinite)[:1].tolist():
                    raise RowError(
                        f"column {self.layout.columns[name][column]!r} holds {found[name][row, column]} in row ",
                        row,
                        ", and only finite numbers in the fit; correct it, or give NaN where it is missing",
                    )
            for name in x.given:
                lacking = np.isnan(found[name]).any(1) & ~np.isnan(found[x.name]).all(1)
                if lacking.any():
                    together = self.layout.linked(x.name)
                    is_feature = set(self.layout.columns[name]) <= set(together)
                    blocks = f". explain() weighs them together, by blocks={{'together': {together}}}"
                    raise ValueError(
                        f"{name!r} is missing where {x.name!r} is there, whose density in the model is given "
                        f"{name!r}: fill it in, or leave out both{blocks if is_feature else ''}"
                    )
        return BlockRows(found)

    def decode(self, X: BlockRows) -> dict[Hashable, Array]:
        own = {x.name for x in self.observed}
        found: dict[Hashable, Array] = {}
        for name, part in X.parts.items():
            columns = self.layout.columns[name] if name in own else self.layout.given(name)
            found |= dict(zip(columns, part.T, strict=True))
        return found

    def label_rows(self, X: BlockRows, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return {
            f"{prefix}{name}": (("row", f"{prefix}{name}_column"), np.asarray(part))
            for name, part in X.parts.items()
        }

    def covariates(self, X: BlockRows) -> Covariates:
        return NO_COVARIATES

    def marginal_rows(self, X: BlockRows, factors: Sequence[int]) -> BlockRows:
        if not factors:
            raise ValueError("the PyMC family models rows as a whole, and has no density of rows without cells")
        return X


@dataclass(frozen=True, eq=False)
class ByRows(Family, listed=False):  # nobody declares it
    """Observed variables of a user's model, row by row.

    Parameters
    ----------
    observed : tuple of Observed
    layout : Layout
    parameter_dims : mapping of str to dims
        Of the free variables.
    parameter_coords : mapping of str to labels
    order : (n_classes,)
        The code of each class in the model, along dimensions called "class".
    """

    name: ClassVar[str] = "PyMC"
    _no_closed_form: ClassVar[str] = _SAMPLED

    observed: tuple[Observed, ...]
    layout: Layout
    parameter_dims: Mapping[str, tuple[str, ...]]
    parameter_coords: Mapping[str, list[Hashable]]
    order: Array
    classes: tuple[Hashable, ...] = field(default=(), kw_only=True)

    missing: ClassVar[Missing] = "predicted"

    def __repr__(self) -> str:
        return f"ByRows({', '.join(x.name for x in self.observed)})"

    @cached_property
    def bound(self) -> ObservedColumns:
        return ObservedColumns(self.observed, self.layout, self.parameter_dims, self.parameter_coords)

    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        return replace(self, classes=tuple(classes))

    def rows(self, X: Any) -> CountedRows:
        return CountedRows(X)

    def mle(self, statistics: Any) -> NoReturn:
        raise UndefinedEstimateError(
            f"maximum likelihood of the {self.name} family has no closed form; use rule='mean' or 'predictive'"
        )

    def resolve_prior(self, statistics: Counts) -> UserPrior:
        return UserPrior(tuple(self.parameter_dims))

    def from_model(self, theta: Theta) -> Theta:
        """Put the classes along variables of the model in ascending order."""
        return self._along_classes(theta, self.order)

    def in_model(self, theta: Theta) -> Theta:
        """Undo :meth:`from_model`."""
        return self._along_classes(theta, np.argsort(self.order))

    def _along_classes(self, theta: Theta, order: Array) -> Theta:
        found = dict(theta)
        for name, dims in self.parameter_dims.items():
            for axis, dim in enumerate(dims):
                if dim == "class":
                    found[name] = found[name].take(order, axis - len(dims))
        return found

    def log_likelihood(self, theta: Theta) -> LogDensity:
        theta = self.in_model(theta)
        name, dims = next(iter(self.parameter_dims.items()))
        lead = theta[name].shape[: theta[name].ndim - len(dims)]
        flat = {name: values.reshape(-1, *values.shape[len(lead) :]) for name, values in theta.items()}

        def log_density(X: BlockRows) -> Array:
            n_rows, n_classes = len(X), len(self.classes)
            codes = np.repeat(np.arange(n_classes), n_rows)
            total = np.zeros((max(1, int(np.prod(lead))), n_classes * n_rows))
            tiled = {name: self._tiled(name, part) for name, part in X.parts.items()}
            for x in self.observed:
                given = {name: tiled[name] for name in x.given}
                try:
                    x.require_places(flat, codes, tiled[x.name], given)
                    total = total + x.log_marginal(flat, codes, tiled[x.name], given)
                except IndexError as error:
                    places = ", ".join(map(repr, x.places.names or x.given))
                    raise ValueError(
                        f"{x.name!r} is given places of {places} that its parameters do not "
                        f"have ({error}): leave out such rows, or give the model parameters of their group"
                    ) from error
            return np.moveaxis(total.reshape(*lead, n_classes, n_rows), -2, -1).copy()

        return LogDensity(log_density)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> BlockRows:
        if not all(x.can_simulate for x in self.observed):
            raise self._no(
                "its rows depend on what is given with them, so that new ones are drawn by "
                "pm.sample_posterior_predictive"
            )
        own = self.in_model(theta)
        drawn = {x.name: x.simulate(own, codes, rng) for x in self.observed}
        return BlockRows({name: values.reshape(len(codes), -1) for name, values in drawn.items()})

    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> NoReturn:
        raise self._no("the model is the user's own")

    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> NoReturn:
        raise self._no("the model is the user's own")

    def _tiled(self, name: str, part: Array) -> Array:
        dtype = part.dtype if np.isnan(part).any() else self.layout.dtypes[name]
        values = part.reshape(len(part), *self.layout.shapes[name]).astype(dtype)
        return np.concatenate([values] * len(self.classes))

    def _no(self, reason: str) -> NotConjugateError:
        names = ", ".join(repr(x.name) for x in self.observed)
        return NotConjugateError(f"the part of the model that observes {names} was sampled: {reason}")
