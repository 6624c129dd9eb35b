r"""The location model: categories, and beside them correlated numbers whose mean depends on the categories.

.. math:: p(c, z \mid y = k) = p(c \mid y = k)\, N(z \mid \mu_k + B_k^\top d(c), \Sigma_k),

where d(c) holds an indicator for every level of every category (Olkin & Tate 1961; Krzanowski 1975; Lauritzen &
Wermuth 1989, who call the distribution conditional Gaussian). The categories have a table each, or one for all of
them; the numbers are a regression on the indicators. Both are conjugate and share no parameter, so that the
posterior is a product and the evidence a sum of logarithms.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayesppl.conjugate import Dirichlet, Joint
from bayesppl.conjugate.log_density import Evaluate, LogDensity
from bayesppl.conjugate.matrix_normal import MatrixNormalInverseWishart
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.rows import JointRows
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.table import Table
from bayesppl.families import closed_forms
from bayesppl.families.bound import Measure
from bayesppl.families.categorical import Categorical
from bayesppl.families.categorical_blocks import CategoricalBlocks
from bayesppl.families.choosing.infer_families import Integers, categories_and_numbers
from bayesppl.families.composite import BlockRows, GivenBlocks
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily, Evidence, Takes
from bayesppl.families.find_levels import Levels
from bayesppl.families.gaussian_regression import GaussianRegression
from bayesppl.families.joint_categorical import JointCategorical
from bayesppl.families.levels import LevelColumns, Unseen
from bayesppl.families.tables import TableFamily
from bayesppl.kernels.arrays import Array, Responsibilities, Theta

_TABLES: dict[str, type[TableFamily]] = {
    "evidence": CategoricalBlocks,
    "independent": Categorical,
    "joint": JointCategorical,
}

#: How the categories depend on each other within a class.
CategoryTables = Literal["evidence", "independent", "joint"]


@dataclass(frozen=True, eq=False)
class ConditionalGaussian(ConjugateFamily):
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
    >>> clf = bp.GenerativeClassifier(bp.ConditionalGaussian()).fit(X, list("aaaabbbb"))
    >>> clf.predict(pd.DataFrame({"sex": ["m", "f"], "mass": [4.4, 4.4]})).tolist()
    ['a', 'b']
    """

    name: ClassVar[str] = "conditional_gaussian"
    takes: ClassVar[Takes] = "columns of any kind"
    fits_missing: ClassVar[bool] = False

    covariance: Literal["tied", "full"] = "tied"
    table: CategoryTables = "evidence"
    prior: str | MatrixNormalInverseWishart = "hierarchical"
    probability: Dirichlet | Any = Dirichlet()
    levels: Levels | None = None
    unseen: Unseen = "missing"
    integers: Integers | None = None
    categories: Any = None

    #: Categories and numbers, once bound.
    blocks: GivenBlocks | None = field(default=None, kw_only=True, repr=False)

    @property
    def parts(self) -> GivenBlocks:
        """Categories and numbers."""
        if self.blocks is None:
            raise AttributeError("bind the family to columns first")
        return self.blocks

    @property
    def of_categories(self) -> TableFamily:
        # as bind made it
        found: TableFamily = (self.parts.blocks or {})["categories"][1]  # type: ignore[assignment]
        return found

    @property
    def of_numbers(self) -> GaussianRegression:
        # as bind made it
        found: GaussianRegression = (self.parts.blocks or {})["numbers"][1]  # type: ignore[assignment]
        return found

    @property
    def coding(self) -> LevelColumns:
        """The categories, and their indicators."""
        return self.of_categories.bound

    @property
    def bound(self) -> Self:
        return self

    @property
    def levels_of_columns(self) -> dict[Hashable, tuple[Hashable, ...]]:
        return self.parts.bound.levels_of_columns

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        return dict(self.parts.bound.dims)

    @property
    def coords(self) -> dict[str, list[Hashable]]:
        return self.parts.bound.coords

    @property
    def measures(self) -> dict[Hashable, Measure]:
        return self.parts.bound.measures

    @property
    def family_names(self) -> dict[Hashable, str]:
        return dict.fromkeys(self.parts.bound.measures, self.name)

    def bind_labelled(self, table: Table, classes: Sequence[Hashable], codes: Array, weights: Array) -> Self:
        for argument, value, known in (
            ("covariance", self.covariance, ("tied", "full")),
            ("table", self.table, tuple(_TABLES)),
        ):
            if value not in known:
                raise ValueError(f"{argument} must be one of {', '.join(map(repr, known))}, found {value!r}")
        if self.blocks is None:
            of_levels, of_numbers = categories_and_numbers(table, self.categories, self.integers)
            tables = _TABLES[self.table](self.probability, self.levels, self.unseen)
        else:  # further rows do not change which columns are categories, nor which of them share a table
            of_levels, of_numbers, tables = self.of_categories.columns, self.of_numbers.columns, self.of_categories
        categories = tables.bind_labelled(table.select(of_levels), classes, codes, weights)
        numbers = GaussianRegression(
            self.prior, self.covariance == "tied", tuple(categories.bound.indicator_names)
        )
        numbers = numbers.bind(table.select(of_numbers), classes)
        parts = {"categories": (of_levels, categories), "numbers": (of_numbers, numbers)}
        return replace(self, blocks=GivenBlocks(parts))

    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        return replace(self, blocks=self.parts.with_classes(classes))

    def encode(self, table: Table) -> BlockRows:
        rows = self.parts.bound.encode(table).parts
        return self._rows(rows["categories"], np.asarray(rows["numbers"], dtype=np.float64))

    def marginal_rows(self, X: BlockRows, units: Sequence[int]) -> BlockRows:
        if units:
            return X
        numbers = X.parts["numbers"][:, len(self.of_numbers.predictors) :]
        return self._rows(np.full_like(X.parts["categories"], -1), np.full(numbers.shape, np.nan))

    def decode(self, X: BlockRows) -> dict[Hashable, Array]:
        numbers = X.parts["numbers"][:, len(self.of_numbers.predictors) :]
        return self.parts.bound.decode(BlockRows({"categories": X.parts["categories"], "numbers": numbers}))

    def rows(self, X: BlockRows) -> JointRows:
        return self.parts.rows(X)

    def sufficient_statistics(self, X: BlockRows, responsibilities: Responsibilities) -> JointStatistics:
        gaps = X.parts["categories"] < 0
        if gaps.any():
            categories = self.of_categories.columns
            names = ", ".join(repr(name) for name, gap in zip(categories, gaps.T, strict=True) if gap.any())
            raise ValueError(
                f"missing values in column {names} ({gaps.any(1).sum()} rows); numbers that depend on categories "
                "cannot be fitted to rows that lack some in closed form. Drop or impute them, make missing a "
                "level of its own, or use bayesppl.MixedNB, which skips missing cells exactly. (Missing cells "
                "are fine when predicting.)"
            )
        return closed_forms.sufficient_statistics(self.parts, X, responsibilities)

    def resolve_prior(self, statistics: JointStatistics) -> Joint:
        return self.parts.resolve_prior(statistics)

    def tunable(self, prior: Joint) -> Mapping[str, tuple[float, float]]:
        return closed_forms.tunable(self.parts, prior)

    def with_prior(self, prior: Joint) -> Self:
        declared = prior.parts
        return replace(
            self,
            prior=declared["numbers"],
            probability=declared["categories"],
            blocks=self.parts.with_prior(prior),
        )

    def mle(self, statistics: JointStatistics) -> Theta:
        return self.parts.mle(statistics)

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return self.parts.log_likelihood(theta).map(self._over_levels)

    def log_predictive(self, posterior: Joint) -> LogDensity:
        return closed_forms.log_predictive(self.parts, posterior).map(self._over_levels)

    def loo_log_predictive(
        self, posterior: Joint, statistics: Any, X: BlockRows, members: Membership
    ) -> tuple[Array, Array]:
        return closed_forms.leave_one_out(self.parts, posterior, statistics, X, members)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> BlockRows:
        levels, numbers = (
            {name: theta[f"{block}_{name}"] for name in family.bound.dims}
            for block, family in self.parts.parts.items()
        )
        drawn = self.of_categories.simulate(levels, codes, rng)
        given = {"given": self.coding.indicators(drawn)}
        return BlockRows({"categories": drawn, "numbers": self.of_numbers.simulate(numbers, codes, rng, given)})

    def label_rows(self, X: BlockRows, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return self.parts.bound.label_rows(X, prefix)

    def log_evidence(self, prior: Joint, statistics: JointStatistics) -> dict[str, Evidence]:
        return closed_forms.log_evidence(self.parts, prior, statistics)

    def common_prior(self, statistics: JointStatistics) -> Joint:
        return closed_forms.common_prior(self.parts, statistics)

    def log_dependence(self, prior: Joint, common: Joint, statistics: JointStatistics) -> dict[str, Evidence]:
        return closed_forms.log_bayes_factor(self.parts, prior, common, statistics)

    def averaged_predictive(self, posterior: Joint, common: Joint, log_odds: Mapping[str, Array]) -> LogDensity:
        return closed_forms.inclusion_averaged(self.parts, posterior, common, log_odds).map(self._over_levels)

    def observe_rows(self, variables: dict[str, Any], X: BlockRows, codes: Array, prefix: str = "") -> None:
        self.parts.observe_rows(variables, X, codes, prefix)

    def observe_statistics(self, variables: dict[str, Any], statistics: JointStatistics, prefix: str = "") -> None:
        self.parts.observe_statistics(variables, statistics, prefix)

    def _rows(self, codes: Array, numbers: Array) -> BlockRows:
        return BlockRows({"categories": codes, "numbers": np.hstack([self.coding.indicators(codes), numbers])})

    def _over_levels(self, evaluate: Evaluate) -> Evaluate:
        """The density of rows some of whose categories are missing: the sum over the levels that they can have."""
        coding, q = self.coding, len(self.of_numbers.predictors)

        def log_density(X: BlockRows) -> Array:
            out, codes = evaluate(X), X.parts["categories"]
            gaps = np.flatnonzero((codes < 0).any(1))
            if not len(gaps):
                return out
            patterns, group = np.unique(codes[gaps] < 0, axis=0, return_inverse=True)
            for g, pattern in enumerate(patterns):
                rows, missing = gaps[group == g], np.flatnonzero(pattern)
                filled, numbers = codes[rows].astype(np.intp), X.parts["numbers"][rows, q:]
                total = np.full_like(out[..., rows, :], -np.inf)
                for levels in coding.completions(missing.tolist()):
                    filled[:, missing] = levels
                    np.logaddexp(total, evaluate(self._rows(filled, numbers)), out=total)
                out[..., rows, :] = total
            return out

        return log_density
