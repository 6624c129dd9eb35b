"""``bayesppl compare`` of one model: its rules on held-out rows, and the estimates of its parameters."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bayesppl.cli.report import Findings, Record, parameter_records, write_csv
from bayesppl.cli.rows import Rows
from bayesppl.cli.terminal import LONGEST_NAME, WIDTH, cells, safe, table, warn
from bayesppl.data.names import short_names
from bayesppl.errors import ImpossibleRowWarning
from bayesppl.evaluation.comparison import SCORES, Comparison
from bayesppl.evaluation.comparison import compare as compare_rules
from bayesppl.model.rules import REFERENCE

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table

    from bayesppl.estimators.classifier import BayesClassifier
    from bayesppl.estimators.declared import DeclaredClassifier

# Lines of a parameter; the files and the JSON hold all of them. Characters of a name at least, and between
# columns.
_MOST_LINES, _SHORTEST_NAME, _GAP = 40, 8, 2

# Errors below this are written with an exponent.
_SMALL = 1e-3

_HEADINGS = {"accuracy": "accuracy", "log_score": "log score", "brier": "Brier", "ece": "ECE"}
_BETTER = {"accuracy": "↑", "log_score": "↑", "brier": "↓", "ece": "↓"}


def compare(classifier: BayesClassifier, train: Rows, test: Rows, draws: int, seed: int) -> Comparison:
    """Fit to one part of the rows, and score the rules on the other."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ImpossibleRowWarning)  # their number is in the report
        result = compare_rules(classifier, train.X, train.y, test.X, test.y, draws=draws, random_state=seed)
    warn(dict.fromkeys(str(warning.message) for warning in caught))
    return replace(result, probabilities=result.probabilities.assign_coords(row=test.X.index.to_numpy()))


def report(
    result: Comparison,
    columns: Table | str,
    draws: int,
    chains: int,
    seed: int,
    rows: Any,
    *,
    with_parameters: bool,
) -> Findings:
    """Report the scores of the rules, and the parameters with ``draws`` draws of each chain in the files.

    Parameters
    ----------
    rows : pandas.Index
        Names of the rows of the fit.
    """
    parameters, by_rule = list(parameter_records(result.parameters)), result.scores.to_dataframe().astype(float)
    scores = [
        {"rule": rule, **numbers, "undefined": result.undefined.get(rule, "")}
        for rule, numbers in by_rule.to_dict("index").items()
    ]
    document = {
        "classes": result.probabilities["class"].values.tolist(),
        "provenance": result.classifier.provenance(),
        "interval": dict(result.parameters.attrs),
        "parameters": parameters,
        "scores": {record["rule"]: _nested(record) for record in scores},
        "undefined": dict(result.undefined),
    }
    files = {
        "posterior.nc": partial(_write_posterior, result.classifier, draws, chains, seed),
        "parameters.csv": partial(write_csv, parameters),
        "scores.csv": partial(write_csv, scores),
        "probabilities.png": partial(_save_picture, result),
    }
    if result.classifier.posterior_.is_exact:
        files["suspicious.csv"] = partial(_write_suspicious, result.classifier, rows)
    return Findings(document, _shown(result, scores, columns, with_parameters), files)


def _nested(record: Record) -> Record:
    kinds = {"value": "", "difference": "_difference", "standard_error": "_difference_se"}
    scores = {score: {kind: record[f"{score}{end}"] for kind, end in kinds.items()} for score in SCORES}
    return {**scores, "impossible_rows": record["impossible_rows"]}


def _write_posterior(classifier: BayesClassifier, draws: int, chains: int, seed: int, path: Path) -> None:
    tree = cast("DeclaredClassifier", classifier).to_datatree(draws=draws, chains=chains, random_state=seed)
    # made in memory, for HDF5 does not survive a full disk
    path.write_bytes(bytes(tree.to_netcdf(engine="h5netcdf")))


def _write_suspicious(classifier: BayesClassifier, rows: Any, path: Path) -> None:
    """Write the rows of the fit by the probability that their label is wrong."""
    found = classifier.suspicious_rows()
    found.insert(0, "row", rows[found.index])
    cells(found).to_csv(path, index=False, lineterminator="\n")


def _save_picture(result: Comparison, path: Path) -> None:
    from bayesppl.plots import plot_probabilities

    plot_probabilities(result.probabilities, undefined=result.undefined).savefig(path, dpi=150)


def _shown(
    result: Comparison, records: Sequence[Record], columns: Table | str, with_parameters: bool
) -> Iterator[Table | str]:
    """Scores, differences, what every column was taken for, parameters if they are wanted, and remarks."""
    others = [record for record in records if record["rule"] != REFERENCE]
    yield table(
        f"scores on {result.scores.attrs['rows']} held-out rows (better: ↑ more, ↓ less)",
        {"rule": [record["rule"] for record in records]},
        {f"{_HEADINGS[name]} {_BETTER[name]}": [_score(record[name]) for record in records] for name in SCORES},
    )
    yield ""
    yield table(
        f"difference from {REFERENCE}, ± its standard error, paired by row",
        {"rule": [record["rule"] for record in others]},
        {_HEADINGS[name]: [_difference(record, name) for record in others] for name in SCORES},
    )
    yield from ("", columns, "")
    for part in _parameter_tables(result.parameters) if with_parameters else ():
        yield from (part, "")
    yield (
        "mle, map and mean classify with one estimate of the parameters; predictive\naverages over their "
        "posterior."
    )
    attrs, temperature = result.parameters.attrs, result.scores.attrs["temperature"]
    yield (
        f"sd and the {100 * attrs['prob']:g}% credible interval come from {attrs['draws']} posterior draws."
        if with_parameters
        else "--parameters prints the estimates of all parameters; --json and --out DIR\nhold them."
    )
    if temperature != 1:
        yield f"calibrated by left-out training rows: T = {temperature:.2f} (above 1: too sure without)."
    for rule, reason in result.undefined.items():
        yield f"[yellow]{rule} is undefined:[/] {safe(reason)}"
    for record in records:
        if record["log_score"] == -math.inf:
            yield f"[yellow]{record['rule']}:[/] a true label got probability zero, so the log score is -inf."
        if record["impossible_rows"] > 0:
            yield (
                f"[yellow]{record['rule']}:[/] {record['impossible_rows']:g} rows have probability zero under "
                "every class and were classified by class weights alone."
            )


def _number(value: float, how: str) -> str:
    return "—" if math.isnan(value) else format(value, how)


def _score(value: float) -> str:
    """Write a score so that the decimal points of a column stand below each other."""
    return _number(value, ".1e" if 0 < abs(value) < _SMALL else ".4f")


def _difference(record: Record, score: str) -> str:
    difference, error = record[f"{score}_difference"], record[f"{score}_difference_se"]
    if math.isnan(difference):
        return "undefined"
    if math.isnan(error):
        return format(difference, ".4g")
    if error == 0:
        return f"{difference:+.4g} ±0" if difference else "0 ±0"
    if error < _SMALL:
        return f"{difference:+.2g} ±{error:.1g}".replace("e-0", "e-")
    decimals = max(0, 1 - math.floor(math.log10(error)))  # two digits of the standard error
    return f"{difference:+.{decimals}f} ±{error:.{decimals}f}"


def _parameter_tables(parameters: xr.Dataset) -> Iterator[Table | str]:
    """A table for every parameter, or one for every class of it where names need the room of the class."""
    for name in map(str, parameters.data_vars):
        dims = [str(dim) for dim in parameters[name].dims if dim != "estimate"]
        records, title = list(parameter_records(parameters[[name]])), name
        if any(dim.endswith("other_feature") for dim in dims):
            records = _without_mirror_images(records, dims)
            title += " (each pair of features once)"
        shown = records[:_MOST_LINES]
        needed = sum(_GAP + max(len(str(record[dim])) for record in shown) for dim in dims)
        if len(dims) > 1 and dims[0] == "class" and needed > _room(_numbers(parameters, shown)):
            for label, part in itertools.groupby(shown, operator.itemgetter("class")):
                yield _parameter_table(f"{label}: {title}", dims[1:], list(part), parameters)
        else:
            yield _parameter_table(title, dims, shown, parameters)
        if len(records) > len(shown):
            yield f"… and {len(records) - len(shown)} more lines of {name}; --json and --out DIR have all of them"


def _parameter_table(title: str, dims: Sequence[str], records: Sequence[Record], parameters: xr.Dataset) -> Table:
    numbers = _numbers(parameters, records)
    room = min(LONGEST_NAME, max(_SHORTEST_NAME, _room(numbers) // max(1, len(dims)) - _GAP))
    names = {dim.replace("_", " "): short_names([record[dim] for record in records], room) for dim in dims}
    return table(title, names, numbers, room=room, gap=_GAP - 2)


def _numbers(parameters: xr.Dataset, records: Sequence[Record]) -> dict[str, list[str]]:
    """The cells of every estimate, by its heading."""
    tails = (1 - parameters.attrs["prob"]) / 2
    bounds = {"lower": f"{100 * tails:.3g}%", "upper": f"{100 - 100 * tails:.3g}%"}
    estimates = parameters["estimate"].values.tolist()
    return {bounds.get(name, name): [_number(record[name], ".3g") for record in records] for name in estimates}


def _room(numbers: dict[str, list[str]]) -> int:
    """Characters of a line that numbers leave to names."""
    return WIDTH - sum(_GAP + max(map(len, (heading, *column))) for heading, column in numbers.items())


def _without_mirror_images(records: list[Record], dims: list[str]) -> list[Record]:
    """Drop the second of the two equal entries of every pair of features."""
    first: dict[Any, Record] = {}
    for record in records:
        pair = frozenset(record[dim] for dim in dims if dim.endswith("feature"))
        rest = tuple(record[dim] for dim in dims if not dim.endswith("feature"))
        first.setdefault((rest, pair), record)
    return list(first.values())
