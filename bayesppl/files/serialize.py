"""Declarations, beliefs and statistics as plain values: what JSON can spell, and named arrays.

Everything this package computes with is a frozen dataclass of numbers, text, arrays, or other such objects. Spelling one
out needs no code of its own per class, and reading it back can build only classes listed here: no text in a file can
name anything else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from bayesppl.conjugate.declared_priors import Declared, Written, in_words, is_declaration
from bayesppl.data.arguments import by_name
from bayesppl.files.typed import check_fields
from bayesppl.kernels.arrays import Array

_KIND = "$"
_SIMPLE = (type(None), bool, int, float, str)

#: Bytes of an array of text: the width of its type is not bounded by the text in it.
_MOST_TEXT = 1 << 30

_NUMBERS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class Encoder:
    """Turns objects into plain values; arrays are set aside under the name of the place they were found at.

    A prior declared in PyMC is code, of which only the text is kept: ``by_identity`` distinguishes two of them.
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
        if isinstance(value, np.generic) and value.dtype.name in (*_NUMBERS, "bool"):
            return {_KIND: "number", "dtype": value.dtype.name, "value": value.item()}
        if isinstance(value, np.str_):
            return str(value)
        if type(value) in _SIMPLE:
            return value
        if type(value) is list:
            return [self.spell(item, f"{place}.{i}") for i, item in enumerate(value)]
        if type(value) is tuple:
            return {_KIND: "tuple", "items": self.spell(list(value), place)}
        if isinstance(value, np.ndarray):
            return self._spell_array(value, place)
        if isinstance(value, Mapping):
            pairs = [[self.spell(key, place), self.spell(item, f"{place}.{key}")] for key, item in value.items()]
            return {_KIND: "map", "items": pairs}
        if is_dataclass(value) and _classes().get(type(value).__name__) is type(value):
            members = {f.name: self.spell(getattr(value, f.name), f"{place}.{f.name}") for f in _stored(value)}
            return {_KIND: type(value).__name__, "fields": members}
        if is_declaration(value):
            written = Written(f"{in_words(value)} {id(value)}" if self._by_identity else in_words(value))
            return self.spell(written, place)
        named = by_name(value)
        if named is not value:
            return self.spell(named, place)
        raise TypeError(
            f"{place} is a {type(value).__module__}.{type(value).__qualname__}, which cannot be stored"
        )

    def _spell_array(self, value: Array, place: str) -> Any:
        kind = {_KIND: "array", "dtype": value.dtype.name, "shape": list(value.shape)}
        if value.dtype.kind in "OU":
            return {**kind, "dtype": value.dtype.str, "items": self.spell(value.ravel().tolist(), place)}
        if value.dtype.kind != "b" and value.dtype.name not in _NUMBERS:
            raise TypeError(f"{place} is an array of {value.dtype}, which cannot be stored")
        if id(value) not in self._known:
            name = re.sub(r"[^A-Za-z0-9_.]", "_", place)
            name = name if name not in self.arrays else f"{name}.{len(self.arrays)}"
            # the array is kept alive with its id, so that no other array can get the same one
            self._known[id(value)] = (value, name)
            self.arrays[name] = value
        # the order in memory decides the order of sums, and so the last bit of what is computed from the array
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        return {**kind, "order": order, "name": self._known[id(value)][1]}


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
    if kind == "number" and plain["dtype"] in (*_NUMBERS, "bool"):
        return np.dtype(plain["dtype"]).type(plain["value"])
    if kind == "array":
        return _build_array(plain, arrays)
    members = {name: build(item, arrays) for name, item in plain["fields"].items()}
    return _assemble(_classes()[kind], members)


def _assemble(cls: type[Any], members: Mapping[str, Any]) -> Any:
    """The object with these members, as it was: its constructor would refuse what a belief may become."""
    known = {f.name: f for f in fields(cls)}
    strange = set(members) - set(known)
    missing = [n for n, f in known.items() if n not in members and f.default is MISSING]
    if strange or missing:
        raise TypeError(f"{cls.__name__} has not the members {sorted(strange)}, and needs {missing}")
    check_fields(cls, members)
    new = object.__new__(cls)
    vars(new).update({name: f.default for name, f in known.items() if name not in members}, **members)
    return new


def same(one: Any, other: Any) -> bool:
    """Whether two objects are spelt alike, arrays included."""
    spelt = []
    for value in (one, other):
        encoder = Encoder(by_identity=True)
        spelt.append((encoder.spell(value, "value"), encoder.arrays))
    return bool(
        spelt[0][0] == spelt[1][0]
        and all(np.array_equal(a, spelt[1][1][name], equal_nan=True) for name, a in spelt[0][1].items())
    )


def _build_array(plain: Mapping[str, Any], arrays: Mapping[str, Array]) -> Array:
    shape = tuple(plain["shape"])
    if "items" in plain:
        dtype, items = np.dtype(plain["dtype"]), build(plain["items"], arrays)
        if dtype.kind not in "OU" or type(items) is not list:
            raise ValueError(f"an array of {dtype} cannot be a list of items")
        if dtype.itemsize * len(items) > _MOST_TEXT:
            raise ValueError(f"{len(items)} items of {dtype} would fill {dtype.itemsize * len(items)} bytes")
        if dtype.kind == "U" and not all(type(item) is str for item in items):
            raise ValueError(f"an array of {dtype} must be a list of text")
        cells = np.empty(len(items), dtype)
        cells[:] = items
        return cells.reshape(shape)
    array = arrays[plain["name"]]
    if plain["dtype"] == "bool":
        array = array.astype(bool)
    if plain["order"] not in ("C", "F"):
        raise ValueError(f"array {plain['name']!r} lies in memory in order C or F, not {plain['order']!r}")
    if array.dtype.name != plain["dtype"] or array.shape != shape:
        raise ValueError(f"array {plain['name']!r} is {array.dtype} {array.shape}, not {plain['dtype']} {shape}")
    return np.asarray(array, order="F" if plain["order"] == "F" else "C")


def _stored(value: Any) -> list[Any]:
    """The fields of a dataclass that are written: all but those that hold code."""
    return [f for f in fields(value) if f.metadata.get("stored", True)]


@cache
def _classes() -> Mapping[str, type[Any]]:
    """Classes that may be built, by name: the dataclasses of this package that implement one of its contracts."""
    import bayesppl.inference
    from bayesppl.conjugate import Conjugate
    from bayesppl.conjugate.centred_sums import CentredSums
    from bayesppl.conjugate.statistics import Statistics
    from bayesppl.data.read_table import Columns
    from bayesppl.data.recoding import AsTheyAre, Column, Presence, Recoding
    from bayesppl.families import Family
    from bayesppl.families._bases.gaussian_declared import LKJ
    from bayesppl.families.choosing.column_choice import ColumnChoice
    from bayesppl.kernels.pairs import Pairs
    from bayesppl.model.calibration import Calibration, ColumnWeights
    from bayesppl.model.convergence import Diagnosis
    from bayesppl.model.declaration import GenerativeModel
    from bayesppl.model.fitted import Fitted
    from bayesppl.model.learned import Learned
    from bayesppl.model.posterior import Posterior
    from bayesppl.model.sampled import Report
    from bayesppl.model.stack import Member, Stack
    from bayesppl.model.tuning import Search, Tuning

    plain = (
        AsTheyAre,
        Calibration,
        CentredSums,
        Column,
        ColumnChoice,
        ColumnWeights,
        Columns,
        Diagnosis,
        Fitted,
        GenerativeModel,
        LKJ,
        Learned,
        Member,
        Pairs,
        Presence,
        Recoding,
        Report,
        Search,
        Stack,
        Tuning,
        Written,
    )
    found: dict[str, type[Any]] = {cls.__name__: cls for cls in plain}
    contracts: list[type[Any]] = [Conjugate, Declared, Family, Posterior, Statistics, bayesppl.inference.Inference]
    while contracts:
        cls = contracts.pop()
        contracts.extend(cls.__subclasses__())
        if is_dataclass(cls) and cls.__module__.startswith("bayesppl."):
            found[cls.__name__] = cls
    return found
