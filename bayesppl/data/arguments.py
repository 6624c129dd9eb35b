"""What a caller passes beside the rows: numbers in their ranges, and values read by the labels that they carry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date, datetime
from numbers import Integral, Real
from typing import Any

import numpy as np

from bayesppl.data.names import listed, meant, only_count, spelled
from bayesppl.kernels.arrays import Array

# Options that a refusal lists.
_MOST = 20


def whole(name: str, value: Any, least: int) -> int:
    """Check a whole number.

    Raises
    ------
    TypeError, ValueError
        If it is not one, or is below ``least``.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        if isinstance(value, Real) and float(value) < least:
            raise ValueError(f"{name} must be at least {least}, found {spelled(value)}")
        raise TypeError(f"{name} must be a whole number, at least {least}, found {spelled(value)}")
    if int(value) < least:
        raise ValueError(f"{name} must be at least {least}, found {value}")
    return int(value)


def real(name: str, value: Any, words: str, allowed: Callable[[float], bool]) -> float:
    """Check a number within a range, which ``words`` describe.

    Raises
    ------
    TypeError, ValueError
        If it is not one, or lies outside of the range.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number and {words}, found {spelled(value)}")
    if not allowed(float(value)):
        raise ValueError(f"{name} must {words}, found {value:g}")
    return float(value)


def one_of(name: str, value: Any, known: Iterable[Any]) -> None:
    """Refuse a value that is none of those known.

    Raises
    ------
    ValueError
    """
    options = list(known)
    if not isinstance(value, Hashable) or value not in options:  # comparing a table gives a table
        raise ValueError(
            f"{name} must be one of {listed(options, _MOST)}, found {spelled(value)}{meant(value, options)}"
        )


def several[Name: str](option: str, given: Name | Iterable[Name], known: Sequence[Name]) -> tuple[Name, ...]:
    """Return one name or several, each once, and refuse names that do not exist.

    Raises
    ------
    ValueError
    """
    is_one = isinstance(given, str) or not isinstance(given, Iterable)
    names: tuple[Any, ...] = (given,) if is_one else tuple(dict.fromkeys(given))
    unknown = [name for name in names if name not in known]
    if not names or unknown:
        hint = meant(unknown[0], known) if unknown else ""
        raise ValueError(
            f"{option} must be one or several of {listed(known, _MOST)}, found {spelled(given)}{hint}"
        )
    return names


def named_once(argument: str, what: str, given: Iterable[Hashable], names: Sequence[Hashable]) -> None:
    """Refuse values by name that leave a name out, or have one too many.

    Raises
    ------
    ValueError
    """
    given = set(given)
    absent, surplus = [name for name in names if name not in given], sorted(given - set(names), key=str)
    if absent or surplus:
        raise ValueError(f"{argument} must name every {what} once: missing {absent}, unknown {surplus}")


def as_named(given: Iterable[Hashable], names: Sequence[Hashable]) -> list[Hashable]:
    """Return labels as names spell them: days of numpy and times of pandas as dates, where names are dates."""
    if type(names[0]) is not date:
        return list(given)
    days = {np.datetime64(name, "s"): name for name in names if isinstance(name, date)}
    return [
        days.get(np.datetime64(label, "s"), label) if isinstance(label, np.datetime64 | datetime) else label
        for label in given
    ]


def generator(random_state: Any) -> np.random.Generator:
    """Make the random numbers that ``random_state`` stands for.

    Raises
    ------
    TypeError, ValueError
        If it is not a seed.
    """
    if isinstance(random_state, np.random.RandomState):  # of which no generators can be split off
        random_state = random_state.randint(2**32, dtype=np.uint32)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "random_state must be None, a whole number from zero, or a numpy.random.Generator, found "
            f"{spelled(random_state)}"
        ) from None


def by_name(values: Any) -> Any:
    """Read labelled values in one dimension as a dict, or as an array where the labels only count.

    Parameters
    ----------
    values
        Of a ``pandas.Series`` or an ``xarray.DataArray``; numbers 0, 1, … in turn are no labels. Anything else is
        returned as it is.

    Raises
    ------
    ValueError
        If two values have the same label.
    """
    labels = labels_of(values)
    if len(labels) != 1:
        return values
    names = labels[0]
    if names is None:
        return values.to_numpy()
    if len(set(names)) < len(names):
        raise ValueError(f"labels must be unique, found {listed(names)}; aggregate or drop values")
    return dict(zip(names, values.to_numpy().tolist(), strict=True))


def labels_of(values: Any) -> list[list[Hashable] | None]:
    """Find the labels along every axis, None where they only count; no axis of anything that is not labelled."""
    if isinstance(values, float | int | np.ndarray):
        return []  # as almost always
    import narwhals as nw

    if nw.dependencies.is_pandas_series(values):
        axes = [values.index]
    elif nw.dependencies.is_pandas_dataframe(values):
        axes = [values.index, values.columns]
    else:
        xarray = sys.modules.get("xarray")  # whoever passes a DataArray has imported xarray
        if xarray is None or not isinstance(values, xarray.DataArray):
            return []
        axes = [values.indexes.get(dim, range(size)) for dim, size in values.sizes.items()]
    found = [list(axis) for axis in axes]
    return [None if only_count(labels) else labels for labels in found]


def aligned(matrix: Array, labels: Sequence[list[Hashable] | None], names: Sequence[Hashable], what: str) -> Array:
    """Bring a matrix into the order of ``names``, rows and columns, where they are labelled.

    Parameters
    ----------
    matrix : (n_names, n_names)
    labels
        Of :func:`labels_of`.
    names
    what : str
        What a refusal calls the matrix.

    Raises
    ------
    ValueError
        If the labels are not those names, or are in another order along one axis and not given along the other.
    """
    for axis, found in enumerate(labels):
        if found is None:
            continue
        found = as_named(found, names)
        if len(found) != len(names) or set(found) != set(names):
            raise ValueError(
                f"{what} must have the labels {listed(names)} along both axes, found {listed(found)} along axis "
                f"{axis}"
            )
        if None in labels and found != list(names):
            raise ValueError(
                f"{what} has labels along axis {axis} alone, in another order than {listed(names)}: found "
                f"{listed(found)}; label both axes"
            )
        matrix = matrix.take([found.index(name) for name in names], axis)
    return matrix
