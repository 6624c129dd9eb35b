r"""The predictive of a row that has been taken out of the posterior: what families share.

A conjugate posterior forgets a row as it learned it, by arithmetic on its hyperparameters, and the predictive is a
ratio of normalisers,

.. math:: \log p(x_i \mid y_i, D_{-i}) = \log Z(D) - \log Z(D_{-i}) + \log h(x_i)

for a row of weight one (Bernardo & Smith 1994). Rows are treated all at once: each is a class of its
own, whose belief is that of the class it came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.closed_forms import log_evidence_of, per_row
from bayesppl.conjugate.membership import Membership
from bayesppl.data.labels import one_hot
from bayesppl.families import closed_forms
from bayesppl.families.family import Family
from bayesppl.kernels import blocks
from bayesppl.kernels.arrays import Array


def own_class_without(family: Family, posterior: Conjugate, X: Any, members: Membership) -> Array:
    """log p(x_i | y_i, all data but row i) where classes share nothing: (n_rows,)."""
    own = np.empty(len(members.codes))
    for block in row_blocks(X):
        rows, remaining = forget(family, posterior, X[block], members[block])
        own[block] = per_row(log_evidence_of(remaining, rows))
    return own


def forget(family: Family, posterior: Conjugate, X: Any, members: Membership) -> tuple[Any, Any]:
    """Statistics of each row (of weight one), and the belief about its class once it is taken out."""
    each = np.arange(len(members.codes))
    rows = closed_forms.sufficient_statistics(family, X, one_hot(each, len(each)))
    weighted = rows
    if (members.weights != 1).any():
        weighted = closed_forms.sufficient_statistics(family, X, one_hot(each, len(each), members.weights))
    remaining = posterior.select_classes(members.codes).update(weighted.scale(-1.0))
    return rows, remaining


def row_blocks(X: Any) -> Iterator[slice]:
    """Blocks of rows small enough for dense temporaries of several times their size."""
    return blocks.row_blocks(X.shape[0], X.shape[1], 2 * blocks.BLOCK_CELLS)
