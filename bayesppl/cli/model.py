"""``bayesppl fit``, ``predict`` and ``summary``: a model that is fitted once and used from files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from bayesppl.cli.dialect import (
    MISSING_OPTION,
    MOST_ROWS_OPTION,
    UNLABELLED_OPTION,
    Chosen,
    column_options,
    csv_options,
)
from bayesppl.cli.inferences import (
    CALIBRATE_OPTION,
    INFERENCE_OPTION,
    PRIOR_OPTION,
    TUNE_OPTION,
    Calibrating,
    calibration_of,
)
from bayesppl.cli.models import AUTO, INTEGERS_OPTION, OF_LEVELS, make, model_option
from bayesppl.cli.source import require_place
from bayesppl.cli.terminal import cells, counting, say, wrapped
from bayesppl.cli.text_files import Dialect
from bayesppl.data.names import visible

RULES = ("predictive", "mle", "map", "mean")

_MODEL = click.argument("model", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="MODEL.nc")
_DATA = click.argument("data", type=click.Path(path_type=Path, exists=True, dir_okay=False))


@click.command(
    cls=Calibrating, epilog="Example: bayesppl fit flowers.csv --target kind --model qda --save flowers.nc"
)
@_DATA
@click.option("--target", metavar="COLUMN", required=True, help="Column of the labels.")
@column_options
@model_option(AUTO)
@INTEGERS_OPTION
@PRIOR_OPTION
@TUNE_OPTION
@CALIBRATE_OPTION
@csv_options
@MISSING_OPTION
@UNLABELLED_OPTION
@MOST_ROWS_OPTION
@click.option("--rule", type=click.Choice(RULES), default="predictive", show_default=True, help="Prediction rule.")
@INFERENCE_OPTION
@click.option(
    "--save",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="MODEL.nc",
    required=True,
    help="File for the fitted model; it appears complete or not at all.",
)
def fit(
    data: Path,
    target: str,
    chosen: Chosen,
    model: str,
    integers: tuple[str, ...],
    prior: str | None,
    tune: bool,
    calibrate: str | None,
    dialect: Dialect,
    missing: str,
    unlabelled: str,
    most_rows: int,
    rule: str,
    inference: str,
    path: Path,
) -> None:
    """Fit a classifier to DATA and save it.

    DATA is a text file with a header line (.csv, .tsv, .txt, .dat or .data, perhaps compressed, as in .csv.gz), or a
    .parquet or .feather file. All columns but the target, and those dropped, are features. The saved model holds the declaration, the sums that the fit needs and the posterior, but none of the
    rows; 'bayesppl predict' and bayesppl.load read it.

    A file of any length is read a batch of rows at a time, twice: for its labels and levels, then for the sums. In memory are all
    rows for --calibrate and for integers taken as levels, and at most --most-rows for --model auto.
    """
    require_place("--save", path)
    from bayesppl.cli import large
    from bayesppl.cli.compare import status
    from bayesppl.cli.inferences import slow_step

    arguments = {"rule": rule, "inference": inference, **calibration_of(calibrate)}
    classifier = make(model, integers, prior, tune=tune, **arguments)
    source = large.Source(data, target, dialect, chosen, unlabelled, model == "categorical-nb", missing)
    slow = slow_step(inference)
    with status(slow or f"fitting {model} to {data}", slow is not None):
        if model == AUTO:
            n_rows = large.fit_rows(classifier, large.some_rows(source, most_rows))
        elif calibrate or any("categorical" in choice for choice in integers):
            n_rows = large.fit_rows(classifier, large.all_rows(source), of_numbers=model not in OF_LEVELS)
        else:
            n_rows = large.fit_sums(classifier, source, of_numbers=model not in OF_LEVELS)
    if tune:
        with status("tuning the prior"):
            classifier = classifier.tune_prior()
    classifier.save(path)
    n_columns, n_classes = len(classifier.feature_names_in_), len(classifier.classes_)
    say(f"fitted {model} to {n_rows} rows, {n_columns} columns, {n_classes} classes; wrote {path}")


@click.command(epilog="Example: bayesppl predict flowers.nc new.parquet --interval 0.9 -o predictions.csv")
@_MODEL
@_DATA
@click.option("--rule", type=click.Choice(RULES), help="Prediction rule; by default that of the fit.")
@click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Add credible intervals of the class probabilities; the number is their probability.",
)
@click.option(
    "--explain",
    type=click.IntRange(min=1),
    metavar="N",
    help="Add the N columns that count most for or against the predicted label, and their weights of evidence in nats.",
)
@click.option(
    "--draws", type=click.IntRange(min=2), default=1000, show_default=True, help="Posterior draws for intervals."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed for the draws."
)
@click.option(
    "--keep", metavar="COLUMN", multiple=True, help="Copy a column of DATA to the output; may be repeated."
)
@click.option("--drop", metavar="COLUMN", multiple=True, help="Ignore a column of DATA; may be repeated.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A .csv or .parquet file, which appears complete or not at all; by default CSV goes to standard output.",
)
@csv_options
@click.option("--rows", type=click.IntRange(min=1), default=50_000, show_default=True, help="Rows held at a time.")
def predict(
    model: Path,
    data: Path,
    rule: str | None,
    interval: float | None,
    explain: int | None,
    draws: int,
    seed: int,
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    out: Path | None,
    dialect: Dialect,
    rows: int,
) -> None:
    """Classify the rows of DATA with a saved model.

    Rows are read, classified and written a batch at a time, so that DATA may be larger than memory. The output has a
    line per row: the columns kept, the predicted label, and the probability p(LABEL) of every label; with --interval
    also lower(LABEL) and upper(LABEL); with --explain also reason 1, weight 1, and so on. Columns of DATA are found by name, in any order.
    Those kept of a text file are copied as they are written.
    In CSV an apostrophe stands before text that a spreadsheet would take for a formula.
    """
    if out is not None:
        require_place("--out", out)
    import pandas as pd

    from bayesppl.cli import batches
    from bayesppl.cli.reasons import reasons, require_one_model
    from bayesppl.cli.text_cells import refuse_text
    from bayesppl.errors import rows_before
    from bayesppl.estimators.loading import load
    from bayesppl.files import replacing

    classifier = load(model)
    if explain is not None:
        require_one_model(classifier, model)

    known = classifier.levels_of_columns().items()
    texts = {name: levels for name, levels in known if all(isinstance(level, str) for level in levels)}
    texts_in_part = {name for name, levels in known if any(isinstance(level, str) for level in levels)}

    def classified() -> Iterator[Any]:
        seen = 0
        parts = batches.read_with_copies(data, rows, dialect, texts, keep)
        for frame, copies in counting(parts, lambda part: len(part[0]), "classifying"):
            with rows_before(seen):
                features = _features(frame, keep, drop, data, classifier)
                refuse_text(features, texts_in_part, classifier.columns_read())
                predictions = _predictions(classifier, features, rule, interval, draws, seed)
                if explain is not None:
                    predictions.update(
                        reasons(classifier, features, predictions["predicted"], rule, explain, seed)
                    )
            seen += len(frame)
            found = pd.DataFrame(predictions)
            yield pd.concat([copies[list(keep)].reset_index(drop=True), found], axis=1) if keep else found

    if out is None:
        for i, predictions in enumerate(classified()):
            text = cells(predictions).to_csv(index=False, header=i == 0, lineterminator="\n")
            click.echo(visible(text) if sys.stdout.isatty() else text, nl=False)
        return
    with replacing(out) as work, batches.writing(work, out) as write:
        for predictions in classified():
            write(predictions)
    say(f"wrote {out}", err=True)


@click.command(short_help="Describe a saved model.", epilog="Example: bayesppl summary flowers.nc")
@_MODEL
def summary(model: Path) -> None:
    """Describe a saved model: the rows it was fitted to, and what was found."""
    from bayesppl.estimators.loading import load
    from bayesppl.files.saving import read_provenance

    classifier = load(model)
    say(f"{classifier!r}")
    for line in str(classifier.summary()).splitlines():
        say(wrapped(line))
    origin = read_provenance(model)
    for name in ("command", "bayesppl_version", "data_hash"):
        say(f"{name.replace('_', ' ')}: {origin.get(name, 'not recorded')}")


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands and options with the tab key.

    For bash, add this line to ~/.bashrc: eval "$(bayesppl completion bash)". Likewise for zsh and fish.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise ValueError(f"there is no completion for {shell}")
    click.echo(found(context.find_root().command, {}, "bayesppl", "_BAYESPPL_COMPLETE").source())


def _predictions(
    classifier: Any,
    X: Any,
    rule: Any,
    interval: float | None,
    draws: int,
    seed: int,
) -> dict[str, Any]:
    labels = classifier.classes_.tolist()
    probability = classifier.probabilities(X, rule)
    columns: dict[str, Any] = {"predicted": classifier.classes_[probability.argmax(1)]}
    columns.update({f"p({label})": probability[:, k] for k, label in enumerate(labels)})
    if interval is not None:
        bounds = classifier.predict_proba_interval(X, interval, draws, seed)
        for end in ("lower", "upper"):
            columns.update({f"{end}({label})": bounds[end].values[:, k] for k, label in enumerate(labels)})
    return columns


def _features(frame: Any, keep: Sequence[str], drop: Sequence[str], data: Path, classifier: Any) -> Any:
    from bayesppl.data.columns import listed

    for name in (*keep, *drop):
        if name not in frame.columns:
            raise ValueError(
                f"there is no column {name!r} in {str(data)!r}; its columns are {listed(frame.columns)}"
            )
    known = classifier.feature_names_in_.tolist()
    others = [name for name in keep if name not in known]
    features = frame.drop(columns=list(dict.fromkeys([*others, *drop])))
    surplus = [name for name in features.columns if name not in known]
    if surplus:
        drops, keeps = (
            " ".join(f"{option} {shlex.quote(str(name))}" for name in surplus) for option in ("--drop", "--keep")
        )
        raise ValueError(
            f"the model was not fitted to {listed(surplus)} of {str(data)!r}; its features are {listed(known)}. Pass {drops} to "
            f"leave out what is no feature, such as the target, or {keeps} to copy it beside the predictions"
        )
    return features
