r"""The location model: categories, and beside them correlated numbers whose mean depends on the categories.

.. math:: p(c, z \mid y = k) = p(c \mid y = k)\, N(z \mid \mu_k + B_k^\top d(c), \Sigma_k),

where d(c) holds an indicator for every level of every category (Olkin & Tate 1961; Krzanowski 1975; Lauritzen &
Wermuth 1989, who call the distribution conditional Gaussian). The categories have a table each, or one for all of
them; the numbers are a regression on the indicators. Both are conjugate and share no parameter, so that the
posterior is a product and the evidence a sum of logarithms.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.log_density import LogDensity, over_alternatives
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.outcomes import completed
from bayesppl.conjugate.row_statistics import JointRows
from bayesppl.data.arguments import one_of
from bayesppl.data.table import Table
from bayesppl.families.block_rows import BlockRows
from bayesppl.families.bound import JointColumns
from bayesppl.families.categorical import Categorical, JointCategorical, TableFamily
from bayesppl.families.categorical_blocks import CategoricalBlocks
from bayesppl.families.choosing.infer_families import Integers, categories_and_numbers
from bayesppl.families.composite import GivenBlocks, parameters_of
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily, Missing
from bayesppl.families.find_levels import Levels
from bayesppl.families.gaussian_regression import GaussianRegression
from bayesppl.families.level_columns import Unseen
from bayesppl.families.support import ANYTHING, Support
from bayesppl.families.transformed import Wrapping
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.kernels.missing import describe_gaps

_TABLES: dict[str, type[TableFamily]] = {
    "evidence": CategoricalBlocks,
    "independent": Categorical,
    "joint": JointCategorical,
}

# a row is one of at most so many, where several of its categories are missing
MOST_COMPLETIONS = 20_000

_REFUSAL = (
    "numbers that depend on categories cannot be fitted to rows that lack some of these. Drop or impute "
    "them, write gaps as a level of their own, as by X['column'].fillna('missing'), or use bayesppl.MixedNB, "
    "which skips missing cells exactly."
)

#: How the categories depend on each other within a class.
CategoryTables = Literal["evidence", "independent", "joint"]


@dataclass(frozen=True, eq=False)
class ConditionalGaussian(Wrapping, ConjugateFamily):
    """Categories, and correlated numbers whose mean depends on them: the location model.

    Parameters
    ----------
    covariance : {"tied", "full"}
        Whether the classes share one covariance matrix of the numbers, and what the levels add to their mean (each
        class has an intercept of its own), or have a matrix and effects of their own.
    table : {"evidence", "independent", "joint"}
        Whether the categories are independent given the class, have one table of all their combinations, or
        several tables: with ``"evidence"``, categories share a table as long as the evidence on the rows of the
        fit (of the first batch) grows.
    prior : "hierarchical" or MatrixNormalInverseWishart
        Of the numbers given the categories. By default proper, weak and free of units, with the worth of an effect
        in rows found by evidence.
    probability : Dirichlet
        Prior of the probabilities of the levels, or of their combinations.
    levels, unseen
        See :class:`bayesppl.Categorical`; ``levels`` names the categories only.
    integers : {"gaussian", "categorical"} or mapping of columns to these, optional
        What integer columns are, numbers or categories, all of them or each by name. Text, categories and Booleans
        are categories, and floating-point columns numbers.
    categories : columns, optional
        The columns that are categories, in place of what their dtypes say; all others are numbers. Names,
        positions, a slice or a selector, as in :class:`bayesppl.Product`.

    Notes
    -----
    A fit needs complete rows. When predicting, missing numbers are marginalised exactly, and a row with missing
    categories is the sum over the levels they can have.

    Examples
    --------
    >>> import bayesppl as bp
    >>> import pandas as pd
    >>> sex = ["f", "m", "f", "m", "f", "m", "f", "m"]
    >>> X = pd.DataFrame({"sex": sex, "mass": [3.4, 4.0, 3.5, 4.1, 4.6, 5.4, 4.7, 5.5]})
    >>> clf = bp.GenerativeClassifier(bp.families.ConditionalGaussian()).fit(X, list("aaaabbbb"))
    >>> clf.predict(pd.DataFrame({"sex": ["m", "f"], "mass": [4.4, 4.4]})).tolist()
    ['a', 'b']
    """

    name: ClassVar[str] = "conditional_gaussian"
    support: ClassVar[Support] = ANYTHING
    missing: ClassVar[Missing] = "predicted"
    sums_over_gaps: ClassVar[bool] = True

    covariance: Literal["tied", "full"] = "tied"
    table: CategoryTables = "evidence"
    prior: str | MatrixNormalInverseWishart = "hierarchical"
    probability: Dirichlet | Any = Dirichlet()
    levels: Levels | None = None
    unseen: Unseen = "missing"
    integers: Integers | None = None
    categories: Any = None

    @property
    def of_categories(self) -> TableFamily:
        """The family of the categories, as ``bind`` made it."""
        return cast(TableFamily, self.inner.parts["categories"])

    @cached_property
    def bound(self) -> JointColumns:
        return JointColumns(self.inner.bound, self.name, self.inner.bound.dims)

    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        one_of("covariance", self.covariance, ("tied", "full"))
        one_of("table", self.table, _TABLES)
        if self.inner is None:
            of_levels, of_numbers = categories_and_numbers(table, self.categories, self.integers)
            tables = _TABLES[self.table](self.probability, self.levels, self.unseen)
        else:  # further rows do not change which columns are categories, nor which of them share a table
            of_levels, of_numbers = self.inner.bound.columns.values()
            tables = self.of_categories
        categories = tables.bind(table.select(of_levels), classes, members)
        numbers = GaussianRegression(
            self.prior, self.covariance == "tied", tuple(categories.bound.indicator_names)
        )
        numbers = numbers.bind(table.select(of_numbers), classes)
        parts = {"categories": (of_levels, categories), "numbers": (of_numbers, numbers)}
        return replace(self, inner=GivenBlocks(parts))

    def rows(self, X: BlockRows) -> JointRows:
        gaps = X.parts["categories"] < 0
        refusal = describe_gaps(gaps, self.of_categories.columns, _REFUSAL) if gaps.any() else ""
        parts = self.inner.rows(self.with_predictors(X)).parts
        return JointRows(
            parts, lambda: ((at, map(self.rows, each)) for at, each in self._alternatives(X)), refusal
        )

    def log_likelihood(self, theta: Theta) -> LogDensity:
        density: LogDensity = self.inner.log_likelihood(theta).map(over_alternatives)

        def joint(X: BlockRows) -> JointRows:
            parts = self.with_predictors(X).parts
            return JointRows(parts, lambda: ((at, map(joint, each)) for at, each in self._alternatives(X)))

        return LogDensity(lambda X: density(joint(X)))

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> BlockRows:
        levels, numbers = (parameters_of(f"{block}_", theta, part) for block, part in self.inner.parts.items())
        drawn = self.of_categories.simulate(levels, codes, rng)
        given = {"given": self.of_categories.bound.indicators(drawn)}
        return BlockRows(
            {"categories": drawn, "numbers": self.inner.parts["numbers"].simulate(numbers, codes, rng, given)}
        )

    def observe_rows(self, variables: dict[str, Any], X: BlockRows, codes: Array, prefix: str = "") -> None:
        self.inner.observe_rows(variables, self.with_predictors(X), codes, prefix)

    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> None:
        self.inner.observe_statistics(variables, statistics, prefix)

    def with_predictors(self, X: BlockRows) -> BlockRows:
        """Return rows whose numbers stand beside the indicators of their categories."""
        codes = X.parts["categories"]
        beside = np.hstack([self.of_categories.bound.indicators(codes), X.parts["numbers"]])
        return BlockRows({"categories": codes, "numbers": beside})

    def _alternatives(self, X: BlockRows) -> Iterator[tuple[Array, Iterator[BlockRows]]]:
        """Yield the places of rows that hold something but lack categories, and rows with all levels of these."""
        codes, numbers = X.parts["categories"], X.parts["numbers"]
        seen = np.flatnonzero((codes >= 0).any(1) | ~np.isnan(numbers).all(1))
        for those, completions in completed(codes[seen], self.of_categories.bound.tables, MOST_COMPLETIONS):
            places = seen[those]
            yield (
                places,
                (
                    BlockRows(
                        {"categories": each, "numbers": np.tile(numbers[places], (len(each) // len(places), 1))}
                    )
                    for each in completions
                ),
            )
