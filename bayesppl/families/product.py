"""Blocks of columns, each with a family of its own, independent given the class.

.. math:: p(x \\mid y = k, \\theta) = \\prod_b p_b(x_b \\mid y = k, \\theta_b),
   \\qquad p(\\theta) = \\prod_b p_b(\\theta_b).

Likelihood, posterior, predictive and evidence are products over the blocks, so a product of families is a family:
it can be fitted, sampled, and nested in another product. Naive Bayes is the product of one-column families.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.conjugate.closed_forms import sum_of_parts
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.rows import JointRows
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.table import Table
from bayesppl.families._bases.block_columns import divided
from bayesppl.families._bases.column_choice import ColumnChoice, Ranges
from bayesppl.families._bases.family import CompositeFamily, Family, Takes
from bayesppl.families._bases.impossible_cells import skip_impossible
from bayesppl.families._bases.infer_families import Integers
from bayesppl.families._bases.pick_blocks import Blocks, Pick, pick_blocks, require_one_way
from bayesppl.families.block_rows import BlockColumns, BlockRows
from bayesppl.families.covariates import NO_COVARIATES, Covariates, covariates_of
from bayesppl.kernels.arrays import Array, Theta


@dataclass(frozen=True, eq=False)
class Product(CompositeFamily):
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
    def parts(self) -> dict[str, Family]:
        return {block: family for block, (_, family) in (self.blocks or {}).items()}

    @property
    def bound(self) -> BlockColumns:
        blocks = (self.blocks or {}).items()
        return BlockColumns(
            {block: tuple(columns) for block, (columns, _) in blocks},
            {block: family.bound for block, (_, family) in blocks},
            skip_impossible if self.choice is not None else None,
        )

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

    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        return self._with_each(lambda _, family: family.with_classes(classes))

    def with_prior(self, prior: Joint) -> Self:
        return self._with_each(lambda block, family: family.with_prior(prior.parts[block]))

    def rows(self, X: BlockRows) -> JointRows:
        return JointRows({block: family.rows(X.parts[block]) for block, family in self.parts.items()})

    def resolve_prior(self, statistics: JointStatistics) -> Joint:
        parts = {block: family.resolve_prior(statistics.parts[block]) for block, family in self.parts.items()}
        return Joint(parts, {block: f"{block}_" for block in parts})

    def mle(self, statistics: JointStatistics) -> Theta:
        return {
            f"{block}_{parameter}": value
            for block, family in self.parts.items()
            for parameter, value in family.mle(statistics.parts[block]).items()
        }

    def log_likelihood(self, theta: Theta) -> LogDensity:
        densities = {
            block: family.log_likelihood(_parameters_of(f"{block}_", theta, family))
            for block, family in self.parts.items()
        }
        return sum_of_parts(densities)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> BlockRows:
        return BlockRows(
            {
                block: family.simulate(
                    _parameters_of(f"{block}_", theta, family),
                    codes,
                    rng,
                    covariates_of(f"{block}_", covariates, family.bound.covariate_supports),
                )
                for block, family in self.parts.items()
            }
        )

    def observe_rows(self, variables: dict[str, Any], X: BlockRows, codes: Array, prefix: str = "") -> None:
        for block, family in self.parts.items():
            family.observe_rows(variables[block], X.parts[block], codes, f"{prefix}{block}_")

    def observe_statistics(self, variables: dict[str, Any], statistics: JointStatistics, prefix: str = "") -> None:
        for block, family in self.parts.items():
            family.observe_statistics(variables[block], statistics.parts[block], f"{prefix}{block}_")

    def _with_each(self, change: Callable[[str, Family], Family]) -> Self:
        blocks = (self.blocks or {}).items()
        return replace(self, blocks={name: (columns, change(name, family)) for name, (columns, family) in blocks})

    def _check_names(self) -> None:
        """Refuse blocks whose parameters or dimensions could be taken for those of another block."""
        for block, family in self.parts.items():
            prefix, bound = f"{block}_", family.bound
            names = [prefix + name for name in (*bound.dims, *bound.coords, *bound.covariate_supports)]
            for other in self.parts:
                start = f"{other}_"
                # ambiguous is a name within "p" that begins like "p_b"; those within "p_b" all begin like "p"
                clash = [name for name in names if name == other or name.startswith(start)]
                if other.startswith(prefix) and clash:
                    raise ValueError(
                        f"block {block!r} has a parameter, dimension or covariate named {clash[0]!r}, which could belong to block "
                        f"{other!r}; rename one of the two blocks"
                    )


def _parameters_of(prefix: str, theta: Theta, family: Family) -> Theta:
    return {parameter: theta[prefix + parameter] for parameter in family.bound.dims}
