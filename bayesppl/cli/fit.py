"""``bayesppl fit``, ``summary`` and ``verify``: a model is fitted, kept in a file, described and checked."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesppl.cli.files import Dialect, require_place
from bayesppl.cli.models import AUTO, INTEGERS_OPTION, OF_LEVELS, make, model_option
from bayesppl.cli.options import (
    CALIBRATE_OPTION,
    COMPLETING,
    INFERENCE_OPTION,
    LEARNED_UNLABELLED_OPTION,
    MISSING_OPTION,
    MOST_ROWS_OPTION,
    PRIOR_OPTION,
    SEED_OPTION,
    TUNE_OPTION,
    Chosen,
    Grouped,
    column_options,
    csv_options,
    slow_step,
)
from bayesppl.cli.terminal import WIDTH, say, status, warn
from bayesppl.data.names import listed
from bayesppl.errors import rows_at

if TYPE_CHECKING:
    from bayesppl.cli.file_rows import Source

#: Rules of prediction, by name.
RULES = ("predictive", "mle", "map", "mean")

DATA_ARGUMENT = click.argument("data", type=click.Path(path_type=Path, exists=True, allow_dash=True))
MODEL_ARGUMENT = click.argument(
    "model", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="MODEL.npz"
)


@click.command(
    cls=Grouped, epilog="Example: bayesppl fit flowers.csv --target kind --model qda --save flowers.npz"
)
@DATA_ARGUMENT
@click.option("--target", metavar="COLUMN", required=True, help="Column of the labels.")
@column_options
@model_option(AUTO)
@INTEGERS_OPTION
@PRIOR_OPTION
@TUNE_OPTION
@CALIBRATE_OPTION
@csv_options
@MISSING_OPTION
@LEARNED_UNLABELLED_OPTION
@MOST_ROWS_OPTION
@click.option("--rule", type=click.Choice(RULES), default="predictive", show_default=True, help="Prediction rule.")
@INFERENCE_OPTION
@SEED_OPTION
@click.option(
    "--save",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="MODEL.npz",
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
    seed: int,
    path: Path,
) -> None:
    """Fit a classifier to DATA and save it.

    DATA is a text file with a header line (.csv, .tsv, .txt, .dat or .data, perhaps compressed, as in .csv.gz), a
    .parquet or .feather file, a folder of .parquet files, or - for text from standard input. All columns but the
    target, and those dropped, are features. The saved model holds the declaration, the sums that the fit needs and
    the posterior, but none of the rows; 'bayesppl predict' and bayesppl.load read it.

    A file of any length is read twice: for its labels, types and levels, then a batch of rows at a time for the
    sums. In memory are all rows for --calibrate, for --inference em and gibbs, and for integers taken as levels,
    and at most --most-rows for --model auto.
    """
    import numpy as np

    require_place("--save", path, data)
    from bayesppl.cli.file_rows import BATCH_ROWS, Source, encode, require_numbers
    from bayesppl.cli.frame_columns import remarks

    classifier = make(
        model,
        integers,
        prior,
        tune=tune,
        rule=rule,
        inference=inference,
        calibration=calibrate,
        categorical=chosen.categorical,
        seed=seed,
    )
    if unlabelled == "learn":
        if model == AUTO or inference not in COMPLETING:
            raise ValueError(
                "--unlabelled learn completes the labels of one declared model again and again: name a --model, "
                "and pass --inference em (a mode) or gibbs (draws)"
            )
        classifier.set_params(unlabelled=unlabelled)
    with status(f"reading {data}"):
        source = Source(data, target, dialect, chosen, unlabelled, missing, model == "categorical-nb")
    warn(source.remarks())
    needs_all = (
        calibrate is not None or inference in COMPLETING or any("categorical" in choice for choice in integers)
    )
    if model != AUTO and not needs_all and source.file.n_rows > BATCH_ROWS:
        n_rows = _fit_sums(classifier, source, dialect)
    else:
        rows, slow = source.rows(most_rows if model == AUTO else None, seed), slow_step(inference)
        with status(slow or f"fitting {model} to {data}", slow is not None):
            classes, codes = encode(rows.y.dropna(), target)
            _warn_of_repeated_header(classes.tolist(), target)
            is_whole = model != AUTO or source.file.n_rows <= most_rows
            if is_whole and np.count_nonzero(few := np.bincount(codes) == 1) == 1:
                [single] = classes[few].tolist()
                warn([f"class {single!r} has a single row; if that is a line of units, delete the line"])
            warn(remarks(rows.X, dialect, levels=source.chosen.categorical))
            if model not in OF_LEVELS:
                require_numbers(rows)
            with rows_at(rows.X.index.__getitem__):
                classifier.fit(rows.X, rows.y)
        n_rows = len(rows.X)
    if tune:
        with status("tuning the prior"):
            classifier = classifier.tune_prior()
    classifier.save(path)
    n_columns, n_classes = len(classifier.feature_names_in_), len(classifier.classes_)
    columns = f"{n_columns} column{'s' * (n_columns != 1)}"
    say(f"fitted {model} to {n_rows} rows, {columns}, {n_classes} classes; wrote {path}")
    if model != AUTO and classifier.fitted_.unlabelled is not None:
        say(f"rows without a label: {classifier.fitted_.unlabelled}")


def _warn_of_repeated_header(labels: list[Any], target: str) -> None:
    if target in labels:
        warn(
            [f"class {target!r} has the name of its column; if the file repeats its header line, delete it there"]
        )


def _fit_sums(classifier: Any, source: Source, dialect: Dialect) -> int:
    """Fit to all rows of a file, a batch at a time, and return their number."""
    from bayesppl.cli.frame_columns import remarks
    from bayesppl.estimators.batches import fit_batches

    given, places = 0, range(0)  # rows passed on, and where those of the last batch stand in the file

    def batches() -> Iterator[tuple[Any, Any]]:
        nonlocal given, places
        for rows in source.batches("fitting"):
            if not given:
                warn(remarks(rows.X, dialect, levels=source.chosen.categorical, are_all=False))
            if len(rows.X):
                given, places = given + len(rows.X), rows.X.index
                yield rows.X, rows.y

    with rows_at(lambda row: places[row - given + len(places)]):
        labels = source.labels()
        _warn_of_repeated_header(labels, source.target)
        fit_batches(classifier, batches(), labels)
    return given


@click.command(short_help="Describe a saved model.", epilog="Example: bayesppl summary flowers.npz")
@MODEL_ARGUMENT
def summary(model: Path) -> None:
    """Describe a saved model: the rows it was fitted to, and what was found."""
    from bayesppl.estimators.loading import load
    from bayesppl.files.saving import read_provenance

    classifier = load(model)
    say(f"{classifier!r}")
    width = shutil.get_terminal_size((WIDTH, 24)).columns
    for line in str(classifier.summary()).splitlines():
        say("\n".join(textwrap.wrap(line, width, subsequent_indent="  ")) if len(line) > width else line)
    origin = read_provenance(model)
    for name in ("command", "bayesppl_version", "data_hash"):
        say(f"{name.replace('_', ' ')}: {origin.get(name, 'not recorded')}")


@click.command(
    cls=Grouped,
    short_help="Verify that rows were forgotten.",
    epilog="Example: bayesppl verify flowers.npz remaining.csv --target kind",
)
@MODEL_ARGUMENT
@DATA_ARGUMENT
@click.option("--target", metavar="COLUMN", required=True, help="Column of the labels.")
@csv_options
def verify(model: Path, data: Path, target: str, dialect: Dialect) -> None:
    """Print the certificate of a saved model that rows were forgotten from, verified by DATA.

    DATA holds the rows that remain, all of them and no others, each of weight one; rows without a label are left
    out. The sums of the model are compared with theirs: part by part they are equal to the last bit, or equal
    within the bound that is stated, or they differ. The exit status is 1 if any differs, and standard error says
    which.
    """
    from bayesppl.analysis.certificate import DIFFERS
    from bayesppl.cli.file_rows import Source
    from bayesppl.cli.reader import known_texts
    from bayesppl.cli.report import to_json
    from bayesppl.estimators.learner import Learner
    from bayesppl.estimators.loading import load

    classifier: Any = load(model)
    if not isinstance(classifier, Learner):
        raise ValueError(f"{str(model)!r} holds {type(classifier).__name__}, which forgets no rows")
    known, features = known_texts(classifier), tuple(map(str, classifier.fitted_.columns.names))
    if target in features:
        raise ValueError(f"--target {target!r} is a feature of this model; name the column of the labels")
    chosen, classes = Chosen(keep=features, categorical=tuple(known)), classifier.classes_.tolist()
    if all(isinstance(label, str) for label in classes):
        known = {**known, target: classes}
    source = Source(data, target, dialect, chosen, "drop", known=known)
    absent = [name for name in features if name not in source.file.columns]
    if absent:
        raise ValueError(f"the model needs column {absent[0]!r}, which is not among those of {str(data)!r}")
    rows = source.rows()
    stated = classifier.certificate(rows.X, rows.y)
    click.echo(to_json(stated))
    differing = [part for part, found in stated["verified"].items() if found == DIFFERS]
    advice = (
        "DATA must hold the rows that remain, read with --na-values, --decimal and --thousands as in the fit. "
        "Weighted rows, discounted ones among them, are verified in Python: certificate(X, y, sample_weight)"
    )
    click.echo(f"not verified; what differs: {listed(differing)}. {advice}" if differing else "verified", err=True)
    raise SystemExit(1 if differing else 0)
