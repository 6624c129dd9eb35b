r"""Several discrete features without an independence assumption: the full joint table of every class.

.. math:: x \mid y = k \sim \mathrm{Categorical}(\phi_k) \text{ over the cells of } L_1 \times \dots \times L_D,
   \qquad \phi_k \sim \mathrm{Dirichlet}(\alpha).

The posterior adds the counts of the cells to α, and the predictive probability of a set of cells is the sum of
their posterior means (Bernardo & Smith 1994). A row that lacks some of its values lies in
one of several cells: its probability is the sum over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bayesppl.families.tables import TableFamily


@dataclass(frozen=True, eq=False)
class JointCategorical(TableFamily):
    """The full joint table of discrete features, one per class.

    Parameters
    ----------
    probability : Dirichlet, PyMC distribution or callable
        Prior of the cell probabilities; uniform by default. A concentration per cell has shape (n_cells,) or
        (n_classes, n_cells), the last column varying fastest.
    levels : sequence, or mapping of column to sequence, optional
        All levels that can occur, of any hashable type; a value that is not among them is refused. By default
        the levels are learned, and every column gets one more, "(unseen)", for those that did not occur in
        training; its cells share the prior like all others.
    unseen : {"missing", "error", "learned"}
        See :class:`bayesppl.Categorical`.

    Notes
    -----
    The table has as many cells as there are combinations of levels. When predicting, a row with missing values
    (None, NaN, NA) is marginalised exactly, by a sum over its cells. A fit needs complete rows: an incomplete one
    has no conjugate posterior.

    Examples
    --------
    Exclusive or, which no model of independent features can learn:

    >>> import bayesppl as bp
    >>> X, y = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]], [0, 1, 1, 0]
    >>> clf = bp.GenerativeClassifier(bp.JointCategorical(levels=["no", "yes"])).fit(X, y)
    >>> clf.predict(X).tolist()
    [0, 1, 1, 0]
    >>> clf.predict_proba([["yes", None]]).tolist()
    [[0.5, 0.5]]
    """

    name: ClassVar[str] = "joint_categorical"
    fits_missing: ClassVar[bool] = False
    is_joint: ClassVar[bool] = True

    def names_of_tables(self) -> Sequence[str]:
        return ["x"]
