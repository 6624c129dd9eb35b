"""What ``--out`` writes: all of it or nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bayesppl.cli.report import parameter_records, score_records, write_csv
from bayesppl.files import gathering, sync

if TYPE_CHECKING:
    from bayesppl.evaluation.comparison import Comparison


def require_writable(directory: Path) -> None:
    """Refuse a directory that could not be written, before any work is done."""
    parent = directory.resolve().parent
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"--out {str(directory)!r} is a file; name a directory")
    if not parent.is_dir():
        raise ValueError(f"--out {str(directory)!r}: there is no directory {str(parent)!r}; create it first")
    if not os.access(directory if directory.exists() else parent, os.W_OK):
        raise ValueError(f"--out {str(directory)!r} is not writable; choose another directory")


def write(directory: Path, result: Comparison, draws: int, chains: int, seed: int) -> list[Path]:
    """Write the posterior, the tables and the picture; the files appear only once all of them are complete.

    Files of the same names in an existing directory are replaced.
    """
    with gathering(directory.resolve()) as work:
        tree = result.classifier.to_datatree(draws=draws, chains=chains, random_state=seed)
        tree.to_netcdf(work / "posterior.nc", engine="h5netcdf")
        write_csv(parameter_records(result.parameters), work / "parameters.csv")
        write_csv(score_records(result), work / "scores.csv")
        _save_picture(result, work / "probabilities.png")
        return publish(work, directory)


def publish(work: Path, directory: Path) -> list[Path]:
    """Move complete files to where they are wanted; those of the same names are replaced."""
    target = directory.resolve()
    names = sorted(path.name for path in work.iterdir())
    for name in names:
        sync(work / name)
    if target.is_dir():
        for name in names:
            os.replace(work / name, target / name)
    else:
        os.rename(work, target)
    return [directory / name for name in names]


def _save_picture(result: Comparison, path: Path) -> None:
    from bayesppl.plots import plot_probabilities

    plot_probabilities(result.probabilities, undefined=result.undefined).savefig(path, dpi=150)
