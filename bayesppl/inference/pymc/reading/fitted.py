"""A user's model with its posterior, as one fitted value like any other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from bayesppl.data.read_table import Columns, as_table
from bayesppl.data.table import Table
from bayesppl.inference.nuts import NUTS
from bayesppl.inference.pymc.reading.layout import Layout
from bayesppl.inference.pymc.reading.parts import Reading
from bayesppl.inference.pymc.reading.recognition import read
from bayesppl.inference.pymc.reading.solve import solve
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.learned import Learned
from bayesppl.model.rules import RuleName


@dataclass(frozen=True, eq=False)
class ReadModel(Fitted):
    """What was found in a user's model.

    Attributes
    ----------
    reading : Reading
        The model, taken apart.
    """

    reading: Reading = field(kw_only=True)

    def __reduce__(self) -> tuple[Callable[[bytes], ReadModel], tuple[bytes]]:
        """By cloudpickle, which PyMC's models need."""
        import cloudpickle

        return _unpickled, (
            cloudpickle.dumps({member.name: getattr(self, member.name) for member in fields(self)}),
        )


def _unpickled(state: bytes) -> ReadModel:
    import cloudpickle

    return ReadModel(**cloudpickle.loads(state))


@dataclass(frozen=True)
class UserColumns(Columns):
    """Columns of a fit that may also come as a mapping of the model's variables to their rows.

    Attributes
    ----------
    layout : Layout
        Which column holds what, under the names of the model's variables.
    coords : tuple of tuple of str
        Names, in order, that the coords of the model may have for columns without names of their own.
    """

    layout: Layout
    coords: tuple[tuple[str, ...], ...] = ()

    def align(self, X: Any) -> Table:
        own = self.layout.names
        if isinstance(X, Table) and X.names == (*own, *self.layout.copies):
            return X  # aligned already
        if isinstance(X, Mapping):
            return self.layout.with_copies(self.layout.table(X, (self.names, *self.coords)))
        table = as_table(X)
        if table.is_named and not self.are_named:
            known = next((names for names in self.coords if set(names) == set(table.names)), table.names)
            table = table.select(known).renamed(own)
        return self.layout.with_copies(super().align(table).renamed(own))


def _coords_of_columns(model: Any, size: int) -> tuple[tuple[str, ...], ...]:
    """Coords of a model that could be names of so many columns."""
    listed = [tuple(map(str, labels)) for labels in model.coords.values() if labels is not None]
    return tuple(names for names in listed if len(names) == len(set(names)) == size)


def fit_model(
    model: Any,
    label: str,
    settings: NUTS,
    rule: RuleName,
    *,
    classes: Array | None = None,
    names: Sequence[Hashable] | None = None,
    draws: Any = None,
) -> ReadModel:
    """Read a model, and learn the posterior of all its parameters from the rows it holds.

    Parameters
    ----------
    model : pm.Model
    label : str
    settings : NUTS
        For the parts without a closed form.
    rule : {"predictive", "mle", "map", "mean"}
    classes : (n_classes,), optional
        What the codes stand for; the model's own coords by default.
    names : sequence, optional
        Names of the columns, where the rows came with some.
    draws : DataTree, optional
        Draws the user has already.

    Raises
    ------
    ValueError
        If the label or the rows cannot be read, or the label has another number of classes.
    """
    reading = read(model, label, classes=None if classes is None else classes.tolist())
    fit = solve(reading, settings, draws)
    own = fit.layout.names
    given = names is not None and len(names) == len(own)
    columns = UserColumns(
        tuple(names) if given and names is not None else own,
        given or fit.layout.is_named,
        "the model",
        fit.layout,
        _coords_of_columns(reading.model, len(own)),
    )
    learned = Learned(columns, np.asarray(reading.label.classes), fit.model, fit.posterior.statistics)
    return ReadModel(learned, fit.posterior, rule, fit.rows, reading=reading)
