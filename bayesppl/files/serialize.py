"""Declarations, priors and statistics as plain values: what JSON can spell, and named arrays.

Everything this package computes with is a frozen dataclass of numbers, text, arrays, or other such objects.
Spelling one out needs no code of its own per class. Reading it back builds only dataclasses of the rooms that a
fit is made of, and those that a user derived from one of their contracts; no text in a file can name anything
else, and nothing is imported for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeAliasType, Union, get_args, get_origin, get_type_hints

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.declared_priors import Declared, Written, in_words, is_declaration
from bayesppl.conjugate.statistics import Statistics
from bayesppl.data.arguments import by_name
from bayesppl.families import Family
from bayesppl.inference import Inference
from bayesppl.kernels.arrays import Array

_KIND = "$"
_SIMPLE = (type(None), bool, int, float, str)

_NUMBERS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")

# Types of pandas' marks of what is missing
_MISSING = ("NAType", "NaTType")

#: Rooms whose dataclasses a fit and the arguments of an estimator are made of.
_ROOMS = tuple(f"bayesppl.{room}." for room in ("kernels", "data", "conjugate", "families", "model", "inference"))

#: What users derive classes of their own from.
_CONTRACTS = (Family, Conjugate, Statistics, Declared, Inference)

# what is at least as good as a value of the type
_ALSO: Mapping[Any, tuple[Any, ...]] = {
    float: (int, np.floating, np.integer),
    int: (np.integer,),
    bool: (np.bool_,),
    np.ndarray: (np.generic,),
    Sequence: (np.ndarray,),
}


class Encoder:
    """Turns objects into plain values; arrays are set aside under the name of the place they were found at.

    A prior declared in PyMC is code, of which only the text is kept: ``by_identity`` distinguishes two of them,
    and takes what cannot be stored as it is.
    """

    def __init__(self, *, by_identity: bool = False) -> None:
        self._by_identity = by_identity
        self.arrays: dict[str, Array] = {}
        self._known: dict[int, tuple[Array, str]] = {}

    def spell(self, value: Any, place: str) -> Any:
        """Return ``value`` as something that :func:`json.dumps` spells.

        Raises
        ------
        TypeError
            If ``value`` holds something this package does not compute with.
        """
        if isinstance(value, np.generic) and value.dtype.name in _NUMBERS:
            return {_KIND: "number", "dtype": value.dtype.name, "value": value.item()}
        if isinstance(value, np.str_):
            return str(value)
        if type(value) in _SIMPLE:
            return value
        if type(value).__name__ in _MISSING:
            return None
        if type(value) is list:
            return [self.spell(item, f"{place}.{i}") for i, item in enumerate(value)]
        if type(value) is tuple:
            return {_KIND: "tuple", "items": self.spell(list(value), place)}
        if isinstance(value, np.ndarray):
            return self._spell_array(value, place)
        if isinstance(value, Mapping):
            pairs = [[self.spell(key, place), self.spell(item, f"{place}.{key}")] for key, item in value.items()]
            return {_KIND: "map", "items": pairs}
        if is_dataclass(value) and _class_named(_name(type(value))) is type(value):
            members = {
                f.name: self.spell(getattr(value, f.name), f"{place}.{f.name}") for f in _stored(type(value))
            }
            return {_KIND: _name(type(value)), "fields": members}
        if is_declaration(value):
            written = Written(f"{in_words(value)} {id(value)}" if self._by_identity else in_words(value))
            return self.spell(written, place)
        named = by_name(value)
        if named is not value:
            return self.spell(named, place)
        if hasattr(value, "__array__"):  # of any library
            return self.spell(np.asarray(value), place)
        if self._by_identity and isinstance(value, Hashable):
            return value
        raise TypeError(
            f"{place} is a {type(value).__module__}.{type(value).__qualname__}, which cannot be stored: it is no "
            "class of bayesppl and no dataclass in a module that is derived from one of its contracts, such as "
            "Family. Where it is a label or a level, such as a date, fit to its text instead"
        )

    def _spell_array(self, value: Array, place: str) -> Any:
        if value.dtype == object and value.ndim == 1:
            return {_KIND: "labels", "items": self.spell(value.tolist(), place)}
        if value.dtype.name not in _NUMBERS and value.dtype.kind != "U" and not self._by_identity:
            raise TypeError(
                f"{place} is an array of {value.dtype}, which cannot be stored; fit to text or numbers instead"
            )
        if id(value) not in self._known:
            name = re.sub(r"[^A-Za-z0-9_.]", "_", place)
            name = name if name not in self.arrays else f"{name}.{len(self.arrays)}"
            # the array is kept alive with its id, so that no other array can get the same one
            self._known[id(value)] = (value, name)
            self.arrays[name] = value
        return {_KIND: "array", "name": self._known[id(value)][1]}


def build(plain: Any, arrays: Mapping[str, Array]) -> Any:
    """Build the objects that :class:`Encoder` spelt.

    Raises
    ------
    KeyError, TypeError, ValueError
        If ``plain`` is nothing that this package would have spelt.
    """
    if type(plain) in _SIMPLE:
        return plain
    if isinstance(plain, list):
        return [build(item, arrays) for item in plain]
    kind = plain[_KIND]
    if kind == "tuple":
        return tuple(build(plain["items"], arrays))
    if kind == "map":
        return {build(key, arrays): build(item, arrays) for key, item in plain["items"]}
    if kind == "number" and plain["dtype"] in _NUMBERS:
        return np.dtype(plain["dtype"]).type(plain["value"])
    if kind == "array":
        return arrays[plain["name"]]
    if kind == "labels":
        return np.fromiter(build(plain["items"], arrays), object)
    return _assemble(kind, {name: build(item, arrays) for name, item in plain["fields"].items()})


def same(one: Any, other: Any) -> bool:
    """Whether two objects are spelt alike, arrays included."""
    encoders = Encoder(by_identity=True), Encoder(by_identity=True)
    mine, others = (encoder.spell(value, "") for encoder, value in zip(encoders, (one, other), strict=True))
    arrays = encoders[1].arrays
    return bool(mine == others) and all(
        array.dtype == arrays[name].dtype
        and np.array_equal(array, arrays[name], equal_nan=array.dtype.kind == "f")
        for name, array in encoders[0].arrays.items()
    )


def check_type(value: Any, hint: Any, place: str) -> None:
    """Refuse a value that is not of its declared type.

    Raises
    ------
    TypeError
    """
    if not _fits(value, hint):
        raise TypeError(f"{place} must be {hint}, found {type(value).__name__}")


def _assemble(name: str, members: Mapping[str, Any]) -> Any:
    """Make the object with these members, as it was: its constructor would refuse what a posterior may become."""
    cls: Any = _class_named(name)
    if cls is None:
        raise TypeError(
            f"there is no class {name!r} here; import the module that defines it before the file is read"
        )
    known = {f.name: f for f in _stored(cls)}
    strange = set(members) - set(known)
    missing = [n for n, f in known.items() if n not in members and f.default is MISSING]
    if strange or missing:
        raise TypeError(f"{cls.__name__} has not the members {sorted(strange)}, and needs {missing}")
    hints = _hints(cls)
    for member, value in members.items():
        check_type(value, hints[member], f"{cls.__name__}.{member}")
        if isinstance(value, np.ndarray) and value.dtype.kind in "OU" and member not in ("classes", "levels"):
            raise TypeError(f"{cls.__name__}.{member} must be numbers, found an array of {value.dtype}")
    new = object.__new__(cls)
    vars(new).update({f.name: f.default for f in fields(cls) if f.name not in members}, **members)
    return new


def _name(cls: type[Any]) -> str:
    """Name a class in a file; of this package without its module, for that may change."""
    return cls.__name__ if cls.__module__.startswith(_ROOMS) else f"{cls.__module__}:{cls.__qualname__}"


def _class_named(name: str) -> type[Any] | None:
    """Find the class that a file names, if it is imported and one that a fit may hold."""
    if ":" not in name:
        return _own_classes(len(sys.modules)).get(name)
    module, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, "__dict__", {}).get(part)  # which asks no module to import what it lacks
    return found if isinstance(found, type) and is_dataclass(found) and issubclass(found, _CONTRACTS) else None


@cache
def _own_classes(n_modules: int) -> Mapping[str, type[Any]]:
    """Find the dataclasses of this package by name, anew where more modules have been imported."""
    modules = [module for name, module in sys.modules.items() if name.startswith(_ROOMS)]
    found = [cls for module in modules for cls in vars(module).values() if isinstance(cls, type)]
    return {cls.__name__: cls for cls in found if is_dataclass(cls) and cls.__module__.startswith(_ROOMS)}


def _stored(cls: type[Any]) -> list[Any]:
    """Find the fields of a dataclass that are written: all but those that hold code or rows."""
    return [f for f in fields(cls) if f.metadata.get("stored", True)]


_hints = cache(get_type_hints)


def _fits(value: Any, hint: Any) -> bool:
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if isinstance(kind, TypeAliasType):
        return _fits(value, kind.__value__)
    if kind in (Union, UnionType):
        return any(_fits(value, one) for one in arguments)
    if kind is Literal:
        return isinstance(value, Hashable) and value in arguments
    if kind is Any:
        return True
    known: Any = (kind, *_ALSO.get(kind, ()))
    if not isinstance(value, known) or (isinstance(value, bool) and kind in (int, float)):
        return False
    if kind in (np.ndarray, type, Callable) or not arguments or isinstance(value, np.ndarray):
        return True
    if isinstance(value, Mapping):
        return all(_fits(key, arguments[0]) and _fits(item, arguments[1]) for key, item in value.items())
    if kind is tuple and arguments[-1] is not Ellipsis:
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    return all(_fits(item, arguments[0]) for item in value)
