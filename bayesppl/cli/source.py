"""What a command reads, checked before anything heavy is imported."""

from __future__ import annotations

import os
from pathlib import Path

from bayesppl import datasets


def require_source(data: str, target: str | None) -> None:
    """Refuse data that are not there, and labels that are missing or given twice."""
    if data in datasets.LOADERS:
        if target is not None:
            raise ValueError(
                f"--target {target!r} is for files; the embedded data set {data!r} has labels of its own, leave "
                "--target out"
            )
        return
    if not Path(data).is_file():
        raise ValueError(
            f"{data!r} is neither a file nor an embedded data set; give the path of a file or one of "
            f"{', '.join(datasets.LOADERS)}"
        )
    if target is None:
        raise ValueError(f"{data!r} needs --target COLUMN, the column that holds the labels")


def require_place(option: str, path: Path) -> None:
    """Refuse a file that could not be written, before any work is done."""
    parent = path.resolve().parent
    if not parent.is_dir():
        raise ValueError(f"{option} {str(path)!r}: there is no folder {str(parent)!r}; create it first")
    if not os.access(parent, os.W_OK):
        raise ValueError(
            f"{option} {str(path)!r}: the directory {str(parent)!r} is not writable; choose another one"
        )
