"""``bayesppl predict``: the rows of a file classified with a saved model."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from bayesppl.cli import odd_cells
from bayesppl.cli.files import TEXT, Dialect, format_of, require_place, separator
from bayesppl.cli.fit import DATA_ARGUMENT, MODEL_ARGUMENT, RULES, fit
from bayesppl.cli.options import SEED_OPTION, Grouped, csv_options
from bayesppl.cli.terminal import cells, say, shown
from bayesppl.data.names import positions_of, visible

# How numbers are written in a text file, and gaps in any.
_READING = ("decimal", "thousands", "na_values")


@click.command(
    cls=Grouped, epilog="Example: bayesppl predict flowers.npz new.parquet --interval 0.9 -o predictions.csv"
)
@MODEL_ARGUMENT
@DATA_ARGUMENT
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
    help="Add the N columns that count most for or against the predicted label, and their weights of evidence in "
    "nats.",
)
@click.option(
    "--draws", type=click.IntRange(min=2), default=1000, show_default=True, help="Posterior draws for intervals."
)
@SEED_OPTION
@click.option(
    "--keep", metavar="COLUMN", multiple=True, help="Copy a column of DATA to the output; may be repeated."
)
@click.option(
    "--drop",
    metavar="COLUMN",
    multiple=True,
    help="Ignore a column of DATA, besides those that the fit dropped; may be repeated.",
)
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

    Rows are read, classified and written a batch at a time, so that DATA may be larger than memory. The output has
    a line per row: the columns kept, the predicted label, and the probability p(LABEL) of every label; with
    --interval also lower(LABEL) and upper(LABEL); with --explain also reason 1, weight 1, and so on. Columns of
    DATA are found by name, in any order. Those kept of a text file are copied as they are written. Marks of
    gaps are those of the fit, too (--na-values), and where they are not given, so are --decimal and --thousands if
    --sep is.
    In CSV an apostrophe stands before text that a spreadsheet would take for a formula.
    """
    if out is not None:
        require_place("--out", out, data)
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise ValueError(f"{str(out)!r}: predictions are written as .csv or .parquet")
    import pandas as pd

    from bayesppl.cli.reader import DataFile, known_texts
    from bayesppl.errors import rows_before
    from bayesppl.estimators.loading import load
    from bayesppl.files import replacing

    classifier = load(model)
    known = classifier.levels_of_columns().items()
    texts_in_part = {name for name, levels in known if any(isinstance(level, str) for level in levels)}
    fitted = list(getattr(classifier, "feature_names_in_", positions_of(classifier.n_features_in_)))
    of_fit = _options_of_fit(model)
    dialect = _as_in_fit(dialect, of_fit, data)
    file = DataFile(data, dialect, known=known_texts(classifier), features=fitted)
    ignored = (*drop, *(name for name in of_fit.get("drop") or () if name in file.columns and name not in keep))
    read = classifier.columns_read()
    _require_features(list(file.columns), keep, ignored, data, fitted, read)
    _refuse_text(file, read - texts_in_part)

    def classified() -> Iterator[Any]:
        for frame, copies in shown(file.read(rows, keep), "classifying", file.n_rows):
            with rows_before(int(frame.index[0])):
                features = frame.reindex(columns=fitted)  # those that no answer depends on may be absent
                predictions = _predictions(classifier, features, rule, interval, draws, seed)
                if explain is not None:
                    predictions |= _reasons(classifier, features, predictions["predicted"], rule, explain, seed)
            twice = next((name for name in keep if [*keep, *predictions].count(name) > 1), None)
            if twice is not None:
                raise ValueError(
                    f"--keep {twice!r}: the output would have two columns of this name; pass it once, or rename "
                    "the column in DATA if it is one of those that are added"
                )
            found = pd.DataFrame(predictions)
            yield pd.concat([copies.reset_index(drop=True), found], axis=1) if keep else found

    if out is None:
        for text in _as_csv(classified(), dialect):
            click.echo(visible(text) if sys.stdout.isatty() else text, nl=False, color=True)
        return
    with replacing(out) as work:
        if out.suffix.lower() == ".csv":
            with work.open("w", newline="", encoding="utf-8") as written:
                written.writelines(_as_csv(classified(), dialect))
        else:
            _write_parquet(classified(), work, file.example)
    say(f"wrote {out}", err=True)


def _as_csv(frames: Iterable[Any], dialect: Dialect) -> Iterator[str]:
    """Write data frames one after the other, the first with a header."""
    for i, frame in enumerate(frames):
        written = cells(frame, dialect.decimal, dialect.thousands)
        yield written.to_csv(index=False, header=i == 0, lineterminator="\n")


def _write_parquet(frames: Iterable[Any], path: Path, example: Callable[[str], Any]) -> None:
    """Write data frames one after the other; a column without cells in the first has the type of an example."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with ExitStack() as stack:
        schema = writer = None
        for frame in frames:
            table = pa.Table.from_pandas(frame, schema, preserve_index=False)
            if writer is None:
                types = (
                    pa.array([example(f.name)]).type if pa.types.is_null(f.type) else f.type for f in table.schema
                )
                schema = pa.schema(list(zip(table.column_names, types, strict=True)), table.schema.metadata)
                writer = stack.enter_context(pq.ParquetWriter(path, schema))
                table = table.cast(schema)
            writer.write_table(table)


def _predictions(
    classifier: Any,
    X: Any,
    rule: Any,
    interval: float | None,
    draws: int,
    seed: int,
) -> dict[str, Any]:
    probability = classifier.probabilities(X, rule)
    shown = {"p": probability}
    if interval is not None:
        bounds = classifier.predict_proba_interval(X, interval, draws, seed)
        shown |= {"lower": bounds["lower"].values, "upper": bounds["upper"].values}
    labels = classifier.classes_.tolist()
    columns = {f"{name}({label})": found[:, k] for name, found in shown.items() for k, label in enumerate(labels)}
    return {"predicted": classifier.classes_[probability.argmax(1)], **columns}


def _reasons(classifier: Any, X: Any, predicted: Any, rule: Any, most: int, seed: int) -> dict[str, Any]:
    """Find the columns with the largest weight of evidence on the predicted label of each row."""
    import numpy as np

    found = classifier.explain(X, random_state=seed, **({} if rule is None else {"rule": rule}))
    codes = np.searchsorted(classifier.classes_, predicted)
    weight = found["weight"].transpose("row", "class", "feature").values[np.arange(len(codes)), codes]
    order = np.argsort(-np.abs(weight), axis=1, kind="stable")[:, :most]
    names = found["feature"].values
    columns: dict[str, Any] = {}
    for place in range(order.shape[1]):
        columns[f"reason {place + 1}"] = names[order[:, place]]
        columns[f"weight {place + 1}"] = np.take_along_axis(weight, order[:, [place]], axis=1)[:, 0]
    return columns


def _options_of_fit(model: Path) -> dict[str, Any]:
    """Return the options of the ``bayesppl fit`` that made a model; none where another program did."""
    from bayesppl.files.saving import read_provenance

    words = shlex.split(str(read_provenance(model).get("command", "")))
    if words[:2] != ["bayesppl", "fit"]:
        return {}
    return fit.make_context("fit", words[2:], resilient_parsing=True).params


def _as_in_fit(dialect: Dialect, of_fit: Mapping[str, Any], data: Path) -> Dialect:
    """Read gaps as in the fit, too, and numbers where columns are separated alike, unless options say how."""
    if not of_fit:
        return dialect
    source = click.get_current_context().get_parameter_source
    is_given = any(source(name) is ParameterSource.COMMANDLINE for name in _READING[:2])
    is_alike = separator(Path(of_fit["data"]), of_fit["sep"]) == separator(data, dialect.sep)
    names = _READING if format_of(data) in TEXT and is_alike and not is_given else _READING[2:]
    taken = {name: of_fit[name] for name in names if of_fit.get(name) not in (None, getattr(dialect, name))}
    if "na_values" in taken:
        taken["na_values"] = tuple(dict.fromkeys([*dialect.na_values, *taken["na_values"]]))
    if not taken:
        return dialect
    words = [
        f"--{name.replace('_', '-')} {shlex.quote(mark)}"
        for name, marks in taken.items()
        for mark in (marks if name == "na_values" else [marks])
    ]
    say(f"{data} is read as the rows of the fit: {' '.join(words)}", err=True)
    return dialect._replace(**taken)


def _require_features(
    names: Sequence[str],
    keep: Sequence[str],
    drop: Sequence[str],
    data: Path,
    known: Sequence[str],
    read: Collection[Hashable],
) -> None:
    """Refuse a file without the columns that a model reads, or with others than those known in its fit."""
    from bayesppl.data.names import listed, meant

    for name in (*keep, *drop):
        if name not in names:
            raise ValueError(f"there is no column {name!r} in {str(data)!r}; its columns are {listed(names)}")
    features = [name for name in names if name not in drop and (name in known or name not in keep)]
    surplus = [name for name in features if name not in known]
    absent = next((name for name in known if name in read and name not in features), None)
    if absent in drop:
        raise ValueError(f"--drop {absent!r} leaves out a column that the model needs; leave out the option")
    if absent is not None:
        raise ValueError(
            f"the model needs column {absent!r}, which is not among those of {str(data)!r}"
            f"{meant(absent, surplus)}; there are {listed(features)}. Rename a column, or add it (with "
            "empty cells where its numbers are not known and the family has gaps)"
        )
    if surplus:
        drops, keeps = (
            " ".join(f"{option} {shlex.quote(name)}" for name in surplus) for option in ("--drop", "--keep")
        )
        raise ValueError(
            f"the model was not fitted to {listed(surplus)} of {str(data)!r}; its features are {listed(known)}. "
            f"Pass {drops} to leave out what is no feature, such as the target, or {keeps} to copy it beside the "
            "predictions"
        )


def _refuse_text(file: Any, names: Collection[str]) -> None:
    """Refuse text in columns that held none in the fit: one cell of a text file makes text of its whole column."""
    for name in (name for name in file.columns if name in names and file.columns[name].kind == "text"):
        if (found := file.odd_cell(name)) is not None:
            row, cell = found
            dialect = file.dialect if file.is_text else None
            remedy = odd_cells.remedy(cell, dialect, among_numbers=file.columns[name].are_mostly_numbers)
            raise ValueError(
                f"column {name!r} holds the text {cell!r} in row {row} and held no text in the fit; {remedy}"
            )
