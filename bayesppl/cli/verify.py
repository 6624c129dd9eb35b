"""``bayesppl verify``: the certificate of a model that rows were removed from, checked by the rows that remain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bayesppl.cli.files import Dialect
from bayesppl.cli.fit import DATA_ARGUMENT, MODEL_ARGUMENT
from bayesppl.cli.options import Chosen, Grouped, csv_options


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

    DATA holds the rows that remain, all of them and no others. The sums of the model are compared with theirs:
    part by part they are equal to the last bit, or equal within the bound that is stated, or they differ. The exit
    status is 1 if any differs.
    """
    from bayesppl.analysis.certificate import DIFFERS
    from bayesppl.cli.report import to_json
    from bayesppl.cli.rows import Source
    from bayesppl.estimators.learner import Learner
    from bayesppl.estimators.loading import load

    classifier: Any = load(model)
    if not isinstance(classifier, Learner):
        raise ValueError(f"{str(model)!r} holds {type(classifier).__name__}, which forgets no rows")
    levels = classifier.levels_of_columns()
    texts = tuple(str(name) for name, found in levels.items() if isinstance(found[0], str))
    features = tuple(map(str, classifier.fitted_.columns.names))
    source = Source(data, target, dialect, Chosen(keep=features, categorical=texts))
    rows = source.rows()
    stated = classifier.certificate(rows.X, rows.y)
    click.echo(to_json(stated))
    raise SystemExit(1 if DIFFERS in stated["verified"].values() else 0)
