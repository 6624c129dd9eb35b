"""Fitted estimators as files: numpy's ``.npz``, no pickle, nothing executed on reading.

A file is a zip archive, stored uncompressed, whose members carry their CRC-32. ``document.json`` holds the
declaration, the sufficient statistics and the posterior as plain values (see :mod:`bayesppl.files.serialize`), the
provenance, and a list of all arrays with their types and shapes; every array is a member under the name of its
place in the document. ``numpy.load`` opens it.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from bayesppl.errors import ModelFileError
from bayesppl.files import replacing
from bayesppl.files.provenance import fingerprint, prior_in_words, provenance
from bayesppl.files.serialize import Encoder, build, check_type, same
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.stack import Stack

FORMAT = "bayesppl model"
SCHEMA = 4

_DOCUMENT = "document.json"


class Stored(NamedTuple):
    """What a file describes: an estimator by its name, the arguments of its constructor, and what it had found."""

    estimator: str
    parameters: dict[str, Any]
    fitted: Fitted | Stack


def write(
    value: Fitted | Stack, estimator: str, parameters: Mapping[str, Any], path: str | os.PathLike[str]
) -> None:
    """Write what was found, and what the estimator that holds it is made of, to ``path``.

    Raises
    ------
    TypeError
        If something in it is not what this package computes with.
    OSError
        If the file cannot be written; what was at ``path`` before stays.
    """
    if isinstance(value, Stack):
        origin = {**provenance(value.members[0].fitted), "prior": value.prior_in_words(prior_in_words)}
    else:
        value = replace(value, fingerprint=fingerprint(value))
        origin = provenance(value)
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
    content = pack(document, encoder.arrays)
    with replacing(path) as work:
        work.write_bytes(content)


def read(path: str | os.PathLike[str]) -> Stored:
    """Read what :func:`write` wrote; nothing that is in the file is executed.

    Raises
    ------
    FileNotFoundError, ModelFileError
        As :func:`bayesppl.load`.
    """
    document, arrays = unpack(path)
    try:
        parameters, found = build(document["parameters"], arrays), build(document["fitted"], arrays)
        check_type(parameters, dict, "parameters")
        check_type(found, Fitted | Stack, "fitted")
        for fitted in [member.fitted for member in found.members] if isinstance(found, Stack) else [found]:
            _check_consistent(fitted)
        return Stored(document["estimator"], parameters, found)
    except Exception as error:  # a document by somebody else may make anything of what is built from it
        raise cannot_build(path, error) from error


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Versions, command, prior and data of the model in a file that ``save`` wrote, as they were then.

    Raises
    ------
    FileNotFoundError, ModelFileError
        As :func:`bayesppl.load`.
    """
    document, _ = unpack(path)
    try:
        check_type(document["provenance"], dict, "provenance")
    except (KeyError, TypeError) as error:
        raise cannot_build(path, error) from error
    return dict(document["provenance"])


def cannot_build(path: str | os.PathLike[str], error: Exception) -> ModelFileError:
    """The refusal of a file that holds a model which this version does not have."""
    return ModelFileError(
        f"{str(path)!r} holds a model that this version of bayesppl ({version('bayesppl')}) cannot build: "
        f"{error!r}"
    )


def pack(document: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The bytes of a file of a document and named arrays; the same for the same model."""
    listed = {name: [array.dtype.str, array.shape, _order(array)] for name, array in arrays.items()}
    head = {"format": FORMAT, "schema": SCHEMA, **document, "arrays": listed}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        # a member that is given without a time gets the same one always
        archive.writestr(zipfile.ZipInfo(_DOCUMENT), json.dumps(head))
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return content.getvalue()


def unpack(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """The document and the arrays that :func:`pack` put into a file.

    Raises
    ------
    FileNotFoundError
    ModelFileError
        If the file is no model, is damaged, or was written in another schema.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, Path(path).stat().st_size)
        document = json.loads(members.pop(_DOCUMENT))
        if document["format"] != FORMAT:
            raise ValueError(f"it is of the format {document['format']!r}")
        schema = int(document["schema"])
        arrays = {} if schema != SCHEMA else _arrays(members, document["arrays"])
    except Exception as error:  # of an archive, a header of numpy's or JSON; what is damaged may raise anything
        raise ModelFileError(
            f"{str(path)!r} is not a model file that bayesppl's save wrote, or it is truncated or damaged: "
            f"{error!r}"
        ) from error
    if schema != SCHEMA:
        age, remedy = (
            ("a newer", "upgrade bayesppl to read it") if schema > SCHEMA else ("an older", "save it again")
        )
        raise ModelFileError(
            f"{str(path)!r} was written by {age} version of bayesppl (schema {schema}; this is bayesppl "
            f"{version('bayesppl')}, which reads schema {SCHEMA}); {remedy}"
        )
    return document, arrays


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """All members by name, their checksums compared; together they are never larger than the file."""
    entries = archive.infolist()
    if any(
        entry.compress_type != zipfile.ZIP_STORED or entry.file_size > entry.compress_size for entry in entries
    ):
        raise ValueError("its members are compressed")
    if sum(entry.file_size for entry in entries) > size:
        raise ValueError("its members would be larger than the file")
    return {entry.filename: archive.read(entry) for entry in entries}


def _arrays(members: Mapping[str, bytes], listed: Mapping[str, Any]) -> dict[str, Array]:
    """The arrays of a list of names, types and shapes, which must be all that there are."""
    if set(members) != {f"{name}.npy" for name in listed}:
        raise ValueError("its members are not those that its document lists")
    return {name: _array(members[f"{name}.npy"], *expected) for name, expected in listed.items()}


def _array(content: bytes, dtype: str, shape: Sequence[int], order: Literal["C", "F"]) -> Array:
    """One array behind its header in numpy's format, in memory of its own."""
    kind, start = np.dtype(dtype), 10 + int.from_bytes(content[8:10], "little")
    if kind.kind not in "biufU" or len(content) - start != math.prod(shape) * kind.itemsize:
        raise ValueError(f"an array of {dtype} {shape} does not fill its place")
    return np.ndarray(shape, kind, bytearray(content), start, order=order)


def _order(array: Array) -> Literal["C", "F"]:
    """Return the order of the cells as numpy writes them; it decides the order of sums, and so their last bits."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _check_consistent(fitted: Fitted) -> None:
    """Refuse a fitted value whose parts are not of one model.

    Raises
    ------
    ValueError
        If they are not; any other error of an array may come up too.
    """
    learned, names = fitted.learned, fitted.columns.names
    model, classes = learned.model, learned.classes
    if (
        classes.ndim != 1
        or classes.tolist() != list(model.classes)
        or len(set(model.classes)) < max(1, len(classes))
    ):
        raise ValueError(f"classes {classes.tolist()} are not those of the model, {list(model.classes)}")
    if not names or len(set(names)) < len(names) or learned.class_count.shape != classes.shape:
        raise ValueError("columns or counts of classes are missing")
    if not set(model.family.bound.measures) <= set(names):
        raise ValueError(f"columns {names} are not those of the model, {list(model.family.bound.measures)}")
    if fitted.inferred is None:
        return
    # a tuned posterior is of the declared model times the factors that its rows chose
    if not same(replace(fitted.inferred.model, factors=model.factors), model):
        raise ValueError("the posterior is one of another model")
    import pandas as pd

    # no rows go the way of all rows, and show whether shapes agree
    frame = pd.DataFrame(np.empty((0, len(names))), columns=pd.Index(names, tupleize_cols=False))
    found = fitted.log_joint(frame if fitted.columns.are_named else frame.to_numpy(), "predictive")
    if found.shape != (0, len(classes)):
        raise ValueError(f"predictions have shape {found.shape}")
