"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file in the same folder, which takes the place of ``path`` on success.

    On an error or an interrupt the temporary file is deleted, and what was at ``path`` before stays.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(target.parent)!r} to write {target.name!r} in; create it first"
        )
    handle, name = tempfile.mkstemp(prefix=f".{target.name}-", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    work = Path(name)
    try:
        yield work
        work.chmod(0o666 & ~_umask())
        os.replace(work, target)
    finally:
        work.unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
