"""Files that appear complete or not at all."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file in the same folder, which takes the place of ``path`` on success.

    A file that was there keeps its permissions; a new one gets the usual ones. The content is on the disk before it takes
    the name. On an error or an interrupt the temporary file is deleted, and what was at ``path`` before stays. What a
    process left that was killed is deleted by the next that writes to ``path``.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    ValueError
        If something else than a file is there, such as a folder or a device.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(target.parent)!r} to write {target.name!r} in; create it first"
        )
    if target.exists() and not target.is_file():
        raise ValueError(f"{str(path)!r} is not a file that could be replaced; name another file")
    _delete_abandoned(target)
    work, handle = _claim(lambda name: os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666), target)
    try:
        yield work
        if target.exists():
            work.chmod(stat.S_IMODE(target.stat().st_mode))
        os.fsync(handle)
        if sys.platform == "win32":  # which renames no open file
            handle = _close(handle)
        os.replace(work, target)
        _sync_folder(target.parent)
    finally:
        _release(work, handle)


@contextmanager
def gathering(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary folder beside ``path``, with the usual permissions, which is deleted afterwards.

    What it holds, or the folder itself, can be renamed into place meanwhile.
    """
    target = Path(os.path.realpath(path))
    _delete_abandoned(target)

    def create(name: Path) -> int:
        name.mkdir()
        return -1 if sys.platform == "win32" else os.open(name, os.O_RDONLY)

    work, handle = _claim(create, target)
    try:
        yield work
    finally:
        _release(work, handle)


def sync(path: Path) -> None:
    """Wait until a file is on the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _prefix(target: Path) -> str:
    return f".{target.name}-"


def _claim(create: Callable[[Path], int], target: Path) -> tuple[Path, int]:
    """A new temporary name beside ``target`` and its open handle, which is locked for as long as its process lives."""
    while True:
        work = target.parent / f"{_prefix(target)}{secrets.token_hex(6)}{target.suffix}"
        handle = create(work)
        _lock(handle, wait=True)
        if work.exists():  # and nobody took it for abandoned before it was locked
            return work, handle
        _close(handle)


def _release(work: Path, handle: int) -> None:
    _delete(work)
    _close(handle)


def _delete_abandoned(target: Path) -> None:
    """Delete what processes that were killed left of their attempts to write ``target``."""
    if sys.platform == "win32":
        return
    length = len(_prefix(target)) + 12 + len(target.suffix)
    for found in target.parent.glob(f"{glob.escape(_prefix(target))}*{glob.escape(target.suffix)}"):
        if len(found.name) != length:
            continue
        with suppress(OSError):  # somebody else's, or gone meanwhile
            handle = os.open(found, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                if _lock(handle, wait=False):
                    _delete(found)
            finally:
                os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock an open file or folder until it is closed, and so until its process ends."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nothing in it is taken for abandoned
        return wait
    return True


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _close(handle: int) -> int:
    """Close a handle once, and return what stands for none."""
    if handle >= 0:
        os.close(handle)
    return -1


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
