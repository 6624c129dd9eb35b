"""Blocks of columns, each with a family of its own, independent given the class.

.. math:: p(x \\mid y = k, \\theta) = \\prod_b p_b(x_b \\mid y = k, \\theta_b),
   \\qquad p(\\theta) = \\prod_b p_b(\\theta_b).

Likelihood, posterior, predictive and evidence are products over the blocks, so a product of families is a family:
it can be fitted, sampled, and nested in another product. Naive Bayes is the product of one-column families.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.table import Table
from bayesppl.families._bases.block_columns import divided
from bayesppl.families._bases.block_rows import BlockRows
from bayesppl.families._bases.column_choice import ColumnChoice, Ranges
from bayesppl.families._bases.conjugate_family import ConjugateFamily
from bayesppl.families._bases.covariates import NO_COVARIATES, Covariates, required
from bayesppl.families._bases.family import Evidence, Family, Measure, Takes, prefixed
from bayesppl.families._bases.impossible_cells import skip_impossible
from bayesppl.families._bases.infer_families import Integers
from bayesppl.families._bases.log_density import LogDensity
from bayesppl.families._bases.membership import Membership
from bayesppl.families._bases.pick_blocks import Blocks, Pick, pick_blocks, require_one_way
from bayesppl.families._bases.support import Support
from bayesppl.families._bases.units import Unit, of_block
from bayesppl.kernels.arrays import Array, Responsibilities, Theta


@dataclass(frozen=True, eq=False)
class Product(ConjugateFamily):
    """Named blocks of columns, each with its own family; independent given the class.

    Parameters
    ----------
    blocks : mapping of str to (columns, family), optional
        Every column of the table belongs to exactly one block. Columns are a name, a sequence of names or of positions, a slice
        (of positions, or of names, both ends included), or a function of the data frame that returns one of these, such as
        scikit-learn's ``make_column_selector``. The parameters of a block carry its name, as in
        ``bill_mean``, and so do its dimensions, as in ``bill_feature``. A family may itself be a ``Product``.
        By default the blocks are picked from the dtypes of the columns: Boolean columns are
        :class:`~bayesppl.Bernoulli`, text and categories are :class:`~bayesppl.Categorical`, floating-point
        columns are ``Gaussian("diag")``, and integers are as ``integers`` declares.
    integers : {"gaussian", "poisson", "categorical"} or mapping of columns to these, optional
        What integer columns are, all of them or each by name, where the blocks are picked from dtypes. A dtype does not distinguish counts, codes
        and rounded measurements, so that by default integer columns are refused.
    columns : {"dtype", "evidence", "blocks"}
        How the blocks are picked where there are none. ``"blocks"`` takes families by dtype, and puts numbers that are correlated within
        the classes into one ``Gaussian("full")``, and categories that depend on each other into one
        :class:`~bayesppl.JointCategorical`, as long as the evidence on the rows of the fit (of the first batch) grows.
        ``"evidence"`` gives every column of numbers the density of the highest evidence on these rows, out of Gaussian, log-normal,
        gamma, exponential, Poisson, negative binomial, levels and histograms, each of them also with a probability of zero;
        ``integers`` is not needed.
    ranges : mapping of column to (low, high), optional
        With ``columns="evidence"``, the least and the largest value that later rows can hold, where they may lie beyond those of
        the first: a density of positive numbers is then chosen only for a column that stays positive.

    Examples
    --------
    >>> import bayesppl as bp
    >>> import pandas as pd
    >>> X = pd.DataFrame({"length": [1.0, 1.2, 3.1, 2.9], "island": ["a", "a", "b", "a"]})
    >>> family = bp.Product({"size": (["length"], bp.Gaussian()), "place": (["island"], bp.Categorical())})
    >>> clf = bp.GenerativeClassifier(family).fit(X, [0, 0, 1, 1])
    >>> sorted(clf.posterior_.mean())
    ['class_weights', 'place_probability', 'size_mean', 'size_variance']
    >>> clf.predict(X).tolist()
    [0, 0, 1, 1]
    """

    name: ClassVar[str] = "product"
    takes: ClassVar[Takes] = "columns of any kind"

    blocks: Blocks | None = None
    integers: Integers | None = None
    columns: Pick = "dtype"
    ranges: Ranges | None = None

    #: How the blocks were chosen, where they were chosen by evidence.
    choice: ColumnChoice | None = field(default=None, kw_only=True, repr=False)

    @property
    def families(self) -> Iterator[tuple[str, str, Family]]:
        """Block, prefix of its parameters, and family, in order."""
        return ((block, f"{block}_", family) for block, (_, family) in (self.blocks or {}).items())

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        return {
            prefix + parameter: prefixed(dims, prefix)
            for _, prefix, family in self.families
            for parameter, dims in family.dims.items()
        }

    @property
    def coords(self) -> dict[str, list[Hashable]]:
        return {
            prefix + dim: labels for _, prefix, family in self.families for dim, labels in family.coords.items()
        }

    @property
    def measures(self) -> dict[Hashable, Measure]:
        return {column: measure for _, _, family in self.families for column, measure in family.measures.items()}

    @property
    def family_names(self) -> dict[Hashable, str]:
        return {column: name for _, _, family in self.families for column, name in family.family_names.items()}

    @property
    def levels_of_columns(self) -> dict[Hashable, tuple[Hashable, ...]]:
        return {
            column: levels for _, _, family in self.families for column, levels in family.levels_of_columns.items()
        }

    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        return self.bind_labelled(table, classes, np.zeros(len(table), dtype=np.intp), np.ones(len(table)))

    def bind_labelled(self, table: Table, classes: Sequence[Hashable], codes: Array, weights: Array) -> Self:
        blocks, choice = self.blocks, self.choice
        if choice is None:  # further rows do not change what was chosen
            require_one_way(self.columns, blocks, self.ranges)
        if blocks is None:
            blocks, choice = pick_blocks(self.columns, table, classes, codes, weights, self.integers, self.ranges)
        columns = divided({block: names for block, (names, _) in blocks.items()}, table)
        bound = {
            block: (columns[block], family.bind_labelled(table.select(columns[block]), classes, codes, weights))
            for block, (_, family) in blocks.items()
        }
        product = replace(self, blocks=bound, choice=choice)
        product._check_names()
        return product

    @property
    def units(self) -> tuple[Unit, ...]:
        return tuple(unit for block, _, family in self.families for unit in of_block(block, family.units))

    def seen(self, X: BlockRows, units: Sequence[int]) -> BlockRows:
        parts, first = {}, 0
        for block, _, family in self.families:
            last = first + len(family.units)
            parts[block] = family.seen(X.parts[block], [unit - first for unit in units if first <= unit < last])
            first = last
        return BlockRows(parts)

    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        return self._with_each(lambda _, family: family.with_classes(classes))

    def encode(self, table: Table) -> BlockRows:
        read = skip_impossible if self.choice is not None else lambda chosen, _: chosen
        blocks = self.blocks or {}
        return BlockRows(
            {name: family.encode(read(table.select(columns), name)) for name, (columns, family) in blocks.items()}
        )

    def decode(self, X: BlockRows) -> dict[Hashable, Array]:
        return {
            column: values
            for block, _, family in self.families
            for column, values in family.decode(X.parts[block]).items()
        }

    def sufficient_statistics(self, X: BlockRows, responsibilities: Responsibilities) -> JointStatistics:
        return JointStatistics(
            {
                block: family.sufficient_statistics(X.parts[block], responsibilities)
                for block, _, family in self.families
            }
        )

    def read_statistics(self, table: Table, responsibilities: Responsibilities) -> JointStatistics:
        return JointStatistics(
            {
                name: family.read_statistics(table.select(columns), responsibilities)
                for name, (columns, family) in (self.blocks or {}).items()
            }
        )

    def resolve_prior(self, statistics: JointStatistics) -> Joint:
        return self._joint(lambda block, family: family.resolve_prior(statistics.parts[block]))

    def _joint(self, belief: Callable[[str, Family], Any]) -> Joint:
        parts = {block: belief(block, family) for block, _, family in self.families}
        return Joint(parts, {block: prefix for block, prefix, _ in self.families})

    def tunable(self, prior: Joint) -> Mapping[str, tuple[float, float]]:
        return {
            f"{block}.{name}": bounds
            for block, _, family in self.families
            for name, bounds in family.tunable(prior.parts[block]).items()
        }

    def with_prior(self, prior: Joint) -> Self:
        return self._with_each(lambda block, family: family.with_prior(prior.parts[block]))

    def _with_each(self, change: Callable[[str, Family], Family]) -> Self:
        blocks = (self.blocks or {}).items()
        return replace(self, blocks={name: (columns, change(name, family)) for name, (columns, family) in blocks})

    def mle(self, statistics: JointStatistics) -> Theta:
        return {
            prefix + parameter: value
            for block, prefix, family in self.families
            for parameter, value in family.mle(statistics.parts[block]).items()
        }

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return _sum_of(
            {
                block: family.log_likelihood(_without(prefix, theta, family))
                for block, prefix, family in self.families
            }
        )

    def log_predictive(self, posterior: Joint) -> LogDensity:
        return _sum_of(
            {block: family.log_predictive(posterior.parts[block]) for block, _, family in self.families}
        )

    def loo_log_predictive(
        self, posterior: Joint, statistics: Any, X: BlockRows, members: Membership
    ) -> tuple[Array, Array]:
        fitted, without = zip(
            *(
                family.loo_log_predictive(posterior.parts[block], statistics.parts[block], X.parts[block], members)
                for block, _, family in self.families
            ),
            strict=True,
        )
        return _sum(iter(fitted)), _sum(iter(without))

    def loo_of_units(
        self, posterior: Joint, statistics: Any, X: BlockRows, members: Membership
    ) -> Iterator[tuple[Array, Array]]:
        for block, _, family in self.families:
            yield from family.loo_of_units(
                posterior.parts[block], statistics.parts[block], X.parts[block], members
            )

    @property
    def covariate_supports(self) -> Mapping[str, Support]:
        return {
            prefix + name: support
            for _, prefix, family in self.families
            for name, support in family.covariate_supports.items()
        }

    def covariates(self, X: BlockRows) -> Covariates:
        return {
            prefix + name: values
            for block, prefix, family in self.families
            for name, values in family.covariates(X.parts[block]).items()
        }

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> BlockRows:
        return BlockRows(
            {
                block: family.simulate(
                    _without(prefix, theta, family), codes, rng, _covariates_of(prefix, covariates, family)
                )
                for block, prefix, family in self.families
            }
        )

    def simulate_predictive(
        self, posterior: Joint, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> BlockRows:
        return BlockRows(
            {
                block: family.simulate_predictive(
                    posterior.parts[block], codes, rng, _covariates_of(prefix, covariates, family)
                )
                for block, prefix, family in self.families
            }
        )

    def narrowed(self, posterior: Joint, X: BlockRows) -> tuple[Joint, BlockRows]:
        parts = {
            block: family.narrowed(posterior.parts[block], X.parts[block]) for block, _, family in self.families
        }
        beliefs = {block: belief for block, (belief, _) in parts.items()}
        return replace(posterior, parts=beliefs), BlockRows({block: rows for block, (_, rows) in parts.items()})

    def label_rows(self, X: BlockRows, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return {
            name: labelled
            for block, inner, family in self.families
            for name, labelled in family.label_rows(X.parts[block], prefix + inner).items()
        }

    def log_evidence(self, prior: Joint, statistics: JointStatistics) -> dict[str, Evidence]:
        return _labelled(
            (block, prefix, family.log_evidence(prior.parts[block], statistics.parts[block]))
            for block, prefix, family in self.families
        )

    def common_prior(self, statistics: JointStatistics) -> Joint:
        return self._joint(lambda block, family: family.common_prior(statistics.parts[block]))

    def log_dependence(self, prior: Joint, common: Joint, statistics: JointStatistics) -> dict[str, Evidence]:
        return _labelled(
            (
                block,
                prefix,
                family.log_dependence(prior.parts[block], common.parts[block], statistics.parts[block]),
            )
            for block, prefix, family in self.families
        )

    def averaged_predictive(self, posterior: Joint, common: Joint, log_odds: Mapping[str, Array]) -> LogDensity:
        return _sum_of(
            {
                block: family.averaged_predictive(
                    posterior.parts[block], common.parts[block], _units_of(block, prefix, log_odds)
                )
                for block, prefix, family in self.families
            }
        )

    def observe_rows(self, variables: dict[str, Any], X: BlockRows, codes: Array, prefix: str = "") -> None:
        for block, inner, family in self.families:
            family.observe_rows(variables[block], X.parts[block], codes, prefix + inner)

    def observe_statistics(self, variables: dict[str, Any], statistics: JointStatistics, prefix: str = "") -> None:
        for block, inner, family in self.families:
            family.observe_statistics(variables[block], statistics.parts[block], prefix + inner)

    def _check_names(self) -> None:
        """Refuse blocks whose parameters or dimensions could be taken for those of another block."""
        for block, prefix, family in self.families:
            names = [prefix + name for name in (*family.dims, *family.coords, *family.covariate_supports)]
            for other, start, _ in self.families:
                # ambiguous is a name within "p" that begins like "p_b"; those within "p_b" all begin like "p"
                clash = [name for name in names if name == other or name.startswith(start)]
                if other.startswith(prefix) and clash:
                    raise ValueError(
                        f"block {block!r} has a parameter, dimension or covariate named {clash[0]!r}, which could belong to block "
                        f"{other!r}; rename one of the two blocks"
                    )


def _without(prefix: str, theta: Theta, family: Family) -> Theta:
    return {parameter: theta[prefix + parameter] for parameter in family.dims}


def _labelled(evidences: Iterable[tuple[str, str, dict[str, Evidence]]]) -> dict[str, Evidence]:
    """Evidences of all blocks, from those of each with its name and prefix."""
    return {
        prefix + inner if inner else block: Evidence(prefixed(part.dims, prefix), part.values)
        for block, prefix, parts in evidences
        for inner, part in parts.items()
    }


def _units_of(block: str, prefix: str, values: Mapping[str, Array]) -> dict[str, Array]:
    """What belongs to one block, under the names its own family gives its units."""
    inner = {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
    return {**inner, **({"": values[block]} if block in values else {})}


def _covariates_of(prefix: str, covariates: Covariates, family: Family) -> Covariates:
    return {name: required(covariates, prefix + name) for name in family.covariate_supports}


def _sum_of(log_densities: Mapping[str, LogDensity]) -> LogDensity:
    """The log density of independent blocks, from that of each."""
    return LogDensity(
        lambda X: _sum(log_density(X.parts[block]) for block, log_density in log_densities.items()),
        lambda X: _sum(log_density.kernel(X.parts[block]) for block, log_density in log_densities.items()),
    )


def _sum(terms: Iterator[Array]) -> Array:
    total = next(terms)
    for term in terms:
        total += term
    return total
