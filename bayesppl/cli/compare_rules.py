"""``bayesppl compare`` of one model: its rules on held-out rows, and the estimates of its parameters."""

from __future__ import annotations

import itertools
import math
import operator
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bayesppl.cli.file_rows import FileRows
from bayesppl.cli.models import in_options
from bayesppl.cli.report import Findings, Record, parameter_records, write_csv
from bayesppl.cli.terminal import cells, leave_columns_to_remarks, safe, table, warn
from bayesppl.errors import ImpossibleRowWarning
from bayesppl.evaluation.comparison import SCORES, Comparison
from bayesppl.evaluation.comparison import compare as compare_rules
from bayesppl.model.posterior import Exact
from bayesppl.model.rules import REFERENCE

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table

    from bayesppl.estimators.classifier import BayesClassifier
    from bayesppl.estimators.declared import DeclaredClassifier

# Lines of a parameter; the files and the JSON hold all of them.
_MOST_LINES = 40

# Errors below this are written with an exponent.
_SMALL = 1e-3

# Differences below this are rounding.
_ROUNDED = 1e-12

_HEADINGS = {"accuracy": "accuracy", "log_score": "log score", "brier": "Brier", "ece": "ECE"}
_BETTER = {"accuracy": "↑", "log_score": "↑", "brier": "↓", "ece": "↓"}


def compare(classifier: BayesClassifier, train: FileRows, test: FileRows, draws: int, seed: int) -> Comparison:
    """Fit to one part of the rows, and score the rules on the other."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        leave_columns_to_remarks()
        warnings.simplefilter("ignore", ImpossibleRowWarning)  # their number is in the report
        result = compare_rules(classifier, train.X, train.y, test.X, test.y, draws=draws, random_state=seed)
    warn(dict.fromkeys(in_options(str(warning.message)) for warning in caught))
    # without the advice to use another rule, for the others stand beside it
    undefined = {rule: re.split(r"(?<=[.;]) [Uu]se ", reason)[0] for rule, reason in result.undefined.items()}
    probabilities = result.probabilities.assign_coords(row=test.X.index.to_numpy())
    return replace(result, probabilities=probabilities, undefined=undefined)


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
    if isinstance(result.classifier.posterior_, Exact):
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
    """Yield scores, differences, what every column was taken for, parameters if wanted, and remarks."""
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
    if abs(difference) + error < _ROUNDED:
        return "0 ±0"
    if error == 0:
        return f"{difference:+.4g} ±0"
    if error < _SMALL:
        return f"{difference:+.2g} ±{error:.1g}".replace("e-0", "e-")
    decimals = max(0, 1 - math.floor(math.log10(error)))  # two digits of the standard error
    return f"{difference:+.{decimals}f} ±{error:.{decimals}f}"


def _parameter_tables(parameters: xr.Dataset) -> Iterator[Table | str]:
    """Yield a table for every parameter, and for every class where it has further dimensions."""
    tails = (1 - parameters.attrs["prob"]) / 2
    bounds = {"lower": f"{100 * tails:.3g}%", "upper": f"{100 - 100 * tails:.3g}%"}
    for name in map(str, parameters.data_vars):
        records, title = list(parameter_records(parameters[[name]])), name
        dims = [str(dim) for dim in parameters[name].dims if dim != "estimate"]
        if any(dim.endswith("other_feature") for dim in dims):
            one, other = (dim for dim in dims if dim.endswith("feature"))
            place = {feature: i for i, feature in enumerate(parameters[one].values.tolist())}
            records = [record for record in records if place[record[one]] <= place[record[other]]]
            title += " (each pair of features once)"
        shown, own = records[:_MOST_LINES], dims[1:] if dims[0] == "class" else []
        for label, part in itertools.groupby(shown, operator.itemgetter("class" if own else "parameter")):
            lines = list(part)
            yield table(
                f"{label}: {title}" if own else title,
                {dim.replace("_", " "): [record[dim] for record in lines] for dim in own or dims},
                {
                    bounds.get(estimate, estimate): [_number(record[estimate], ".3g") for record in lines]
                    for estimate in parameters["estimate"].values.tolist()
                },
            )
        if len(records) > len(shown):
            yield f"… and {len(records) - len(shown)} more lines of {name}; --json and --out DIR have all of them"
