r"""Columns that are often zero: a probability of zero, and any family of single columns for the rest.

.. math:: p(x_d \mid y = k, \theta) = \phi_{kd}^{[x_d = 0]}
   \bigl((1 - \phi_{kd})\, q(x_d \mid y = k, \theta)\bigr)^{[x_d \neq 0]}, \qquad \phi_{kd} \sim
   \mathrm{Beta}(\alpha, \beta).

This is the two-part, or hurdle, form (Cragg 1971, "Some statistical models for limited dependent variables";
Mullahy 1986, "Specification and testing of some modified count data models"): whether a cell is zero is always
seen, so that the two factors share no parameter and the posterior is conjugate if that of q is. A density q gives
zero no mass, so that this is the mixture of q with an atom at zero. A mass q of counts would give zero some mass
of its own: it models x − 1 instead, the number of further events after the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np

from bayesppl.conjugate import Beta
from bayesppl.conjugate.membership import Membership
from bayesppl.data.table import MatrixTable, Table
from bayesppl.families.bernoulli import Bernoulli
from bayesppl.families.block_rows import BlockRows
from bayesppl.families.bound import Measure, NumberColumns
from bayesppl.families.categorical import Categorical
from bayesppl.families.composite import GivenBlocks
from bayesppl.families.family import Family, require_family
from bayesppl.families.mixture import Mixture
from bayesppl.families.support import COUNTS, check_support, checked_numbers
from bayesppl.families.transformed import Transformed
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class ZeroInflated(Transformed):
    """A probability of zero for every class and column, and a family for what is not zero.

    Parameters
    ----------
    family : Family
        Of the cells that are not zero, which it must model one by one: any family that takes missing cells. Where
        it models counts (:class:`~bayesppl.Poisson`, :class:`~bayesppl.NegativeBinomial`), it models the count
        less one.
    probability : Beta
        Prior of the probability of zero; uniform by default.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[0.0], [0.0], [3.5], [2.0], [90.0], [0.0]]
    >>> clf = bp.GenerativeClassifier(bp.families.ZeroInflated(bp.LogNormal())).fit(X, list("aaabbb"))
    >>> clf.posterior_.mean()["zero_probability"].round(2).tolist()
    [[0.6], [0.4]]
    >>> clf.predict([[0.0], [50.0]]).tolist()
    ['a', 'b']
    """

    name: ClassVar[str] = "zero_inflated"
    has_base: ClassVar[bool] = False

    family: Family
    probability: Beta | Any = Beta()

    @cached_property
    def bound(self) -> NumberColumns:
        within = self.inner.bound
        is_separate = all(len(factor.columns) == 1 for factor in within.factors)
        coords = {**within.coords, "column": list(self.columns)}
        measures: dict[Hashable, Measure] = {
            column: "mass" if measure == "mass" else "mass at zero, density elsewhere"
            for column, measure in self._rest.bound.measures.items()
        }
        return NumberColumns(
            self,
            within.dims,
            is_separate,
            row_dim="column",
            other_coords=coords,
            check=self._check,
            measure_of=measures,
        )

    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        if require_family(self.family).missing != "fitted" or isinstance(self.family, Categorical | Mixture):
            raise ValueError(
                "ZeroInflated takes a family of numbers that models its columns one by one, and the "
                f"{self.family.name} family does not; use one that does, such as bayesppl.LogNormal('diag'). "
                "Components go around it: bayesppl.Mixture(bayesppl.families.ZeroInflated(...), components)"
            )
        X = np.asarray(checked_numbers(table, table.names, self.name, self.support), dtype=np.float64)
        others = MatrixTable(table.names, np.where(X == 0, np.nan, X), True)
        # once bound, the family of the rest keeps what it learned of the first rows
        rest = (self.family if self.inner is None else self._rest).bind(others, classes, members)
        if rest.bound.covariate_supports:
            raise ValueError(
                f"ZeroInflated takes a family all of whose columns are features, and {rest!r} reads "
                f"{', '.join(rest.bound.covariate_supports)} from a column; leave it out"
            )
        zero = Bernoulli(self.probability).bind(table, classes)
        return replace(self, inner=GivenBlocks({"zero": (table.names, zero), "rest": (table.names, rest)}))

    def transform(self, X: Array) -> BlockRows:
        zero = np.where(np.isnan(X), np.nan, X == 0)
        rest = np.where(X == 0, np.nan, X - self._shift)
        return BlockRows({"zero": zero, "rest": self._rest.bound.encode(MatrixTable(self.columns, rest, True))})

    def restore(self, rows: BlockRows, rng: np.random.Generator) -> Array:
        values = self._rest.bound.decode(rows.parts["rest"])
        rest = np.column_stack([values[name] for name in self.columns]).astype(np.float64)
        return np.where(rows.parts["zero"] == 1, 0.0, rest + self._shift)

    def log_base(self, X: Array, rows: BlockRows) -> Array:
        return np.zeros(X.shape)

    def _check(self, X: Array) -> None:
        """Refuse counts as they are found, then what else the family of the rest does not model."""
        check_support(np.where(self._shift, X, np.nan), self.columns, self._rest.name, COUNTS)
        self.transform(X)

    @property
    def _rest(self) -> Family:
        return cast(Family, self.inner.parts["rest"])

    @property
    def _shift(self) -> Array:
        """Return what is subtracted from every column for the family of the rest: one from counts."""
        measures = self._rest.bound.measures
        return np.asarray([float(measures[name] == "mass") for name in self.columns])
