"""``bayesppl compare``: the four rules side by side on real data."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesppl.cli.files import Dialect, require_place, require_source
from bayesppl.cli.models import AUTO, INTEGERS_OPTION, OF_LEVELS, make, model_option
from bayesppl.cli.options import (
    CALIBRATE_OPTION,
    INFERENCE_OPTION,
    MISSING_OPTION,
    MOST_ROWS_OPTION,
    PRIOR_OPTION,
    SEED_OPTION,
    TUNE_OPTION,
    UNLABELLED_OPTION,
    Chosen,
    Grouped,
    column_options,
    csv_options,
    slow_step,
)
from bayesppl.cli.terminal import status, warn

if TYPE_CHECKING:
    from bayesppl.cli.rows import Rows
    from bayesppl.estimators.classifier import BayesClassifier
    from bayesppl.evaluation.comparison import Comparison

CHAINS = 4


class Threshold(click.ParamType[Any]):
    """A number, or the word "mean"."""

    name = "number|mean"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "mean":
            return value
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor the word 'mean'.", param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


@click.command(
    cls=Grouped,
    short_help="Compare models, or prediction rules, on held-out rows.",
    epilog="Example: bayesppl compare flowers.csv --target kind --drop number",
)
@click.argument("data")
@model_option(None, "auto for a file, gaussian-nb for an embedded data set")
@INTEGERS_OPTION
@PRIOR_OPTION
@TUNE_OPTION
@CALIBRATE_OPTION
@csv_options
@INFERENCE_OPTION
@click.option("--target", metavar="COLUMN", help="Column of the labels, when DATA is a file.")
@column_options
@click.option(
    "--test-size", type=float, default=0.5, show_default=True, help="Share of every class held out for scoring."
)
@SEED_OPTION
@click.option(
    "--draws",
    type=click.IntRange(min=4 * CHAINS),
    default=4000,
    show_default=True,
    help=f"Posterior draws in all, over {CHAINS} chains.",
)
@MISSING_OPTION
@UNLABELLED_OPTION
@MOST_ROWS_OPTION
@click.option(
    "--binarize",
    type=Threshold(),
    metavar="NUMBER|mean",
    help="Turn features into 1 above a threshold, or above their mean over the training rows, and 0 otherwise.",
)
@click.option("--parameters", is_flag=True, help="Print the estimates of all parameters too.")
@click.option("--json", "as_json", is_flag=True, help="Print the same numbers as JSON.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write posterior.nc, parameters.csv, scores.csv and probabilities.png there; of --model auto model.npz, "
    "scores.csv and weights.png.",
)
def compare(
    data: str,
    model: str | None,
    integers: tuple[str, ...],
    dialect: Dialect,
    prior: str | None,
    tune: bool,
    calibrate: str | None,
    inference: str,
    target: str | None,
    chosen: Chosen,
    test_size: float,
    seed: int,
    draws: int,
    missing: str,
    unlabelled: str,
    most_rows: int,
    binarize: float | str | None,
    parameters: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Compare on held-out rows of DATA: the models of a stack, or the four rules of one model.

    DATA is a text file with a header line (.csv, .tsv, .txt, .dat or .data, perhaps compressed, as in .csv.gz), a
    .parquet or .feather file, a folder of .parquet files, - for text from standard input, or the name of an
    embedded data set: breast_cancer, digits, digits_binary, iris, wine. Part of the rows is held out. On these,
    --model auto, the default for a file, scores the models that it combines, alone and together. Any other model
    is scored by rule and row by row: maximum likelihood, MAP, posterior mean and the posterior predictive.
    """
    require_source(data, target)
    model = model or ("gaussian-nb" if target is None else AUTO)
    if model == AUTO and parameters:
        raise ValueError(
            "--parameters is for one declared model, and --model auto combines several; name a --model"
        )
    if out is not None:
        require_place("--out", out, is_folder=True)
    settings: dict[str, Any] = {
        "model": model,
        "inference": inference,
        "test_size": test_size,
        "seed": seed,
        "draws": draws,
        "integers": list(integers),
        "drop": list(chosen.drop),
        "missing": missing,
        "binarize": binarize,
        "keep": list(chosen.keep),
        "categorical": list(chosen.categorical),
        "prior": prior,
        "tune": tune,
        "calibrate": calibrate,
        "unlabelled": unlabelled,
    }
    with status("reading the data"):
        from bayesppl.cli import columns, report, rows, tables
        from bayesppl.inference import NUTS

        sampled = NUTS(draws=draws // CHAINS, chains=CHAINS, random_state=seed)
        how = sampled if inference == "nuts" else inference
        classifier = make(model, integers, prior, inference=how, tune=tune, calibration=calibrate)
        source, levels = _read(data, target, dialect, chosen, unlabelled, model, most_rows)
        rows.check(source, missing, of_numbers=binarize is not None or model not in OF_LEVELS)
        if model == AUTO:
            from bayesppl.cli import compare_stack

            taken = compare_stack.taken_for(source.X)
        elif binarize is None:
            rows.check_support(source, classifier)
        train, test = rows.split(source, test_size, seed)
        train = train._replace(X=columns.with_own_levels(train.X, levels))
        if binarize is not None:
            train, test = rows.binarized(train, test, binarize)

    if not as_json:
        warn(columns.remarks(source.X))
    facts = report.Facts(data, source.target, len(train.X), len(test.X), settings)
    if model == AUTO:
        with status("fitting the candidates"):
            found = compare_stack.compare(classifier, train, test)
        compare_stack.show(found, facts, taken, as_json=as_json, out=out)
        return
    if tune:
        with status("tuning the prior"):
            classifier = classifier.fit(train.X, train.y).tune_prior()
    slow = slow_step(inference, CHAINS)
    with status(slow or "fitting and scoring", slow is not None):
        result = _compare(classifier, train, test, draws, seed)
    taken = columns.described(source.X, result.classifier.fitted_.model.family.bound.family_names, "covariate")

    written: list[Path] = []
    if out is not None:
        with status(f"writing {out}"):
            written = report.write(out, result, draws // CHAINS, CHAINS, seed)
    if as_json:
        click.echo(report.as_json(result, facts))
    else:
        tables.print_tables(result, facts, taken, written, with_parameters=parameters)


def _read(
    data: str,
    target: str | None,
    dialect: Dialect,
    chosen: Chosen,
    unlabelled: str,
    model: str,
    most_rows: int,
) -> tuple[Rows, tuple[str, ...]]:
    """Read an embedded data set or a file, and find its columns of levels."""
    from bayesppl.cli import rows
    from bayesppl.cli.fit import draw_rows

    if target is None:
        return rows.choose(rows.embedded(data), chosen), chosen.categorical
    source = rows.Source(Path(data), target, dialect, chosen, unlabelled, all_levels=model == "categorical-nb")
    read = draw_rows(source, most_rows, 0) if model == AUTO else source.all()
    return read, source.chosen.categorical


def _compare(classifier: BayesClassifier, train: Any, test: Any, draws: int, seed: int) -> Comparison:
    from dataclasses import replace

    from bayesppl.errors import ImpossibleRowWarning
    from bayesppl.evaluation.comparison import compare as compare_rules

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ImpossibleRowWarning)  # their number is in the report
        result = compare_rules(classifier, train.X, train.y, test.X, test.y, draws=draws, random_state=seed)
    warn(dict.fromkeys(str(warning.message) for warning in caught))
    return replace(result, probabilities=result.probabilities.assign_coords(row=test.X.index.to_numpy()))
