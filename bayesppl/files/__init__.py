"""Saving, loading and provenance.

Here stands what needs the standard library alone: how files are written, and the record of the command that writes
them.
"""

from __future__ import annotations

import glob
import os
import secrets
import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO

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
        with _claimed(target) as work:
            yield work
            _sync(work, os.O_RDWR)
            if target.exists():
                work.chmod(stat.S_IMODE(target.stat().st_mode))
            os.replace(work, target)
            with suppress(OSError):  # of systems that cannot wait for the names in a folder
                _sync(target.parent, os.O_RDONLY)
    except OSError as error:
        if error.errno is not None and str(error.filename or _temporary(target)).startswith(_temporary(target)):
            error.filename = str(path)  # a full disk names no file, and others name the temporary one
        raise


def _sync(path: Path, flags: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _temporary(target: Path) -> str:
    """How the paths of temporary files and folders beside ``target`` begin."""
    return str(target.parent / f".{target.name}-")


@contextmanager
def _claimed(target: Path) -> Iterator[Path]:
    """Make a temporary file beside ``target``, which is locked for as long as its process lives."""
    _delete_abandoned(target)
    while True:
        work = Path(f"{_temporary(target)}{secrets.token_hex(6)}{target.suffix}")
        with work.open("xb") as lock:
            with suppress(OSError):  # of file systems that have no locks
                _lock(lock, wait=True)
            if work.exists():  # and nobody took it for abandoned before it was locked
                try:
                    yield work
                finally:
                    work.unlink(missing_ok=True)
                return


def _delete_abandoned(target: Path) -> None:
    """Delete what processes that were killed left of their attempts to write ``target``."""
    length = len(_temporary(target)) + 12 + len(target.suffix)
    for name in glob.glob(f"{glob.escape(_temporary(target))}*{glob.escape(target.suffix)}"):
        if len(name) == length and sys.platform != "win32":
            with suppress(OSError), Path(name).open("rb") as lock:
                _lock(lock, wait=False)
                Path(name).unlink()


def _lock(file: IO[bytes], *, wait: bool) -> None:
    """Lock an open file until it is closed.

    Windows has no such locks, and renames nothing that is open.

    Raises
    ------
    OSError
        If somebody else has the lock and it is not waited for.
    """
    if sys.platform == "win32":
        file.close()
        return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
