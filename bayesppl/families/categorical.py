r"""Categorical features: one of several levels, such as a colour or a country.

.. math:: x_d \mid y = k \sim \mathrm{Categorical}(\phi_{kd}), \qquad
   \phi_{kd} \sim \mathrm{Dirichlet}(\alpha_{d1}, \dots, \alpha_{dL_d}).

After :math:`n_{kdl}` rows at level l the posterior is :math:`\mathrm{Dirichlet}(\alpha_{dl} + n_{kdl})`, and the
predictive probability of a level is its mean :math:`(\alpha_{dl} + n_{kdl})/\sum_m(\alpha_{dm} + n_{kdm})`
(Bernardo & Smith 1994), so that the rules ``mean`` and ``predictive`` agree for one row. The
simplices of all columns lie side by side on one "cell" axis, for columns may have different numbers of levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bayesppl.families.tables import TableFamily


@dataclass(frozen=True, eq=False)
class Categorical(TableFamily):
    """Independent features that take one of several levels.

    Parameters
    ----------
    probability : Dirichlet, PyMC distribution or callable
        Prior of the level probabilities; uniform by default. A concentration per cell has shape (n_cells,) or
        (n_classes, n_cells), the cells of all columns in order; it may itself have a prior, as in
        ``bayesppl.Dirichlet(pm.Gamma.dist(2, 1))``. A distribution of a simplex, or a function of name and dims
        ("class", "feature", "level"), serves columns that have equally many levels.
    levels : sequence, or mapping of column to sequence, optional
        All levels that can occur, of any hashable type; a value that is not among them is refused. By default
        the levels are learned, and every column gets one more cell, "(unseen)", for those that did not occur in
        training, beside the categories of columns whose dtype declares them (pandas ``Categorical``, polars
        ``Enum``). Other readers of a file that holds such a column, polars, pyarrow and ``fit_parquet``, declare
        none: there the levels are those that occur.
    unseen : {"missing", "error", "learned"}
        What a level is that did not occur in training, where levels are learned. ``missing``: something new turns
        up as often in every class, and is no evidence for any; the cell is skipped, with an
        :class:`~bayesppl.UnseenLevelWarning`. ``error``: refused. ``learned``: an outcome of each class: with L
        levels seen in n rows of a class and concentration α it has the predictive probability α / (n + α(L + 1)),
        which is evidence for the class of the fewest rows. (Under ``rule="mle"`` it has none, and the row is
        impossible.)

    Notes
    -----
    Missing values (None, NaN, NA) are skipped exactly, when fitting and when predicting.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [["red", "S"], ["red", "M"], ["blue", "M"], ["blue", None]]
    >>> clf = bp.GenerativeClassifier(bp.Categorical(unseen="learned")).fit(X, ["a", "a", "b", "b"])
    >>> clf.predict_proba([["red", None], ["green", "M"]]).round(3).tolist()
    [[0.75, 0.25], [0.444, 0.556]]
    """

    name: ClassVar[str] = "categorical"

    def names_of_tables(self) -> Sequence[str]:
        return [f"x_{column}" for column in self.columns]
