"""``bayesppl reproduce`` and ``study``: published numbers and reports recomputed, the defaults on real data."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesppl.cli.compare import compare
from bayesppl.files import running

if TYPE_CHECKING:
    from bayesppl.reproduce import Inputs

#: Columns of a study of calibration that are printed.
_SHOWN = ("set", "log score", "− generative", "± generative", "accuracy", "ECE")


@click.command(short_help="Recompute published results.")
@click.option("--only", multiple=True, metavar="ID", help="Check this claim only; may be given several times.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option(
    "--mnist",
    metavar="PATH|openml",
    help="The MNIST digits: a folder of the original files, a CSV file, or 'openml' to download them.",
)
@click.option(
    "--sms",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="The SMS Spam Collection: its file, or the folder that holds it.",
)
@click.option(
    "--newsgroups",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="20 Newsgroups by date: 20news-bydate.tar.gz, or the folder that holds it.",
)
@click.option(
    "--car",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="The car evaluation data of UCI: car.data, or the folder that holds it.",
)
@click.option(
    "--study",
    "studies",
    multiple=True,
    type=click.Choice(
        [
            "energy",
            "spam",
            "newsgroups",
            "boundaries",
            "iris",
            "height-weight",
            "digits",
            "aitchison",
            "ng-jordan",
            "domingos-pazzani",
            "bnclassify",
        ]
    ),
    help="Run this experiment instead of the claims; may be given several times.",
)
@click.option(
    "--list", "lists", is_flag=True, help="List the sources, their claims and the studies, and compute nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the report and its figures.",
)
@click.option(
    "--verify",
    "written",
    type=click.Path(path_type=Path, exists=True),
    metavar="REPORT",
    help="Recompute a report written earlier, or one of 'bayesppl compare --json', and list what differs.",
)
def reproduce(
    only: tuple[str, ...],
    seed: int,
    mnist: str | None,
    sms: Path | None,
    newsgroups: Path | None,
    car: Path | None,
    studies: tuple[str, ...],
    lists: bool,
    as_json: bool,
    out: Path | None,
    written: Path | None,
) -> None:
    """Recompute the numbers of five published introductions and compare them.

    Every claim is computed through the package and gets a verdict: agrees, agrees after rounding, agrees within
    sampling error, erratum (with the corrected value and the reason), measured (a time) or not run. The exit
    status is 1 if anything that should agree does not.

    With --study, an experiment that the texts only describe, or a published result: tables, and with --out also
    files with a picture.
    """
    if lists:
        _list()
        return
    from bayesppl.reproduce import Inputs, report, verify
    from bayesppl.reproduce import reproduce as recompute

    if written is not None:
        earlier = report.read_report(written)
        if "claims" in earlier:
            differences = verify(written, mnist)
        else:
            again = _compare_again(earlier["provenance"].get("command", ""))
            differences = list(report.changes(earlier, again))
        click.echo("\n".join(differences) if differences else f"{written}: nothing differs")
        raise SystemExit(1 if differences else 0)
    if studies:
        _run_studies(studies, Inputs(seed, mnist, sms, newsgroups, car), as_json, out)
        return
    found = recompute(only, seed, mnist)
    click.echo(found.to_json() if as_json else found.to_text())
    for file in found.write(out) if out is not None else ():
        click.echo(f"wrote {file}", err=True)
    if found.failed:
        click.echo(f"bayesppl: {', '.join(outcome.claim.id for outcome in found.failed)} should agree", err=True)
        raise SystemExit(1)


def _list() -> None:
    from textwrap import fill

    from bayesppl.reproduce import CLAIMS
    from bayesppl.reproduce.claims import SOURCES
    from bayesppl.reproduce.studies import STUDIES

    for name, reference in SOURCES.items():
        claims = [claim.id for claim in CLAIMS if claim.source.split()[0] == name]
        click.echo(fill(f"{name}: {reference}", 80, subsequent_indent="    ", break_on_hyphens=False))
        if claims:
            click.echo(fill(f"claims {', '.join(claims)}", 80, initial_indent="    ", subsequent_indent="    "))
    click.echo("\nstudies, for --study:")
    for study in STUDIES.values():
        click.echo(fill(f"{study.name}: {study.question}", 80, subsequent_indent="    ", break_on_hyphens=False))


def _run_studies(names: tuple[str, ...], inputs: Inputs, as_json: bool, out: Path | None) -> None:
    from bayesppl.reproduce.studies import STUDIES

    chosen = [STUDIES[name] for name in names]
    for study in chosen:
        study.check(inputs)
    found = {}
    for study in chosen:
        tables = study.tables(inputs)
        found[study.name] = {title: table.to_dict("records") for title, table in tables.items()}
        if not as_json:
            click.echo(study.to_markdown(tables))
        for file in study.write(out, inputs, tables) if out is not None else ():
            click.echo(f"wrote {file}", err=True)
    if as_json:
        click.echo(json.dumps({"seed": inputs.seed, "studies": found}, indent=2, ensure_ascii=False))


def _compare_again(command: str) -> Any:
    """Run a comparison by the command that its report holds, and return the report."""
    program, *rest = shlex.split(command) or [""]
    if program != "bayesppl" or rest[:1] != ["compare"]:
        raise ValueError(
            f"the report was made by {command!r}, and only those of 'bayesppl compare … --json' can be run again"
        )
    context = compare.make_context("compare", rest[1:])
    printed = io.StringIO()
    with context, running(rest), contextlib.redirect_stdout(printed):
        # nothing is written but what is compared
        context.invoke(compare, **{**context.params, "as_json": True, "out": None})
    return json.loads(printed.getvalue())


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
    import pandas as pd

    from bayesppl.reproduce import mixed, panel
    from bayesppl.reproduce.studies.base import markdown

    score = panel.score_set if name == "calibration" else mixed.score_mixed_set
    rows = []
    for data in panel.data_sets(sources or panel.EMBEDDED, most_rows):
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
    tables = [panel.verdicts(table), table] if name == "calibration" else [table]
    text = "\n\n".join(map(markdown, tables)) + "\n"
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{name}.md").write_text(text, encoding="utf-8")
        table.to_csv(out / f"{name}.csv", index=False)
    if name == "calibration":
        if out is not None:
            panel.picture(table).savefig(out / "calibration.png", dpi=120, metadata={"Software": None})
        # all columns are too many for a terminal
        text = f"{markdown(tables[0])}\n\n{markdown(table[list(_SHOWN)])}\n\n--out DIR holds all columns.\n"
    click.echo(text)
