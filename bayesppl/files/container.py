"""A netCDF file with an index and a checksum behind its end.

netCDF-4 is HDF5, a format so rich that a single flipped bit can hang its library or make it expand kilobytes to gigabytes. So the
library only writes here. Behind the end of the netCDF file, where its readers do not look, stand

- an index: a JSON text that gives for the document and every array its place in the file, its type and its shape,
- a footer of fixed length: a mark, the schema, the length of the index, and the SHA-256 of all bytes before it.

Reading checks the footer and the checksum first, and then copies the bytes that the index names. They lie one behind another
in the file, so that what is read is never larger than the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from bayesppl.errors import ModelFileError
from bayesppl.kernels.arrays import Array

FORMAT = "bayesppl model"
SCHEMA_VERSION = 3

_MARK = FORMAT.encode() + b"\r\n"

# mark, schema, length of the index, checksum
_FOOTER = struct.Struct("<16sQQ32s")

_HDF5 = b"\x89HDF\r\n\x1a\n"

#: Types of stored arrays, as numpy spells them: numbers in the byte order that every machine reads.
_DTYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8")

# Dimensions are named by their length; no array is named like that, for its name begins with its place.
_LENGTH = "length_"

_BLOCK = 1 << 20


class _Entry(NamedTuple):
    """Where an array lies in the file, and what it is."""

    offset: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


def write(path: Path, text: bytes, arrays: Mapping[str, Array]) -> None:
    """Write a document and named arrays."""
    stored = {name: _storable(array) for name, array in arrays.items()}
    _write_netcdf(path, text, stored)
    index = json.dumps(_index(path, stored)).encode()
    with path.open("r+b") as file:
        digest = _digest(file, path.stat().st_size)
        file.seek(0, 2)
        head = _FOOTER.pack(_MARK, SCHEMA_VERSION, len(index), b"")[:-32]
        digest.update(index + head)
        file.write(index + head + digest.digest())


def read(path: Path) -> tuple[bytes, dict[str, Array]]:
    """The document and the arrays that :func:`write` wrote.

    Raises
    ------
    FileNotFoundError
    ModelFileError
        If the file is no model, is damaged, or was written in another schema.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start, length, expected = _footer(path, file, size)
        digest = _digest(file, size - 32)
        if digest.digest() != expected:
            raise ModelFileError(
                f"{str(path)!r} is damaged or was changed after it was written: its checksum is wrong"
            )
        file.seek(start)
        entries = _entries(path, file.read(length), start)
        arrays = {name: _array(file, entry) for name, entry in entries.items()}
    return arrays.pop("").tobytes(), arrays


def _footer(path: Path, file: IO[bytes], size: int) -> tuple[int, int, bytes]:
    """Start and length of the index, and the checksum."""
    file.seek(max(0, size - _FOOTER.size))
    found = file.read(_FOOTER.size)
    if len(found) < _FOOTER.size or not found.startswith(_MARK):
        file.seek(0)
        kind = "a netCDF or HDF5 file, but not one" if file.read(len(_HDF5)) == _HDF5 else "not a model file"
        raise ModelFileError(f"{str(path)!r} is {kind} that bayesppl's save wrote, or it is truncated or damaged")
    _, schema, length, expected = _FOOTER.unpack(found)
    if schema != SCHEMA_VERSION:
        age, remedy = (
            ("a newer", "upgrade bayesppl to read it")
            if schema > SCHEMA_VERSION
            else ("an older", "save it again")
        )
        raise ModelFileError(
            f"{str(path)!r} was written by {age} version of bayesppl (schema {schema}; this is bayesppl "
            f"{version('bayesppl')}, which reads schema {SCHEMA_VERSION}); {remedy}"
        )
    start = size - _FOOTER.size - length
    if start < 0:
        raise ModelFileError(f"{str(path)!r} is truncated or damaged: its index would begin before the file")
    return start, length, expected


def _entries(path: Path, index: bytes, end: int) -> dict[str, _Entry]:
    """Where everything lies, the document under no name; one behind another, before ``end``."""
    try:
        entries = {str(name): _entry(*place) for name, place in json.loads(index).items()}
        if "" not in entries:
            raise ValueError("there is no document")
        last = 0
        for entry in sorted(entry for entry in entries.values() if entry.n_bytes):
            if entry.offset < last:
                raise ValueError("arrays overlap")
            last = entry.offset + entry.n_bytes
        if last > end:
            raise ValueError("an array ends behind the file")
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{str(path)!r} holds no index that bayesppl's save wrote: {error}") from error
    return entries


def _entry(offset: Any, dtype: Any, shape: Any) -> _Entry:
    numbers = [offset, *shape]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"{numbers} are no place and shape")
    # numpy counts the cells of an empty array without its empty axes
    if len(shape) > 32 or math.prod(length or 1 for length in shape) >= 1 << 59:
        raise ValueError(f"{numbers} are no place and shape")
    if dtype not in _DTYPES:
        raise ValueError(f"{dtype!r} is no type of stored numbers")
    return _Entry(offset, dtype, tuple(shape))


def _array(file: IO[bytes], entry: _Entry) -> Array:
    file.seek(entry.offset)
    # one array that owns its cells, which the caller may overwrite
    return np.frombuffer(bytearray(file.read(entry.n_bytes)), dtype=entry.dtype).reshape(entry.shape)


def _digest(file: IO[bytes], length: int) -> Any:
    """Of the first bytes of a file."""
    digest = hashlib.sha256()
    file.seek(0)
    while length and (block := file.read(min(length, _BLOCK))):
        digest.update(block)
        length -= len(block)
    return digest


def _storable(array: Array) -> Array:
    """The array in a type that netCDF has, in the byte order every machine reads."""
    array = array.astype(np.uint8) if array.dtype.kind == "b" else array
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)


def _write_netcdf(path: Path, text: bytes, arrays: Mapping[str, Array]) -> None:
    import h5netcdf

    # whoever makes the file complete or not at all locks it
    with h5netcdf.File(path, "w", locking=False) as file:
        file.attrs["format"] = FORMAT
        file.attrs["schema_version"] = SCHEMA_VERSION
        file.dimensions["document_bytes"] = len(text)
        file.create_variable("document", ("document_bytes",), data=np.frombuffer(text, np.uint8))
        group = file.create_group("arrays")
        for name, array in arrays.items():
            dims = tuple(f"{_LENGTH}{length}" for length in array.shape)
            for dim, length in zip(dims, array.shape, strict=True):
                if dim not in group.dimensions:
                    group.dimensions[dim] = length
            group.create_variable(name, dims, data=array)


def _index(path: Path, arrays: Mapping[str, Array]) -> dict[str, tuple[int, str, tuple[int, ...]]]:
    """Where the netCDF library put the cells of everything; an array without cells lies nowhere."""
    import h5py

    with h5py.File(path, "r", locking=False) as file:
        places = {"": file["document"], **{name: file["arrays"][name] for name in arrays}}
        return {
            name: (dataset.id.get_offset() or 0, dataset.dtype.str, dataset.shape)
            for name, dataset in places.items()
        }
