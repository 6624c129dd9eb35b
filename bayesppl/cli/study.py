"""``bayesppl study``: the defaults of the package on real data."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(epilog="Example: bayesppl study calibration iris wine folder/of/csv openml:40 --out report")
@click.argument("name", type=click.Choice(["calibration"]))
@click.argument("sources", nargs=-1, metavar="[DATA]...")
@click.option(
    "--splits", type=click.IntRange(min=1), default=10, show_default=True, help="Stratified halves of every set."
)
@click.option(
    "--most-rows", type=click.IntRange(min=20), default=5000, show_default=True, help="Larger sets are sampled."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the halves.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write table and picture there."
)
def study(name: str, sources: tuple[str, ...], splits: int, most_rows: int, seed: int, out: Path | None) -> None:
    """Compare the default classifier with scikit-learn's on held-out halves of real data.

    DATA are folders of .csv files whose labels are in a column "class", such files, sets by their number at OpenML (openml:ID),
    or breast_cancer, digits, iris, wine; these four by default. Each set is halved at random, classes in proportion; the
    best generative pipeline of scikit-learn is the one that is best on the test halves.
    """
    import pandas as pd

    from bayesppl.reproduce import panel
    from bayesppl.reproduce.studies.base import markdown

    rows = []
    for data in panel.data_sets(sources or panel.EMBEDDED, most_rows):
        rows.append(panel.score_set(data, splits, seed))
        click.echo(
            f"{data.name}: log score {rows[-1]['log score']:.3f}, accuracy {rows[-1]['accuracy']:.3f}", err=True
        )
    table = pd.DataFrame(rows)
    summary = panel.verdicts(table)
    text = f"{markdown(summary)}\n\n{markdown(table)}\n"
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{name}.md").write_text(text, encoding="utf-8")
        table.to_csv(out / f"{name}.csv", index=False)
        panel.picture(table).savefig(out / f"{name}.png", dpi=120, metadata={"Software": None})
    click.echo(text)
