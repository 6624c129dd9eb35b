"""Models compared on held-out halves of real data: ``python -m benchmarks.study calibration FOLDER``."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from bayesppl.reproduce.studies.study import markdown
from benchmarks.calibration_study import SHOWN, picture, score_set, verdicts
from benchmarks.location_study import score_mixed_set
from benchmarks.rivals import EMBEDDED, data_sets


@click.command(epilog="Example: python -m benchmarks.study calibration iris folder/of/csv openml:40 --out report")
@click.argument("name", type=click.Choice(["calibration", "location"]))
@click.argument("sources", nargs=-1, metavar="[DATA]...")
@click.option(
    "--splits", type=click.IntRange(min=1), default=10, show_default=True, help="Stratified halves of every set."
)
@click.option(
    "--most-rows", type=click.IntRange(min=20), default=5000, show_default=True, help="Larger sets are sampled."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed of the halves."
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write table and picture there."
)
def study(name: str, sources: tuple[str, ...], splits: int, most_rows: int, seed: int, out: Path | None) -> None:
    """Compare models on held-out halves of real data.

    calibration: the default classifier, and pipelines of scikit-learn. location: the location model of numbers and
    categories, models of independent columns, and of indicators, on those of the sets that have both.

    DATA are folders of .csv files whose labels are in a column "class", such files, sets by their number at OpenML
    (openml:ID), or breast_cancer, digits, iris, wine; these four by default. Each set is halved at random, classes
    in proportion; the best generative pipeline of scikit-learn is the one that is best on the test halves.
    """
    score = score_set if name == "calibration" else score_mixed_set
    rows = []
    for data in data_sets(sources or EMBEDDED, most_rows):
        found = score(data, splits, seed)
        rows += found
        for first in found[:1]:
            scores = f"log score {first['log score']:.3f}, accuracy {first['accuracy']:.3f}"
            click.echo(f"{data.name}: {scores}", err=True)
    if not rows:
        raise click.UsageError(
            "none of these sets has both numbers and categories; name others, such as a folder of CSV files"
        )
    table = pd.DataFrame(rows)
    tables = [verdicts(table), table] if name == "calibration" else [table]
    text = "\n\n".join(map(markdown, tables)) + "\n"
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{name}.md").write_text(text, encoding="utf-8")
        table.to_csv(out / f"{name}.csv", index=False)
    if name == "calibration":
        if out is not None:
            picture(table).savefig(out / "calibration.png", dpi=120, metadata={"Software": None})
        text = f"{markdown(tables[0])}\n\n{markdown(table[list(SHOWN)])}\n\n--out DIR holds all columns.\n"
    click.echo(text)


if __name__ == "__main__":
    study()
