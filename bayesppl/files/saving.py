"""Fitted estimators as files: netCDF, no pickle, nothing executed on reading.

A file holds the declaration, the sufficient statistics and the posterior as plain values (see
:mod:`bayesppl.files.serialize`): a JSON text in the variable ``document``, and one netCDF variable for every array in the group
``arrays``, under the name of its place in the document. Any netCDF reader can look inside; ``load`` itself reads no netCDF
(see :mod:`bayesppl.files.container`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from bayesppl.errors import ModelFileError
from bayesppl.files import container
from bayesppl.files.atomic import replacing
from bayesppl.files.consistency import check_consistent
from bayesppl.files.provenance import fingerprint, prior_in_words, provenance
from bayesppl.files.serialize import Encoder, build
from bayesppl.files.typed import instance
from bayesppl.model.fitted import Fitted
from bayesppl.model.stack import Stack


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
    with replacing(path) as work:
        container.write(work, text, encoder.arrays)


def read(path: str | os.PathLike[str]) -> Stored:
    """Read what :func:`write` wrote; nothing that is in the file is executed.

    Raises
    ------
    FileNotFoundError, ModelFileError
        As :func:`bayesppl.load`.
    """
    text, arrays = container.read(Path(path))
    try:
        document = json.loads(text)
        parameters = instance(build(document["parameters"], arrays), dict, "parameters")
        found = build(document["fitted"], arrays)
        if isinstance(found, Stack):
            for member in found.members:
                check_consistent(member.fitted)
        else:
            check_consistent(instance(found, Fitted, "fitted"))
        return Stored(document["estimator"], parameters, found)
    except Exception as error:  # a document by somebody else may make anything of what is built from it
        raise cannot_build(path, error) from error


def cannot_build(path: str | os.PathLike[str], error: Exception) -> ModelFileError:
    """The refusal of a file that holds a model which this version does not have."""
    return ModelFileError(
        f"{str(path)!r} holds a model that this version of bayesppl ({version('bayesppl')}) cannot build: {error!r}"
    )


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Versions, command, prior and data of the model in a file that ``save`` wrote, as they were then.

    Raises
    ------
    FileNotFoundError, ModelFileError
        As :func:`bayesppl.load`.
    """
    text, _ = container.read(Path(path))
    try:
        return instance(json.loads(text)["provenance"], dict, "provenance")
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise cannot_build(path, error) from error
