"""Write the result of a comparison for programs: JSON, CSV, and all files of ``--out`` or none."""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bayesppl.cli.terminal import cell
from bayesppl.evaluation.comparison import SCORES
from bayesppl.files import gathering, sync

if TYPE_CHECKING:
    import xarray as xr

    from bayesppl.evaluation.comparison import Comparison

Record = dict[str, Any]


class Facts(NamedTuple):
    """What was compared, and on what."""

    data: str
    target: str
    n_train: int
    n_test: int
    settings: dict[str, Any]


def parameter_records(parameters: xr.Dataset) -> Iterator[Record]:
    """Make one record per number: the parameter, its coordinates, and its estimates."""
    estimates = parameters["estimate"].values.tolist()
    for name, values in parameters.data_vars.items():
        dims = [str(dim) for dim in values.dims if dim != "estimate"]
        numbers = values.transpose(*dims, "estimate").values.reshape(-1, len(estimates)).tolist()
        places = itertools.product(*(parameters[dim].values.tolist() for dim in dims))
        for place, row in zip(places, numbers, strict=True):
            yield {
                "parameter": str(name),
                **dict(zip(dims, place, strict=True)),
                **dict(zip(estimates, row, strict=True)),
            }


def score_records(result: Comparison) -> Iterator[Record]:
    """Make one record per rule: scores, paired differences and their errors, or why it is undefined."""
    scores = result.scores
    for rule in scores["rule"].values.tolist():
        numbers = {str(name): float(values.sel(rule=rule)) for name, values in scores.data_vars.items()}
        yield {"rule": rule, **numbers, "undefined": result.undefined.get(rule, "")}


def write_csv(records: Iterator[Record], path: Path) -> None:
    """Write a header line, then a line per record; a cell is empty where a number does not exist."""
    rows = list(records)
    last: dict[
        str, int
    ] = {}  # the rightmost place of every name, for a record lacks the dimensions it does not have
    for row in rows:
        for place, name in enumerate(row):
            last[name] = max(place, last.get(name, 0))
    names = sorted(last, key=last.__getitem__)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {key: "" if _is_nan(value) else cell(value) for key, value in row.items()} for row in rows
        )


def as_json(result: Comparison, facts: Facts) -> str:
    """Write strict JSON: infinities are the strings "inf" and "-inf", NaN is null."""
    report = {
        "data": facts.data,
        "target": facts.target,
        "classes": result.probabilities["class"].values.tolist(),
        "rows": {"train": facts.n_train, "test": facts.n_test},
        "settings": facts.settings,
        "provenance": result.classifier.provenance(),
        "interval": dict(result.parameters.attrs),
        "parameters": list(parameter_records(result.parameters)),
        "scores": {record["rule"]: _nested(record) for record in score_records(result)},
        "undefined": dict(result.undefined),
    }
    return json.dumps(strict(report), indent=2, ensure_ascii=False, allow_nan=False)


def _nested(record: Record) -> Record:
    scores = {
        score: {
            "value": record[score],
            "difference": record[f"{score}_difference"],
            "standard_error": record[f"{score}_difference_se"],
        }
        for score in SCORES
    }
    return {**scores, "impossible_rows": record["impossible_rows"]}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def strict(value: Any) -> Any:
    """Replace numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: strict(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [strict(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


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
