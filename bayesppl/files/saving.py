"""Fitted estimators as files: numpy's ``.npz``, no pickle, nothing executed on reading.

A file is a zip archive, stored uncompressed, whose members carry their CRC-32. ``document.json`` holds the
declaration, the sufficient statistics and the posterior as plain values (see :mod:`bayesppl.files.serialize`), and
the provenance; every array is a member under the name of its place in the document. ``numpy.load`` opens it.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bayesppl.errors import ModelFileError
from bayesppl.files import as_path, replacing
from bayesppl.files.provenance import environment, fingerprint, prior_in_words, provenance
from bayesppl.files.serialize import Encoder, build, check_type, same
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.sampled import KeptDraws
from bayesppl.model.stack import Stack

FORMAT = "bayesppl model"
SCHEMA = 6

_DOCUMENT = "document.json"


def write(
    value: Fitted | Stack | KeptDraws,
    estimator: str,
    parameters: Mapping[str, Any],
    path: str | os.PathLike[str],
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
        of_members = [
            f"{member.name}: {prior_in_words(fitted.posterior.prior)}"
            for member, fitted in zip(value.members, value.fits, strict=True)
        ]
        origin = {**provenance(value.fits[0]), "prior": " | ".join(of_members)}
    elif isinstance(value, KeptDraws):
        origin = environment()
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


def read(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any], Fitted | Stack | KeptDraws]:
    """Read what :func:`write` wrote; nothing that is in the file is executed.

    Returns
    -------
    estimator : str
        Its name.
    parameters : dict
        The arguments of its constructor.
    found : Fitted, Stack or KeptDraws

    Raises
    ------
    FileNotFoundError, ModelFileError
        As :func:`bayesppl.load`.
    """
    document, arrays = unpack(path)
    try:
        parameters, found = build(document["parameters"], arrays), build(document["fitted"], arrays)
        check_type(parameters, dict, "parameters")
        check_type(found, Fitted | Stack | KeptDraws, "fitted")
        if not isinstance(found, KeptDraws):
            for fitted in found.fits if isinstance(found, Stack) else [found]:
                _check_consistent(fitted)
        return document["estimator"], parameters, found
    except Exception as error:  # a document by somebody else may make anything of what is built from it
        raise cannot_build(path, error) from error


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read versions, command, prior and data of the model in a file that ``save`` wrote, as they were then.

    Raises
    ------
    FileNotFoundError, ModelFileError
        As :func:`bayesppl.load`.
    """
    return dict(unpack(path)[0]["provenance"])


def cannot_build(path: str | os.PathLike[str], error: Exception) -> ModelFileError:
    """Return the refusal of a file that holds a model which this version does not have."""
    return ModelFileError(
        f"{str(path)!r} holds a model that this version of bayesppl ({version('bayesppl')}) cannot build: "
        f"{error!r}"
    )


def pack(document: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Make the bytes of a file of a document and named arrays; the same for the same model."""
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    with zipfile.ZipFile(content, "a") as archive:
        # a member that is given without a time gets the same one always
        head = {"format": FORMAT, "schema": SCHEMA, **document}
        archive.writestr(zipfile.ZipInfo(_DOCUMENT), json.dumps(head))
    return content.getvalue()


def unpack(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the document and the arrays that :func:`pack` put into a file.

    Raises
    ------
    FileNotFoundError
    ModelFileError
        If the file is no model, is damaged, or was written in another schema.
    """
    if not as_path(path).is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        members = _members(path)
        document = json.loads(members.pop(_DOCUMENT))
        form, schema = document["format"], document["schema"]
        if form != FORMAT:
            raise ValueError(f"it is of the format {form!r}")
        for name, array in members.items():
            if array.dtype.kind not in "biufU":
                raise ValueError(f"{name} holds neither numbers nor text")
        check_type(document.setdefault("provenance", {}), dict, "provenance")
        is_newer = schema > SCHEMA
    except Exception as error:  # of an archive, a header of numpy's or JSON; what is damaged may raise anything
        raise ModelFileError(
            f"{str(path)!r} is not a model file that bayesppl's save wrote, or it is truncated or damaged: "
            f"{error!r}"
        ) from error
    if schema != SCHEMA:
        raise ModelFileError(
            f"{str(path)!r} was written by {'a newer' if is_newer else 'an older'} version of bayesppl (schema "
            f"{schema}; this is bayesppl {version('bayesppl')}, which reads schema {SCHEMA}); "
            f"{'upgrade bayesppl to read it' if is_newer else 'fit again, and save'}"
        )
    return document, members


def _members(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read all arrays and texts by name and compare their checksums; together they must fit into the file."""
    if not zipfile.is_zipfile(path):
        raise ValueError("it is no .npz archive")
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        entries = archive.zip.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("its members are compressed")
        if sum(max(entry.file_size, entry.compress_size) for entry in entries) > Path(path).stat().st_size:
            raise ValueError("its members would be larger than the file")
        return {name: archive[name] for name in archive.files}


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
    has_columns = bool(model.family.bound.measures)  # there are none where annotators are all that is known
    if bool(names) != has_columns or len(set(names)) < len(names) or learned.class_count.shape != classes.shape:
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
    with suppress(ValueError):  # not every posterior has draws; but what is no number raises another error
        fitted.inferred.draws(1, 1, np.random.default_rng(0))
