"""Blocks of columns, each with a family of its own, independent given the class.

.. math:: p(x \\mid y = k, \\theta) = \\prod_b p_b(x_b \\mid y = k, \\theta_b),
   \\qquad p(\\theta) = \\prod_b p_b(\\theta_b).

Likelihood, posterior, predictive and evidence are products over the blocks, so a product of families is a family:
it can be fitted, sampled, and nested in another product. Naive Bayes is the product of one-column families.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, final, get_args

from bayesppl.conjugate.membership import Membership
from bayesppl.data.arguments import one_of
from bayesppl.data.table import Table
from bayesppl.families.choosing.choose_columns import choose_columns
from bayesppl.families.choosing.column_choice import ColumnChoice
from bayesppl.families.choosing.infer_families import Integers, families_by_dtype
from bayesppl.families.composite import Blocks, CompositeFamily, bound_blocks
from bayesppl.families.family import Family

#: What picks the families where there are no blocks.
Pick = Literal["dtype", "evidence"]


@dataclass(frozen=True, eq=False)
class Product(CompositeFamily):
    """Named blocks of columns, each with its own family; independent given the class.

    Parameters
    ----------
    blocks : mapping of str to (columns, family), optional
        Every column of the table belongs to exactly one block. Columns are a name, a sequence of names or of
        positions, a slice (of positions, or of names, both ends included), or a function of the data frame that
        returns one of these, such as scikit-learn's ``make_column_selector``. The parameters of a block carry its
        name, as in ``bill_mean``, and so do its dimensions, as in ``bill_feature``. A family may itself be a
        ``Product``. By default the blocks are picked from the dtypes of the columns: Boolean columns are
        :class:`~bayesppl.Bernoulli`, text and categories are :class:`~bayesppl.Categorical`, floating-point
        columns are ``Gaussian("diag")``, and integers are as ``integers`` declares.
    integers : {"gaussian", "poisson", "categorical"} or mapping of columns to these, optional
        What integer columns are, all of them or each by name, where the blocks are picked from dtypes. A dtype
        does not distinguish counts, codes and rounded measurements, so that by default integer columns are
        refused.
    columns : {"dtype", "evidence"}
        How the blocks are picked where there are none. ``"evidence"`` gives every column of numbers the density of
        the highest evidence on the rows of the fit (of the first batch), out of Gaussian, log-normal, gamma,
        exponential, Poisson, negative binomial, levels and histograms, each of them also with a probability of
        zero; ``integers`` is not needed. It is the choice of these rows: where later ones can hold other values,
        such as zeros, name the block of that column.

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

    integers: Integers | None = None
    columns: Pick = "dtype"

    @final
    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        blocks, choice = self.blocks, self.choice
        if choice is None:  # further rows do not change what was chosen
            self._require_one_way()
        if blocks is None:
            blocks, choice = self._picked(table, classes, members or Membership.alike(len(table)))
        return replace(self, blocks=bound_blocks(blocks, table, classes, members), choice=choice)

    @final
    def _require_one_way(self) -> None:
        """Refuse an unknown way to find blocks, and two ways at once."""
        how, blocks = self.columns, self.blocks
        one_of("columns", how, get_args(Pick))
        if blocks is not None:
            given = blocks.values() if isinstance(blocks, Mapping) else [blocks]
            for pair in given:
                if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[1], Family)):
                    raise TypeError(
                        "blocks must be a mapping of names to (columns, family), as in {'sizes': (['length'], "
                        f"bayesppl.Gaussian())}}, found {pair!r}"
                    )
        if how == "evidence" and blocks is not None:
            raise ValueError("columns='evidence' chooses the blocks, and blocks are given; drop one of the two")

    @final
    def _picked(
        self, table: Table, classes: Sequence[Hashable], members: Membership
    ) -> tuple[Blocks, ColumnChoice | None]:
        """Pick blocks of all columns of a table; return also how they were chosen, if it was by evidence."""
        if self.columns == "dtype":
            return families_by_dtype(table, self.integers), None
        if self.integers is not None:
            raise ValueError(
                "integers declares what integer columns are, which columns='evidence' finds out; drop one of the "
                "two"
            )
        return choose_columns(table, classes, members)
