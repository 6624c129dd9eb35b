"""Columns of a table and the observed variables of a model: where each value lies."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesppl.data.matrices import with_gaps
from bayesppl.data.names import indexed, only_count, positions_of
from bayesppl.data.read_table import Columns, as_table
from bayesppl.data.table import Table
from bayesppl.errors import RowError
from bayesppl.inference.pymc.reading.observed import Observed
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of each variable that has rows, in order.

    Attributes
    ----------
    columns : mapping of str to tuple
        Names of the columns, by variable.
    shapes : mapping of str to tuple of int
        Shape of one row.
    dtypes : mapping of str to dtype
    copies : mapping of column to column
        Columns that serve as what is given to another part, under a name of their own, and those they are copies
        of.
    is_named : bool
        Whether the columns have names of their own.
    links : tuple of set of str
        Observed variables, each with the others that it is given.
    """

    columns: Mapping[str, tuple[Hashable, ...]]
    shapes: Mapping[str, tuple[int, ...]]
    dtypes: Mapping[str, Any]
    copies: Mapping[Hashable, Hashable]
    is_named: bool
    links: tuple[set[str], ...]

    @property
    def names(self) -> tuple[Hashable, ...]:
        return tuple(name for names in self.columns.values() for name in names)

    def table(self, X: Any, known: Sequence[Sequence[Hashable]] = ()) -> Table:
        """Read rows, given as one table or as a mapping of variables to their rows, as one table.

        Parameters
        ----------
        X
        known
            Names that all columns together may have beside their own.

        Raises
        ------
        ValueError
            If a variable is missing, unknown, or has rows of another shape.
        """
        if not isinstance(X, Mapping):
            return as_table(X)
        absent = [name for name in self.columns if name not in X]
        unknown = [name for name in X if name not in self.columns]
        if absent or unknown:
            raise ValueError(
                f"X must hold the rows of {', '.join(map(repr, self.columns))}: missing {absent}, unknown "
                f"{unknown}"
            )
        parts = []
        for name in self.columns:
            values = self._in_order(name, X[name], known)
            if not values.ndim:
                raise ValueError(f"{name!r} needs a value for each row, as in [{values}], found {values}")
            if values.shape[1:] != self.shapes[name]:
                raise ValueError(
                    f"rows of {name!r} must have the shape {self.shapes[name]} of those of the fit, found "
                    f"{values.shape[1:]}"
                )
            parts.append(values.reshape(len(values), math.prod(values.shape[1:])))
        lengths = {name: len(part) for name, part in zip(self.columns, parts, strict=True)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the variables of X have different numbers of rows: {lengths}")
        return self.joined(parts)

    def joined(self, parts: Sequence[Array]) -> Table:
        """Put the rows of all variables, (n_rows, n_columns) each, side by side in a table."""
        # numbers beside text are what they are
        are_numbers = all(part.dtype.kind in "biuf" for part in parts)
        joined = np.column_stack(parts if are_numbers else [part.astype(object) for part in parts])
        if not self.is_named:
            return as_table(joined)
        import pandas as pd

        return as_table(pd.DataFrame(joined, columns=pd.Index(self.names)))

    def renamed(self, names: Sequence[Hashable]) -> Layout:
        """Return the same layout, its columns under other names."""
        other = dict(zip(self.names, names, strict=True))
        return replace(
            self,
            columns={name: tuple(other[column] for column in own) for name, own in self.columns.items()},
            copies=copies_of(other[column] for column in self.copies.values()),
            is_named=True,
        )

    def given(self, name: str) -> tuple[Hashable, ...]:
        """Return the columns of a variable as they are called where it is given to another."""
        copied = {source: copy for copy, source in self.copies.items()}
        return tuple(copied.get(column, column) for column in self.columns[name])

    def linked(self, name: str) -> list[Hashable]:
        """List the columns of all variables that one is given, or given to, directly or by others."""
        found = {name}
        while more := set().union(*(link for link in self.links if link & found)) - found:
            found |= more
        return [column for own in sorted(found) for column in self.columns[own]]

    def with_copies(self, table: Table) -> Table:
        """Add the copies of its columns to a table."""
        if not self.copies:
            return table
        import pandas as pd

        names = [*table.names, *self.copies]
        sources = [*table.names, *self.copies.values()]
        data = {name: np.asarray(table.column(source)) for name, source in zip(names, sources, strict=True)}
        return as_table(pd.DataFrame(data))

    def rows(self, table: Table, name: str, *, given: bool = False) -> Array:
        """Return the rows of one variable, in its own shape and type, or as floats where cells are missing.

        Parameters
        ----------
        given : bool
            Whether as what is given to another variable.

        Raises
        ------
        ValueError
            If a whole number is not whole, or larger than those of the model may be.
        """
        columns = self.given(name) if given else self.columns[name]
        values = np.asarray(table.select(columns).numeric())
        dtype = self.dtypes[name]
        if dtype.kind in "iub":
            is_truth = dtype.kind == "b"
            least, most = (0, 1) if is_truth else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            is_other = ((values != np.trunc(values)) | (values < least) | (values > most)) & ~np.isnan(values)
            what = "truth values" if is_truth else f"whole numbers up to {most}"
            for row, column in np.argwhere(is_other)[:1].tolist():
                raise RowError(
                    f"column {columns[column]!r} holds {what} in the model, and {values[row, column]:g} in row ",
                    row,
                    "; correct it, or, where others may come, hold floats in pm.Data" if given else "; correct it",
                )
        dtype = values.dtype if np.isnan(values).any() else self.dtypes[name]
        return values.reshape(len(values), *self.shapes[name]).astype(dtype)

    def _in_order(self, name: str, rows: Any, known: Sequence[Sequence[Hashable]]) -> Array:
        """Read the rows of one variable as an array, its columns by their names, where any are known."""
        if len(self.shapes[name]) != 1 or isinstance(rows, np.ndarray):
            return with_gaps(rows) if isinstance(rows, np.ma.MaskedArray) else np.asarray(rows)
        own, table = self.columns[name], as_table(rows)
        first = self.names.index(own[0])
        lists = [own, *(tuple(names[first : first + len(own)]) for names in known)]
        by_default = None if own in (positions_of(len(own)), indexed(name, len(own))) else own
        names = next((names for names in lists if set(names) == set(table.names)), by_default)
        found = table if names is None else Columns(names, True, f"the variable {name!r}").align(rows)
        return np.asarray(found.numeric())


def copies_of(columns: Iterable[Hashable]) -> dict[Hashable, Hashable]:
    """Name copies of columns that are given to others."""
    return {f"{column} (given)": column for column in columns}


@dataclass(frozen=True)
class UserColumns(Columns):
    """Columns of a fit that may also come as a mapping of the model's variables to their rows.

    Attributes
    ----------
    layout : Layout
        Which column holds what, under the names of the model's variables.
    coords : tuple of tuple of str
        Names, in order, that the coords of the model may have for columns without names of their own.
    order : tuple
        Names of all columns, in order, of the table that the model was built of.
    """

    layout: Layout
    coords: tuple[tuple[str, ...], ...] = ()
    order: tuple[Hashable, ...] = ()

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
        if not table.is_named and len(table.names) == len(self.order):
            table = table.renamed(self.order).select(own)
        if unused := set(self.order) - set(own):
            table = table.select([name for name in table.names if name not in unused])
        return self.layout.with_copies(super().align(table).renamed(own))


def layout_of(
    model: Any, parts: Sequence[Sequence[Observed]], classes: Sequence[Hashable]
) -> tuple[Layout, list[Array]]:
    """Lay out the observed variables of all parts, and what is given with them, with their rows."""
    observed = [x for part in parts for x in part]
    order = {variable.name: place for place, variable in enumerate(model.observed_RVs)}
    rows = {x.name: x.observed for x in sorted(observed, key=lambda x: order.get(x.name, len(order)))}
    rows |= {name: values for x in observed for name, values in x.held.items() if name not in rows}
    parameters = {x.name: [variable.name for variable in x.parameters] for x in observed}
    own = {
        name: _own_names(model, name, values, parameters.get(name, ()), classes) for name, values in rows.items()
    }
    flat = [name for names in own.values() for name in names or ()]
    named = len(set(flat)) == len(flat) and all(names is not None for names in own.values())
    if not named and len(rows) > 1:
        own = {
            name: (name,) if values.ndim == 1 else indexed(name, values[0].size) for name, values in rows.items()
        }
        named = True
    elif not named:
        own = {name: positions_of(values[0].size) for name, values in rows.items()}
    to_others = {name for part in parts for name in {n for x in part for n in x.given} - {x.name for x in part}}
    copies = copies_of(column for x in observed if x.name in to_others for column in own[x.name] or ())
    layout = Layout(
        {name: names or () for name, names in own.items()},
        {name: values.shape[1:] for name, values in rows.items()},
        {name: values.dtype for name, values in rows.items()},
        copies,
        named,
        tuple({x.name, *x.given} & {v.name for v in observed} for x in observed),
    )
    return layout, [values.reshape(len(values), -1) for values in rows.values()]


def _own_names(
    model: Any, name: str, values: Array, parameters: Sequence[str], classes: Sequence[Hashable]
) -> tuple[Hashable, ...] | None:
    """Return the names of the columns of a variable, from its coords; a single column has that of the variable.

    A variable without dims takes the coords of the only dimension that its parameters have for the columns.
    """
    if values.ndim == 1:
        return (name,)
    dims = model.named_vars_to_dims
    last = {dims[own][-1] for own in ([name] if dims.get(name) else parameters) if dims.get(own)}
    found = [model.coords[dim] for dim in last if len(model.coords.get(dim) or ()) == values.shape[-1]]
    if values.ndim != 2 or len(found) != 1 or only_count(found[0]):  # coords that only count are no names
        return None
    if not dims.get(name) and set(map(str, found[0])) == set(map(str, classes)):
        return None
    return tuple(map(str, found[0]))
