"""``bayesppl study``: the defaults of the package on real data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import pandas as pd

    from bayesppl.reproduce.panel import DataSet


@click.command(epilog="Example: bayesppl study calibration iris wine folder/of/csv openml:40 --out report")
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
    from bayesppl.reproduce import panel

    data_sets = panel.data_sets(sources or panel.EMBEDDED, most_rows)
    report = _calibration if name == "calibration" else _location
    click.echo(report(data_sets, splits, seed, out))


def _calibration(data_sets: Iterator[DataSet], splits: int, seed: int, out: Path | None) -> str:
    import pandas as pd

    from bayesppl.reproduce import panel
    from bayesppl.reproduce.studies.base import markdown

    rows = []
    for data in data_sets:
        rows.append(panel.score_set(data, splits, seed))
        click.echo(
            f"{data.name}: log score {rows[-1]['log score']:.3f}, accuracy {rows[-1]['accuracy']:.3f}", err=True
        )
    table = pd.DataFrame(rows)
    summary = panel.verdicts(table)
    text = f"{markdown(summary)}\n\n{markdown(table)}\n"
    if out is not None:
        _write(out, "calibration", text, table)
        panel.picture(table).savefig(out / "calibration.png", dpi=120, metadata={"Software": None})
    return text


def _location(data_sets: Iterator[DataSet], splits: int, seed: int, out: Path | None) -> str:
    import pandas as pd

    from bayesppl.reproduce import mixed
    from bayesppl.reproduce.studies.base import markdown

    rows = []
    for data in data_sets:
        if mixed.is_mixed(data):
            rows += mixed.score_mixed_set(data, splits, seed)
            click.echo(f"{data.name}: log score {rows[-len(mixed.MODELS)]['log score']:.3f}", err=True)
    if not rows:
        raise click.UsageError(
            "none of these sets has both numbers and categories; name others, such as a folder of CSV files"
        )
    table = pd.DataFrame(rows)
    text = f"{markdown(table)}\n"
    if out is not None:
        _write(out, "location", text, table)
    return text


def _write(out: Path, name: str, text: str, table: pd.DataFrame) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.md").write_text(text, encoding="utf-8")
    table.to_csv(out / f"{name}.csv", index=False)
