"""Fitted estimators as files: netCDF, no pickle, nothing executed on reading.

A file holds the declaration, the sufficient statistics and the posterior as plain values (see
:mod:`bayesppl.files.serialize`): a JSON text in the variable ``document``, and one netCDF variable for every array in the group
``arrays``, under the name of its place in the document. Any netCDF reader can look inside.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayesppl.errors import ModelFileError
from bayesppl.files.atomic import replacing
from bayesppl.files.provenance import fingerprint, prior_in_words, provenance
from bayesppl.files.serialize import Encoder, build
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.stack import Stack

FORMAT = "bayesppl model"
SCHEMA_VERSION = 2

#: Dimensions are named by their length; no array is named like that, for its name begins with its place.
_LENGTH = "length_"


class Stored(NamedTuple):
    """What a file describes: an estimator by its name, the arguments of its constructor, and what it had found."""

    estimator: str
    parameters: dict[str, Any]
    fitted: Fitted | Stack


def write_stack(stack: Stack, estimator: str, parameters: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a stack, and what the estimator that holds it is made of, to ``path``."""
    origin = {**provenance(stack.members[0].fitted), "prior": stack.prior_in_words(prior_in_words)}
    _write_document(stack, origin, estimator, parameters, path)


def write(fitted: Fitted, estimator: str, parameters: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a fitted value, and what the estimator that holds it is made of, to ``path``."""
    kept = replace(fitted, rows=None, fingerprint=fingerprint(fitted))
    _write_document(kept, provenance(kept), estimator, parameters, path)


def _write_document(
    value: Fitted | Stack,
    origin: Mapping[str, Any],
    estimator: str,
    parameters: Mapping[str, Any],
    path: str | os.PathLike[str],
) -> None:
    encoder = Encoder()
    try:
        document = {
            "estimator": estimator,
            "provenance": origin,
            "parameters": encoder.spell(dict(parameters), "parameters"),
            "fitted": encoder.spell(value, "fitted"),
        }
    except TypeError as error:
        raise TypeError(f"this {estimator} cannot be saved: {error}") from None
    text = json.dumps(document, ensure_ascii=True).encode()
    arrays = {name: _storable(array) for name, array in encoder.arrays.items()}
    with replacing(path) as work:
        _write(work, text, arrays)


def read(path: str | os.PathLike[str]) -> Stored:
    """Read what :func:`write` wrote; nothing that is in the file is executed.

    Raises
    ------
    FileNotFoundError, ModelFileError
        As :func:`bayesppl.load`.
    """
    text, arrays = _read(Path(path))
    try:
        document = json.loads(text)
        return Stored(
            str(document["estimator"]), build(document["parameters"], arrays), build(document["fitted"], arrays)
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise cannot_build(path, error) from error


def cannot_build(path: str | os.PathLike[str], error: Exception) -> ModelFileError:
    """The refusal of a file that holds another model than this version knows."""
    return ModelFileError(
        f"{str(path)!r} holds a model that this version of bayesppl ({version('bayesppl')}) cannot build: {error!r}"
    )


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Versions, command, prior and data of the model in a file that ``save`` wrote, as they were then.

    Empty for files of versions that wrote none.

    Raises
    ------
    FileNotFoundError, ModelFileError
        As :func:`bayesppl.load`.
    """
    return dict(json.loads(_read(Path(path))[0]).get("provenance", {}))


def _storable(array: Array) -> Array:
    """The array in a type that netCDF has, in the byte order every machine reads."""
    array = array.astype(np.uint8) if array.dtype.kind == "b" else array
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)


def _checksum(text: bytes, arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256(f"{FORMAT} {SCHEMA_VERSION} {len(text)}\n".encode() + text)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _write(path: Path, text: bytes, arrays: Mapping[str, Array]) -> None:
    import h5netcdf

    with h5netcdf.File(path, "w") as file:
        file.attrs["format"] = FORMAT
        file.attrs["schema_version"] = SCHEMA_VERSION
        file.attrs["checksum"] = _checksum(text, arrays)
        file.dimensions["document_bytes"] = len(text)
        file.create_variable("document", ("document_bytes",), data=np.frombuffer(text, np.uint8))
        group = file.create_group("arrays")
        for name, array in arrays.items():
            dims = tuple(f"{_LENGTH}{length}" for length in array.shape)
            for dim, length in zip(dims, array.shape, strict=True):
                if dim not in group.dimensions:
                    group.dimensions[dim] = length
            group.create_variable(name, dims, data=array)


def _read(path: Path) -> tuple[bytes, dict[str, Array]]:
    """The document and the arrays of a file whose checksum is right."""
    import h5py

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with h5py.File(path, "r") as file:  # netCDF-4 is HDF5
            attrs = dict(file.attrs)
            if attrs.get("format") != FORMAT:
                raise ModelFileError(
                    f"{str(path)!r} is a netCDF or HDF5 file, but not one that bayesppl's save wrote"
                )
            schema = int(np.ravel(attrs["schema_version"])[0])
            if schema > SCHEMA_VERSION:
                raise ModelFileError(
                    f"{str(path)!r} was written by a newer version of bayesppl (schema {schema}; this is "
                    f"bayesppl {version('bayesppl')}, which reads schemas up to {SCHEMA_VERSION}); upgrade bayesppl to "
                    "read it"
                )
            text = np.asarray(file["document"], np.uint8).tobytes()
            group = file["arrays"]
            arrays = {name: np.asarray(group[name]) for name in group if not name.startswith(_LENGTH)}
            expected = attrs["checksum"]
    except ModelFileError:
        raise
    except Exception as error:  # whatever a damaged file makes of the library
        raise ModelFileError(
            f"{str(path)!r} is not a model file, or it is truncated or damaged ({type(error).__name__}: {error})"
        ) from error
    if _checksum(text, arrays) != expected:
        raise ModelFileError(
            f"{str(path)!r} is damaged or was changed after it was written: its checksum is wrong"
        )
    return text, arrays
