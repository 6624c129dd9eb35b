"""Saving, loading and provenance.

Here stands what needs the standard library alone: how files are written, and the record of the command that writes
them.
"""

from __future__ import annotations

import os
import secrets
import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

_typed: ContextVar[str | None] = ContextVar("typed", default=None)


@contextmanager
def running(arguments: Sequence[str]) -> Iterator[None]:
    """Record ``bayesppl`` with these arguments in whatever is made meanwhile."""
    token = _typed.set(shlex.join(["bayesppl", *arguments]))
    try:
        yield
    finally:
        _typed.reset(token)


def command() -> str:
    """Return the command as it was typed, for ``bayesppl`` itself.

    Of another program only the name is given: its arguments may be nobody's business, and those of a notebook are
    not its user's.
    """
    return _typed.get() or Path(sys.argv[0]).name or "python"


def as_path(given: str | os.PathLike[str]) -> Path:
    """Read the path of a file, and refuse what is none."""
    try:
        return Path(given)
    except TypeError:
        raise TypeError(f"a file is named by its path, text or a pathlib.Path; found {given!r}") from None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file in the same folder, which takes the place of ``path`` on success.

    A file that was there keeps its permissions; a new one gets the usual ones. The content is on the disk before
    it takes the name. On an error or an interrupt the temporary file is deleted, and what was at ``path`` before
    stays.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    ValueError
        If something else than a file is there, such as a folder or a device.
    TypeError
        If ``path`` is none.
    OSError
        If the disk is full, or the file cannot be written for another reason; it names ``path``.
    """
    target = Path(os.path.realpath(as_path(path)))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(target.parent)!r} to write {target.name!r} in; create it first"
        )
    if target.exists() and not target.is_file():
        raise ValueError(f"{str(path)!r} is not a file that could be replaced; name another file")
    work = target.with_name(f".{target.name}-{secrets.token_hex(6)}{target.suffix}")
    try:
        work.touch(exist_ok=False)
        yield work
        _sync(work, os.O_RDWR)
        if target.exists():
            work.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(work, target)
        with suppress(OSError):  # of systems that cannot wait for the names in a folder
            _sync(target.parent, os.O_RDONLY)
    except OSError as error:
        if error.errno is not None and str(error.filename or work) == str(work):
            error.filename = str(path)  # a full disk names no file, and others name the temporary one
        raise
    finally:
        work.unlink(missing_ok=True)


def _sync(path: Path, flags: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
