"""``bayesppl compare``: the four rules side by side on real data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

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
from bayesppl.cli.terminal import is_number, safe, status, warn
from bayesppl.errors import rows_at

CHAINS = 4


def _threshold(_context: click.Context, _option: click.Parameter, value: str | None) -> float | str | None:
    """Read a number, or the word "mean"."""
    if value in (None, "mean"):
        return value
    if not is_number(value) or not math.isfinite(float(value)):
        raise click.BadParameter(f"{value!r} is neither a finite number nor the word 'mean'.")
    return float(value)


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
    callback=_threshold,
    metavar="NUMBER|mean",
    help="Turn features into 1 above a threshold, or above their mean over the training rows, and 0 otherwise.",
)
@click.option("--parameters", is_flag=True, help="Print the estimates of all parameters too.")
@click.option("--json", "as_json", is_flag=True, help="Print the same numbers as JSON.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write posterior.nc, parameters.csv, scores.csv, probabilities.png and, of an exact fit, suspicious.csv "
    "there: the rows of the fit by the probability that their label is wrong. Of --model auto model.npz, "
    "scores.csv and weights.png.",
)
@click.option(
    "--report",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page for readers who do not program, as .html or .md; of --model auto.",
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
    page: Path | None,
) -> None:
    """Compare on held-out rows of DATA: the models of a stack, or the four rules of one model.

    DATA is a text file with a header line (.csv, .tsv, .txt, .dat or .data, perhaps compressed, as in .csv.gz), a
    .parquet or .feather file, a folder of .parquet files, - for text from standard input, or the name of an
    embedded data set: breast_cancer, digits, digits_binary, iris, wine. Part of the rows is held out. On these,
    --model auto, the default for a file, scores the models that it combines, alone and together. Any other model
    is scored by rule and row by row: maximum likelihood, MAP, posterior mean and the posterior predictive.
    """
    require_source(data, target, dialect)
    model = model or ("gaussian-nb" if target is None else AUTO)
    if model == AUTO and parameters:
        raise ValueError(
            "--parameters is for one declared model, and --model auto combines several; name a --model"
        )
    if out is not None:
        require_place("--out", out, Path(data), is_folder=True)
    if page is not None:
        require_place("--report", page, Path(data))
        if model != AUTO or page.suffix.lower() not in (".html", ".md"):
            raise ValueError(
                f"--report writes a page of --model auto, as .html or .md; found {str(page)!r} and --model {model}"
            )
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
        from bayesppl.cli import compare_rules, compare_stack, file_rows, frame_columns, report

        classifier = make(
            model,
            integers,
            prior,
            inference=inference,
            tune=tune,
            calibration=calibrate,
            categorical=chosen.categorical,
            seed=seed,
            draws=draws,
            chains=CHAINS,
        )
        if target is None:
            given, levels = file_rows.embedded(data), chosen.categorical
            source = given._replace(X=frame_columns.choose(given.X, chosen, given.target))
            of_rows: list[str] = []
        else:
            of_levels = model == "categorical-nb"
            file = file_rows.Source(Path(data), target, dialect, chosen, unlabelled, missing, of_levels)
            source, levels = file.rows(most_rows if model == AUTO else None, seed), file.chosen.categorical
            of_rows = file.remarks()
        file_rows.check(source, of_numbers=model not in OF_LEVELS, binarizes=binarize is not None)
        if model != AUTO and binarize is None:
            with rows_at(source.X.index.__getitem__):
                file_rows.check_support(source, classifier)
        train, test = file_rows.split(source, test_size, seed)
        # without levels that only rows held out show
        own = {name: train.X[name].cat.remove_unused_categories() for name in levels if name in train.X.columns}
        train = train._replace(X=train.X.assign(**own))
        if model == AUTO:
            with rows_at(train.X.index.__getitem__):
                taken = compare_stack.taken_for(train.X)
        if binarize is not None:
            train, test = file_rows.binarized(train, test, binarize)

    warn([*of_rows, *frame_columns.remarks(source.X, dialect, levels=levels)])
    if model == AUTO:
        head = f"[bold]auto[/] on [bold]{safe(data)}[/] (seed {seed})"
        with status("fitting the candidates"):
            records = compare_stack.compare(classifier, train, test)
        table = frame_columns.column_table(source.X, taken, "left out", "taken for")
        found = compare_stack.report(classifier, records, table, len(test.X))
        if page is not None:
            with status("writing the report"):
                from bayesppl.cli import compare_page

                left_out = [name for name in source.X.columns if str(name) not in taken]
                remarks = [*of_rows, *frame_columns.remarks(source.X, dialect, left_out, levels)]
                known = taken | dict.fromkeys(chosen.drop, "left out by --drop")
                sections = compare_page.sections_of(classifier, records, known, test, remarks)
                compare_page.write_page(page, f"{source.target} in {Path(data).name}", sections)
    else:
        head = f"[bold]{model}[/] on [bold]{safe(data)}[/] ({inference}, seed {seed})"
        if tune:
            with status("tuning the prior"):
                classifier = classifier.fit(train.X, train.y).tune_prior()
        slow = slow_step(inference, CHAINS)
        with status(slow or "fitting and scoring", slow is not None):
            result = compare_rules.compare(classifier, train, test, draws, seed)
        described = result.classifier.fitted_.model.family.bound.described
        families = {name: found.family for name, found in described.items()}
        table = frame_columns.column_table(source.X, families, "covariate", "family")
        found = compare_rules.report(
            result, table, draws // CHAINS, CHAINS, seed, train.X.index, with_parameters=parameters
        )

    written: list[Path] = []
    if out is not None:
        with status(f"writing {out}"):
            written = report.write(out, found.files)
    written += [page] if page is not None else []
    n_rows = {"train": len(train.X), "test": len(test.X)}
    if as_json:
        facts = {"data": data, "target": source.target, "rows": n_rows, "settings": settings}
        click.echo(report.to_json({**facts, **found.document}))
    else:
        said = f"fitted to {n_rows['train']} rows, scored on {n_rows['test']} others"
        report.show([f"\n{head}\n{said}\n", *found.shown], written)
