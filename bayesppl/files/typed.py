"""Whether values are what the fields of a dataclass are declared to be."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAliasType, Union, get_args, get_origin, get_type_hints

import numpy as np

# what is at least as good as a value of the type
_ALSO: Mapping[Any, tuple[type[Any], ...]] = {
    float: (int, np.floating, np.integer),
    int: (np.integer,),
    bool: (np.bool_,),
    np.ndarray: (np.generic,),
    Sequence: (np.ndarray,),
}


def instance[T](value: Any, kind: type[T], place: str) -> T:
    """The value, which is an instance of ``kind``.

    Raises
    ------
    TypeError
        If it is none.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{place} must be a {kind.__name__}, found a {type(value).__name__}")
    return value


def check_fields(cls: Any, members: Mapping[str, Any]) -> None:
    """Refuse members of a dataclass that are not of their declared types.

    Raises
    ------
    TypeError
    """
    hints = _hints(cls)
    for name, value in members.items():
        if not _fits(value, hints[name]):
            raise TypeError(f"{cls.__name__}.{name} must be {hints[name]}, found {type(value).__name__}")


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(origin or hint, TypeAliasType):
        return _fits(value, (origin or hint).__value__)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return isinstance(value, Hashable) and value in arguments
    kind = origin or hint
    if kind is Callable:
        return callable(value)
    if isinstance(value, bool) and kind in (int, float):
        return False
    if not isinstance(value, (kind, *_ALSO.get(kind, ()))):
        return False
    return _items_fit(value, kind, arguments)


def _items_fit(value: Any, kind: Any, arguments: tuple[Any, ...]) -> bool:
    if kind in (np.ndarray, NoneType, type) or not arguments or isinstance(value, np.ndarray):
        return True
    if isinstance(value, Mapping):
        return all(_fits(key, arguments[0]) and _fits(item, arguments[1]) for key, item in value.items())
    if kind is tuple and arguments[-1] is not Ellipsis:
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    return all(_fits(item, arguments[0]) for item in value)
