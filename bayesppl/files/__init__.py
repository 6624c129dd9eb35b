"""Saving, loading and provenance.

Here stands what needs the standard library alone: how files are written, and the record of the command that writes
them.
"""

from __future__ import annotations

import glob
import os
import secrets
import shlex
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
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


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file in the same folder, which takes the place of ``path`` on success.

    A file that was there keeps its permissions; a new one gets the usual ones. The content is on the disk before
    it takes the name. On an error or an interrupt the temporary file is deleted, and what was at ``path`` before
    stays. What a process left that was killed is deleted by the next that writes to ``path``.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    ValueError
        If something else than a file is there, such as a folder or a device.
    OSError
        If the disk is full, or the file cannot be written for another reason; it names ``path``.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(target.parent)!r} to write {target.name!r} in; create it first"
        )
    if target.exists() and not target.is_file():
        raise ValueError(f"{str(path)!r} is not a file that could be replaced; name another file")
    try:
        with _claimed(target, _create_file) as work:
            yield work
            sync(work)
            if target.exists():
                work.chmod(stat.S_IMODE(target.stat().st_mode))
            os.replace(work, target)
            _sync_folder(target.parent)
    except OSError as error:
        if error.errno is not None and str(error.filename or _temporary(target)).startswith(_temporary(target)):
            error.filename = str(path)  # a full disk names no file, and others name the temporary one
        raise


@contextmanager
def gathering(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary folder beside ``path``, with the usual permissions; it is deleted afterwards.

    What it holds, or the folder itself, can be renamed into place meanwhile.
    """
    with _claimed(Path(os.path.realpath(path)), Path.mkdir) as work:
        yield work


def sync(path: Path) -> None:
    """Wait until a file is on the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _create_file(path: Path) -> None:
    path.touch(exist_ok=False)


def _temporary(target: Path) -> str:
    """How the paths of temporary files and folders beside ``target`` begin."""
    return str(target.parent / f".{target.name}-")


@contextmanager
def _claimed(target: Path, create: Callable[[Path], None]) -> Iterator[Path]:
    """A new temporary file or folder beside ``target``, which is locked for as long as its process lives."""
    _delete_abandoned(target)
    while True:
        work = Path(f"{_temporary(target)}{secrets.token_hex(6)}{target.suffix}")
        create(work)
        handle = _lock(work, wait=True)
        if work.exists():  # and nobody took it for abandoned before it was locked
            break
        _unlock(handle)
    try:
        yield work
    finally:
        _delete(work)
        _unlock(handle)


def _delete_abandoned(target: Path) -> None:
    """Delete what processes that were killed left of their attempts to write ``target``."""
    length = len(_temporary(target)) + 12 + len(target.suffix)
    for name in glob.glob(f"{glob.escape(_temporary(target))}*{glob.escape(target.suffix)}"):
        handle = _lock(Path(name), wait=False) if len(name) == length else None
        if handle is not None:
            _delete(Path(name))
            _unlock(handle)


def _lock(path: Path, *, wait: bool) -> int | None:
    """Lock a file or folder until the handle is closed; None if somebody else has it, or there are no locks."""
    if sys.platform == "win32":  # which renames nothing that is open
        return None
    import fcntl

    handle = None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        _unlock(handle)
        return None
    return handle


def _unlock(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
